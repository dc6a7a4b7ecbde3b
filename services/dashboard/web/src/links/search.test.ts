import { expect, it } from "vitest";
import { readSearch } from "./search";

it("reads what an address says and drops what it cannot mean", () => {
  expect(readSearch({})).toEqual({});
  expect(readSearch({ period: "30d", q: "sale" })).toEqual({ period: "30d", q: "sale" });
  expect(readSearch({ period: "7d", q: "" })).toEqual({});
  expect(readSearch({ period: "99y", q: { a: 1 }, other: 1 })).toEqual({});
  expect(readSearch({ q: 2026 })).toEqual({ q: "2026" });
});

import { expect, it } from "vitest";
import type { Link } from "../api/types";
import { shortUrlOf, statesOf } from "./row";

it("makes addresses like those of other links", () => {
  expect(shortUrlOf("go.test", "größe/x y", "http://localhost:8080/a")).toBe(
    "http://go.test:8080/gr%C3%B6%C3%9Fe/x%20y",
  );
  expect(shortUrlOf("go.test", "a", undefined)).toBe("https://go.test/a");
});

it("says in what state a link is", () => {
  const now = new Date("2026-11-30T12:00:00Z");
  const link = { rules: [], variants: [], disabled: false } as unknown as Link;
  const states = (more: Partial<Link>) => statesOf({ archived: false, link: { ...link, ...more } }, now);
  expect(states({})).toEqual([]);
  expect(states({ expires_at: "2026-11-30T12:00:00Z" })).toEqual(["expired"]);
  expect(states({ expires_at: "2026-12-01T00:00:00Z", has_password: true })).toEqual(["expires", "password"]);
  expect(states({ starts_at: "2026-12-01T00:00:00Z", max_clicks: 5 })).toEqual(["scheduled", "limited"]);
  expect(statesOf({ archived: true, link: undefined }, now)).toEqual(["archived"]);
});

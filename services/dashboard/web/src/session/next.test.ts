import { expect, it } from "vitest";
import { safeNext } from "./next";

it("goes back to a path of this app", () => {
  expect(safeNext("/")).toBe("/");
  expect(safeNext("/?period=30d&q=a%20b")).toBe("/?period=30d&q=a%20b");
  expect(safeNext("/links/1#top")).toBe("/links/1#top");
});

it.each([
  undefined,
  "",
  42,
  "https://evil.test/",
  "//evil.test/",
  "/\\evil.test",
  "\\\\evil.test",
  "/\t/evil.test",
  "/\n/evil.test",
  "javascript:alert(1)",
  "links",
  "/login?next=/login",
])("does not follow %j", (next) => {
  expect(safeNext(next)).toBe("/");
});

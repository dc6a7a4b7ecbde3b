import { expect, it } from "vitest";
import { many, one, parseSearch, stringifySearch } from "./url";

it("keeps repeated names as a list and says them again", () => {
  const search = parseSearch("?q=2026&country=DE&country=FR&referrer=");
  expect(search).toEqual({ q: "2026", country: ["DE", "FR"], referrer: "" });
  expect(stringifySearch(search)).toBe("?q=2026&country=DE&country=FR&referrer=");
});

it("leaves out what is not there", () => {
  expect(stringifySearch({ q: undefined, tag: [], page: null })).toBe("");
});

it("is not led astray by names of the language", () => {
  expect(parseSearch("?constructor=a&__proto__=b").constructor).toBe("a");
});

it("reads one or many whatever the address holds", () => {
  expect(one(["a", "b"])).toBe("a");
  expect(one("")).toBeUndefined();
  expect(one(7)).toBeUndefined();
  expect(many(["a", "a", "b"])).toEqual(["a", "b"]);
  expect(many("")).toEqual([""]);
  expect(many(undefined)).toEqual([]);
});

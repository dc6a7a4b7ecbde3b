import { expect, it } from "vitest";
import { parseSearch, stringifySearch } from "../url";
import { readList, writeList } from "./search";

const round = (text: string) => stringifySearch(writeList(readList(parseSearch(text))));

it("comes back from the address as it went in", () => {
  const text = "?q=2026&domain=go.test&tag=mail&archived=true&sort=clicks&period=7d";
  expect(round(text)).toBe(text);
});

it("leaves the usual out, and what it cannot know", () => {
  expect(round("?sort=created&period=30d&archived=false&q=&x=1")).toBe("");
  expect(round("?sort=luck&period=ages")).toBe("");
});

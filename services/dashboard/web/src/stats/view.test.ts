import { expect, it } from "vitest";
import { parseSearch, stringifySearch } from "../url";
import { intervalOf, question, readView, sharedSearch, toggled, writeView } from "./view";

const now = new Date("2026-11-30T12:00:00Z");
const read = (text: string) => readView(parseSearch(text));

it("comes back from the address as it went in", () => {
  const text =
    "?period=7d&interval=hour&metric=unique_visitors&bots=only&tag=mail&country=DE&country=FR&referrer=";
  expect(stringifySearch(writeView(read(text)))).toBe(text);
});

it("leaves the usual out, and says it to others", () => {
  const view = read("");
  expect(writeView(view)).toEqual({});
  expect(sharedSearch(view)).toEqual({ period: "30d", tz: "Europe/Berlin" });
});

it("does not believe what it cannot know", () => {
  expect(writeView(read("?period=x&tz=Mars&metric=y&bots=z&nonsense=1"))).toEqual({});
});

it("adds and takes away a value of a filter", () => {
  const once = toggled({}, "country", "DE");
  expect(once).toEqual({ country: ["DE"] });
  expect(toggled(once, "country", "FR")).toEqual({ country: ["DE", "FR"] });
  expect(toggled(once, "country", "DE")).toEqual({});
});

it("asks with all of it", () => {
  const view = read("?period=today&bots=include&domain=go.test&os=");
  expect(question(view, { link_id: "1" }, now)).toEqual({
    from: "2026-11-30",
    to: "2026-11-30",
    tz: "Europe/Berlin",
    bots: "include",
    link_id: "1",
    domain: ["go.test"],
    os: [""],
  });
});

it("draws the chosen interval only where it fits", () => {
  const span = { from: "2026-11-01", to: "2026-11-30", tz: "UTC" };
  expect(intervalOf(read("?interval=week"), span)).toBe("week");
  expect(intervalOf(read("?interval=minute"), span)).toBe("day");
});

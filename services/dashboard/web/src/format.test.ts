import { expect, it } from "vitest";
import {
  ago,
  bytes,
  change,
  compact,
  day,
  decoded,
  milliseconds,
  moment,
  percent,
  readable,
  tick,
  whole,
} from "./format";

it("writes counts", () => {
  expect(whole(1234567)).toBe("1,234,567");
  expect(compact(0)).toBe("0");
  expect(compact(9999)).toBe("9,999");
  expect(compact(18342)).toBe("18.3K");
  expect(compact(1_200_000)).toBe("1.2M");
});

it("compares with the period before", () => {
  expect(change(5, 5)).toEqual({ kind: "same" });
  expect(change(0, 0)).toEqual({ kind: "same" });
  expect(change(5, 0)).toEqual({ kind: "fresh" });
  expect(change(121, 100)).toEqual({ kind: "up", percent: "21%" });
  expect(change(957, 1000)).toEqual({ kind: "down", percent: "4.3%" });
  expect(change(0, 10)).toEqual({ kind: "down", percent: "100%" });
});

it("writes buckets in the zone of whoever looks", () => {
  const t = new Date("2026-11-29T23:00:00Z"); // midnight in Berlin
  expect(tick(t, "day")).toBe("Nov 30");
  expect(tick(t, "hour")).toMatch(/^12:00\sAM$/);
  expect(moment(t, "day")).toBe("Mon, Nov 30, 2026");
  expect(moment(t, "hour")).toMatch(/^Mon, Nov 30, 12:00\sAM$/);
});

it("names the year of a day only when it is another one", () => {
  const now = new Date("2026-11-30T12:00:00Z");
  expect(day(new Date("2026-01-02T12:00:00Z"), now)).toBe("Jan 2");
  expect(day(new Date("2025-12-31T12:00:00Z"), now)).toBe("Dec 31, 2025");
});

it("shortens addresses to what people read", () => {
  expect(readable("https://go.test/launch")).toBe("go.test/launch");
  expect(readable("http://example.com/")).toBe("example.com");
  expect(readable("https://example.com/?a=1")).toBe("example.com/?a=1");
  expect(readable("https://example.com/a/")).toBe("example.com/a/");
});

it("decodes letters, but nothing that has a meaning in an address", () => {
  expect(decoded("https://go.test/gr%C3%B6%C3%9Fe")).toBe("https://go.test/größe");
  expect(decoded("https://go.test/a%2Fb%3Fc")).toBe("https://go.test/a%2Fb%3Fc");
  expect(decoded("https://go.test/100%")).toBe("https://go.test/100%");
});

it("writes shares, durations and how long ago something was", () => {
  const now = new Date("2026-11-30T12:00:00Z");
  expect(percent(0.5)).toBe("50%");
  expect(percent(0.043)).toBe("4.3%");
  expect(milliseconds(12)).toBe("12 ms");
  expect(milliseconds(1234)).toBe("1.2 sec");
  expect(ago(new Date("2026-11-30T11:55:00Z"), now)).toBe("5 min. ago");
  expect(ago(new Date("2026-11-30T11:59:50Z"), now)).toBe("now");
  expect(ago(new Date("2026-11-29T11:00:00Z"), now)).toBe("yesterday");
  expect(ago(new Date("2026-01-02T12:00:00Z"), now)).toBe("Jan 2");
});

it("writes buckets of every width in the zone that was asked for", () => {
  const t = new Date("2026-11-29T18:30:00Z"); // midnight in Kolkata
  expect(moment(t, "day", "Asia/Kolkata")).toBe("Mon, Nov 30, 2026");
  expect(moment(t, "month", "Asia/Kolkata")).toBe("November 2026");
  expect(moment(t, "week", "Asia/Kolkata")).toMatch(/^Nov 30\s–\sDec 6, 2026$/);
});

it("says how large a file is", () => {
  expect([0, 1, 900, 1024, 1500, 20_000, 100 * 1024 * 1024, 3 * 1024 ** 3].map(bytes)).toEqual([
    "0 bytes",
    "1 byte",
    "900 bytes",
    "1 kB",
    "1.5 kB",
    "20 kB",
    "100 MB",
    "3 GB",
  ]);
});

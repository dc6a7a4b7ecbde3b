import { expect, it } from "vitest";
import { momentOf, wallClock } from "./zone";

it("goes from the clock to the moment and back", () => {
  for (const [clock, zone, moment] of [
    ["2026-11-30T09:00", "Europe/Berlin", "2026-11-30T08:00:00.000Z"],
    ["2026-07-01T09:00", "Europe/Berlin", "2026-07-01T07:00:00.000Z"],
    ["2026-11-30T09:00", "Asia/Kolkata", "2026-11-30T03:30:00.000Z"],
    ["2026-11-30T00:00", "UTC", "2026-11-30T00:00:00.000Z"],
    ["2026-11-30T23:59", "America/Los_Angeles", "2026-12-01T07:59:00.000Z"],
  ] as const) {
    expect(momentOf(clock, zone)).toBe(moment);
    expect(wallClock(moment, zone)).toBe(clock);
  }
});

it("has an answer where the clock is changed", () => {
  // 02:30 is there twice: the first one.
  expect(momentOf("2026-10-25T02:30", "Europe/Berlin")).toBe("2026-10-25T00:30:00.000Z");
  // 02:30 is not there: what would have been.
  expect(momentOf("2026-03-29T02:30", "Europe/Berlin")).toBe("2026-03-29T01:30:00.000Z");
});

it("knows nothing of nothing", () => {
  expect(momentOf("", "UTC")).toBeNull();
  expect(momentOf("tomorrow", "UTC")).toBeNull();
  expect(wallClock(null, "UTC")).toBe("");
});

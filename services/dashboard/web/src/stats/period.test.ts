import { expect, it } from "vitest";
import { browserZone, daysOf, intervalsOf, isZone, readPeriod, spanOf, writePeriod } from "./period";

const tz = "Europe/Berlin"; // where the tests run, see vite.config.ts
const span = (preset: string, now: string, zone = tz) => spanOf(readPeriod(preset), new Date(now), zone);

it("asks for days as dates of the zone, both included", () => {
  // Ten past midnight in Berlin is still the day before in UTC.
  const now = "2026-11-29T23:10:00Z";
  expect(span("7d", now)).toEqual({ from: "2026-11-24", to: "2026-11-30", tz });
  expect(span("30d", now)).toMatchObject({ from: "2026-11-01", to: "2026-11-30" });
  expect(span("today", now)).toMatchObject({ from: "2026-11-30", to: "2026-11-30" });
  expect(span("today", now, "UTC")).toMatchObject({ from: "2026-11-29", to: "2026-11-29" });
  expect(span("yesterday", now)).toMatchObject({ from: "2026-11-29", to: "2026-11-29" });
});

it("counts days, not 24 hours, over a change of the clock", () => {
  expect(span("7d", "2026-10-25T23:30:00Z")).toMatchObject({ from: "2026-10-20", to: "2026-10-26" });
});

it("knows months and years", () => {
  const now = "2026-01-15T12:00:00Z";
  expect(span("month", now)).toMatchObject({ from: "2026-01-01", to: "2026-01-15" });
  expect(span("last-month", now)).toMatchObject({ from: "2025-12-01", to: "2025-12-31" });
  expect(span("year", now)).toMatchObject({ from: "2026-01-01", to: "2026-01-15" });
  expect(span("12m", now)).toMatchObject({ from: "2025-02-01", to: "2026-01-15" });
});

it("asks for 24 whole hours up to the end of the running one", () => {
  expect(span("24h", "2026-11-30T09:15:44Z")).toEqual({
    from: "2026-11-29T10:00:00.000Z",
    to: "2026-11-30T10:00:00.000Z",
    tz,
  });
});

it("reads what an address says and nothing else", () => {
  expect(readPeriod("2026-10-01..2026-10-31")).toEqual({ from: "2026-10-01", to: "2026-10-31" });
  for (const wrong of [undefined, "", "8d", "2026-10-31..2026-10-01", "2026-13-01..2026-13-02", "a..b..c"]) {
    expect(readPeriod(wrong)).toEqual({ preset: "30d" });
  }
  expect(writePeriod(readPeriod("2026-10-01..2026-10-31"))).toBe("2026-10-01..2026-10-31");
  expect(writePeriod(readPeriod("7d"))).toBe("7d");
});

it("draws what the eye can tell apart", () => {
  const now = "2026-11-30T12:00:00Z";
  expect(intervalsOf(span("24h", now))[0]).toBe("hour");
  expect(intervalsOf(span("today", now))[0]).toBe("hour");
  expect(intervalsOf(span("30d", now))[0]).toBe("day");
  expect(intervalsOf(span("12m", now))[0]).toBe("week");
  expect(daysOf(span("24h", now))).toBe(1);
  expect(daysOf(span("7d", now))).toBe(7);
});

it("knows zones", () => {
  expect(browserZone()).toBe(tz);
  expect(isZone("Asia/Kolkata")).toBe(true);
  expect(isZone("Mars/Olympus")).toBe(false);
  expect(isZone(undefined)).toBe(false);
});

import { expect, it } from "vitest";
import { intervalOf, isPeriod, spanOf } from "./period";

const tz = "Europe/Berlin"; // where the tests run, see vite.config.ts

it("asks for days as dates of the browser's zone, both included", () => {
  // Ten past midnight in Berlin is still the day before in UTC.
  const now = new Date("2026-11-29T23:10:00Z");
  expect(spanOf("7d", now)).toEqual({ from: "2026-11-24", to: "2026-11-30", tz });
  expect(spanOf("30d", now)).toEqual({ from: "2026-11-01", to: "2026-11-30", tz });
});

it("counts days, not 24 hours, over a change of the clock", () => {
  expect(spanOf("7d", new Date("2026-10-25T23:30:00Z"))).toMatchObject({
    from: "2026-10-20",
    to: "2026-10-26",
  });
});

it("asks for 24 whole hours up to the end of the running one", () => {
  const span = spanOf("24h", new Date("2026-11-30T09:15:44Z"));
  expect(span).toEqual({
    from: "2026-11-29T10:00:00.000Z",
    to: "2026-11-30T10:00:00.000Z",
    tz,
  });
});

it("draws a day by hours and more by days", () => {
  expect(intervalOf("24h")).toBe("hour");
  expect(intervalOf("30d")).toBe("day");
});

it("knows its presets", () => {
  expect(isPeriod("7d")).toBe(true);
  expect(isPeriod("8d")).toBe(false);
  expect(isPeriod(undefined)).toBe(false);
});

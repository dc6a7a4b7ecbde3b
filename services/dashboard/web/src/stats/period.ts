// Which part of time is shown. In an address it is one word: a preset, or two days
// with two dots between, as in 2026-11-01..2026-11-30.

/** The part of time that analytics calls ask for; days are dates, both included. */
export interface Span {
  from: string;
  to: string;
  tz: string;
}

export const presets = [
  "24h",
  "today",
  "yesterday",
  "7d",
  "30d",
  "90d",
  "month",
  "last-month",
  "year",
  "12m",
  "all",
] as const;
export type Preset = (typeof presets)[number];
export type Period = { preset: Preset } | { from: string; to: string };
export type Interval = "minute" | "hour" | "day" | "week" | "month";

export const defaultPreset: Preset = "30d";

const DAY_MS = 86_400_000;
/** Before it there can be no click: the project is younger. */
const BEGINNING = "2025-01-01";

/** Reads what an address says, which anybody can have written. */
export function readPeriod(value: string | undefined): Period {
  if (presets.some((p) => p === value)) {
    return { preset: value as Preset };
  }
  const [from, to, more] = value?.split("..") ?? [];
  if (from && to && more === undefined && isDate(from) && isDate(to) && from <= to) {
    return { from, to };
  }
  return { preset: defaultPreset };
}

export function writePeriod(period: Period): string {
  return "preset" in period ? period.preset : `${period.from}..${period.to}`;
}

/** The zone of whoever looks: days begin at their midnight. */
export function browserZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
}

export function isZone(zone: string | undefined): zone is string {
  try {
    return Boolean(zone && new Intl.DateTimeFormat("en", { timeZone: zone }));
  } catch {
    return false;
  }
}

/**
 * What to ask the API for. Days are asked as dates, which the API cuts in the zone;
 * the last 24 hours as instants, up to the end of the running one.
 */
export function spanOf(period: Period, now: Date, tz: string): Span {
  if (!("preset" in period)) {
    return { from: period.from, to: period.to, tz };
  }
  const today = dateIn(now, tz);
  const days = (n: number) => ({ from: addDays(today, 1 - n), to: today, tz });
  switch (period.preset) {
    case "24h": {
      const to = new Date(now);
      to.setUTCMinutes(60, 0, 0);
      return { from: new Date(to.getTime() - DAY_MS).toISOString(), to: to.toISOString(), tz };
    }
    case "today":
      return days(1);
    case "yesterday":
      return { from: addDays(today, -1), to: addDays(today, -1), tz };
    case "7d":
      return days(7);
    case "30d":
      return days(30);
    case "90d":
      return days(90);
    case "month":
      return { from: `${today.slice(0, 7)}-01`, to: today, tz };
    case "last-month": {
      const last = addDays(`${today.slice(0, 7)}-01`, -1);
      return { from: `${last.slice(0, 7)}-01`, to: last, tz };
    }
    case "year":
      return { from: `${today.slice(0, 4)}-01-01`, to: today, tz };
    case "12m":
      return { from: addMonths(today, -11), to: today, tz };
    case "all":
      return { from: BEGINNING, to: today, tz };
  }
}

/** How many days a span has, at least a part of one. */
export function daysOf(span: Span): number {
  const whole = isDate(span.to) ? 1 : 0;
  return Math.max(1, Math.round((Date.parse(span.to) - Date.parse(span.from)) / DAY_MS) + whole);
}

/** How wide a point of the chart may be, the usual one first. */
export function intervalsOf(span: Span): Interval[] {
  const days = daysOf(span);
  if (days <= 2) {
    return days <= 1 ? ["hour", "minute"] : ["hour", "day"];
  }
  if (days <= 14) {
    return ["day", "hour"];
  }
  if (days <= 31) {
    return ["day", "hour", "week"];
  }
  if (days <= 190) {
    return ["day", "week", "month"];
  }
  return days <= 400 ? ["week", "day", "month"] : ["month", "week"];
}

export function isDate(text: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text));
}

/** The calendar day at a place. */
export function dateIn(now: Date, tz: string): string {
  const parts = new Intl.DateTimeFormat("en-CA", {
    timeZone: tz,
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
  });
  return parts.format(now);
}

export function addDays(date: string, days: number): string {
  return new Date(Date.parse(date) + days * DAY_MS).toISOString().slice(0, 10);
}

/** The first day of the month that lies so many months away. */
function addMonths(date: string, months: number): string {
  const day = new Date(date);
  return new Date(Date.UTC(day.getUTCFullYear(), day.getUTCMonth() + months, 1)).toISOString().slice(0, 10);
}

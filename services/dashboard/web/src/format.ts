import type { Interval } from "./stats/period";

/** 1,234,567 */
export function whole(n: number): string {
  return new Intl.NumberFormat().format(n);
}

/** 1,234 up to there, then 12.3K: what fits a large figure. */
export function compact(n: number): string {
  if (Math.abs(n) < 10_000) {
    return whole(n);
  }
  return new Intl.NumberFormat(undefined, { notation: "compact", maximumFractionDigits: 1 }).format(n);
}

/** 0.123 as 12%; small shares with a digit more. */
export function percent(ratio: number): string {
  const digits = ratio > 0 && ratio < 0.1 ? 1 : 0;
  return new Intl.NumberFormat(undefined, { style: "percent", maximumFractionDigits: digits }).format(ratio);
}

export type Change = { kind: "up" | "down"; percent: string } | { kind: "same" } | { kind: "fresh" };

/** How a count changed. From nothing to something has no percentage. */
export function change(now: number, before: number): Change {
  if (now === before) {
    return { kind: "same" };
  }
  if (before === 0) {
    return { kind: "fresh" };
  }
  return { kind: now > before ? "up" : "down", percent: percent(Math.abs(now - before) / before) };
}

/** A bucket on the axis: short. */
export function tick(t: Date, interval: Interval, timeZone?: string): string {
  switch (interval) {
    case "minute":
    case "hour":
      return t.toLocaleTimeString(undefined, { hour: "numeric", minute: "2-digit", timeZone });
    case "month":
      return t.toLocaleDateString(undefined, { month: "short", year: "numeric", timeZone });
    default:
      return t.toLocaleDateString(undefined, { day: "numeric", month: "short", timeZone });
  }
}

/** The size of a file, in steps of 1,024 as limits are said. */
export function bytes(n: number): string {
  const units = ["byte", "kilobyte", "megabyte", "gigabyte"] as const;
  const step = Math.min(units.length - 1, n < 1024 ? 0 : Math.floor(Math.log2(n) / 10));
  const value = n / 1024 ** step;
  return value.toLocaleString(undefined, {
    style: "unit",
    unit: units[step] ?? "byte",
    unitDisplay: step === 0 ? "long" : "short",
    maximumFractionDigits: value < 10 && step > 0 ? 1 : 0,
  });
}

/** A bucket by its whole name. */
export function moment(t: Date, interval: Interval, timeZone?: string): string {
  switch (interval) {
    case "minute":
    case "hour": {
      const day = t.toLocaleDateString(undefined, {
        weekday: "short",
        day: "numeric",
        month: "short",
        timeZone,
      });
      return `${day}, ${tick(t, "hour", timeZone)}`;
    }
    case "day":
      return t.toLocaleDateString(undefined, {
        weekday: "short",
        day: "numeric",
        month: "short",
        year: "numeric",
        timeZone,
      });
    case "week": {
      const end = new Date(t.getTime() + 6.5 * 86_400_000);
      return new Intl.DateTimeFormat(undefined, {
        day: "numeric",
        month: "short",
        year: "numeric",
        timeZone,
      }).formatRange(t, end);
    }
    case "month":
      return t.toLocaleDateString(undefined, { month: "long", year: "numeric", timeZone });
  }
}

/** The day something was made; the year only when it is another one. */
export function day(t: Date, now: Date): string {
  return t.toLocaleDateString(undefined, {
    day: "numeric",
    month: "short",
    ...(t.getFullYear() === now.getFullYear() ? {} : { year: "numeric" }),
  });
}

/** A calendar day, which has no zone. */
export function calendarDay(date: string): string {
  return new Date(date).toLocaleDateString(undefined, {
    day: "numeric",
    month: "short",
    year: "numeric",
    timeZone: "UTC",
  });
}

export function calendarRange(from: string, to: string): string {
  return new Intl.DateTimeFormat(undefined, {
    day: "numeric",
    month: "short",
    year: "numeric",
    timeZone: "UTC",
  }).formatRange(new Date(from), new Date(to));
}

export function exact(t: Date): string {
  return t.toLocaleString(undefined, { dateStyle: "long", timeStyle: "short" });
}

const steps: [Intl.RelativeTimeFormatUnit, number][] = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
];

/** "5 minutes ago"; beyond a month the day says more. */
export function ago(t: Date, now: Date): string {
  const seconds = (t.getTime() - now.getTime()) / 1000;
  if (Math.abs(seconds) > 30 * 86_400) {
    return day(t, now);
  }
  const format = new Intl.RelativeTimeFormat(undefined, { numeric: "auto", style: "short" });
  for (const [unit, size] of steps) {
    if (Math.abs(seconds) >= size) {
      return format.format(Math.trunc(seconds / size), unit);
    }
  }
  return format.format(0, "second");
}

/** 12 ms, 1.2 s */
export function milliseconds(ms: number): string {
  const [value, unit] = ms < 1000 ? [ms, "millisecond"] : [ms / 1000, "second"];
  return new Intl.NumberFormat(undefined, {
    style: "unit",
    unit,
    unitDisplay: "short",
    maximumFractionDigits: ms < 1000 ? 0 : 1,
  }).format(value);
}

/** An address with its letters instead of their percent codes; for the eye only. */
export function decoded(url: string): string {
  try {
    return decodeURI(url);
  } catch {
    return url;
  }
}

/** An address as people read it: without the scheme and a bare slash at the end. */
export function readable(url: string): string {
  return url.replace(/^https?:\/\//, "").replace(/^([^/?#]+)\/$/, "$1");
}

/** The host of an address, or the address where it has none. */
export function hostOf(url: string): string {
  try {
    return new URL(url).host.replace(/^www\./, "");
  } catch {
    return url;
  }
}

/** The part of time that analytics calls ask for. The API refuses parameters it does not know: no more than these. */
export interface Span {
  from: string;
  to: string;
  tz: string;
}

export const periods = ["24h", "7d", "30d"] as const;
export type Period = (typeof periods)[number];
export type Interval = "hour" | "day";

export const defaultPeriod: Period = "7d";

export function isPeriod(value: unknown): value is Period {
  return periods.some((p) => p === value);
}

/** The zone of whoever looks: days begin at their midnight. */
export function browserZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
}

/**
 * What to ask the API for. Days are asked as dates, both included, which the API
 * cuts in the zone; hours as instants, up to the end of the running one.
 */
export function spanOf(period: Period, now: Date, tz = browserZone()): Span {
  if (period === "24h") {
    const to = new Date(now);
    to.setMinutes(60, 0, 0);
    const from = new Date(to.getTime() - 24 * 3_600_000);
    return { from: from.toISOString(), to: to.toISOString(), tz };
  }
  const days = period === "7d" ? 7 : 30;
  const first = new Date(now.getFullYear(), now.getMonth(), now.getDate() - (days - 1));
  return { from: isoDate(first), to: isoDate(now), tz };
}

/** How wide a point of the chart is. */
export function intervalOf(period: Period): Interval {
  return period === "24h" ? "hour" : "day";
}

function isoDate(day: Date): string {
  const two = (n: number) => String(n).padStart(2, "0");
  return `${day.getFullYear()}-${two(day.getMonth() + 1)}-${two(day.getDate())}`;
}

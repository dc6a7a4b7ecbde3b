import type { Interval } from "./analytics/period";

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

export type Change = { kind: "up" | "down"; percent: string } | { kind: "same" } | { kind: "fresh" };

/** How a count changed. From nothing to something has no percentage. */
export function change(now: number, before: number): Change {
  if (now === before) {
    return { kind: "same" };
  }
  if (before === 0) {
    return { kind: "fresh" };
  }
  const ratio = Math.abs(now - before) / before;
  const percent = new Intl.NumberFormat(undefined, {
    style: "percent",
    maximumFractionDigits: ratio < 0.1 ? 1 : 0,
  }).format(ratio);
  return { kind: now > before ? "up" : "down", percent };
}

/** A bucket on the axis: short. */
export function tick(t: Date, interval: Interval): string {
  return interval === "hour"
    ? t.toLocaleTimeString(undefined, { hour: "numeric", minute: "2-digit" })
    : t.toLocaleDateString(undefined, { day: "numeric", month: "short" });
}

/** A bucket by its whole name. */
export function moment(t: Date, interval: Interval): string {
  const day = t.toLocaleDateString(undefined, { weekday: "short", day: "numeric", month: "short" });
  return interval === "hour" ? `${day}, ${tick(t, "hour")}` : day;
}

/** The day something was made; the year only when it is another one. */
export function day(t: Date, now: Date): string {
  return t.toLocaleDateString(undefined, {
    day: "numeric",
    month: "short",
    ...(t.getFullYear() === now.getFullYear() ? {} : { year: "numeric" }),
  });
}

export function exact(t: Date): string {
  return t.toLocaleString(undefined, { dateStyle: "long", timeStyle: "short" });
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

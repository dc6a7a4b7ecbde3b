// What an analytics page shows. All of it is in the address, so that a shared
// address opens the same view.
import { many, one, type Search } from "../url";
import {
  browserZone,
  defaultPreset,
  type Interval,
  intervalsOf,
  isZone,
  type Period,
  readPeriod,
  type Span,
  spanOf,
  writePeriod,
} from "./period";

/** What clicks can be grouped by. The names are those of the API. */
export const dimensions = [
  "link",
  "domain",
  "tag",
  "country",
  "region",
  "city",
  "continent",
  "device",
  "os",
  "browser",
  "language",
  "referrer",
  "referrer_source",
  "referrer_medium",
  "source",
  "utm_campaign",
  "utm_source",
  "utm_medium",
  "utm_term",
  "utm_content",
  "variant",
  "rule",
  "edge_region",
  "status",
  "bot_kind",
] as const;
export type Dimension = (typeof dimensions)[number];

export type Filters = Partial<Record<Dimension, string[]>>;

export const metrics = ["unique_visitors", "clicks", "bot_clicks"] as const;
export type Metric = (typeof metrics)[number];

export type Bots = "exclude" | "include" | "only";

export interface View {
  period: Period;
  tz: string;
  interval: Interval | undefined;
  metric: Metric;
  bots: Bots;
  filters: Filters;
}

/** Reads an address, which anybody can have written. */
export function readView(search: Search): View {
  const metric = one(search.metric);
  const bots = one(search.bots);
  const tz = one(search.tz);
  const period = readPeriod(one(search.period));
  const interval = one(search.interval) as Interval | undefined;
  const filters: Filters = {};
  for (const name of dimensions) {
    const values = many(search[name]);
    if (values.length > 0) {
      filters[name] = values;
    }
  }
  return {
    period,
    tz: isZone(tz) ? tz : browserZone(),
    interval,
    metric: metrics.find((m) => m === metric) ?? "clicks",
    bots: bots === "include" || bots === "only" ? bots : "exclude",
    filters,
  };
}

/** What is as it would be anyway stays out of the address. */
export function writeView(view: View): Search {
  const out: Search = {};
  const period = writePeriod(view.period);
  if (period !== defaultPreset) {
    out.period = period;
  }
  if (view.tz !== browserZone()) {
    out.tz = view.tz;
  }
  if (view.interval) {
    out.interval = view.interval;
  }
  if (view.metric !== "clicks") {
    out.metric = view.metric;
  }
  if (view.bots !== "exclude") {
    out.bots = view.bots;
  }
  for (const name of dimensions) {
    const values = view.filters[name];
    if (values && values.length > 0) {
      out[name] = values.length === 1 ? (values[0] ?? "") : values;
    }
  }
  return out;
}

/** For others, who may be in another zone. */
export function sharedSearch(view: View): Search {
  return { ...writeView(view), period: writePeriod(view.period), tz: view.tz };
}

/** Adds a value to a filter, or takes it away when it is there. */
export function toggled(filters: Filters, name: Dimension, value: string): Filters {
  const had = filters[name] ?? [];
  const next = had.includes(value) ? had.filter((v) => v !== value) : [...had, value];
  const { [name]: _, ...rest } = filters;
  return next.length > 0 ? { ...rest, [name]: next } : rest;
}

/** The interval that is drawn: the chosen one where it makes sense for the span. */
export function intervalOf(view: View, span: Span): Interval {
  const possible = intervalsOf(span);
  return possible.find((i) => i === view.interval) ?? possible[0] ?? "day";
}

/** What one is looking at beyond the filters: a link, or everything. */
export interface Scope {
  link_id?: string;
}

/** The parameters that all analytics calls share. */
export function question(view: View, scope: Scope, now: Date) {
  return {
    ...spanOf(view.period, now, view.tz),
    ...(view.bots !== "exclude" && { bots: view.bots }),
    ...scope,
    ...view.filters,
  };
}

export type Question = ReturnType<typeof question>;

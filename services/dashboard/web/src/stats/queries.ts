import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { call } from "../api/client";
import type { Definition, Group, Series, Summary, Totals } from "../api/types";
import { daysOf, spanOf } from "./period";
import { type Dimension, intervalOf, question, type Scope, type View } from "./view";

/** Clicks show up while one looks, at a price of a few small queries. */
const REFRESH_MS = 15_000;
/** Long spans change little and cost more. */
const SLOW_REFRESH_MS = 60_000;

export const TOP = 8;
export const DETAILS = 200;

// The span is cut when a query runs and not part of the key: a page that stays
// open over midnight moves on with the day.

function refresh(view: View): number {
  return daysOf(spanOf(view.period, new Date(), view.tz)) > 31 ? SLOW_REFRESH_MS : REFRESH_MS;
}

export const summaryQuery = (view: View, scope: Scope) =>
  queryOptions({
    queryKey: ["analytics", "summary", keyOf(view), scope],
    queryFn: ({ signal }) =>
      call<Summary>("GET", "/v1/analytics/summary", { query: question(view, scope, new Date()), signal }),
    refetchInterval: refresh(view),
    placeholderData: keepPreviousData,
  });

export const seriesQuery = (view: View, scope: Scope) =>
  queryOptions({
    queryKey: ["analytics", "timeseries", keyOf(view), view.interval, scope],
    queryFn: async ({ signal }) => {
      const now = new Date();
      const interval = intervalOf(view, spanOf(view.period, now, view.tz));
      const { data, previous } = await call<Series>("GET", "/v1/analytics/timeseries", {
        query: { ...question(view, scope, now), interval, compare: "previous" },
        signal,
      });
      return { interval, buckets: data, previous: previous ?? [] };
    },
    refetchInterval: refresh(view),
    placeholderData: keepPreviousData,
  });

export const breakdownQuery = (view: View, scope: Scope, by: Dimension, limit: number) =>
  queryOptions({
    queryKey: ["analytics", "breakdown", keyOf(view), scope, by, limit],
    queryFn: async ({ signal }) => {
      const { data } = await call<{ data: Group[] }>("GET", "/v1/analytics/breakdown", {
        query: { ...question(view, scope, new Date()), by, limit },
        signal,
      });
      return data;
    },
    refetchInterval: refresh(view),
    placeholderData: keepPreviousData,
  });

/** All clicks that the filters let through, whenever they were. */
export const totalsQuery = (view: View, scope: Scope) =>
  queryOptions({
    queryKey: ["analytics", "totals", view.bots, view.filters, scope],
    queryFn: ({ signal }) => {
      const { from: _from, to: _to, tz: _tz, ...query } = question(view, scope, new Date());
      return call<Totals>("GET", "/v1/analytics/totals", { query, signal });
    },
    refetchInterval: SLOW_REFRESH_MS,
    placeholderData: keepPreviousData,
  });

export const definitionsQuery = queryOptions({
  queryKey: ["analytics", "definitions"],
  queryFn: async ({ signal }) => {
    const { data } = await call<{ data: Definition[] }>("GET", "/v1/analytics/definitions", { signal });
    return data;
  },
  staleTime: Number.POSITIVE_INFINITY,
});

function keyOf({ period, tz, bots, filters }: View) {
  return { period, tz, bots, filters };
}

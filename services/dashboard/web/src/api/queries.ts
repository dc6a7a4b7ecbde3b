import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import { intervalOf, type Period, spanOf } from "../analytics/period";
import { api } from "./client";

const LINKS_PER_PAGE = 25;

/** How many links the click counts of the list are asked for. */
export const COUNTED_LINKS = 200;

/** Clicks show up while one looks, at a price of three small queries. */
const REFRESH_MS = 15_000;

export const sessionQuery = queryOptions({
  queryKey: ["session"],
  queryFn: ({ signal }) => api.who(signal),
  staleTime: 60_000,
  retry: false,
});

export const linksKey = ["links"] as const;

export const linksQuery = (q: string) =>
  infiniteQueryOptions({
    queryKey: [...linksKey, q],
    queryFn: ({ pageParam, signal }) => api.links({ q, cursor: pageParam, limit: LINKS_PER_PAGE }, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next_cursor ?? undefined,
    placeholderData: keepPreviousData,
  });

// The span is cut when a query runs and not part of the key: a page that stays
// open over midnight moves on with the day.

export const summaryQuery = (period: Period) =>
  queryOptions({
    queryKey: ["analytics", "summary", period],
    queryFn: ({ signal }) => api.summary(spanOf(period, new Date()), signal),
    refetchInterval: REFRESH_MS,
    placeholderData: keepPreviousData,
  });

export const timeseriesQuery = (period: Period) =>
  queryOptions({
    queryKey: ["analytics", "timeseries", period],
    queryFn: async ({ signal }) => {
      const interval = intervalOf(period);
      const { data } = await api.timeseries(spanOf(period, new Date()), interval, signal);
      return { interval, buckets: data };
    },
    refetchInterval: REFRESH_MS,
    placeholderData: keepPreviousData,
  });

export const clicksByLinkQuery = (period: Period) =>
  queryOptions({
    queryKey: ["analytics", "by-link", period],
    queryFn: async ({ signal }) => {
      const { data } = await api.breakdown(spanOf(period, new Date()), "link", COUNTED_LINKS, signal);
      return {
        clicks: new Map(data.map((row) => [row.value, row.clicks])),
        whole: data.length < COUNTED_LINKS,
      };
    },
    refetchInterval: REFRESH_MS,
    placeholderData: keepPreviousData,
  });

import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import { browserZone, dateIn, type Period, spanOf } from "../stats/period";
import { call } from "./client";
import { LINKS_PER_PAGE, type LinkFilter } from "./links";
import type { LinkFiguresPage } from "./types";

const REFRESH_MS = 15_000;
/** A point for each of the days, or fewer. */
const POINTS = 30;

export type FigureOrder = "clicks" | "last_click";

const span = (period: Period) => spanOf(period, new Date(), browserZone());

/** Links by their clicks: one question to the click store for a whole page. */
export const rankedLinksQuery = (sort: FigureOrder, filter: LinkFilter, period: Period) =>
  infiniteQueryOptions({
    queryKey: ["analytics", "links", sort, filter, period],
    queryFn: ({ pageParam, signal }) =>
      call<LinkFiguresPage>("GET", "/v1/analytics/links", {
        query: {
          ...span(period),
          ...filter,
          sort,
          sparkline: POINTS,
          limit: LINKS_PER_PAGE,
          cursor: pageParam,
        },
        signal,
      }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next_cursor ?? undefined,
    refetchInterval: REFRESH_MS,
    placeholderData: keepPreviousData,
  });

/** The figures of the links of one page, in one question. */
export const figuresQuery = (ids: string[], period: Period) =>
  queryOptions({
    queryKey: ["analytics", "figures", ids, period, dateIn(new Date(), browserZone())],
    queryFn: async ({ signal }) => {
      const { data } = await call<LinkFiguresPage>("GET", "/v1/analytics/links", {
        query: { ...span(period), link_id: ids, sparkline: POINTS, limit: ids.length },
        signal,
      });
      return new Map(data.map((row) => [row.link_id, row]));
    },
    enabled: ids.length > 0,
    refetchInterval: REFRESH_MS,
    placeholderData: keepPreviousData,
  });

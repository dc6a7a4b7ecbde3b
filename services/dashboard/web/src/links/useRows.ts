import { useInfiniteQuery, useQueries, useQuery } from "@tanstack/react-query";
import { type FigureOrder, figuresQuery, rankedLinksQuery } from "../api/linkFigures";
import { type LinkFilter, linksKey, linksQuery, listLinks } from "../api/links";
import type { Link } from "../api/types";
import { type Overlay, useOverlay } from "./overlay";
import { type Row, rowOfFacts, rowOfLink } from "./row";
import type { ListView } from "./search";

const NEWEST = 100;

export interface Rows {
  rows: Row[];
  pending: boolean;
  stale: boolean;
  error: unknown;
  figuresError: unknown;
  retry: () => void;
  more: { has: boolean; loading: boolean; failed: boolean; load: () => void };
}

function filterOf({ q, domain, tag, archived }: ListView): LinkFilter {
  return { q, domain, tag, archived };
}

/** The rows of the list, in the order that was asked for. */
export function useRows(view: ListView): Rows {
  const created = useCreated(view);
  const ranked = useRanked(view);
  const { overlay } = useOverlay();
  const out = view.sort === "created" ? created : ranked;
  return { ...out, rows: laidOver(out.rows, overlay, view.archived) };
}

/** What was just done, over what the server said. */
export function laidOver(rows: Row[], overlay: Overlay, archived: boolean): Row[] {
  return rows
    .filter((row) => !(overlay.has(row.id) && overlay.get(row.id) === undefined))
    .map((row) => ({ ...row, ...overlay.get(row.id) }))
    .filter((row) => row.archived === archived);
}

/** The newest first, as the links service knows them; figures come a page at a time. */
function useCreated(view: ListView): Rows {
  const on = view.sort === "created";
  const links = useInfiniteQuery({ ...linksQuery(filterOf(view)), enabled: on });
  const pages = on ? (links.data?.pages ?? []) : [];
  const figures = useQueries({
    queries: pages.map((page) =>
      figuresQuery(
        page.data.map((link) => link.id),
        view.period,
      ),
    ),
  });
  return {
    rows: pages.flatMap((page, i) =>
      page.data.map((link) => rowOfLink(link, figures[i]?.data?.get(link.id))),
    ),
    pending: links.isPending,
    stale: links.isPlaceholderData,
    error: links.data ? null : links.error,
    figuresError: figures.find((f) => f.error && !f.data)?.error ?? null,
    retry: () => void links.refetch(),
    more: {
      has: links.hasNextPage,
      loading: links.isFetchingNextPage,
      failed: links.isFetchNextPageError,
      load: () => void links.fetchNextPage(),
    },
  };
}

/** By clicks, as the click store knows them. */
function useRanked(view: ListView): Rows {
  const on = view.sort !== "created";
  const order: FigureOrder = view.sort === "last_click" ? "last_click" : "clicks";
  const ranked = useInfiniteQuery({ ...rankedLinksQuery(order, filterOf(view), view.period), enabled: on });
  const known = useNewest();
  const rows = (on ? (ranked.data?.pages ?? []) : []).flatMap((page) =>
    page.data.flatMap((figures) => {
      const link = known.byId.get(figures.link_id);
      if (link) {
        return rowOfLink(link, figures);
      }
      return figures.link ? rowOfFacts(figures, figures.link, known.sample) : [];
    }),
  );
  return {
    rows,
    pending: ranked.isPending,
    stale: ranked.isPlaceholderData,
    error: ranked.data ? null : ranked.error,
    figuresError: null,
    retry: () => void ranked.refetch(),
    more: {
      has: ranked.hasNextPage,
      loading: ranked.isFetchingNextPage,
      failed: ranked.isFetchNextPageError,
      load: () => void ranked.fetchNextPage(),
    },
  };
}

/** The newest links as a whole: what is special about them, and what addresses look like. */
function useNewest(): { byId: Map<string, Link>; sample: string | undefined } {
  const newest = useQuery({
    queryKey: [...linksKey, "tags"],
    queryFn: ({ signal }) => listLinks({}, { limit: NEWEST }, signal),
    staleTime: 60_000,
  });
  const links = newest.data?.data ?? [];
  return { byId: new Map(links.map((link) => [link.id, link])), sample: links[0]?.short_url };
}

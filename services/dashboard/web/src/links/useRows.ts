import { useInfiniteQuery, useQueries } from "@tanstack/react-query";
import { type FigureOrder, figuresQuery, rankedLinksQuery } from "../api/linkFigures";
import { type LinkFilter, linksByIdQuery, linksQuery } from "../api/links";
import { type Overlay, useOverlay } from "./overlay";
import { type Row, rowOfFacts, rowOfLink } from "./row";
import type { ListView } from "./search";

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

/** By clicks, as the click store knows them; the links themselves come a page at a time. */
function useRanked(view: ListView): Rows {
  const on = view.sort !== "created";
  const order: FigureOrder = view.sort === "last_click" ? "last_click" : "clicks";
  const ranked = useInfiniteQuery({ ...rankedLinksQuery(order, filterOf(view), view.period), enabled: on });
  const pages = on ? (ranked.data?.pages ?? []) : [];
  const links = useQueries({
    queries: pages.map((page) => linksByIdQuery(page.data.map((figures) => figures.link_id))),
  });
  // Until they are there, a row shows what the click store knows of its link.
  const sample = links.flatMap((l) => [...(l.data?.values() ?? [])])[0]?.short_url;
  const rows = pages.flatMap((page, i) =>
    page.data.flatMap((figures) => {
      const link = links[i]?.data?.get(figures.link_id);
      if (link) {
        return rowOfLink(link, figures);
      }
      return figures.link ? rowOfFacts(figures, figures.link, sample) : [];
    }),
  );
  return {
    rows,
    pending: ranked.isPending || (links[0]?.isLoading ?? false),
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

import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import { call } from "./client";
import type { BulkAnswer, Link, LinkEdit, LinkInput, Page, Prewarmed, Purged } from "./types";

export const LINKS_PER_PAGE = 25;

/** What the list is narrowed to. */
export interface LinkFilter {
  q?: string | undefined;
  domain?: string | undefined;
  tag?: string | undefined;
  archived?: boolean | undefined;
}

export const linksKey = ["links"] as const;

const at = (id: string) => `/v1/links/${encodeURIComponent(id)}`;

export const listLinks = (
  filter: LinkFilter,
  page: { cursor?: string | undefined; limit: number },
  signal?: AbortSignal,
) => call<Page<Link>>("GET", "/v1/links", { query: { ...filter, ...page }, signal });

export const createLink = (body: LinkInput) => call<Link>("POST", "/v1/links", { body });
export const editLink = (id: string, body: LinkEdit, ifMatch?: number) =>
  call<Link>("PATCH", at(id), { body, ...(ifMatch !== undefined && { ifMatch }) });
export const deleteLink = (id: string) => call<void>("DELETE", at(id), { keepalive: true });
export const purgeLink = (id: string) => call<Purged>("POST", `${at(id)}/purge`);
export const prewarmLink = (id: string) => call<Prewarmed>("POST", `${at(id)}/prewarm`);
export const createLinks = (links: LinkInput[], signal?: AbortSignal) =>
  call<BulkAnswer>("POST", "/v1/links/bulk", { body: { links }, signal });

export const linksQuery = (filter: LinkFilter) =>
  infiniteQueryOptions({
    queryKey: [...linksKey, "list", filter],
    queryFn: ({ pageParam, signal }) =>
      listLinks(filter, { cursor: pageParam, limit: LINKS_PER_PAGE }, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next_cursor ?? undefined,
    placeholderData: keepPreviousData,
  });

/** The links of one page that another service sorted. */
export const linksByIdQuery = (ids: string[]) =>
  queryOptions({
    queryKey: [...linksKey, "ids", ids],
    queryFn: async ({ signal }) => {
      const { data } = await call<Page<Link>>("GET", "/v1/links", {
        query: { id: ids, limit: ids.length },
        signal,
      });
      return new Map(data.map((link) => [link.id, link]));
    },
    enabled: ids.length > 0,
    placeholderData: keepPreviousData,
  });

export const linkQuery = (id: string) =>
  queryOptions({
    queryKey: [...linksKey, "one", id],
    queryFn: ({ signal }) => call<Link>("GET", at(id), { signal }),
  });

/** The link that has an address already, or null: what a form asks while one types. */
export const takenQuery = (domain: string, slug: string) =>
  queryOptions({
    queryKey: [...linksKey, "taken", domain, slug],
    queryFn: async ({ signal }) => {
      const { data } = await listLinks({ domain, q: slug }, { limit: 100 }, signal);
      const wanted = slug.normalize("NFC").toLowerCase();
      return data.find((link) => link.slug.toLowerCase() === wanted) ?? null;
    },
    staleTime: 2_000,
  });

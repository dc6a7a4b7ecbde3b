import { keepPreviousData, queryOptions, useQuery } from "@tanstack/react-query";
import { call } from "../api/client";
import { linksKey } from "../api/links";
import type { TagList } from "../api/types";

/** As many as a list can be looked through; more come as one types. */
const LIMIT = 200;

export const tagsQuery = (q = "") =>
  queryOptions({
    queryKey: [...linksKey, "tags", q],
    queryFn: ({ signal }) => call<TagList>("GET", "/v1/tags", { query: { q, limit: LIMIT }, signal }),
    staleTime: 30_000,
    placeholderData: keepPreviousData,
  });

/** The tags that are in use, the most used of them, in the order of letters. */
export function useTags(): { tag: string; links: number }[] {
  const { data } = useQuery(tagsQuery());
  return [...(data?.data ?? [])].sort((a, b) => a.tag.localeCompare(b.tag));
}

/** Tags that begin with what one types, the most used first. */
export function useTagCompletion(typed: string): string[] {
  const all = useQuery(tagsQuery());
  const known = all.data?.data ?? [];
  // A list that is not full has every tag.
  const full = known.length >= LIMIT;
  const more = useQuery({ ...tagsQuery(typed.trim()), enabled: full && typed.trim() !== "" });
  return (full && typed.trim() !== "" ? (more.data?.data ?? known) : known).map(({ tag }) => tag);
}

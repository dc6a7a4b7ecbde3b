import { type InfiniteData, useQuery, useQueryClient } from "@tanstack/react-query";
import { linksKey, listLinks } from "../api/links";
import type { Link, Page } from "../api/types";

/** Tags come from the newest links: there is no call that lists them all. */
const LOOKED_AT = 100;

/** The tags that are in use, as far as this page has seen, in the order of letters. */
export function useKnownTags(): string[] {
  const client = useQueryClient();
  const newest = useQuery({
    queryKey: [...linksKey, "tags"],
    queryFn: ({ signal }) => listLinks({}, { limit: LOOKED_AT }, signal),
    staleTime: 60_000,
  });
  const lists = client.getQueriesData<InfiniteData<Page<Link>>>({ queryKey: [...linksKey, "list"] });
  const seen = lists.flatMap(([, data]) => data?.pages.flatMap((page) => page.data) ?? []);
  const tags = [...(newest.data?.data ?? []), ...seen].flatMap((link) => link.tags ?? []);
  return [...new Set(tags)].sort((a, b) => a.localeCompare(b));
}

import { defaultPeriod, isPeriod, type Period } from "../analytics/period";

/** What the first page shows, as its address says; a shared address opens the same view. */
export interface LinksSearch {
  period?: Period;
  q?: string;
}

/** Reads an address, which anybody can have written. */
export function readSearch(search: Record<string, unknown>): LinksSearch {
  const { period, q } = search;
  return {
    ...(isPeriod(period) && period !== defaultPeriod && { period }),
    // A search for "2026" arrives as a number.
    ...((typeof q === "string" || typeof q === "number") && q !== "" && { q: String(q) }),
  };
}

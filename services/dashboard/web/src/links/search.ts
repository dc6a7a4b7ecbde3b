import { defaultPreset, type Period, readPeriod, writePeriod } from "../stats/period";
import { one, type Search } from "../url";

export const sorts = ["created", "clicks", "last_click"] as const;
export type Sort = (typeof sorts)[number];

/** What the list shows, as its address says; a shared address opens the same view. */
export interface ListView {
  q: string;
  domain: string | undefined;
  tag: string | undefined;
  archived: boolean;
  sort: Sort;
  period: Period;
}

/** Reads an address, which anybody can have written. */
export function readList(search: Search): ListView {
  const sort = one(search.sort);
  return {
    q: one(search.q) ?? "",
    domain: one(search.domain),
    tag: one(search.tag),
    archived: one(search.archived) === "true",
    sort: sorts.find((s) => s === sort) ?? "created",
    period: readPeriod(one(search.period)),
  };
}

/** What is as it would be anyway stays out of the address. */
export function writeList(view: ListView): Search {
  const period = writePeriod(view.period);
  return {
    ...(view.q && { q: view.q }),
    ...(view.domain && { domain: view.domain }),
    ...(view.tag && { tag: view.tag }),
    ...(view.archived && { archived: "true" }),
    ...(view.sort !== "created" && { sort: view.sort }),
    ...(period !== defaultPreset && { period }),
  };
}

import type { Link, LinkFacts, LinkFigures } from "../api/types";

/** A link in the list. Facts come from two calls; only one of them knows the whole link. */
export interface Row {
  id: string;
  shortUrl: string;
  destination: string;
  title: string;
  tags: string[];
  archived: boolean;
  createdAt: string;
  link: Link | undefined;
  figures: LinkFigures | undefined;
}

export function rowOfLink(link: Link, figures: LinkFigures | undefined): Row {
  return {
    id: link.id,
    shortUrl: link.short_url,
    destination: link.destination,
    title: link.title,
    tags: link.tags,
    archived: link.archived,
    createdAt: link.created_at,
    link,
    figures,
  };
}

/** The address of a link as its parts say; scheme and port are those of every other link. */
export function rowOfFacts(figures: LinkFigures, facts: LinkFacts, sample: string | undefined): Row {
  return {
    id: figures.link_id,
    shortUrl: shortUrlOf(facts.host, facts.slug, sample),
    destination: facts.destination,
    title: facts.title,
    tags: facts.tags,
    archived: facts.archived,
    createdAt: facts.created_at,
    link: undefined,
    figures,
  };
}

export function shortUrlOf(host: string, slug: string, sample: string | undefined): string {
  const like = sample ? new URL(sample) : undefined;
  const path = slug.split("/").map(encodeURIComponent).join("/");
  return `${like?.protocol ?? "https:"}//${host}${like?.port ? `:${like.port}` : ""}/${path}`;
}

export type State =
  | "disabled"
  | "archived"
  | "expired"
  | "scheduled"
  | "expires"
  | "password"
  | "limited"
  | "rules"
  | "split";

/** What is special about a link, the most important first. */
export function statesOf(row: Pick<Row, "link" | "archived">, now: Date): State[] {
  const { link } = row;
  const out: State[] = [];
  const add = (state: State, is: unknown) => is && out.push(state);
  const over = link?.expires_at && new Date(link.expires_at) <= now;
  add("disabled", link?.disabled);
  add("archived", row.archived);
  add("expired", over);
  add("scheduled", link?.starts_at && new Date(link.starts_at) > now);
  add("expires", link?.expires_at && !over);
  add("password", link?.has_password);
  add("limited", link?.max_clicks);
  add("rules", link?.rules.length);
  add("split", link?.variants.length);
  return out;
}

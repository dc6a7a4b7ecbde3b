// What the editor holds while one types, and how it becomes what the API takes.
import type { Link, LinkEdit, LinkInput } from "../api/types";
import { momentOf, wallClock } from "./zone";

export type Condition = NonNullable<Link["rules"][number]["conditions"]>[number];
export type ConditionType = Condition["type"];
export type ForwardQuery = Link["forward_query"];

export const utmFields = ["source", "medium", "campaign", "term", "content"] as const;
export type Utm = Record<(typeof utmFields)[number], string>;

/** Lists need keys that survive a move. */
interface Keyed {
  key: number;
}

export interface RuleForm extends Keyed {
  destination: string;
  conditions: (Condition & Keyed)[];
}

export interface VariantForm extends Keyed {
  destination: string;
  weight: string;
  name: string;
}

export interface Form {
  destination: string;
  domain: string;
  slug: string;
  title: string;
  tags: string[];
  notes: string;
  statusCode: string;
  zone: string;
  startsAt: string;
  expiresAt: string;
  maxClicks: string;
  fallbackUrl: string;
  disabled: boolean;
  /** null keeps what there is. */
  password: string | null;
  forwardQuery: ForwardQuery;
  forwardPath: boolean;
  utm: Utm;
  rules: RuleForm[];
  variants: VariantForm[];
  variantsEndAt: string;
  /** The key of the variant that won; 0 for none. */
  winner: number;
  preview: { title: string; text: string; image: string };
}

let lastKey = 0;

export function newKey(): number {
  lastKey += 1;
  return lastKey;
}

export const noUtm: Utm = { source: "", medium: "", campaign: "", term: "", content: "" };

export function emptyForm(zone: string, destination = ""): Form {
  return {
    destination,
    domain: "",
    slug: "",
    title: "",
    tags: [],
    notes: "",
    statusCode: "302",
    zone,
    startsAt: "",
    expiresAt: "",
    maxClicks: "",
    fallbackUrl: "",
    disabled: false,
    password: null,
    forwardQuery: "off",
    forwardPath: false,
    utm: noUtm,
    rules: [],
    variants: [],
    variantsEndAt: "",
    winner: 0,
    preview: { title: "", text: "", image: "" },
  };
}

export function formOf(link: Link, zone: string): Form {
  const variants = link.variants.map((v) => ({
    key: newKey(),
    destination: v.destination,
    weight: String(v.weight),
    name: v.name ?? "",
  }));
  return {
    ...emptyForm(zone, link.destination),
    domain: link.domain,
    slug: link.slug,
    title: link.title,
    tags: link.tags,
    notes: link.notes,
    statusCode: String(link.status_code),
    startsAt: wallClock(link.starts_at, zone),
    expiresAt: wallClock(link.expires_at, zone),
    maxClicks: link.max_clicks ? String(link.max_clicks) : "",
    fallbackUrl: link.fallback_url ?? "",
    disabled: link.disabled,
    forwardQuery: link.forward_query,
    forwardPath: link.forward_path,
    utm: { ...noUtm, ...link.utm },
    rules: link.rules.map((rule) => ({
      key: newKey(),
      destination: rule.destination,
      conditions: (rule.conditions ?? []).map((c) => ({ ...c, key: newKey() })),
    })),
    variants,
    variantsEndAt: wallClock(link.variants_end_at, zone),
    winner: (link.variants_winner && variants[link.variants_winner - 1]?.key) || 0,
    preview: {
      title: link.preview?.title ?? "",
      text: link.preview?.text ?? "",
      image: link.preview?.image ?? "",
    },
  };
}

type Body = Required<Omit<LinkEdit, "archived" | "password" | "domain" | "slug">> & {
  domain: string;
  slug: string;
};

/** Everything that the form says, in the API's words. An empty text is null: off. */
function bodyOf(form: Form): Body {
  const text = (s: string) => s.trim();
  const orNull = (s: string) => text(s) || null;
  const some = <T extends object>(o: T) => (Object.keys(o).length > 0 ? o : null);
  const winner = form.variants.findIndex((v) => v.key === form.winner) + 1;
  return {
    destination: text(form.destination),
    domain: form.domain,
    slug: text(form.slug),
    title: text(form.title),
    tags: form.tags,
    notes: form.notes,
    status_code: Number(form.statusCode) as Link["status_code"],
    starts_at: momentOf(form.startsAt, form.zone),
    expires_at: momentOf(form.expiresAt, form.zone),
    max_clicks: form.maxClicks.trim() ? Number(form.maxClicks) : null,
    fallback_url: orNull(form.fallbackUrl),
    disabled: form.disabled,
    forward_query: form.forwardQuery,
    forward_path: form.forwardPath,
    utm: some(filledTexts(form.utm)),
    rules: form.rules.map((rule) => ({
      destination: text(rule.destination),
      conditions: rule.conditions.map(conditionOf),
    })),
    variants: form.variants.map((v) => ({
      destination: text(v.destination),
      weight: Number(v.weight || "0"),
      ...(text(v.name) && { name: text(v.name) }),
    })),
    variants_end_at: form.variants.length > 0 ? momentOf(form.variantsEndAt, form.zone) : null,
    variants_winner: winner || null,
    preview: some(filledTexts(form.preview)),
  };
}

/** A condition without what its type does not have. */
function conditionOf({ key: _, ...condition }: Condition & Keyed): Condition {
  const { type, values, ...time } = condition;
  if (type !== "time") {
    return { type, values: (values ?? []).map((v) => v.trim()).filter(Boolean) };
  }
  const { zone, weekdays, from, to, starts_at, ends_at } = time;
  return {
    type,
    ...(zone && { zone }),
    ...(weekdays && weekdays.length > 0 && { weekdays }),
    ...(from && { from }),
    ...(to && { to }),
    ...(starts_at && { starts_at }),
    ...(ends_at && { ends_at }),
  };
}

function filledTexts<T extends Record<string, string>>(texts: T): Partial<T> {
  return Object.fromEntries(
    Object.entries(texts).flatMap(([name, value]) => (value.trim() ? [[name, value.trim()]] : [])),
  ) as Partial<T>;
}

/** What is left empty is left out: the API chooses then. */
export function toInput(form: Form): LinkInput {
  const start = bodyOf(emptyForm(form.zone));
  const { destination, ...rest } = changes(start, bodyOf(form));
  return {
    ...(rest as Omit<LinkInput, "destination">),
    destination: destination ?? "",
    ...(form.password && { password: form.password }),
  };
}

/** A merge patch: what differs from the link as it is. */
export function toEdit(form: Form, link: Link): LinkEdit {
  const edit = changes(bodyOf(formOf(link, form.zone)), bodyOf(form));
  return {
    ...edit,
    ...(form.password !== null && { password: form.password || null }),
  };
}

function changes(before: Body, after: Body): LinkEdit {
  return Object.fromEntries(
    Object.entries(after).filter(
      ([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name as keyof Body]),
    ),
  ) as LinkEdit;
}

/** The patch that takes an edit back. A password cannot be: nobody knows the old one. */
export function inverse(edit: LinkEdit, link: Link): LinkEdit | null {
  if (edit.password !== undefined) {
    return null;
  }
  return Object.fromEntries(Object.keys(edit).map((name) => [name, link[name as keyof Link]])) as LinkEdit;
}

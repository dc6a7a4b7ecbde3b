/** What a page shows, as its address says it. Repeated names are lists. */
export type Search = Record<string, string | string[]>;

/** Reads a query as plain names and values, so that addresses stay readable: `country=DE&country=FR`. */
export function parseSearch(text: string): Search {
  const out: Search = {};
  for (const [name, value] of new URLSearchParams(text)) {
    const had = Object.hasOwn(out, name) ? out[name] : undefined;
    out[name] = had === undefined ? value : [...(Array.isArray(had) ? had : [had]), value];
  }
  return out;
}

/** The opposite; what is undefined or an empty list is left out. */
export function stringifySearch(search: Record<string, unknown>): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(search)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null) {
        params.append(name, String(one));
      }
    }
  }
  const text = params.toString();
  return text && `?${text}`;
}

/** One value, whatever the address holds. */
export function one(value: unknown): string | undefined {
  const first = Array.isArray(value) ? value[0] : value;
  return typeof first === "string" && first !== "" ? first : undefined;
}

/** All values. An empty one counts: it is the unknown. */
export function many(value: unknown): string[] {
  const list = Array.isArray(value) ? value : [value];
  return [...new Set(list.filter((v): v is string => typeof v === "string"))];
}

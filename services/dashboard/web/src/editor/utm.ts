import { type Utm, utmFields } from "./form";

/** The target as visitors will reach it: with those parameters that it does not have itself. */
export function withUtm(destination: string, utm: Utm): string {
  const [rest = "", ...hash] = destination.split("#");
  const fragment = hash.length > 0 ? `#${hash.join("#")}` : "";
  const at = rest.indexOf("?");
  const query = at === -1 ? "" : rest.slice(at + 1);
  const own = new Set([...new URLSearchParams(query).keys()].map((name) => name.toLowerCase()));
  const added = utmFields
    .filter((field) => utm[field].trim() && !own.has(`utm_${field}`))
    .map((field) => `utm_${field}=${encodeURIComponent(utm[field].trim())}`)
    .join("&");
  if (!added) {
    return destination;
  }
  const separator = at === -1 ? "?" : query === "" || query.endsWith("&") ? "" : "&";
  return `${rest}${separator}${added}${fragment}`;
}

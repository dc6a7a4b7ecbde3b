import { createContext, useContext } from "react";
import type { Link } from "../api/types";
import { hostOf } from "../format";
import type { Dimension } from "./view";

/** The link that is looked at: it knows what its variants and rules are. */
export const LinkContext = createContext<Link | undefined>(undefined);

/** What a variant is called and where a rule leads: clicks know numbers only. */
export function VariantName({ by, value }: { by: Dimension; value: string }) {
  const link = useContext(LinkContext);
  const at = Number(value) - 1;
  const variant = by === "variant" ? link?.variants[at] : undefined;
  const rule = by === "rule" ? link?.rules[at] : undefined;
  const name = variant ? variant.name || hostOf(variant.destination) : rule && hostOf(rule.destination);
  return name ? <span className="ml-2 text-quiet">{name}</span> : null;
}

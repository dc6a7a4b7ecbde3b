import { texts } from "../texts";
import type { Dimension } from "./view";

type NamesOf = "region" | "language";

/** The browser knows the names of countries and languages in the reader's own tongue. */
function nameOf(type: NamesOf, code: string): string {
  try {
    return new Intl.DisplayNames(undefined, { type, fallback: "code" }).of(code) ?? code;
  } catch {
    return code; // not a code at all
  }
}

/** A value of a dimension as people say it. */
export function valueLabel(name: Dimension, value: string): string {
  const known = texts.values[name as keyof typeof texts.values] as Record<string, string> | undefined;
  if (known && Object.hasOwn(known, value)) {
    return known[value] ?? value;
  }
  if (value === "") {
    return texts.values.unknown;
  }
  switch (name) {
    case "country":
      return nameOf("region", value);
    case "language":
      return nameOf("language", value);
    case "variant":
      return texts.values.variantNumber(value);
    case "rule":
      return texts.values.ruleNumber(value);
    default:
      return value;
  }
}

export function dimensionLabel(name: Dimension): string {
  return texts.dimensions[name];
}

/** The places among the dimensions: where they are shown, their source is named. */
export function isPlace(name: Dimension): boolean {
  return name === "country" || name === "region" || name === "city" || name === "continent";
}

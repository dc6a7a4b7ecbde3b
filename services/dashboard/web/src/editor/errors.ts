import { explain, Problem } from "../api/problem";
import { texts } from "../texts";
import type { Form } from "./form";

/** What is wrong, by the API's name of the field: rules[0].conditions[1].values[0] too. */
export type Errors = Record<string, string>;

/** Catches the mistakes that everybody makes; the API has the last word on the rest. */
export function localErrors(form: Form): Errors {
  const out: Errors = {};
  const destination = form.destination.trim();
  if (!destination) {
    out.destination = texts.form.destinationMissing;
  } else if (!/^[a-z][a-z0-9+.-]*:/i.test(destination)) {
    out.destination = texts.form.destinationInvalid;
  }
  if (form.startsAt && form.expiresAt && form.startsAt >= form.expiresAt) {
    out.expires_at = texts.form.expiresBeforeStart;
  }
  if (form.maxClicks.trim() && !/^[1-9]\d*$/.test(form.maxClicks.trim())) {
    out.max_clicks = texts.form.maxClicksInvalid;
  }
  return out;
}

export function apiErrors(error: unknown): Errors {
  if (!(error instanceof Problem)) {
    return {};
  }
  const found = error.byField();
  // A conflict names no field, but there is only one that can conflict.
  return error.status === 409 && Object.keys(found).length === 0 ? { slug: explain(error) } : found;
}

/** The first thing that is wrong at a place or below it. */
export function errorAt(errors: Errors, path: string): string | undefined {
  const found = Object.entries(errors).find(
    ([field]) => field === path || field.startsWith(`${path}[`) || field.startsWith(`${path}.`),
  );
  return found?.[1];
}

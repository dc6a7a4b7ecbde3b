// The shapes of the public API that the page uses. Once `schemas/openapi.json`
// is part of the repository these can be generated from it with
// openapi-typescript; the names below are those of the document.

export interface Link {
  id: string;
  domain: string;
  slug: string;
  short_url: string;
  destination: string;
  title?: string | null;
  tags?: string[] | null;
  version: number;
  created_at: string;
  updated_at: string;
}

export interface LinkInput {
  destination: string;
  slug?: string;
  title?: string;
}

export interface Page<T> {
  data: T[];
  next_cursor: string | null;
}

export interface Counts {
  clicks: number;
  unique_visitors: number;
  bot_clicks: number;
}

export interface Summary extends Counts {
  previous: Counts;
}

export interface Bucket extends Counts {
  t: string;
}

export interface BreakdownRow extends Counts {
  value: string;
}

export interface FieldError {
  field: string;
  code: string;
  detail: string;
}

/** RFC 9457 with the members that this API adds. */
export interface ProblemDocument {
  title?: string;
  status: number;
  detail?: string;
  code: string;
  request_id?: string;
  errors?: FieldError[];
}

export interface Who {
  email: string;
  workspace_id: string;
}

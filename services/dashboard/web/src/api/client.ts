import type { Span } from "../analytics/period";
import { texts } from "../texts";
import { Problem, readProblem } from "./problem";
import type { BreakdownRow, Bucket, Link, LinkInput, Page, Summary, Who } from "./types";

type Query = Record<string, string | number | undefined>;

interface Options {
  query?: Query;
  body?: unknown;
  signal?: AbortSignal;
}

/** Calls our own origin; the session's cookie goes along by itself. Throws a Problem. */
async function call<T>(method: string, path: string, { query = {}, body, signal }: Options = {}): Promise<T> {
  const headers: Record<string, string> = { Accept: "application/json" };
  const init: RequestInit = { method, headers, credentials: "same-origin" };
  if (signal) {
    init.signal = signal;
  }
  if (body !== undefined) {
    headers["Content-Type"] = "application/json";
    init.body = JSON.stringify(body);
  }
  let answer: Response;
  try {
    answer = await fetch(path + encode(query), init);
  } catch (cause) {
    if (signal?.aborted) {
      throw cause;
    }
    throw new Problem(0, "network", texts.problems.network);
  }
  if (!answer.ok) {
    throw await readProblem(answer);
  }
  return (answer.status === 204 ? undefined : await answer.json()) as T;
}

function encode(query: Query): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== "") {
      params.set(name, String(value));
    }
  }
  const text = params.toString();
  return text && `?${text}`;
}

export const api = {
  who: (signal?: AbortSignal) => call<Who>("GET", "/session", signal ? { signal } : {}),
  logIn: (email: string, password: string) => call<Who>("POST", "/session", { body: { email, password } }),
  logOut: () => call<void>("DELETE", "/session"),

  links: (query: { q: string; cursor: string | undefined; limit: number }, signal: AbortSignal) =>
    call<Page<Link>>("GET", "/v1/links", { query, signal }),
  createLink: (body: LinkInput) => call<Link>("POST", "/v1/links", { body }),

  summary: (span: Span, signal: AbortSignal) =>
    call<Summary>("GET", "/v1/analytics/summary", { query: { ...span }, signal }),
  timeseries: (span: Span, interval: string, signal: AbortSignal) =>
    call<{ data: Bucket[] }>("GET", "/v1/analytics/timeseries", { query: { ...span, interval }, signal }),
  breakdown: (span: Span, by: string, limit: number, signal: AbortSignal) =>
    call<{ data: BreakdownRow[] }>("GET", "/v1/analytics/breakdown", {
      query: { ...span, by, limit },
      signal,
    }),
};

import { texts } from "../texts";
import { stringifySearch } from "../url";
import { Problem, readProblem } from "./problem";

export type Query = Record<string, string | number | boolean | readonly string[] | undefined>;

interface Options {
  query?: Query;
  body?: unknown;
  signal?: AbortSignal | undefined;
  /** The version that a change was made from: it is refused when there is a newer one. */
  ifMatch?: number;
  /** The page may be gone before the answer is there. */
  keepalive?: boolean;
}

/** Calls our own origin; the session's cookie goes along by itself. Throws a Problem. */
export async function call<T>(method: string, path: string, options: Options = {}): Promise<T> {
  const { query = {}, body, signal, ifMatch, keepalive } = options;
  const headers: Record<string, string> = { Accept: "application/json" };
  const init: RequestInit = { method, headers, credentials: "same-origin" };
  if (signal) {
    init.signal = signal;
  }
  if (keepalive) {
    init.keepalive = true;
  }
  if (ifMatch !== undefined) {
    headers["If-Match"] = `"${ifMatch}"`;
  }
  if (body !== undefined) {
    headers["Content-Type"] = "application/json";
    init.body = JSON.stringify(body);
  }
  let answer: Response;
  try {
    answer = await fetch(path + stringifySearch(filled(query)), init);
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

/** Without what says nothing. Inside a list an empty text says something: the unknown. */
export function filled(query: Query): Query {
  return Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined && value !== ""));
}

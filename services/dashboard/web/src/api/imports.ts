import { queryOptions } from "@tanstack/react-query";
import { texts } from "../texts";
import { stringifySearch } from "../url";
import { call, filled } from "./client";
import { Problem, readProblem } from "./problem";
import type { ImportJob, Page } from "./types";

export const formats = ["auto", "csv", "jsonl", "bitly", "yourls", "shlink", "kutt", "dub"] as const;
export type ImportFormat = (typeof formats)[number];
export const conflicts = ["skip", "fail", "rename"] as const;
export type OnConflict = (typeof conflicts)[number];

/** What is said about a file. */
export interface ImportOptions {
  format: ImportFormat;
  on_conflict: OnConflict;
  /** Host on which all links are made; empty for what the file says. */
  domain: string;
}

const POLL_MS = 700;
const LISTED = 10;

export const importsKey = ["imports"] as const;

const at = (id: string) => `/v1/imports/${encodeURIComponent(id)}`;

export const isOpen = (job: Pick<ImportJob, "state">) => job.state !== "done" && job.state !== "cancelled";

/** How far an import is, asked until it is over. */
export const importQuery = (id: string) =>
  queryOptions({
    queryKey: [...importsKey, "one", id],
    queryFn: ({ signal }) => call<ImportJob>("GET", at(id), { signal }),
    refetchInterval: ({ state }) => (!state.data || isOpen(state.data) ? POLL_MS : false),
  });

export const importsQuery = queryOptions({
  queryKey: [...importsKey, "list"],
  queryFn: async ({ signal }) =>
    (await call<Page<ImportJob>>("GET", "/v1/imports", { query: { limit: LISTED }, signal })).data,
});

export const cancelImport = (id: string) => call<void>("DELETE", at(id));
export const reportAddress = (id: string) => `${at(id)}/report`;

/** The beginning of a report. It may have a million rows: nobody reads these on a page. */
export async function reportBeginning(id: string, maxBytes: number, signal: AbortSignal): Promise<string> {
  const answer = await fetch(reportAddress(id), { credentials: "same-origin", signal });
  if (!answer.ok) {
    throw await readProblem(answer);
  }
  const reader = answer.body?.getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (let read = 0; reader && read < maxBytes; ) {
    const { value, done } = await reader.read();
    if (done) {
      return text + decoder.decode();
    }
    read += value.byteLength;
    text += decoder.decode(value, { stream: true });
  }
  await reader?.cancel();
  return text.slice(0, text.lastIndexOf("\n") + 1);
}

/** Sends a file. `fetch` does not say how much of it has gone, so this is the older way. */
export function uploadImport(
  file: File,
  options: ImportOptions & { dry_run: boolean },
  onProgress: (share: number) => void,
  signal: AbortSignal,
): Promise<ImportJob> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const query = { ...options, dry_run: options.dry_run || undefined };
    request.open("POST", `/v1/imports${stringifySearch(filled(query))}`);
    request.setRequestHeader("Content-Type", typeOf(file.name));
    request.setRequestHeader("Accept", "application/json");
    request.upload.onprogress = ({ loaded, total }) => onProgress(total > 0 ? loaded / total : 0);
    request.onload = () => {
      const answer = new Response(request.responseText, {
        status: request.status,
        headers: { "X-Request-Id": request.getResponseHeader("X-Request-Id") ?? "" },
      });
      if (answer.ok) {
        resolve(answer.json() as Promise<ImportJob>);
      } else {
        void readProblem(answer).then(reject);
      }
    };
    request.onerror = () => reject(new Problem(0, "network", texts.problems.network));
    request.onabort = () => reject(new DOMException("aborted", "AbortError"));
    signal.addEventListener("abort", () => request.abort());
    request.send(file);
  });
}

function typeOf(name: string): string {
  return /\.(jsonl|ndjson|json)$/i.test(name) ? "application/x-ndjson" : "text/csv";
}

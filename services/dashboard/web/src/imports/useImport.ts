import { useQueryClient } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { createLinks, linksKey } from "../api/links";
import { explain, Problem } from "../api/problem";
import type { Link } from "../api/types";
import type { ImportRow } from "./rows";

/** Rows of a call. A hundred show progress often, and cost little when one call fails. */
const BATCH = 100;
/** A limit that is used up fills again within seconds. */
const MAX_WAITS = 20;
const WAIT_MS = 3_000;

export interface Result {
  row: ImportRow;
  link: Link | null;
  problem: string | undefined;
}

export type Import =
  | { state: "idle" }
  | { state: "running"; total: number; results: Result[] }
  | { state: "done"; stopped: boolean; total: number; results: Result[] };

/** Makes links from rows, a batch at a time; stopping keeps what is made. */
export function useImport() {
  const client = useQueryClient();
  const [job, setJob] = useState<Import>({ state: "idle" });
  const abort = useRef<AbortController>(null);

  const start = async (rows: ImportRow[]) => {
    const control = new AbortController();
    abort.current = control;
    const results: Result[] = [];
    setJob({ state: "running", total: rows.length, results: [] });
    for (let at = 0; at < rows.length && !control.signal.aborted; at += BATCH) {
      const batch = rows.slice(at, at + BATCH);
      results.push(...(await send(batch, control.signal)));
      setJob({ state: "running", total: rows.length, results: [...results] });
    }
    setJob({ state: "done", stopped: control.signal.aborted, total: rows.length, results });
    await client.invalidateQueries({ queryKey: linksKey });
  };

  return {
    job,
    start: (rows: ImportRow[]) => void start(rows),
    stop: () => abort.current?.abort(),
    reset: () => setJob({ state: "idle" }),
  };
}

/** One call; one bad row fails alone. When the limit is used up, it waits and tries again. */
async function send(batch: ImportRow[], signal: AbortSignal): Promise<Result[]> {
  for (let wait = 0; ; wait += 1) {
    try {
      const { results } = await createLinks(batch.map((row) => row.input));
      return results.map((r) => ({
        row: batch[r.index] as ImportRow,
        link: r.link,
        problem: r.error ? (firstOf(r.error) ?? "") : undefined,
      }));
    } catch (error) {
      const later = error instanceof Problem && (error.status === 429 || error.status === 503);
      if (!later || wait >= MAX_WAITS || signal.aborted) {
        return batch.map((row) => ({ row, link: null, problem: explain(error) }));
      }
      await new Promise((resolve) => setTimeout(resolve, WAIT_MS));
    }
  }
}

function firstOf(error: {
  detail?: string;
  title?: string;
  errors?: { field: string; detail: string }[] | null;
}) {
  const field = error.errors?.[0];
  return field ? `${field.field}: ${field.detail}` : (error.detail ?? error.title);
}

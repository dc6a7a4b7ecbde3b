import { texts } from "../texts";
import type { FieldError, ProblemDocument } from "./types";

/** An answer that is not the one asked for. `status` is 0 when there was none. */
export class Problem extends Error {
  readonly status: number;
  readonly code: string;
  readonly requestId: string | undefined;
  readonly fields: FieldError[];

  constructor(status: number, code: string, detail: string, requestId?: string, fields: FieldError[] = []) {
    super(detail);
    this.name = "Problem";
    this.status = status;
    this.code = code;
    this.requestId = requestId;
    this.fields = fields;
  }

  /** What is wrong with each field, by its name. */
  byField(): Record<string, string> {
    const out: Record<string, string> = {};
    for (const { field, detail } of this.fields) {
      out[field] ??= sentence(detail);
    }
    return out;
  }
}

/** Reads an error answer; a proxy in between may have sent something else than a problem. */
export async function readProblem(answer: Response): Promise<Problem> {
  const requestId = answer.headers.get("X-Request-Id") ?? undefined;
  try {
    const doc = (await answer.json()) as Partial<ProblemDocument>;
    if (typeof doc.code === "string") {
      const detail = doc.detail || doc.title || texts.problems.server;
      return new Problem(answer.status, doc.code, detail, doc.request_id ?? requestId, doc.errors ?? []);
    }
  } catch {
    // Not JSON: the status is all there is.
  }
  return new Problem(answer.status, "internal", texts.problems.server, requestId);
}

export function isUnauthenticated(error: unknown): boolean {
  return error instanceof Problem && error.status === 401;
}

/** A text for a person, whatever was thrown. */
export function explain(error: unknown): string {
  return error instanceof Problem ? sentence(error.message) : texts.problems.server;
}

function sentence(detail: string): string {
  const text = detail.trim();
  return text.charAt(0).toUpperCase() + text.slice(1);
}

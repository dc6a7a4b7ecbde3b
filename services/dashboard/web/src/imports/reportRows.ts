import { parseTable } from "./csv";

export type RowStatus = "created" | "renamed" | "skipped" | "failed";

/** What became of a row of the file, as the report says. */
export interface ReportRow {
  row: number;
  slug: string;
  status: RowStatus;
  detail: string;
  linkId: string;
}

const statuses: readonly string[] = ["created", "renamed", "skipped", "failed"];

/** Reads a report, or the beginning of one. What would be a formula has an apostrophe before it. */
export function readReport(text: string): ReportRow[] {
  return parseTable(text)
    .slice(1)
    .flatMap(([row = "", slug = "", status = "", , detail = "", linkId = ""]) =>
      statuses.includes(status)
        ? [
            {
              row: Number(row),
              slug: plain(slug),
              status: status as RowStatus,
              detail: plain(detail),
              linkId,
            },
          ]
        : [],
    );
}

function plain(cell: string): string {
  return /^'[=+\-@\t\r']/.test(cell) ? cell.slice(1) : cell;
}

const worst: Record<RowStatus, number> = { failed: 0, skipped: 1, renamed: 2, created: 3 };

/** The rows that somebody has to look at first, each kind in the order of the file. */
export function worstFirst(rows: readonly ReportRow[]): ReportRow[] {
  return [...rows].sort((a, b) => worst[a.status] - worst[b.status] || a.row - b.row);
}

// From a table to links: which column is what, and what is wrong with which row.
import type { LinkInput } from "../api/types";
import { texts } from "../texts";

export const columnNames = [
  "destination",
  "domain",
  "slug",
  "title",
  "tags",
  "notes",
  "status_code",
  "starts_at",
  "expires_at",
  "max_clicks",
  "fallback_url",
] as const;
export type ColumnName = (typeof columnNames)[number];

/** What other programs call the columns. */
const aliases: Record<string, ColumnName> = {
  url: "destination",
  long_url: "destination",
  longurl: "destination",
  target: "destination",
  original_url: "destination",
  link: "destination",
  key: "slug",
  keyword: "slug",
  back_half: "slug",
  custom_back_half: "slug",
  short_code: "slug",
  shortcode: "slug",
  host: "domain",
  tag: "tags",
  comments: "notes",
  comment: "notes",
  description: "notes",
  expires: "expires_at",
  expired_url: "fallback_url",
};

export interface ImportRow {
  /** Line of the table, from 1, the heading counted. */
  line: number;
  input: LinkInput;
  /** What is wrong, before anything is sent. */
  problem: string | undefined;
}

export interface ReadTable {
  columns: (ColumnName | null)[];
  /** Names in the heading that mean nothing here. */
  ignored: string[];
  rows: ImportRow[];
}

function columnOf(name: string): ColumnName | null {
  const plain = name
    .trim()
    .toLowerCase()
    .replace(/[\s-]+/g, "_");
  const known = columnNames.find((c) => c === plain);
  return known ?? (Object.hasOwn(aliases, plain) ? (aliases[plain] ?? null) : null);
}

/** Reads a table with a heading, or a list of addresses without one. */
export function readTable(table: string[][]): ReadTable {
  const [first = []] = table;
  const named = first.map(columnOf);
  const hasHeading = named.includes("destination");
  const columns = hasHeading ? named : guessed(first.length);
  const body = hasHeading ? table.slice(1) : table;
  const ignored = hasHeading ? first.filter((name, i) => named[i] === null && name.trim() !== "") : [];
  const rows = body.map((cells, i) => rowOf(cells, columns, i + (hasHeading ? 2 : 1)));
  return { columns, ignored, rows: markRepeated(rows) };
}

/** Without a heading: the destination, then the slug, then the title. */
function guessed(width: number): (ColumnName | null)[] {
  const order: ColumnName[] = ["destination", "slug", "title"];
  return Array.from({ length: width }, (_, i) => order[i] ?? null);
}

function rowOf(cells: string[], columns: (ColumnName | null)[], line: number): ImportRow {
  const values = new Map<ColumnName, string>();
  for (const [i, column] of columns.entries()) {
    const value = cells[i]?.trim();
    if (column && value) {
      values.set(column, value);
    }
  }
  const input: Record<string, unknown> = { destination: values.get("destination") ?? "" };
  let problem = destinationProblem(values.get("destination"));
  for (const [column, value] of values) {
    const read = readCell(column, value);
    if (read === undefined) {
      problem ??= texts.imports.cannotRead(column, value);
    } else {
      input[column] = read;
    }
  }
  return { line, input: input as unknown as LinkInput, problem };
}

function destinationProblem(destination: string | undefined): string | undefined {
  if (!destination) {
    return texts.imports.noDestination;
  }
  return /^https?:\/\/\S/i.test(destination) ? undefined : texts.imports.noAddress;
}

function readCell(column: ColumnName, value: string): unknown {
  switch (column) {
    case "tags":
      return value
        .split(/[|,;]/)
        .map((tag) => tag.trim())
        .filter(Boolean);
    case "status_code":
      return ["301", "302", "307", "308"].includes(value) ? Number(value) : undefined;
    case "max_clicks":
      return /^[1-9]\d{0,12}$/.test(value) ? Number(value) : undefined;
    case "starts_at":
    case "expires_at": {
      const at = new Date(value);
      return Number.isNaN(at.getTime()) ? undefined : at.toISOString();
    }
    default:
      return value;
  }
}

/** Two rows that want one address cannot both have it. */
function markRepeated(rows: ImportRow[]): ImportRow[] {
  const seen = new Map<string, number>();
  return rows.map((row) => {
    const { slug, domain } = row.input;
    if (!slug) {
      return row;
    }
    const address = `${domain ?? ""} ${slug}`;
    const before = seen.get(address);
    seen.set(address, before ?? row.line);
    return before === undefined || row.problem ? row : { ...row, problem: texts.imports.repeated(before) };
  });
}

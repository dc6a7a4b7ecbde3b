import type { ReactNode } from "react";
import { compact, percent, whole } from "../format";
import { texts } from "../texts";

export interface BarRow {
  value: string;
  label: ReactNode;
  /** For the eye that reads titles and the ear. */
  name: string;
  count: number;
  extra?: ReactNode;
}

interface Props {
  rows: BarRow[];
  total: number;
  chosen: readonly string[];
  onChoose: (value: string) => void;
}

/** Values by how often they occur. A row is a button: it filters the whole page by its value. */
export function BarList({ rows, total, chosen, onChoose }: Props) {
  const most = Math.max(1, ...rows.map((row) => row.count));
  return (
    <ul className="space-y-1">
      {rows.map((row) => {
        const on = chosen.includes(row.value);
        const share = total > 0 ? row.count / total : 0;
        return (
          <li key={row.value}>
            <button
              type="button"
              aria-pressed={on}
              title={on ? texts.filters.remove(row.name) : texts.filters.by(row.name)}
              onClick={() => onChoose(row.value)}
              className="group relative flex h-8 w-full items-center gap-3 rounded-md px-2 text-left"
            >
              <span
                aria-hidden
                className={`absolute inset-y-0 left-0 rounded-md transition-[width] duration-300 ${
                  on ? "bg-accent/25" : "bg-bar group-hover:bg-accent/20"
                }`}
                style={{ width: `${Math.max(0.5, (row.count / most) * 82)}%` }}
              />
              <span className="relative min-w-0 grow truncate">{row.label}</span>
              <span
                aria-hidden
                className="relative shrink-0 text-quiet text-xs tabular-nums opacity-0 transition-opacity group-hover:opacity-100 group-focus-visible:opacity-100"
              >
                {percent(share)}
              </span>
              <span
                className="relative w-12 shrink-0 text-right font-medium tabular-nums"
                title={whole(row.count)}
              >
                {compact(row.count)}
              </span>
            </button>
          </li>
        );
      })}
    </ul>
  );
}

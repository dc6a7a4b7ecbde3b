import { useNavigate } from "@tanstack/react-router";
import { type ReactNode, useRef, useState } from "react";
import { useEditor } from "../editor/open";
import { texts } from "../texts";
import { useHotkeys } from "../ui/hotkeys";
import { useLinkActions } from "./actions";
import { BulkBar } from "./BulkBar";
import { columns, LinkRow } from "./LinkRow";
import type { Row } from "./row";
import type { ListView } from "./search";

interface Props {
  rows: Row[];
  view: ListView;
  stale: boolean;
  figuresFailed: boolean;
  onView: (view: ListView) => void;
  children?: ReactNode;
}

/** The rows, which of them are selected, and the keys that move among them. */
export function LinkTable({ rows, view, stale, figuresFailed, onView }: Props) {
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [at, setAt] = useState<string | null>(null);
  const anchor = useRef<string | null>(null);
  const list = useRef<HTMLUListElement>(null);
  const navigate = useNavigate();
  const editor = useEditor();
  const actions = useLinkActions();
  // What left the list is no longer selected.
  const chosen = rows.filter((row) => selected.has(row.id));
  const current = rows.find((row) => row.id === at);

  const select = (id: string, on: boolean, range: boolean) => {
    const ids = rows.map((row) => row.id);
    const [a, b] = [ids.indexOf(anchor.current ?? id), ids.indexOf(id)].sort((x, y) => x - y);
    const span = range && a !== undefined && a >= 0 ? ids.slice(a, (b ?? a) + 1) : [id];
    anchor.current = id;
    setSelected((was) => {
      const next = new Set(was);
      for (const one of span) {
        if (on) next.add(one);
        else next.delete(one);
      }
      return next;
    });
  };

  const move = (by: number) => {
    const index = rows.findIndex((row) => row.id === at);
    const row = rows[Math.max(0, Math.min(rows.length - 1, index === -1 ? 0 : index + by))];
    if (row) {
      setAt(row.id);
      const element = list.current?.querySelector<HTMLElement>(`[data-row="${row.id}"]`);
      element?.scrollIntoView({ block: "nearest" });
      element?.querySelector<HTMLElement>("[data-open]")?.focus({ preventScroll: true });
    }
  };

  useHotkeys({
    j: () => move(1),
    k: () => move(-1),
    x: () => current && select(current.id, !selected.has(current.id), false),
    e: () => current && editor.edit(current.id),
    a: () => current && actions.archive([current.id], !current.archived),
    ...(current && {
      enter: (event: KeyboardEvent) =>
        event.target instanceof HTMLAnchorElement
          ? event.target.click()
          : void navigate({ to: "/links/$id", params: { id: current.id } }),
    }),
    ...(chosen.length > 0 && { escape: () => setSelected(new Set()) }),
  });

  const all = rows.length > 0 && chosen.length === rows.length;
  return (
    <>
      <div
        aria-busy={stale}
        className={`overflow-hidden rounded-xl border border-line bg-panel transition-opacity ${stale ? "opacity-60" : ""}`}
      >
        <div className={`border-line border-b bg-ground py-2 font-medium text-quiet text-xs ${columns}`}>
          <input
            type="checkbox"
            aria-label={texts.links.selectAll}
            checked={all}
            ref={(box) => {
              if (box) box.indeterminate = chosen.length > 0 && !all;
            }}
            onChange={() => setSelected(all ? new Set() : new Set(rows.map((row) => row.id)))}
            className="size-4 cursor-pointer accent-action"
          />
          <span>{texts.links.columns.link}</span>
          <span aria-hidden className="max-md:hidden" />
          <span className="text-right">{texts.links.columns.clicks}</span>
          <span className="text-right max-md:hidden">{texts.links.columns.visitors}</span>
          <span className="text-right max-md:hidden">{texts.links.columns.last}</span>
          <span aria-hidden className="w-7" />
        </div>
        <ul ref={list} className="divide-y divide-line">
          {rows.map((row) => (
            <LinkRow
              key={row.id}
              row={row}
              selected={selected.has(row.id)}
              current={row.id === at}
              figuresFailed={figuresFailed}
              onSelect={(on, range) => select(row.id, on, range)}
              onTag={(tag) => onView({ ...view, tag })}
            />
          ))}
        </ul>
      </div>
      {chosen.length > 0 && <BulkBar rows={chosen} view={view} onClear={() => setSelected(new Set())} />}
    </>
  );
}

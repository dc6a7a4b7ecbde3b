import { CircleAlert, CircleCheck, Table2 } from "lucide-react";
import { useState } from "react";
import { readable, whole } from "../format";
import { texts } from "../texts";
import { Button } from "../ui/Button";
import { Empty } from "../ui/Empty";
import { Panel } from "../ui/Panel";
import type { ImportRow, ReadTable } from "./rows";

/** Rows that are drawn; more would only make the page slow. */
const SHOWN = 200;

/** What was understood, row by row, before anything is sent. */
export function Preview({ table, onStart }: { table: ReadTable; onStart: (rows: ImportRow[]) => void }) {
  const [onlyBad, setOnlyBad] = useState(false);
  const t = texts.imports;
  const bad = table.rows.filter((row) => row.problem);
  const good = table.rows.filter((row) => !row.problem);
  if (table.rows.length === 0) {
    return <Empty icon={Table2} text={t.nothing} hint={t.nothingHint} />;
  }
  // Mistakes first: of a long table only the beginning is drawn.
  const rows = onlyBad ? bad : [...bad, ...good];
  const shown = rows.slice(0, SHOWN);
  const total = rows.length;
  return (
    <Panel className="overflow-hidden">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2 border-line border-b px-4 py-3">
        <p className="font-medium tabular-nums" data-import-ready={good.length}>
          {t.ready(good.length, whole(good.length))}
        </p>
        {bad.length > 0 && (
          <label className="flex cursor-pointer items-center gap-2 text-down">
            <input
              type="checkbox"
              checked={onlyBad}
              onChange={(event) => setOnlyBad(event.target.checked)}
              className="size-4 accent-action"
            />
            {t.wrong(bad.length, whole(bad.length))}
          </label>
        )}
        <span className="ml-auto">
          <Button kind="primary" disabled={good.length === 0} onClick={() => onStart(good)}>
            {t.start(good.length, whole(good.length))}
          </Button>
        </span>
      </div>
      {table.ignored.length > 0 && (
        <p className="border-line border-b bg-warn-soft px-4 py-2 text-warn text-xs">
          {t.ignored(table.ignored.join(", "))}
        </p>
      )}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by keyboard */}
      <section tabIndex={0} aria-label={t.preview} className="max-h-[28rem] overflow-auto">
        <table className="w-full min-w-120 text-left">
          <thead className="sticky top-0 bg-ground text-quiet text-xs">
            <tr>
              <th scope="col" className="w-12 px-4 py-2 text-right font-medium">
                {t.line}
              </th>
              <th scope="col" className="py-2 pr-4 font-medium">
                {texts.form.slug}
              </th>
              <th scope="col" className="py-2 pr-4 font-medium">
                {texts.form.destination}
              </th>
              <th scope="col" className="py-2 pr-4 font-medium">
                {t.state}
              </th>
            </tr>
          </thead>
          <tbody className="divide-y divide-line">
            {shown.map((row) => (
              <tr key={row.line} className={row.problem ? "bg-danger-soft" : ""}>
                <td className="px-4 py-2 text-right text-quiet tabular-nums">{row.line}</td>
                <td className="max-w-40 truncate py-2 pr-4">{row.input.slug || t.random}</td>
                <td className="max-w-64 truncate py-2 pr-4" title={row.input.destination}>
                  {readable(row.input.destination)}
                  {row.input.title && (
                    <span className="block truncate text-quiet text-xs">{row.input.title}</span>
                  )}
                </td>
                <td className="py-2 pr-4 text-xs">
                  {row.problem ? (
                    <span className="flex items-center gap-1.5 text-down">
                      <CircleAlert size={14} aria-hidden className="shrink-0" />
                      {row.problem}
                    </span>
                  ) : (
                    <span className="flex items-center gap-1.5 text-up">
                      <CircleCheck size={14} aria-hidden className="shrink-0" />
                      {t.good}
                    </span>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      {total > shown.length && (
        <p className="border-line border-t px-4 py-2 text-quiet text-xs">
          {t.moreRows(whole(total - shown.length))}
        </p>
      )}
    </Panel>
  );
}

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { importsKey, reportBeginning } from "../api/imports";
import type { ImportJob } from "../api/types";
import { whole } from "../format";
import { texts } from "../texts";
import { Badge, type Tone } from "../ui/Badge";
import { ErrorNotice, Skeleton } from "../ui/Notice";
import { type ReportRow, type RowStatus, readReport, worstFirst } from "./reportRows";

/** How much of a report the page reads, and how many rows it draws. The file has all of it. */
const MAX_BYTES = 1 << 20;
const SHOWN = 200;

const tones: Record<RowStatus, Tone> = { created: "good", renamed: "accent", skipped: "warn", failed: "bad" };

/** What became of each row, those first that somebody has to look at. */
export function Report({ job }: { job: ImportJob }) {
  const [onlyBad, setOnlyBad] = useState(false);
  const report = useQuery({
    queryKey: [...importsKey, "report", job.id],
    queryFn: async ({ signal }) => worstFirst(readReport(await reportBeginning(job.id, MAX_BYTES, signal))),
    enabled: job.read > 0,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const t = texts.imports;
  if (job.read === 0) {
    return null;
  }
  if (report.isPending) {
    return <Skeleton className="m-5 h-40" />;
  }
  if (report.isError) {
    return (
      <div className="p-5">
        <ErrorNotice error={report.error} onRetry={() => void report.refetch()} />
      </div>
    );
  }
  const bad = report.data.filter(({ status }) => status === "failed" || status === "skipped");
  const rows = (onlyBad ? bad : report.data).slice(0, SHOWN);
  const left = (onlyBad ? job.failed + job.skipped : job.read) - rows.length;
  return (
    <>
      {bad.length > 0 && (
        <label className="flex cursor-pointer items-center gap-2 border-line border-t px-5 py-2.5 sm:px-6">
          <input
            type="checkbox"
            checked={onlyBad}
            onChange={(event) => setOnlyBad(event.target.checked)}
            className="size-4 accent-action"
          />
          {t.onlyBad}
        </label>
      )}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by keyboard */}
      <section tabIndex={0} aria-label={t.rows} className="max-h-[28rem] overflow-auto border-line border-t">
        <table className="w-full text-left">
          <thead className="sticky top-0 bg-ground text-quiet text-xs">
            <tr>
              <th scope="col" className="w-16 py-2 pr-3 pl-5 sm:pl-6 text-right font-medium">
                {t.line}
              </th>
              <th scope="col" className="py-2 pr-3 font-medium">
                {texts.form.slug}
              </th>
              <th scope="col" className="py-2 pr-5 font-medium">
                {t.state}
              </th>
            </tr>
          </thead>
          <tbody className="divide-y divide-line">
            {rows.map((row) => (
              <Row key={row.row} row={row} dry={job.dry_run} />
            ))}
          </tbody>
        </table>
      </section>
      {left > 0 && (
        <p className="border-line border-t px-5 py-2.5 text-quiet sm:px-6 text-xs">
          {t.moreInFile(whole(left))}
        </p>
      )}
    </>
  );
}

function Row({ row, dry }: { row: ReportRow; dry: boolean }) {
  const t = texts.imports;
  const words = dry ? t.wouldStatus : t.status;
  return (
    <tr data-row-status={row.status}>
      <td className="py-2 pr-3 pl-5 sm:pl-6 text-right align-top text-quiet tabular-nums">{row.row}</td>
      <td className="max-w-40 truncate py-2 pr-3 align-top sm:max-w-64">
        {row.linkId ? (
          <Link
            to="/links/$id"
            params={{ id: row.linkId }}
            className="rounded-sm hover:text-accent-text hover:underline"
          >
            {row.slug}
          </Link>
        ) : (
          row.slug || t.random
        )}
      </td>
      <td className="py-2 pr-5 align-top">
        <span className="flex flex-wrap items-center gap-x-2 gap-y-1">
          <Badge tone={tones[row.status]}>{words[row.status]}</Badge>
          {row.detail && <span className="min-w-0 break-words text-quiet text-xs">{row.detail}</span>}
        </span>
      </td>
    </tr>
  );
}

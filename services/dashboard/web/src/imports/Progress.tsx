import { Link } from "@tanstack/react-router";
import { Download } from "lucide-react";
import { whole } from "../format";
import { texts } from "../texts";
import { Button, buttonClass } from "../ui/Button";
import { csvOf, saveText } from "../ui/download";
import { Panel } from "../ui/Panel";
import type { Import, Result } from "./useImport";

interface Props {
  job: Exclude<Import, { state: "idle" }>;
  onStop: () => void;
  onAgain: () => void;
}

/** How far it is, then what became of each row. */
export function Progress({ job, onStop, onAgain }: Props) {
  const t = texts.imports;
  const done = job.results.length;
  const failed = job.results.filter((r) => r.problem !== undefined);
  const made = done - failed.length;
  const running = job.state === "running";
  const heading = running ? t.running : job.stopped ? t.stopped : t.finished;
  return (
    <Panel className="p-5 sm:p-6">
      <div className="flex flex-wrap items-center justify-between gap-3">
        <h2 className="font-semibold text-base" role="status" data-import={job.state}>
          {heading}
        </h2>
        <div className="flex flex-wrap gap-2">
          {running ? (
            <Button onClick={onStop}>{t.stop}</Button>
          ) : (
            <>
              <Button onClick={() => saveText("import-result.csv", resultCsv(job.results))}>
                <Download size={15} aria-hidden className="text-quiet" />
                {t.result}
              </Button>
              <Button onClick={onAgain}>{t.again}</Button>
              <Link to="/" className={buttonClass("primary")}>
                {t.toLinks}
              </Link>
            </>
          )}
        </div>
      </div>
      <progress
        aria-label={heading}
        max={job.total}
        value={done}
        className="mt-4 h-2 w-full appearance-none overflow-hidden rounded-full bg-sunken [&::-moz-progress-bar]:bg-action [&::-webkit-progress-bar]:bg-sunken [&::-webkit-progress-value]:rounded-full [&::-webkit-progress-value]:bg-action [&::-webkit-progress-value]:transition-[width]"
      />
      <p className="mt-2 text-quiet tabular-nums">
        {t.progress(whole(done), whole(job.total))} · {t.made(made, whole(made))}
        {failed.length > 0 && (
          <span className="text-down"> · {t.failed(failed.length, whole(failed.length))}</span>
        )}
      </p>
      {failed.length > 0 && (
        <ul className="mt-4 max-h-80 divide-y divide-line overflow-y-auto rounded-lg border border-line">
          {failed.map((r) => (
            <li key={r.row.line} className="flex flex-wrap gap-x-4 px-4 py-2">
              <span className="w-16 shrink-0 text-quiet tabular-nums">{t.lineNumber(r.row.line)}</span>
              <span className="min-w-0 grow truncate">{r.row.input.slug || r.row.input.destination}</span>
              <span className="text-down text-xs">{r.problem}</span>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

function resultCsv(results: Result[]): string {
  return csvOf([
    ["line", "destination", "short_url", "id", "error"],
    ...results.map((r) => [
      r.row.line,
      r.row.input.destination,
      r.link?.short_url ?? "",
      r.link?.id ?? "",
      r.problem ?? "",
    ]),
  ]);
}

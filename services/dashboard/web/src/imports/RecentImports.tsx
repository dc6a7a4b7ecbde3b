import { useQuery } from "@tanstack/react-query";
import { ChevronRight, FileClock } from "lucide-react";
import { importsQuery, isOpen } from "../api/imports";
import type { ImportJob } from "../api/types";
import { ago, exact, whole } from "../format";
import { texts } from "../texts";
import { Badge, type Tone } from "../ui/Badge";
import { Empty } from "../ui/Empty";
import { ErrorNotice, Skeleton } from "../ui/Notice";
import { Section } from "../ui/Panel";

const tones: Record<ImportJob["state"], Tone> = {
  uploading: "accent",
  queued: "accent",
  running: "accent",
  done: "good",
  cancelled: "plain",
};

function JobBadge({ job }: { job: ImportJob }) {
  const t = texts.imports;
  return (
    <>
      <Badge tone={tones[job.state]}>{t.states[job.state]}</Badge>
      {job.dry_run && <Badge>{t.trial}</Badge>}
    </>
  );
}

/** How many rows ended how; what did not happen is not said. */
function summaryOf(job: ImportJob): string {
  const t = texts.imports;
  const parts: [number, string][] = [
    [job.created, job.dry_run ? t.wouldMake : t.wereMade],
    [job.skipped, t.skipped],
    [job.failed, t.failedRows],
  ];
  return parts.flatMap(([n, what], i) => (n > 0 || i === 0 ? [`${whole(n)} ${what}`] : [])).join(" · ");
}

/** Imports of the last 30 days: each goes on, and can be looked at, without the page that began it. */
export function RecentImports({ onJob }: { onJob: (id: string) => void }) {
  const imports = useQuery(importsQuery);
  const t = texts.imports;
  return (
    <Section heading={t.recent}>
      {imports.isPending ? (
        <Skeleton className="h-32" />
      ) : imports.isError ? (
        <ErrorNotice error={imports.error} onRetry={() => void imports.refetch()} />
      ) : imports.data.length === 0 ? (
        <Empty icon={FileClock} text={t.noRecent} hint={t.noRecentHint} />
      ) : (
        <ul className="divide-y divide-line overflow-hidden rounded-xl border border-line bg-panel">
          {imports.data.map((job) => (
            <li key={job.id}>
              <button
                type="button"
                onClick={() => onJob(job.id)}
                className="flex w-full items-center gap-3 px-4 py-3 text-left transition-colors hover:bg-ground"
              >
                <span className="min-w-0 grow">
                  <span className="flex flex-wrap items-center gap-1.5">
                    <span className="font-medium">{t.formats[job.format]}</span>
                    <JobBadge job={job} />
                  </span>
                  <span className="mt-0.5 block text-quiet text-xs tabular-nums">
                    {isOpen(job) ? t.progress(whole(job.read), whole(job.total)) : summaryOf(job)}
                  </span>
                </span>
                <time
                  dateTime={job.created_at}
                  title={exact(new Date(job.created_at))}
                  className="shrink-0 text-quiet text-xs"
                >
                  {ago(new Date(job.created_at), new Date())}
                </time>
                <ChevronRight size={16} aria-hidden className="shrink-0 text-quiet" />
              </button>
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}

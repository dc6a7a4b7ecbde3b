import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Download } from "lucide-react";
import { useEffect } from "react";
import { cancelImport, importQuery, importsKey, isOpen, reportAddress } from "../api/imports";
import { linksKey } from "../api/links";
import type { ImportJob } from "../api/types";
import { percent, whole } from "../format";
import { texts } from "../texts";
import { Badge } from "../ui/Badge";
import { Button, buttonClass } from "../ui/Button";
import { saveFrom } from "../ui/download";
import { ErrorNotice, Skeleton } from "../ui/Notice";
import { Panel } from "../ui/Panel";
import { Bar } from "./Bar";
import { Report } from "./Report";
import { type Chosen, useUpload } from "./useUpload";

interface Props {
  id: string;
  chosen: Chosen;
  onJob: (id: string | undefined) => void;
}

/** An import, or a look at what one would do: how far it is, then what became of each row. */
export function JobView({ id, chosen, onJob }: Props) {
  const client = useQueryClient();
  const query = useQuery(importQuery(id));
  const job = query.data;
  const over = job && !isOpen(job);
  useEffect(() => {
    if (over) {
      void client.invalidateQueries({ queryKey: [...importsKey, "list"] });
      void client.invalidateQueries({ queryKey: linksKey });
    }
  }, [over, client]);
  if (query.isError && !job) {
    return <ErrorNotice error={query.error} onRetry={() => void query.refetch()} />;
  }
  if (!job) {
    return <Skeleton className="h-48" />;
  }
  return (
    <Panel className="overflow-hidden">
      <div className="space-y-4 p-5 sm:p-6">
        <div className="flex flex-wrap items-center justify-between gap-3">
          <div role="status" data-import={job.state} className="flex flex-wrap items-center gap-2">
            <h2 className="font-semibold text-base">{headingOf(job)}</h2>
            {job.dry_run && <Badge>{texts.imports.trial}</Badge>}
          </div>
          <Actions job={job} chosen={chosen} onJob={onJob} />
        </div>
        <Bar label={texts.imports.progressLabel} share={job.total > 0 ? job.read / job.total : 0} />
        <Counts job={job} />
        {job.ignored_columns.length > 0 && (
          <p className="rounded-lg bg-warn-soft px-3 py-2 text-warn text-xs">
            {texts.imports.ignored(job.ignored_columns.join(", "))}
          </p>
        )}
        {job.charset === "windows-1252" && (
          <p className="rounded-lg bg-warn-soft px-3 py-2 text-warn text-xs">{texts.imports.charset}</p>
        )}
      </div>
      {over && <Report job={job} />}
    </Panel>
  );
}

function headingOf({ state, dry_run }: ImportJob): string {
  const t = texts.imports;
  if (state === "cancelled") {
    return t.stopped;
  }
  if (state === "done") {
    return dry_run ? t.looked : t.finished;
  }
  return dry_run ? t.looking : t.running;
}

function Counts({ job }: { job: ImportJob }) {
  const t = texts.imports;
  const cells: [string, number, string][] = [
    [job.dry_run ? t.wouldMake : t.wereMade, job.created, job.created > 0 ? "text-up" : ""],
    [t.renamed, job.renamed, ""],
    [t.skipped, job.skipped, job.skipped > 0 ? "text-warn" : ""],
    [t.failedRows, job.failed, job.failed > 0 ? "text-down" : ""],
  ];
  return (
    <>
      <p className="text-quiet tabular-nums">
        {t.progress(whole(job.read), whole(job.total))}
        {job.total > 0 && ` · ${percent(job.read / job.total)}`}
      </p>
      <dl className="grid grid-cols-2 gap-px overflow-hidden rounded-lg border border-line bg-line sm:grid-cols-4">
        {cells.map(([label, n, tone]) => (
          <div key={label} className="flex flex-col-reverse justify-end bg-panel px-4 py-3">
            <dt className="text-quiet text-xs">{label}</dt>
            <dd className={`font-semibold text-lg tabular-nums ${n > 0 ? tone : "text-quiet"}`}>
              {whole(n)}
            </dd>
          </div>
        ))}
      </dl>
    </>
  );
}

/** What can be done with it now. A look leads to the links, while the page still has the file. */
function Actions({ job, chosen, onJob }: Omit<Props, "id"> & { job: ImportJob }) {
  const client = useQueryClient();
  const upload = useUpload(chosen, onJob);
  const stop = useMutation({
    mutationFn: () => cancelImport(job.id),
    onSettled: () => client.invalidateQueries({ queryKey: importsKey }),
  });
  const t = texts.imports;
  if (isOpen(job)) {
    return (
      <Button onClick={() => stop.mutate()} disabled={stop.isPending}>
        {t.stop}
      </Button>
    );
  }
  const makes = job.dry_run && job.state === "done" && job.created > 0;
  return (
    <div className="flex flex-wrap items-center gap-2">
      {upload.error && <ErrorNotice error={upload.error} />}
      {job.read > 0 && (
        <Button onClick={() => saveFrom(reportAddress(job.id), `import-${job.id}.csv`)}>
          <Download size={15} aria-hidden className="text-quiet" />
          {t.result}
        </Button>
      )}
      <Button onClick={() => onJob(undefined)}>{job.dry_run ? t.otherFile : t.again}</Button>
      {makes && chosen.file && (
        <Button kind="primary" disabled={upload.sending} onClick={() => upload.send("make")}>
          {upload.sending ? t.sending(percent(upload.share)) : t.start(job.created, whole(job.created))}
        </Button>
      )}
      {makes && !chosen.file && <p className="text-quiet text-xs">{t.chooseAgain}</p>}
      {!job.dry_run && (
        <Link to="/" className={buttonClass("primary")}>
          {t.toLinks}
        </Link>
      )}
    </div>
  );
}

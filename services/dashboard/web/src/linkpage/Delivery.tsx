import { useMutation } from "@tanstack/react-query";
import { Eraser, Flame } from "lucide-react";
import { prewarmLink, purgeLink } from "../api/links";
import type { Prewarmed, Purged } from "../api/types";
import { milliseconds } from "../format";
import { texts } from "../texts";
import { Badge } from "../ui/Badge";
import { Button } from "../ui/Button";
import { ErrorNotice } from "../ui/Notice";
import { Panel } from "../ui/Panel";

/** What the edges hold of the link, and the two ways to make sure of it. */
export function Delivery({ id }: { id: string }) {
  const purge = useMutation({ mutationFn: () => purgeLink(id) });
  const warm = useMutation({ mutationFn: () => prewarmLink(id) });
  const t = texts.delivery;
  const error = purge.error ?? warm.error;
  return (
    <Panel className="mt-4 p-4 sm:p-5">
      <div className="flex flex-wrap items-start justify-between gap-3">
        <div className="min-w-0">
          <h2 className="font-semibold">{t.heading}</h2>
          <p className="mt-0.5 max-w-prose text-quiet">{t.lead}</p>
        </div>
        <div className="flex gap-2">
          <Button disabled={warm.isPending} onClick={() => [purge.reset(), warm.mutate()]}>
            <Flame size={15} aria-hidden className="text-quiet" />
            {warm.isPending ? t.warming : t.warm}
          </Button>
          <Button disabled={purge.isPending} onClick={() => [warm.reset(), purge.mutate()]}>
            <Eraser size={15} aria-hidden className="text-quiet" />
            {purge.isPending ? t.purging : t.purge}
          </Button>
        </div>
      </div>
      <div role="status" className="empty:hidden">
        {warm.data && <Warmed result={warm.data} />}
        {purge.data && <PurgedResult result={purge.data} />}
      </div>
      {error && (
        <div className="mt-4">
          <ErrorNotice error={error} />
        </div>
      )}
    </Panel>
  );
}

function Warmed({ result }: { result: Prewarmed }) {
  const t = texts.delivery;
  return (
    <>
      <p className="mt-4 font-medium">{t.warmed(result.version, milliseconds(result.duration_ms))}</p>
      <Regions
        rows={(result.regions ?? []).map((r) => ({
          region: r.region,
          edges: t.edges(r.edges_warmed, r.edges_live),
          good: r.edges_warmed === r.edges_live && r.l2 === "done",
          l2: r.l2,
          time: milliseconds(r.duration_ms),
        }))}
      />
    </>
  );
}

function PurgedResult({ result }: { result: Purged }) {
  const t = texts.delivery;
  return (
    <>
      <p className="mt-4 font-medium">
        {t.purged(result.edges_confirmed, result.edges_live, milliseconds(result.duration_ms))}
      </p>
      <Regions
        rows={(result.regions ?? []).map((r) => ({
          region: r.region,
          edges: t.edges(r.edges_confirmed, r.edges_live),
          good: r.edges_confirmed === r.edges_live && r.l2 === "done",
          l2: r.l2,
          time: "",
        }))}
      />
    </>
  );
}

interface RegionRow {
  region: string;
  edges: string;
  good: boolean;
  l2: keyof typeof texts.delivery.l2;
  time: string;
}

function Regions({ rows }: { rows: RegionRow[] }) {
  return (
    <ul className="mt-2 grid gap-2 sm:grid-cols-2 lg:grid-cols-3" data-regions>
      {rows.map((row) => (
        <li
          key={row.region}
          className="flex items-center justify-between gap-3 rounded-lg border border-line px-3.5 py-2.5"
        >
          <span className="min-w-0">
            <span className="block font-medium">{row.region}</span>
            <span className="block text-quiet text-xs tabular-nums">
              {row.edges} · {texts.delivery.l2[row.l2]}
            </span>
          </span>
          <Badge tone={row.good ? "good" : "warn"}>
            {row.time || (row.good ? texts.delivery.done : texts.delivery.open)}
          </Badge>
        </li>
      ))}
    </ul>
  );
}

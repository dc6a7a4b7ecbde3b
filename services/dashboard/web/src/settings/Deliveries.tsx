import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { Inbox, RotateCcw } from "lucide-react";
import { useState } from "react";
import { explain } from "../api/problem";
import { type Delivery, deliveriesQuery, replayFailed } from "../api/webhooks";
import { ago, exact } from "../format";
import { texts } from "../texts";
import { Badge } from "../ui/Badge";
import { Button } from "../ui/Button";
import { Empty } from "../ui/Empty";
import { ErrorNotice, Skeleton } from "../ui/Notice";
import { Panel } from "../ui/Panel";
import { Segmented } from "../ui/Segmented";
import { useToast } from "../ui/toast";
import { DeliveryDialog } from "./DeliveryDialog";

const DAY_MS = 86_400_000;
/** Longer than deliveries are kept trying. */
const REPLAYED_DAYS = 3;

type Shown = Delivery["state"] | "all";

/** What was sent to an endpoint, the newest first. */
export function Deliveries({ id }: { id: string }) {
  const [shown, setShown] = useState<Shown>("all");
  const [open, setOpen] = useState<string | null>(null);
  const deliveries = useInfiniteQuery(deliveriesQuery(id, shown === "all" ? undefined : shown));
  const client = useQueryClient();
  const toast = useToast();
  const t = texts.deliveries;
  const replay = useMutation({
    mutationFn: () => replayFailed(id, new Date(Date.now() - REPLAYED_DAYS * DAY_MS), new Date()),
    onSuccess: ({ replayed }) => {
      toast({ text: t.replayed(replayed) });
      void client.invalidateQueries({ queryKey: ["webhooks", id] });
    },
    onError: (error) => toast({ tone: "bad", text: explain(error) }),
  });
  const rows = deliveries.data?.pages.flatMap((page) => page.data) ?? [];
  return (
    <section aria-label={t.heading}>
      <div className="mb-3 flex flex-wrap items-center justify-between gap-3">
        <h3 className="font-semibold">{t.heading}</h3>
        <div className="flex flex-wrap items-center gap-2">
          <Segmented
            label={t.heading}
            value={shown}
            options={(["all", "pending", "delivered", "failed"] as const).map((value) => ({
              value,
              label: t.states[value],
            }))}
            onChange={setShown}
          />
          <Button
            size="small"
            disabled={replay.isPending}
            title={t.replayHint}
            onClick={() => replay.mutate()}
          >
            <RotateCcw size={14} aria-hidden />
            {t.replayFailed}
          </Button>
        </div>
      </div>
      {deliveries.isPending && <Skeleton className="h-40" />}
      {deliveries.isError && (
        <ErrorNotice error={deliveries.error} onRetry={() => void deliveries.refetch()} />
      )}
      {deliveries.data && rows.length === 0 && <Empty icon={Inbox} text={t.none} hint={t.noneHint} />}
      {rows.length > 0 && (
        <Panel className="overflow-hidden">
          <ul className="divide-y divide-line">
            {rows.map((row) => (
              <Row key={row.id} row={row} onOpen={() => setOpen(row.id)} />
            ))}
          </ul>
        </Panel>
      )}
      {deliveries.hasNextPage && (
        <div className="mt-4 text-center">
          <Button disabled={deliveries.isFetchingNextPage} onClick={() => void deliveries.fetchNextPage()}>
            {texts.links.more}
          </Button>
        </div>
      )}
      {open && <DeliveryDialog webhook={id} id={open} onClose={() => setOpen(null)} />}
    </section>
  );
}

export const deliveryTones = { pending: "warn", delivered: "good", failed: "bad" } as const;

function Row({ row, onOpen }: { row: Delivery; onOpen: () => void }) {
  const t = texts.deliveries;
  const made = new Date(row.created_at);
  return (
    <li>
      <button
        type="button"
        onClick={onOpen}
        className="flex w-full flex-wrap items-center gap-x-4 gap-y-1 px-4 py-2.5 text-left -outline-offset-2 hover:bg-ground sm:px-5"
      >
        <Badge tone={deliveryTones[row.state]}>{t.states[row.state]}</Badge>
        <span className="min-w-0 grow truncate font-medium">{row.event_type}</span>
        <span className="text-quiet text-xs tabular-nums">
          {row.last_status ?? row.last_error ?? ""} {row.attempts > 0 && t.attempts(row.attempts)}
        </span>
        <time dateTime={row.created_at} title={exact(made)} className="w-24 text-right text-quiet text-xs">
          {ago(made, new Date())}
        </time>
      </button>
    </li>
  );
}

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { RotateCcw } from "lucide-react";
import { deliveryQuery, replayDelivery } from "../api/webhooks";
import { exact, milliseconds } from "../format";
import { texts } from "../texts";
import { Badge } from "../ui/Badge";
import { Button } from "../ui/Button";
import { Dialog, DialogBody, DialogFooter } from "../ui/Dialog";
import { ErrorNotice, Skeleton } from "../ui/Notice";
import { deliveryTones } from "./Deliveries";

/** One delivery: what was sent, and each attempt with its answer. */
export function DeliveryDialog({
  webhook,
  id,
  onClose,
}: {
  webhook: string;
  id: string;
  onClose: () => void;
}) {
  const delivery = useQuery(deliveryQuery(webhook, id));
  const client = useQueryClient();
  const t = texts.deliveries;
  const replay = useMutation({
    mutationFn: () => replayDelivery(webhook, id),
    onSuccess: () => client.invalidateQueries({ queryKey: ["webhooks", webhook] }),
  });
  const it = delivery.data;
  return (
    <Dialog heading={it?.event_type ?? t.heading} onClose={onClose}>
      <DialogBody className="space-y-5">
        {delivery.isPending && <Skeleton className="h-64" />}
        {delivery.isError && <ErrorNotice error={delivery.error} />}
        {it && (
          <>
            <p className="flex flex-wrap items-center gap-3">
              <Badge tone={deliveryTones[it.state]}>{t.states[it.state]}</Badge>
              <code className="break-all text-quiet text-xs">{it.event_id}</code>
            </p>
            <div>
              <h3 className="mb-1.5 font-medium">{t.payload}</h3>
              {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by keyboard */}
              <pre tabIndex={0} className="max-h-60 overflow-auto rounded-lg bg-sunken p-3 text-xs leading-5">
                {JSON.stringify(it.payload, null, 2)}
              </pre>
            </div>
            <div>
              <h3 className="mb-1.5 font-medium">{t.log}</h3>
              <ol className="divide-y divide-line rounded-lg border border-line">
                {it.log.map((attempt) => (
                  <li key={attempt.number} className="px-3.5 py-2.5">
                    <p className="flex flex-wrap items-baseline gap-x-3 tabular-nums">
                      <span className="font-medium">{attempt.status ?? attempt.error}</span>
                      <span className="text-quiet text-xs">
                        {t.attempt(attempt.number)} · {exact(new Date(attempt.started_at))} ·{" "}
                        {milliseconds(attempt.duration_ms)}
                      </span>
                    </p>
                    {attempt.response && (
                      <p className="mt-1 line-clamp-3 break-all text-quiet text-xs">{attempt.response}</p>
                    )}
                  </li>
                ))}
                {it.log.length === 0 && <li className="px-3.5 py-3 text-quiet">{t.notYet}</li>}
              </ol>
            </div>
          </>
        )}
        {replay.isError && <ErrorNotice error={replay.error} />}
      </DialogBody>
      <DialogFooter>
        <Button disabled={!it || it.state === "pending" || replay.isPending} onClick={() => replay.mutate()}>
          <RotateCcw size={15} aria-hidden />
          {t.replay}
        </Button>
      </DialogFooter>
    </Dialog>
  );
}

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { ChevronLeft, EllipsisVertical, KeyRound, Pencil, Power, Send, Trash2 } from "lucide-react";
import { useState } from "react";
import { explain } from "../api/problem";
import {
  deleteWebhook,
  editWebhook,
  rotateSecret,
  testWebhook,
  type WebhookSecret,
  webhookQuery,
  webhooksQuery,
} from "../api/webhooks";
import { exact, readable } from "../format";
import { texts } from "../texts";
import { Button, IconButton } from "../ui/Button";
import { Menu } from "../ui/Menu";
import { ErrorNotice, Skeleton } from "../ui/Notice";
import { Section } from "../ui/Panel";
import { useToast } from "../ui/toast";
import { Confirm } from "./Confirm";
import { Deliveries } from "./Deliveries";
import { SecretOnce } from "./SecretOnce";
import { WebhookForm } from "./WebhookForm";
import { WebhookState } from "./WebhooksPage";

const route = getRouteApi("/inside/settings/webhooks/$id");

/** An endpoint and what was sent to it. */
export function WebhookPage() {
  const { id } = route.useParams();
  const [open, setOpen] = useState<"edit" | "delete" | WebhookSecret | null>(null);
  const webhook = useQuery(webhookQuery(id));
  const client = useQueryClient();
  const navigate = useNavigate();
  const toast = useToast();
  const t = texts.webhooks;
  const refresh = () => void client.invalidateQueries({ queryKey: webhooksQuery.queryKey });
  const say = (error: unknown) => toast({ tone: "bad", text: explain(error) });
  const test = useMutation({
    mutationFn: () => testWebhook(id),
    onSuccess: () => [refresh(), toast({ text: t.tested })],
    onError: say,
  });
  const rotate = useMutation({ mutationFn: () => rotateSecret(id), onSuccess: setOpen, onError: say });
  const turn = useMutation({
    mutationFn: (enabled: boolean) => editWebhook(id, { enabled }),
    onSuccess: refresh,
    onError: say,
  });
  const back = (
    <Link
      to="/settings/webhooks"
      className="mb-3 inline-flex items-center gap-1 rounded text-quiet hover:text-text"
    >
      <ChevronLeft size={15} aria-hidden />
      {texts.settings.webhooks}
    </Link>
  );
  if (!webhook.data) {
    return (
      <>
        {back}
        {webhook.isError ? <ErrorNotice error={webhook.error} /> : <Skeleton className="h-40" />}
      </>
    );
  }
  const it = webhook.data;
  return (
    <>
      {back}
      <Section
        heading={it.description || readable(it.url)}
        lead={it.description ? readable(it.url) : undefined}
        actions={
          <>
            <Button disabled={!it.enabled || test.isPending} onClick={() => test.mutate()}>
              <Send size={15} aria-hidden className="text-quiet" />
              {t.test}
            </Button>
            <Menu
              label={texts.actions.more}
              trigger={(props) => (
                <IconButton {...props} label={texts.actions.more}>
                  <EllipsisVertical size={17} aria-hidden />
                </IconButton>
              )}
              entries={[
                { label: texts.actions.edit, icon: Pencil, onSelect: () => setOpen("edit") },
                { label: t.rotate, icon: KeyRound, onSelect: () => rotate.mutate() },
                {
                  label: it.enabled ? t.disable : t.enable,
                  icon: Power,
                  onSelect: () => turn.mutate(!it.enabled),
                },
                {
                  label: texts.actions.delete,
                  icon: Trash2,
                  danger: true,
                  apart: true,
                  onSelect: () => setOpen("delete"),
                },
              ]}
            />
          </>
        }
      >
        <p className="mb-5 flex flex-wrap items-center gap-3">
          <WebhookState webhook={it} />
          {it.failing_since && (
            <span className="text-quiet text-xs">{t.since(exact(new Date(it.failing_since)))}</span>
          )}
          <span className="text-quiet text-xs">
            {it.events.length > 0 ? it.events.join(", ") : t.allEvents}
          </span>
        </p>
        <Deliveries id={id} />
      </Section>
      {open === "edit" && (
        <WebhookForm webhook={it} onClose={() => setOpen(null)} onDone={() => [refresh(), setOpen(null)]} />
      )}
      {open === "delete" && (
        <Confirm
          heading={t.deleteHeading}
          text={t.deleteText}
          action={texts.actions.delete}
          run={() => deleteWebhook(id)}
          onDone={() => [refresh(), void navigate({ to: "/settings/webhooks" })]}
          onClose={() => setOpen(null)}
        />
      )}
      {open !== null && typeof open === "object" && (
        <SecretOnce
          heading={t.secretHeading}
          text={t.rotated}
          secret={open.secret}
          onClose={() => [refresh(), setOpen(null)]}
        />
      )}
    </>
  );
}

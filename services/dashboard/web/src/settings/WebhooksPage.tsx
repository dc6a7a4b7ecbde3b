import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Plus, Webhook as WebhookIcon } from "lucide-react";
import { useState } from "react";
import { type Webhook, type WebhookSecret, webhooksQuery } from "../api/webhooks";
import { readable } from "../format";
import { texts } from "../texts";
import { Badge } from "../ui/Badge";
import { Button } from "../ui/Button";
import { Section } from "../ui/Panel";
import { SecretOnce } from "./SecretOnce";
import { SettingsList } from "./SettingsList";
import { WebhookForm } from "./WebhookForm";

type Open = { what: "new" } | { what: "secret"; made: WebhookSecret } | null;

/** Addresses that are told of events. */
export function WebhooksPage() {
  const [open, setOpen] = useState<Open>(null);
  const client = useQueryClient();
  const close = () => setOpen(null);
  const t = texts.webhooks;
  return (
    <Section
      heading={texts.settings.webhooks}
      lead={t.lead}
      actions={
        <Button kind="primary" onClick={() => setOpen({ what: "new" })}>
          <Plus size={16} aria-hidden />
          {t.add}
        </Button>
      }
    >
      <SettingsList
        query={useQuery(webhooksQuery)}
        empty={{ icon: WebhookIcon, text: t.none, hint: t.noneHint }}
        keyOf={(webhook) => webhook.id}
        row={(webhook) => (
          <>
            <div className="min-w-0 grow">
              <Link
                to="/settings/webhooks/$id"
                params={{ id: webhook.id }}
                className="block truncate rounded font-medium hover:text-accent-text"
              >
                {webhook.description || readable(webhook.url)}
              </Link>
              <p className="truncate text-quiet text-xs">
                {webhook.description && <>{readable(webhook.url)} · </>}
                {webhook.events.length > 0 ? webhook.events.join(", ") : t.allEvents}
              </p>
            </div>
            <WebhookState webhook={webhook} />
          </>
        )}
      />
      {open?.what === "new" && (
        <WebhookForm
          onClose={close}
          onDone={(made) => {
            void client.invalidateQueries({ queryKey: webhooksQuery.queryKey });
            setOpen(made ? { what: "secret", made } : null);
          }}
        />
      )}
      {open?.what === "secret" && (
        <SecretOnce heading={t.secretHeading} text={t.secretText} secret={open.made.secret} onClose={close} />
      )}
    </Section>
  );
}

/** Whether an endpoint is told of anything, and why not. */
export function WebhookState({ webhook }: { webhook: Webhook }) {
  const t = texts.webhooks;
  if (!webhook.enabled) {
    return <Badge tone="bad">{t.reasons[webhook.disabled_reason ?? "request"]}</Badge>;
  }
  return webhook.failing_since ? (
    <Badge tone="warn">{t.failing}</Badge>
  ) : (
    <Badge tone="good">{t.enabled}</Badge>
  );
}

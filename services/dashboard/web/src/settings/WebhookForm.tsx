import { useState } from "react";
import { createWebhook, editWebhook, eventTypes, type Webhook, type WebhookSecret } from "../api/webhooks";
import { texts } from "../texts";
import { Field } from "../ui/Field";
import { FormDialog } from "./FormDialog";

interface Props {
  webhook?: Webhook;
  onClose: () => void;
  /** With the secret of a new endpoint. */
  onDone: (made: WebhookSecret | null) => void;
}

/** Where to send, and what. */
export function WebhookForm({ webhook, onClose, onDone }: Props) {
  const [url, setUrl] = useState(webhook?.url ?? "");
  const [description, setDescription] = useState(webhook?.description ?? "");
  const [events, setEvents] = useState<string[]>(webhook?.events ?? []);
  const [domains, setDomains] = useState(webhook?.domains.join(", ") ?? "");
  const [tags, setTags] = useState(webhook?.tags.join(", ") ?? "");
  const [thresholds, setThresholds] = useState(webhook?.click_thresholds.join(", ") ?? "");
  const [every, setEvery] = useState(String((webhook?.summary_interval_seconds ?? 300) / 60));
  const t = texts.webhooks;
  const run = async (): Promise<WebhookSecret | null> => {
    const body = {
      url: url.trim(),
      description: description.trim(),
      events: eventTypes.filter((type) => events.includes(type)),
      domains: listOf(domains),
      tags: listOf(tags),
      click_thresholds: thresholds.trim() ? listOf(thresholds).map(Number) : null,
      summary_interval_seconds: Math.round(Number(every) * 60) || null,
    };
    if (webhook) {
      await editWebhook(webhook.id, body);
      return null;
    }
    return createWebhook(body);
  };
  const errorOf = (errors: Record<string, string>, name: string) =>
    Object.entries(errors).find(([field]) => field === name || field.startsWith(`${name}[`))?.[1];
  return (
    <FormDialog
      heading={webhook ? t.edit : t.add}
      action={webhook ? texts.form.save : t.add}
      run={run}
      onDone={onDone}
      onClose={onClose}
    >
      {(errors) => (
        <>
          <Field
            label={t.url}
            hint={t.urlHint}
            type="url"
            required
            placeholder="https://"
            error={errors.url}
            value={url}
            onChange={(event) => setUrl(event.target.value)}
          />
          <Field
            label={t.description}
            optional
            error={errors.description}
            value={description}
            onChange={(event) => setDescription(event.target.value)}
          />
          <fieldset>
            <legend className="mb-1.5 font-medium">{t.events}</legend>
            <div className="grid gap-2 sm:grid-cols-2">
              {eventTypes.map((type) => (
                <label key={type} className="flex items-center gap-2.5">
                  <input
                    type="checkbox"
                    checked={events.includes(type)}
                    onChange={(event) =>
                      setEvents(event.target.checked ? [...events, type] : events.filter((e) => e !== type))
                    }
                    className="size-4 shrink-0 accent-action"
                  />
                  {t.types[type]}
                </label>
              ))}
            </div>
            <p className="mt-1.5 text-quiet text-xs">{errorOf(errors, "events") ?? t.eventsHint}</p>
          </fieldset>
          <div className="grid items-start gap-3 sm:grid-cols-2">
            <Field
              label={t.domains}
              placeholder={t.any}
              error={errorOf(errors, "domains")}
              value={domains}
              onChange={(event) => setDomains(event.target.value)}
            />
            <Field
              label={t.tags}
              placeholder={t.any}
              error={errorOf(errors, "tags")}
              value={tags}
              onChange={(event) => setTags(event.target.value)}
            />
            <Field
              label={t.thresholds}
              placeholder="100, 1000"
              error={errorOf(errors, "click_thresholds")}
              value={thresholds}
              onChange={(event) => setThresholds(event.target.value)}
            />
            <Field
              label={t.every}
              inputMode="numeric"
              error={errors.summary_interval_seconds}
              value={every}
              onChange={(event) => setEvery(event.target.value)}
            />
          </div>
        </>
      )}
    </FormDialog>
  );
}

function listOf(text: string): string[] {
  return text
    .split(",")
    .map((part) => part.trim())
    .filter(Boolean);
}

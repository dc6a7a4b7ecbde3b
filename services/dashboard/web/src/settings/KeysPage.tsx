import { useQuery, useQueryClient } from "@tanstack/react-query";
import { KeyRound, Pencil, Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import { createKey, editKey, keysQuery, revokeKey } from "../api/settings";
import type { ApiKey, ApiKeyInput } from "../api/types";
import { ago, day, whole } from "../format";
import { texts } from "../texts";
import { Badge } from "../ui/Badge";
import { Button, IconButton } from "../ui/Button";
import { Field } from "../ui/Field";
import { Section } from "../ui/Panel";
import { Confirm } from "./Confirm";
import { FormDialog } from "./FormDialog";
import { SecretOnce } from "./SecretOnce";
import { SettingsList } from "./SettingsList";

type Scope = ApiKeyInput["scopes"][number];
const scopes: Scope[] = ["links:read", "links:write", "analytics:read", "admin"];

type Open =
  | { what: "new" }
  | { what: "edit" | "revoke"; key: ApiKey }
  | { what: "secret"; secret: string }
  | null;

/** Keys for programs, and how much each of them may do. */
export function KeysPage() {
  const [open, setOpen] = useState<Open>(null);
  const client = useQueryClient();
  const refresh = () => void client.invalidateQueries({ queryKey: keysQuery.queryKey });
  const close = () => setOpen(null);
  const t = texts.keys;
  return (
    <Section
      heading={texts.settings.keys}
      lead={t.lead}
      actions={
        <Button kind="primary" onClick={() => setOpen({ what: "new" })}>
          <Plus size={16} aria-hidden />
          {t.add}
        </Button>
      }
    >
      <SettingsList
        query={useQuery(keysQuery)}
        empty={{ icon: KeyRound, text: t.none, hint: t.noneHint }}
        keyOf={(key) => key.id}
        row={(key) => (
          <>
            <div className="min-w-0 grow">
              <p className="flex flex-wrap items-center gap-1.5">
                <span className="mr-1 font-medium">{key.name}</span>
                {key.scopes.map((scope) => (
                  <Badge key={scope}>{scope}</Badge>
                ))}
              </p>
              <p className="text-quiet text-xs tabular-nums">
                <code>{key.prefix}…</code> · {quota(key)} · {used(key)}
              </p>
            </div>
            <IconButton label={t.edit(key.name)} onClick={() => setOpen({ what: "edit", key })}>
              <Pencil size={16} aria-hidden />
            </IconButton>
            <IconButton label={t.revoke(key.name)} onClick={() => setOpen({ what: "revoke", key })}>
              <Trash2 size={16} aria-hidden />
            </IconButton>
          </>
        )}
      />
      {(open?.what === "new" || open?.what === "edit") && (
        <KeyForm
          {...(open.what === "edit" && { apiKey: open.key })}
          onClose={close}
          onDone={(secret) => {
            refresh();
            setOpen(secret ? { what: "secret", secret } : null);
          }}
        />
      )}
      {open?.what === "secret" && (
        <SecretOnce heading={t.secretHeading} text={t.secretText} secret={open.secret} onClose={close} />
      )}
      {open?.what === "revoke" && (
        <Confirm
          heading={t.revoke(open.key.name)}
          text={t.revokeText}
          action={t.revokeAction}
          run={() => revokeKey(open.key.id)}
          onDone={refresh}
          onClose={close}
        />
      )}
    </Section>
  );
}

function quota({ rate_limit }: ApiKey): string {
  return rate_limit
    ? texts.keys.quota(whole(rate_limit.capacity), whole(rate_limit.refill_per_second))
    : texts.keys.usualQuota;
}

function used({ last_used_at, created_at }: ApiKey): string {
  const now = new Date();
  return last_used_at
    ? texts.keys.lastUsed(ago(new Date(last_used_at), now))
    : texts.keys.neverUsed(day(new Date(created_at), now));
}

interface FormProps {
  apiKey?: ApiKey;
  onClose: () => void;
  onDone: (secret: string | null) => void;
}

function KeyForm({ apiKey, onClose, onDone }: FormProps) {
  const [name, setName] = useState(apiKey?.name ?? "");
  const [chosen, setChosen] = useState<string[]>(apiKey?.scopes ?? ["links:read", "links:write"]);
  const [capacity, setCapacity] = useState(String(apiKey?.rate_limit?.capacity ?? ""));
  const [refill, setRefill] = useState(String(apiKey?.rate_limit?.refill_per_second ?? ""));
  const t = texts.keys;
  const run = async (): Promise<string | null> => {
    const body = {
      name: name.trim(),
      scopes: scopes.filter((s) => chosen.includes(s)),
      rate_limit:
        capacity || refill ? { capacity: Number(capacity), refill_per_second: Number(refill) } : null,
    };
    if (apiKey) {
      await editKey(apiKey.id, body);
      return null;
    }
    return (await createKey(body)).key;
  };
  return (
    <FormDialog
      heading={apiKey ? t.edit(apiKey.name) : t.add}
      action={apiKey ? texts.form.save : t.add}
      run={run}
      onDone={onDone}
      onClose={onClose}
    >
      {(errors) => (
        <>
          <Field
            label={t.name}
            required
            error={errors.name}
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
          <fieldset>
            <legend className="mb-1.5 font-medium">{t.scopes}</legend>
            <div className="space-y-2">
              {scopes.map((scope) => (
                <label key={scope} className="flex items-start gap-2.5">
                  <input
                    type="checkbox"
                    checked={chosen.includes(scope)}
                    onChange={(event) =>
                      setChosen(event.target.checked ? [...chosen, scope] : chosen.filter((s) => s !== scope))
                    }
                    className="mt-0.5 size-4 accent-action"
                  />
                  <span>
                    <code className="text-sm">{scope}</code>
                    <span className="block text-quiet text-xs">{t.scopeTexts[scope]}</span>
                  </span>
                </label>
              ))}
            </div>
            {errors.scopes && <p className="mt-1.5 text-down text-xs">{errors.scopes}</p>}
          </fieldset>
          <div className="grid grid-cols-2 items-start gap-3">
            <Field
              label={t.capacity}
              inputMode="numeric"
              placeholder={t.usual}
              error={errors["rate_limit.capacity"] ?? errors.rate_limit}
              value={capacity}
              onChange={(event) => setCapacity(event.target.value)}
            />
            <Field
              label={t.refill}
              inputMode="decimal"
              placeholder={t.usual}
              error={errors["rate_limit.refill_per_second"]}
              value={refill}
              onChange={(event) => setRefill(event.target.value)}
            />
          </div>
        </>
      )}
    </FormDialog>
  );
}

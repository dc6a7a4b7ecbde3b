import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { ChartColumn, Globe, Pencil, Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import { createDomain, deleteDomain, domainsQuery, editDomain } from "../api/settings";
import type { Domain } from "../api/types";
import { readable } from "../format";
import { texts } from "../texts";
import { Badge } from "../ui/Badge";
import { Button, buttonClass, IconButton } from "../ui/Button";
import { Field } from "../ui/Field";
import { Section } from "../ui/Panel";
import { Switch } from "../ui/Switch";
import { Confirm } from "./Confirm";
import { FormDialog } from "./FormDialog";
import { SettingsList } from "./SettingsList";

type Open = { what: "new" } | { what: "edit" | "delete"; domain: Domain } | null;

/** The hosts that short links live on. */
export function DomainsPage() {
  const [open, setOpen] = useState<Open>(null);
  const client = useQueryClient();
  const refresh = () => void client.invalidateQueries({ queryKey: domainsQuery.queryKey });
  const close = () => setOpen(null);
  const t = texts.domains;
  return (
    <Section
      heading={texts.settings.domains}
      lead={t.lead}
      actions={
        <Button kind="primary" onClick={() => setOpen({ what: "new" })}>
          <Plus size={16} aria-hidden />
          {t.add}
        </Button>
      }
    >
      <SettingsList
        query={useQuery(domainsQuery)}
        empty={{ icon: Globe, text: t.none, hint: t.noneHint }}
        keyOf={(domain) => domain.id}
        row={(domain) => (
          <>
            <div className="min-w-0 grow">
              <p className="flex flex-wrap items-center gap-2">
                <span className="font-medium">{domain.unicode_host}</span>
                {domain.shared && <Badge>{t.shared}</Badge>}
                {!domain.case_sensitive && <Badge>{t.anyCase}</Badge>}
              </p>
              <p className="truncate text-quiet text-xs">
                {domain.home_url ? t.leadsTo(readable(domain.home_url)) : t.noHome}
              </p>
            </div>
            <Link
              to="/analytics"
              search={{ domain: domain.host }}
              aria-label={t.analytics(domain.unicode_host)}
              title={t.analytics(domain.unicode_host)}
              className={buttonClass("quiet", "icon")}
            >
              <ChartColumn size={16} aria-hidden />
            </Link>
            {!domain.shared && (
              <>
                <IconButton
                  label={t.edit(domain.unicode_host)}
                  onClick={() => setOpen({ what: "edit", domain })}
                >
                  <Pencil size={16} aria-hidden />
                </IconButton>
                <IconButton
                  label={t.delete(domain.unicode_host)}
                  onClick={() => setOpen({ what: "delete", domain })}
                >
                  <Trash2 size={16} aria-hidden />
                </IconButton>
              </>
            )}
          </>
        )}
      />
      {(open?.what === "new" || open?.what === "edit") && (
        <DomainForm
          {...(open.what === "edit" && { domain: open.domain })}
          onClose={close}
          onDone={() => [refresh(), close()]}
        />
      )}
      {open?.what === "delete" && (
        <Confirm
          heading={t.delete(open.domain.unicode_host)}
          text={t.deleteText}
          action={texts.actions.delete}
          run={() => deleteDomain(open.domain.id)}
          onDone={refresh}
          onClose={close}
        />
      )}
    </Section>
  );
}

function DomainForm({
  domain,
  onClose,
  onDone,
}: {
  domain?: Domain;
  onClose: () => void;
  onDone: () => void;
}) {
  const [host, setHost] = useState("");
  const [home, setHome] = useState(domain?.home_url ?? "");
  const [fallback, setFallback] = useState(domain?.fallback_url ?? "");
  const [caseSensitive, setCaseSensitive] = useState(domain?.case_sensitive ?? true);
  const [previews, setPreviews] = useState(domain?.preview_pages ?? true);
  const t = texts.domains;
  const fields = {
    home_url: home.trim() || null,
    fallback_url: fallback.trim() || null,
    preview_pages: previews,
  };
  const run = () =>
    domain
      ? editDomain(domain.id, {
          ...fields,
          ...(caseSensitive !== domain.case_sensitive && { case_sensitive: caseSensitive }),
        })
      : createDomain({ host: host.trim(), ...fields, case_sensitive: caseSensitive });
  return (
    <FormDialog
      heading={domain ? t.edit(domain.unicode_host) : t.add}
      action={domain ? texts.form.save : t.add}
      run={run}
      onDone={onDone}
      onClose={onClose}
    >
      {(errors) => (
        <>
          {!domain && (
            <Field
              label={t.host}
              hint={t.hostHint}
              required
              placeholder="go.example.com"
              autoCapitalize="none"
              spellCheck={false}
              error={errors.host}
              value={host}
              onChange={(event) => setHost(event.target.value)}
            />
          )}
          <Field
            label={t.home}
            hint={t.homeHint}
            type="url"
            placeholder="https://"
            error={errors.home_url}
            value={home}
            onChange={(event) => setHome(event.target.value)}
          />
          <Field
            label={t.fallback}
            hint={t.fallbackHint}
            type="url"
            placeholder="https://"
            error={errors.fallback_url}
            value={fallback}
            onChange={(event) => setFallback(event.target.value)}
          />
          <Switch label={t.previews} hint={t.previewsHint} checked={previews} onChange={setPreviews} />
          <Switch
            label={t.caseSensitive}
            hint={errors.case_sensitive ?? t.caseHint}
            checked={caseSensitive}
            onChange={setCaseSensitive}
          />
        </>
      )}
    </FormDialog>
  );
}

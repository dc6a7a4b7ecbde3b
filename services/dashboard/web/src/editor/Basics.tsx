import { useQuery } from "@tanstack/react-query";
import { Shuffle } from "lucide-react";
import { domainsQuery } from "../api/settings";
import { texts } from "../texts";
import { IconButton } from "../ui/Button";
import { Field, inputClass, Labelled } from "../ui/Field";
import { Select } from "../ui/Select";
import type { PartProps } from "./EditorForm";
import { SlugState } from "./SlugState";
import { TagInput } from "./TagInput";

const LETTERS = "23456789abcdefghijkmnpqrstuvwxyz";
const RANDOM_LENGTH = 7;

/** What every link has. */
export function Basics({ form, link, errors, set }: PartProps) {
  const domains = useQuery(domainsQuery);
  const t = texts.form;
  const hosts = domains.data ?? [];
  const options = hosts.map((d) => ({ value: d.host, label: d.unicode_host }));
  if (form.domain && !hosts.some((d) => d.host === form.domain)) {
    options.unshift({ value: form.domain, label: form.domain });
  }
  const fallback = hosts.find((d) => d.shared) ?? hosts[0];
  const domain = form.domain || fallback?.host || "";
  return (
    <div className="space-y-5">
      <Field
        data-autofocus
        label={t.destination}
        hint={t.destinationHint}
        error={errors.destination}
        type="url"
        inputMode="url"
        required
        autoComplete="off"
        placeholder="https://"
        value={form.destination}
        onChange={(event) => set({ destination: event.target.value })}
      />
      <Labelled
        label={t.slug}
        hint={<SlugState domain={domain} slug={form.slug} link={link} />}
        {...((errors.slug ?? errors.domain) && { error: errors.slug ?? errors.domain ?? "" })}
      >
        {(control) => (
          <div className="flex items-center gap-2 max-sm:flex-wrap">
            <span className="min-w-0 max-sm:w-full sm:w-2/5">
              <Select
                aria-label={t.domain}
                value={domain}
                options={options}
                onChange={(event) => set({ domain: event.target.value })}
              />
            </span>
            <span aria-hidden className="text-quiet">
              /
            </span>
            <input
              {...control}
              value={form.slug}
              autoComplete="off"
              autoCapitalize="none"
              spellCheck={false}
              placeholder={t.slugPlaceholder}
              onChange={(event) => set({ slug: event.target.value })}
              className={`h-9 max-sm:w-0 max-sm:grow ${inputClass} ${errors.slug ? "border-down" : "border-line-strong"}`}
            />
            <IconButton label={t.random} onClick={() => set({ slug: randomSlug() })}>
              <Shuffle size={16} aria-hidden />
            </IconButton>
          </div>
        )}
      </Labelled>
      <Field
        label={t.title}
        optional
        error={errors.title}
        maxLength={500}
        autoComplete="off"
        value={form.title}
        onChange={(event) => set({ title: event.target.value })}
      />
      <TagInput value={form.tags} error={errors.tags} onChange={(tags) => set({ tags })} />
      <Labelled label={t.notes} optional {...(errors.notes && { error: errors.notes })}>
        {(control) => (
          <textarea
            {...control}
            rows={2}
            maxLength={5000}
            value={form.notes}
            onChange={(event) => set({ notes: event.target.value })}
            className={`block py-2 ${inputClass} field-sizing-content max-h-40 border-line-strong`}
          />
        )}
      </Labelled>
    </div>
  );
}

function randomSlug(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(RANDOM_LENGTH));
  return [...bytes].map((b) => LETTERS[b % LETTERS.length]).join("");
}

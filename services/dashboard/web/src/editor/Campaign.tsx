import { Bookmark, ChevronDown, Megaphone } from "lucide-react";
import { useState } from "react";
import { explain } from "../api/problem";
import { texts } from "../texts";
import { Button } from "../ui/Button";
import { Field } from "../ui/Field";
import { Menu } from "../ui/Menu";
import { useToast } from "../ui/toast";
import type { PartProps } from "./EditorForm";
import { errorAt } from "./errors";
import { noUtm, utmFields } from "./form";
import { Group } from "./Group";
import { TemplatesOfBrowser } from "./TemplatesOfBrowser";
import { filledUtm, useTemplates } from "./templates";
import { withUtm } from "./utm";

/** Campaign parameters, and templates of them. */
export function Campaign({ form, errors, set }: PartProps) {
  const t = texts.utm;
  const { templates, save, remove, browser } = useTemplates();
  const toast = useToast();
  const [name, setName] = useState("");
  const failed = (error: unknown) => toast({ tone: "bad", text: explain(error) });
  const used = utmFields.filter((field) => form.utm[field].trim());
  return (
    <Group
      heading={t.heading}
      hint={t.hint}
      icon={Megaphone}
      wrong={errorAt(errors, "utm") !== undefined}
      set={used.length > 0 ? form.utm.campaign || form.utm.source || t.set(used.length) : undefined}
    >
      <TemplatesOfBrowser {...browser} />
      {templates.length > 0 && (
        <div className="flex flex-wrap gap-2">
          <Menu
            align="start"
            label={t.apply}
            trigger={(props) => (
              <Button size="small" {...props}>
                <Bookmark size={14} aria-hidden className="text-quiet" />
                {t.apply}
                <ChevronDown size={14} aria-hidden className="text-quiet" />
              </Button>
            )}
            entries={templates.map((template) => ({
              key: template.id,
              label: template.name,
              onSelect: () => set({ utm: filledUtm(template.utm) }),
            }))}
          />
          <Menu
            align="start"
            label={t.remove}
            trigger={(props) => (
              <Button size="small" kind="quiet" {...props}>
                {t.remove}
              </Button>
            )}
            entries={templates.map((template) => ({
              key: template.id,
              label: template.name,
              danger: true,
              onSelect: () =>
                remove.mutate(template.id, {
                  onSuccess: () => toast({ text: t.removed(template.name) }),
                  onError: failed,
                }),
            }))}
          />
        </div>
      )}
      <div className="grid gap-4 sm:grid-cols-2">
        {utmFields.map((field) => (
          <Field
            key={field}
            label={t.fields[field]}
            placeholder={t.examples[field]}
            error={errors[`utm.${field}`]}
            maxLength={500}
            autoComplete="off"
            value={form.utm[field]}
            onChange={(event) => set({ utm: { ...form.utm, [field]: event.target.value } })}
            {...(field === "campaign" && { className: "sm:col-span-2" })}
          />
        ))}
      </div>
      {used.length > 0 && (
        <>
          <p className="break-all rounded-lg bg-sunken px-3 py-2 text-quiet text-xs">
            {withUtm(form.destination.trim() || "https://…", form.utm)}
          </p>
          <div className="flex flex-wrap items-end gap-2">
            <Field
              className="min-w-40 grow"
              label={t.saveAs}
              maxLength={100}
              value={name}
              onChange={(event) => setName(event.target.value)}
            />
            <Button
              disabled={!name.trim() || save.isPending}
              onClick={() =>
                save.mutate(
                  { name: name.trim(), utm: form.utm },
                  {
                    onSuccess: () => {
                      toast({ text: t.saved(name.trim()) });
                      setName("");
                    },
                    onError: failed,
                  },
                )
              }
            >
              {t.save}
            </Button>
            <Button kind="quiet" onClick={() => set({ utm: noUtm })}>
              {t.clear}
            </Button>
          </div>
          <p className="text-quiet text-xs">{t.where}</p>
        </>
      )}
    </Group>
  );
}

import { Plus, Split, Trash2 } from "lucide-react";
import { percent } from "../format";
import { texts } from "../texts";
import { Button, IconButton } from "../ui/Button";
import { Field, inputClass, Labelled } from "../ui/Field";
import { Select } from "../ui/Select";
import type { PartProps } from "./EditorForm";
import { errorAt } from "./errors";
import { newKey, type VariantForm } from "./form";
import { Group } from "./Group";

const MAX_VARIANTS = 20;

/** An A/B test: visitors are split by weight, and each stays with what it got. */
export function Variants({ form, errors, set }: PartProps) {
  const t = texts.variants;
  const { variants } = form;
  const sum = variants.reduce((total, v) => total + (Number(v.weight) || 0), 0);
  const put = (variant: VariantForm) =>
    set({ variants: variants.map((v) => (v.key === variant.key ? variant : v)) });
  const add = () => {
    const fresh = { key: newKey(), destination: "", weight: "50", name: "" };
    // A split begins with what the link does now.
    const first = { key: newKey(), destination: form.destination, weight: "50", name: "A" };
    set({ variants: variants.length > 0 ? [...variants, fresh] : [first, { ...fresh, name: "B" }] });
  };
  return (
    <Group
      heading={t.heading}
      hint={t.hint}
      icon={Split}
      wrong={["variants", "variants_end_at", "variants_winner"].some((f) => errorAt(errors, f))}
      set={variants.length > 0 ? t.set(variants.length) : undefined}
    >
      {errors.variants && <p className="text-down text-xs">{errors.variants}</p>}
      <ol className="space-y-3">
        {variants.map((v, i) => (
          <li key={v.key} className="rounded-xl border border-line bg-ground p-3.5">
            <div className="mb-2 flex items-center gap-2">
              <input
                aria-label={t.name}
                placeholder={t.variant(i + 1)}
                maxLength={100}
                value={v.name}
                onChange={(event) => put({ ...v, name: event.target.value })}
                className={`h-9 grow ${inputClass} border-line-strong`}
              />
              <input
                aria-label={t.weight}
                inputMode="numeric"
                value={v.weight}
                aria-invalid={errors[`variants[${i}].weight`] ? true : undefined}
                onChange={(event) => put({ ...v, weight: event.target.value.replace(/\D/g, "") })}
                className={`h-9 max-w-16 text-right tabular-nums ${inputClass} border-line-strong`}
              />
              <span className="w-10 shrink-0 text-right text-quiet text-xs tabular-nums">
                {percent(sum > 0 ? (Number(v.weight) || 0) / sum : 0)}
              </span>
              <IconButton
                size="smallIcon"
                label={t.remove(i + 1)}
                onClick={() =>
                  set({
                    variants: variants.filter((one) => one.key !== v.key),
                    ...(form.winner === v.key && { winner: 0 }),
                  })
                }
              >
                <Trash2 size={15} aria-hidden />
              </IconButton>
            </div>
            <Field
              label={t.destination}
              type="url"
              required
              placeholder="https://"
              error={errors[`variants[${i}].destination`] ?? errors[`variants[${i}].weight`]}
              value={v.destination}
              onChange={(event) => put({ ...v, destination: event.target.value })}
            />
          </li>
        ))}
      </ol>
      <Button size="small" onClick={add} disabled={variants.length >= MAX_VARIANTS}>
        <Plus size={15} aria-hidden />
        {variants.length > 0 ? t.add : t.start}
      </Button>
      {variants.length > 0 && (
        <div className="grid gap-4 sm:grid-cols-2">
          <Field
            label={t.endsAt}
            type="datetime-local"
            error={errors.variants_end_at}
            value={form.variantsEndAt}
            onChange={(event) => set({ variantsEndAt: event.target.value })}
          />
          <Labelled
            label={t.winner}
            hint={t.winnerHint}
            {...(errors.variants_winner && { error: errors.variants_winner })}
          >
            {(control) => (
              <Select
                {...control}
                value={String(form.winner)}
                options={[
                  { value: "0", label: t.noWinner },
                  ...variants.map((v, i) => ({ value: String(v.key), label: v.name || t.variant(i + 1) })),
                ]}
                onChange={(event) => set({ winner: Number(event.target.value) })}
              />
            )}
          </Labelled>
        </div>
      )}
    </Group>
  );
}

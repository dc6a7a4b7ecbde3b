import { ArrowDown, ArrowUp, Plus, Route, Trash2, X } from "lucide-react";
import { texts } from "../texts";
import { Button, IconButton } from "../ui/Button";
import { Field } from "../ui/Field";
import { Select } from "../ui/Select";
import { ConditionFields } from "./ConditionFields";
import type { PartProps } from "./EditorForm";
import { errorAt } from "./errors";
import { type Condition, type ConditionType, newKey, type RuleForm } from "./form";
import { Group } from "./Group";

export const conditionTypes: ConditionType[] = [
  "country",
  "region",
  "continent",
  "language",
  "device",
  "os",
  "browser",
  "bot",
  "query",
  "time",
  "address",
];

const MAX_RULES = 50;

/** A condition as it begins: something that holds for somebody. */
function startOf(type: ConditionType, zone: string): Condition {
  if (type === "time") {
    return { type, zone, from: "09:00", to: "17:00" };
  }
  return { type, values: type === "bot" ? ["true"] : [] };
}

/** Who is sent elsewhere: the first rule whose conditions all hold. */
export function Rules({ form, errors, set }: PartProps) {
  const t = texts.rules;
  const { rules } = form;
  const put = (key: number, rule: RuleForm) => set({ rules: rules.map((r) => (r.key === key ? rule : r)) });
  const move = (index: number, by: number) => {
    const next = [...rules];
    const [rule] = next.splice(index, 1);
    if (rule) {
      next.splice(index + by, 0, rule);
      set({ rules: next });
    }
  };
  const add = () =>
    set({
      rules: [
        ...rules,
        { key: newKey(), destination: "", conditions: [{ ...startOf("country", form.zone), key: newKey() }] },
      ],
    });
  return (
    <Group
      heading={t.heading}
      hint={t.hint}
      icon={Route}
      wrong={errorAt(errors, "rules") !== undefined}
      set={rules.length > 0 ? t.set(rules.length) : undefined}
    >
      {errors.rules && <p className="text-down text-xs">{errors.rules}</p>}
      <ol className="space-y-3">
        {rules.map((rule, i) => (
          <li key={rule.key} className="rounded-xl border border-line bg-ground p-3.5">
            <div className="mb-3 flex items-center gap-1">
              <h3 className="grow font-medium">{t.rule(i + 1)}</h3>
              <IconButton size="smallIcon" label={t.up(i + 1)} disabled={i === 0} onClick={() => move(i, -1)}>
                <ArrowUp size={15} aria-hidden />
              </IconButton>
              <IconButton
                size="smallIcon"
                label={t.down(i + 1)}
                disabled={i === rules.length - 1}
                onClick={() => move(i, 1)}
              >
                <ArrowDown size={15} aria-hidden />
              </IconButton>
              <IconButton
                size="smallIcon"
                label={t.remove(i + 1)}
                onClick={() => set({ rules: rules.filter((r) => r.key !== rule.key) })}
              >
                <Trash2 size={15} aria-hidden />
              </IconButton>
            </div>
            <RuleFields
              rule={rule}
              zone={form.zone}
              path={`rules[${i}]`}
              errors={errors}
              onChange={(next) => put(rule.key, next)}
            />
          </li>
        ))}
      </ol>
      <Button size="small" onClick={add} disabled={rules.length >= MAX_RULES}>
        <Plus size={15} aria-hidden />
        {t.add}
      </Button>
    </Group>
  );
}

interface RuleProps {
  rule: RuleForm;
  zone: string;
  path: string;
  errors: PartProps["errors"];
  onChange: (rule: RuleForm) => void;
}

function RuleFields({ rule, zone, path, errors, onChange }: RuleProps) {
  const t = texts.rules;
  const { conditions } = rule;
  const put = (key: number, condition: Condition) =>
    onChange({ ...rule, conditions: conditions.map((c) => (c.key === key ? { ...condition, key } : c)) });
  return (
    <div className="space-y-3">
      {conditions.map((c, j) => (
        <div key={c.key}>
          {j > 0 && <p className="mb-2 text-quiet text-xs">{t.and}</p>}
          <div className="flex items-start gap-2">
            <div className="grid min-w-0 grow gap-2 sm:grid-cols-[9.5rem_minmax(0,1fr)]">
              <Select
                aria-label={t.type}
                value={c.type}
                options={conditionTypes.map((value) => ({ value, label: t.types[value] }))}
                onChange={(event) => put(c.key, startOf(event.target.value as ConditionType, zone))}
              />
              <ConditionFields
                condition={c}
                error={errorAt(errors, `${path}.conditions[${j}]`)}
                onChange={(next) => put(c.key, next)}
              />
            </div>
            <IconButton
              label={t.removeCondition}
              disabled={conditions.length === 1}
              onClick={() => onChange({ ...rule, conditions: conditions.filter((one) => one.key !== c.key) })}
            >
              <X size={15} aria-hidden />
            </IconButton>
          </div>
        </div>
      ))}
      <Button
        kind="quiet"
        size="small"
        onClick={() =>
          onChange({ ...rule, conditions: [...conditions, { ...startOf("device", zone), key: newKey() }] })
        }
      >
        <Plus size={15} aria-hidden />
        {t.addCondition}
      </Button>
      <Field
        label={t.destination}
        type="url"
        required
        placeholder="https://"
        error={errors[`${path}.destination`]}
        value={rule.destination}
        onChange={(event) => onChange({ ...rule, destination: event.target.value })}
      />
    </div>
  );
}

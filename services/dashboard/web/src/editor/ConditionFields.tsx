import { texts } from "../texts";
import { inputClass } from "../ui/Field";
import { Select } from "../ui/Select";
import { ZoneSelect } from "../ui/ZoneSelect";
import type { Condition } from "./form";

interface Props {
  condition: Condition;
  error: string | undefined;
  onChange: (condition: Condition) => void;
}

const closed = {
  device: ["desktop", "mobile", "tablet", "tv"],
  continent: ["AF", "AN", "AS", "EU", "NA", "OC", "SA"],
} as const;

const weekdays = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"] as const;

/** What a condition looks for: a choice where there are few, texts where there are many. */
export function ConditionFields({ condition, error, onChange }: Props) {
  return (
    <div className="min-w-0">
      <Inner condition={condition} error={error} onChange={onChange} />
      {error && (
        <p role="alert" className="mt-1.5 text-down text-xs">
          {error}
        </p>
      )}
    </div>
  );
}

function Inner({ condition, error, onChange }: Props) {
  const t = texts.rules;
  const { type } = condition;
  const values = condition.values ?? [];
  switch (type) {
    case "time":
      return <TimeFields condition={condition} onChange={onChange} />;
    case "bot":
      return (
        <Select
          aria-label={t.types.bot}
          value={values[0] ?? "true"}
          options={[
            { value: "true", label: t.isBot },
            { value: "false", label: t.isPerson },
          ]}
          onChange={(event) => onChange({ ...condition, values: [event.target.value] })}
        />
      );
    case "device":
    case "continent":
      return (
        <Choices
          label={t.types[type]}
          options={closed[type].map((value) => ({
            value,
            label: (texts.values[type] as Record<string, string>)[value] ?? value,
          }))}
          chosen={values}
          onChange={(next) => onChange({ ...condition, values: next })}
        />
      );
    default:
      return (
        <input
          aria-label={t.valuesOf(t.types[type])}
          aria-invalid={error ? true : undefined}
          placeholder={t.examples[type]}
          spellCheck={false}
          autoComplete="off"
          value={values.join(", ")}
          onChange={(event) => onChange({ ...condition, values: event.target.value.split(/, ?/) })}
          className={`h-9 ${inputClass} ${error ? "border-down" : "border-line-strong"}`}
        />
      );
  }
}

interface ChoicesProps {
  label: string;
  options: { value: string; label: string }[];
  chosen: readonly string[];
  onChange: (values: string[]) => void;
}

function Choices({ label, options, chosen, onChange }: ChoicesProps) {
  return (
    <fieldset className="flex flex-wrap gap-1.5">
      <legend className="sr-only">{label}</legend>
      {options.map((o) => (
        <label
          key={o.value}
          className="flex h-9 cursor-pointer items-center rounded-lg border border-line-strong bg-panel px-2.5 has-checked:border-accent has-checked:bg-accent-soft has-checked:text-accent-text has-focus-visible:outline-2 has-focus-visible:outline-accent"
        >
          <input
            type="checkbox"
            checked={chosen.includes(o.value)}
            onChange={(event) =>
              onChange(event.target.checked ? [...chosen, o.value] : chosen.filter((v) => v !== o.value))
            }
            className="sr-only"
          />
          {o.label}
        </label>
      ))}
    </fieldset>
  );
}

function TimeFields({ condition, onChange }: Omit<Props, "error">) {
  const t = texts.rules;
  const clock = `h-9 ${inputClass} border-line-strong`;
  return (
    <div className="space-y-2">
      <div className="flex items-center gap-2">
        <input
          type="time"
          aria-label={t.from}
          value={condition.from ?? ""}
          onChange={(event) => onChange({ ...condition, from: event.target.value })}
          className={clock}
        />
        <span className="text-quiet">{t.to}</span>
        <input
          type="time"
          aria-label={t.to}
          value={condition.to ?? ""}
          onChange={(event) => onChange({ ...condition, to: event.target.value })}
          className={clock}
        />
      </div>
      <Choices
        label={t.weekdays}
        options={weekdays.map((value, i) => ({ value, label: weekdayName(i) }))}
        chosen={condition.weekdays ?? []}
        onChange={(next) =>
          onChange({
            ...condition,
            weekdays: weekdays.filter((day) => next.includes(day)) as Condition["weekdays"] & object,
          })
        }
      />
      <ZoneSelect
        aria-label={texts.period.zone}
        value={condition.zone || "UTC"}
        onChange={(zone) => onChange({ ...condition, zone })}
      />
    </div>
  );
}

/** The first of January 2024 was a Monday. */
function weekdayName(index: number): string {
  const day = new Date(Date.UTC(2024, 0, 1 + index));
  return day.toLocaleDateString(undefined, { weekday: "short", timeZone: "UTC" });
}

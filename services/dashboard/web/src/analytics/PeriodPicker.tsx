import { texts } from "../texts";
import { type Period, periods } from "./period";

/** One of the presets; radio buttons, so that the arrow keys work. */
export function PeriodPicker({ value, onChange }: { value: Period; onChange: (p: Period) => void }) {
  return (
    <fieldset className="flex rounded-lg border border-line-strong bg-panel p-0.5 shadow-xs">
      <legend className="sr-only">{texts.period.label}</legend>
      {periods.map((p) => (
        <label
          key={p}
          className="relative cursor-pointer whitespace-nowrap rounded-md px-3 py-1 font-medium text-quiet text-sm transition-colors hover:text-text has-checked:bg-accent-soft has-checked:text-accent-text has-focus-visible:outline-2 has-focus-visible:outline-accent"
        >
          <input
            type="radio"
            name="period"
            value={p}
            checked={p === value}
            onChange={() => onChange(p)}
            className="sr-only"
          />
          <span className="max-sm:sr-only">{texts.period.names[p]}</span>
          <span aria-hidden className="sm:hidden">
            {texts.period.short[p]}
          </span>
        </label>
      ))}
    </fieldset>
  );
}

import { X } from "lucide-react";
import { texts } from "../texts";
import { Button } from "../ui/Button";
import { AddFilter } from "./AddFilter";
import { LinkName } from "./LinkName";
import { dimensionLabel, valueLabel } from "./labels";
import { type Dimension, dimensions, type Scope, toggled, type View } from "./view";

interface Props {
  view: View;
  scope: Scope;
  onChange: (view: View) => void;
}

/** What the page is narrowed to; each part can be taken away. */
export function FilterBar({ view, scope, onChange }: Props) {
  const chips = dimensions.flatMap((name) => (view.filters[name] ?? []).map((value) => ({ name, value })));
  const narrowed = chips.length > 0 || view.bots !== "exclude";
  return (
    <div className="flex flex-wrap items-center gap-2">
      <AddFilter view={view} scope={scope} onChange={onChange} />
      {view.bots !== "exclude" && (
        <Chip
          name={texts.filters.bots}
          value={texts.bots[view.bots]}
          spoken={texts.bots[view.bots]}
          onRemove={() => onChange({ ...view, bots: "exclude" })}
        />
      )}
      {chips.map(({ name, value }) => (
        <Chip
          key={`${name} ${value}`}
          name={dimensionLabel(name)}
          value={<Value name={name} value={value} />}
          spoken={`${dimensionLabel(name)}: ${valueLabel(name, value)}`}
          onRemove={() => onChange({ ...view, filters: toggled(view.filters, name, value) })}
        />
      ))}
      {narrowed && (
        <Button kind="quiet" onClick={() => onChange({ ...view, bots: "exclude", filters: {} })}>
          {texts.filters.clear}
        </Button>
      )}
    </div>
  );
}

function Value({ name, value }: { name: Dimension; value: string }) {
  return name === "link" ? <LinkName id={value} /> : valueLabel(name, value);
}

interface ChipProps {
  name: string;
  value: React.ReactNode;
  spoken: string;
  onRemove: () => void;
}

function Chip({ name, value, spoken, onRemove }: ChipProps) {
  return (
    <span className="inline-flex h-9 max-w-full items-center rounded-lg border border-line bg-accent-soft pl-2.5 text-accent-text">
      <span className="min-w-0 truncate">
        {name} <strong className="font-semibold">{value}</strong>
      </span>
      <button
        type="button"
        aria-label={texts.filters.remove(spoken)}
        onClick={onRemove}
        className="ml-1 grid size-7 shrink-0 place-content-center rounded-md hover:bg-accent/15"
      >
        <X size={14} aria-hidden />
      </button>
    </span>
  );
}

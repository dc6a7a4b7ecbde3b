import { useQuery } from "@tanstack/react-query";
import { ChevronLeft, ChevronRight, ListFilter } from "lucide-react";
import { useState } from "react";
import { compact } from "../format";
import { texts } from "../texts";
import { Button } from "../ui/Button";
import { inputClass } from "../ui/Field";
import { Skeleton } from "../ui/Notice";
import { Popover } from "../ui/Popover";
import { ValueLabel } from "./Breakdown";
import { dimensionLabel, valueLabel } from "./labels";
import { breakdownQuery } from "./queries";
import { type Bots, type Dimension, dimensions, type Scope, toggled, type View } from "./view";

const OFFERED = 100;

interface Props {
  view: View;
  scope: Scope;
  onChange: (view: View) => void;
}

/** First what to filter by, then the value, out of those that occur. */
export function AddFilter(props: Props) {
  return (
    <Popover
      label={texts.filters.add}
      className="w-72"
      trigger={(trigger) => (
        <Button {...trigger} aria-haspopup="dialog">
          <ListFilter size={15} aria-hidden className="text-quiet" />
          {texts.filters.add}
        </Button>
      )}
    >
      {(close) => <Steps {...props} close={close} />}
    </Popover>
  );
}

function Steps({ view, scope, onChange, close }: Props & { close: () => void }) {
  const [name, setName] = useState<Dimension | "bots" | null>(null);
  const choose = (value: string) => {
    if (name === "bots") {
      onChange({ ...view, bots: value as Bots });
    } else if (name) {
      onChange({ ...view, filters: toggled(view.filters, name, value) });
    }
    close();
  };
  const offered = dimensions.filter((f) => !(scope.link_id && ["domain", "tag", "link"].includes(f)));
  if (!name) {
    return (
      <ul className="max-h-96 overflow-y-auto p-1.5">
        {[...offered, "bots" as const].map((f) => (
          <li key={f}>
            <button type="button" className={itemClass} onClick={() => setName(f)}>
              <span className="grow">{f === "bots" ? texts.filters.bots : dimensionLabel(f)}</span>
              <ChevronRight size={15} aria-hidden className="text-quiet" />
            </button>
          </li>
        ))}
      </ul>
    );
  }
  const label = name === "bots" ? texts.filters.bots : dimensionLabel(name);
  return (
    <div className="p-1.5">
      <button type="button" className={`${itemClass} mb-1 font-medium`} onClick={() => setName(null)}>
        <ChevronLeft size={15} aria-hidden className="text-quiet" />
        {label}
      </button>
      {name === "bots" && (
        <Values
          label={label}
          values={(["exclude", "include", "only"] as const).map((b) => ({ value: b, name: texts.bots[b] }))}
          onChoose={choose}
        />
      )}
      {name !== "bots" && <Occurring by={name} view={view} scope={scope} onChoose={choose} />}
    </div>
  );
}

const itemClass = "flex w-full items-center gap-2 rounded-lg px-2.5 py-1.5 text-left hover:bg-sunken";

interface Offer {
  value: string;
  name: string;
  label?: React.ReactNode;
  count?: number;
}

interface ValuesProps {
  label: string;
  values: Offer[] | undefined;
  onChoose: (value: string) => void;
}

function Values({ label, values, onChoose }: ValuesProps) {
  const [text, setText] = useState("");
  if (!values) {
    return <Skeleton className="m-2 h-40" />;
  }
  const wanted = text.trim().toLowerCase();
  const shown = values.filter((v) => v.name.toLowerCase().includes(wanted));
  return (
    <>
      {values.length > 6 && (
        <input
          data-autofocus
          aria-label={`${texts.filters.search}: ${label}`}
          placeholder={texts.filters.search}
          value={text}
          onChange={(event) => setText(event.target.value)}
          className={`mb-1.5 h-8 ${inputClass} border-line-strong`}
        />
      )}
      <ul className="max-h-72 overflow-y-auto">
        {shown.map((v) => (
          <li key={v.value}>
            <button type="button" className={itemClass} onClick={() => onChoose(v.value)}>
              <span className="min-w-0 grow truncate">{v.label ?? v.name}</span>
              {v.count !== undefined && (
                <span className="text-quiet text-xs tabular-nums">{compact(v.count)}</span>
              )}
            </button>
          </li>
        ))}
      </ul>
      {shown.length === 0 && <p className="px-2.5 py-4 text-center text-quiet">{texts.overview.nothing}</p>}
    </>
  );
}

function Occurring({
  by,
  view,
  scope,
  onChoose,
}: Omit<Props, "onChange"> & { by: Dimension; onChoose: (v: string) => void }) {
  // Without its own filter, so that a second value can be added.
  const { [by]: _, ...filters } = view.filters;
  const rows = useQuery(breakdownQuery({ ...view, filters }, scope, by, OFFERED));
  const values = rows.data?.map((row) => ({
    value: row.value,
    name: valueLabel(by, row.value),
    label: <ValueLabel by={by} value={row.value} />,
    count: row.clicks,
  }));
  return <Values label={dimensionLabel(by)} values={rows.isError ? [] : values} onChoose={onChoose} />;
}

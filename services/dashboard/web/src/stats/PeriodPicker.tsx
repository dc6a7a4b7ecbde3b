import { Calendar, ChevronDown } from "lucide-react";
import { type FormEvent, useState } from "react";
import { calendarDay, calendarRange } from "../format";
import { texts } from "../texts";
import { Button } from "../ui/Button";
import { Field, Labelled } from "../ui/Field";
import { Popover } from "../ui/Popover";
import { ZoneSelect } from "../ui/ZoneSelect";
import { browserZone, dateIn, type Period, presets, spanOf } from "./period";
import type { View } from "./view";

interface Props {
  view: View;
  onChange: (view: View) => void;
}

/** What the button says. */
export function periodLabel(period: Period): string {
  if ("preset" in period) {
    return texts.period.names[period.preset];
  }
  return period.from === period.to ? calendarDay(period.from) : calendarRange(period.from, period.to);
}

/** Presets, a range of one's own, and the zone that days are cut in. */
export function PeriodPicker({ view, onChange }: Props) {
  return (
    <Popover
      label={texts.period.label}
      align="end"
      className="w-[min(26rem,calc(100vw-0.75rem))]"
      trigger={(props) => (
        <Button {...props} aria-haspopup="dialog" title={texts.period.label}>
          <Calendar size={15} aria-hidden className="text-quiet" />
          {periodLabel(view.period)}
          <ChevronDown size={15} aria-hidden className="text-quiet" />
        </Button>
      )}
    >
      {(close) => (
        <div className="grid sm:grid-cols-[10.5rem_1fr]">
          <ul className="grid grid-cols-2 content-start border-line p-1.5 max-sm:border-b sm:grid-cols-1 sm:border-r">
            {presets.map((preset) => {
              const on = "preset" in view.period && view.period.preset === preset;
              return (
                <li key={preset}>
                  <button
                    type="button"
                    aria-pressed={on}
                    {...(on && { "data-autofocus": true })}
                    onClick={() => {
                      onChange({ ...view, period: { preset }, interval: undefined });
                      close();
                    }}
                    className="w-full rounded-lg px-2.5 py-1.5 text-left hover:bg-sunken aria-pressed:bg-accent-soft aria-pressed:font-medium aria-pressed:text-accent-text"
                  >
                    {texts.period.names[preset]}
                  </button>
                </li>
              );
            })}
          </ul>
          <Custom view={view} onChange={onChange} close={close} />
        </div>
      )}
    </Popover>
  );
}

function Custom({ view, onChange, close }: Props & { close: () => void }) {
  const span = spanOf(view.period, new Date(), view.tz);
  const [from, setFrom] = useState(span.from.slice(0, 10));
  const [to, setTo] = useState(span.to.slice(0, 10));
  const [tz, setTz] = useState(view.tz);
  const today = dateIn(new Date(), tz);
  const apply = (event: FormEvent) => {
    event.preventDefault();
    if (from && to) {
      onChange({
        ...view,
        tz,
        period: from <= to ? { from, to } : { from: to, to: from },
        interval: undefined,
      });
      close();
    }
  };
  return (
    <form onSubmit={apply} className="space-y-3 p-4">
      <Field
        label={texts.period.from}
        type="date"
        required
        max={today}
        value={from}
        onChange={(event) => setFrom(event.target.value)}
      />
      <Field
        label={texts.period.to}
        type="date"
        required
        max={today}
        value={to}
        onChange={(event) => setTo(event.target.value)}
      />
      <Labelled label={texts.period.zone} hint={texts.period.zoneHint(browserZone())}>
        {(control) => (
          <ZoneSelect
            {...control}
            value={tz}
            onChange={(zone) => {
              setTz(zone);
              onChange({ ...view, tz: zone });
            }}
          />
        )}
      </Labelled>
      <div className="flex justify-end pt-1">
        <Button kind="primary" type="submit">
          {texts.period.apply}
        </Button>
      </div>
    </form>
  );
}

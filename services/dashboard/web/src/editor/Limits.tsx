import { CalendarClock } from "lucide-react";
import { texts } from "../texts";
import { Field, Labelled } from "../ui/Field";
import { Switch } from "../ui/Switch";
import { ZoneSelect } from "../ui/ZoneSelect";
import type { PartProps } from "./EditorForm";
import { Group } from "./Group";
import { momentOf, wallClock } from "./zone";

/** When the link works, how often, and where it leads when it does not. */
export function Limits({ form, errors, set }: PartProps) {
  const t = texts.limits;
  const used = [
    form.disabled ? t.off : "",
    form.startsAt ? t.starts : "",
    form.expiresAt ? t.ends : "",
    form.maxClicks ? t.counted : "",
  ].find(Boolean);
  const rezone = (zone: string) =>
    set({
      zone,
      startsAt: wallClock(momentOf(form.startsAt, form.zone), zone),
      expiresAt: wallClock(momentOf(form.expiresAt, form.zone), zone),
      variantsEndAt: wallClock(momentOf(form.variantsEndAt, form.zone), zone),
    });
  return (
    <Group
      heading={t.heading}
      hint={t.hint}
      icon={CalendarClock}
      set={used}
      wrong={["starts_at", "expires_at", "max_clicks", "fallback_url"].some((f) => errors[f])}
    >
      <div className="grid gap-4 sm:grid-cols-2">
        <Field
          label={t.startsAt}
          type="datetime-local"
          error={errors.starts_at}
          value={form.startsAt}
          onChange={(event) => set({ startsAt: event.target.value })}
        />
        <Field
          label={t.expiresAt}
          type="datetime-local"
          error={errors.expires_at}
          value={form.expiresAt}
          onChange={(event) => set({ expiresAt: event.target.value })}
        />
        <Labelled label={texts.period.zone}>
          {(control) => <ZoneSelect {...control} value={form.zone} onChange={rezone} />}
        </Labelled>
        <Field
          label={t.maxClicks}
          inputMode="numeric"
          error={errors.max_clicks}
          placeholder={t.unlimited}
          value={form.maxClicks}
          onChange={(event) => set({ maxClicks: event.target.value })}
        />
      </div>
      <Field
        label={t.fallback}
        hint={t.fallbackHint}
        type="url"
        placeholder="https://"
        error={errors.fallback_url}
        value={form.fallbackUrl}
        onChange={(event) => set({ fallbackUrl: event.target.value })}
      />
      <Switch
        label={t.disabled}
        hint={t.disabledHint}
        checked={form.disabled}
        onChange={(disabled) => set({ disabled })}
      />
    </Group>
  );
}

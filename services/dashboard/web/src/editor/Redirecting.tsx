import { CornerUpRight } from "lucide-react";
import { texts } from "../texts";
import { Labelled } from "../ui/Field";
import { Select } from "../ui/Select";
import { Switch } from "../ui/Switch";
import type { PartProps } from "./EditorForm";
import type { ForwardQuery } from "./form";
import { Group } from "./Group";

const statusCodes = ["302", "301", "307", "308"] as const;
const forwardings: ForwardQuery[] = ["off", "add", "visitor_wins", "owner_wins"];

/** How visitors are sent on, and what of their request goes along. */
export function Redirecting({ form, errors, set }: PartProps) {
  const t = texts.redirecting;
  const changed = form.statusCode !== "302" || form.forwardQuery !== "off" || form.forwardPath;
  return (
    <Group
      heading={t.heading}
      hint={t.hint}
      icon={CornerUpRight}
      wrong={["status_code", "forward_query", "forward_path"].some((f) => errors[f])}
      set={changed ? form.statusCode : undefined}
    >
      <Labelled
        label={t.status}
        hint={t.statusHint}
        {...(errors.status_code && { error: errors.status_code })}
      >
        {(control) => (
          <Select
            {...control}
            value={form.statusCode}
            options={statusCodes.map((code) => ({ value: code, label: `${code} · ${t.codes[code]}` }))}
            onChange={(event) => set({ statusCode: event.target.value })}
          />
        )}
      </Labelled>
      <Labelled label={t.query} {...(errors.forward_query && { error: errors.forward_query })}>
        {(control) => (
          <Select
            {...control}
            value={form.forwardQuery}
            options={forwardings.map((value) => ({ value, label: t.queries[value] }))}
            onChange={(event) => set({ forwardQuery: event.target.value as ForwardQuery })}
          />
        )}
      </Labelled>
      <Switch
        label={t.path}
        hint={errors.forward_path ?? t.pathHint}
        checked={form.forwardPath}
        onChange={(forwardPath) => set({ forwardPath })}
      />
    </Group>
  );
}

import { Lock } from "lucide-react";
import { texts } from "../texts";
import { Button } from "../ui/Button";
import { Field } from "../ui/Field";
import type { PartProps } from "./EditorForm";
import { Group } from "./Group";

/** A password that visitors have to type. It goes one way: nobody can read it again. */
export function Protection({ form, link, errors, set }: PartProps) {
  const t = texts.protection;
  const has = link?.has_password ?? false;
  const removing = has && form.password === "";
  return (
    <Group
      heading={t.heading}
      hint={t.hint}
      icon={Lock}
      wrong={errors.password !== undefined}
      set={form.password || (has && form.password === null) ? t.set : undefined}
    >
      <Field
        label={has ? t.change : t.password}
        hint={removing ? t.willGo : has ? t.keeps : t.passwordHint}
        error={errors.password}
        type="text"
        autoComplete="off"
        spellCheck={false}
        disabled={removing}
        value={form.password ?? ""}
        onChange={(event) => set({ password: event.target.value || null })}
      />
      {has && (
        <Button size="small" onClick={() => set({ password: removing ? null : "" })}>
          {removing ? t.keep : t.remove}
        </Button>
      )}
    </Group>
  );
}

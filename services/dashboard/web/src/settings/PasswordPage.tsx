import { useMutation, useQueryClient, useSuspenseQuery } from "@tanstack/react-query";
import { type FormEvent, useEffect, useRef, useState } from "react";
import { Problem } from "../api/problem";
import { changePassword, sessionQuery } from "../api/session";
import { texts } from "../texts";
import { Button } from "../ui/Button";
import { Field } from "../ui/Field";
import { ErrorNotice } from "../ui/Notice";
import { Panel, Section } from "../ui/Panel";
import { useToast } from "../ui/toast";
import { checkPasswordForm, emptyPasswordForm, type PasswordErrors, passwordErrors } from "./passwordForm";

/** Where whoever is logged in changes their own password, whatever their role. */
export function PasswordPage() {
  const { data: who } = useSuspenseQuery(sessionQuery);
  const client = useQueryClient();
  const toast = useToast();
  const [form, setForm] = useState(emptyPasswordForm);
  const [errors, setErrors] = useState<PasswordErrors>({});
  const element = useRef<HTMLFormElement>(null);
  const t = texts.password;

  // What is wrong is where one types on, once it is marked.
  // biome-ignore lint/correctness/useExhaustiveDependencies: not at every render
  useEffect(() => element.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus(), [errors]);
  const save = useMutation({
    mutationFn: () => changePassword(form.current, form.fresh),
    onSuccess: (now) => {
      client.setQueryData(sessionQuery.queryKey, now);
      setForm(emptyPasswordForm);
      toast({ text: t.changed });
    },
    onError: (error) => setErrors(error instanceof Problem ? passwordErrors(error.byField()) : {}),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const found = checkPasswordForm(form);
    setErrors(found);
    if (Object.keys(found).length === 0) {
      save.mutate();
    } else {
      save.reset();
    }
  };
  const input = (name: keyof typeof form, autoComplete: "current-password" | "new-password") => ({
    type: "password",
    name,
    autoComplete,
    required: true,
    value: form[name],
    error: errors[name],
    onChange: (event: { target: { value: string } }) =>
      setForm((was) => ({ ...was, [name]: event.target.value })),
  });

  return (
    <Section heading={t.heading} lead={t.lead(who.email)}>
      <Panel className="p-4 sm:p-5">
        {/* Our own words beside the fields, which a screen reader hears, in place of the browser's. */}
        <form ref={element} onSubmit={submit} noValidate className="max-w-96 space-y-4">
          {/* For password managers: whose password it is. */}
          <input type="text" name="username" autoComplete="username" value={who.email} readOnly hidden />
          <Field label={t.current} {...input("current", "current-password")} />
          <Field label={t.fresh} hint={t.freshHint} {...input("fresh", "new-password")} />
          <Field label={t.repeat} {...input("repeat", "new-password")} />
          {save.isError && Object.keys(errors).length === 0 && <ErrorNotice error={save.error} />}
          <Button kind="primary" type="submit" disabled={save.isPending}>
            {save.isPending ? texts.form.submitting : t.action}
          </Button>
        </form>
      </Panel>
    </Section>
  );
}

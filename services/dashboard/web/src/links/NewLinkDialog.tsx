import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { api } from "../api/client";
import { Problem } from "../api/problem";
import { linksKey } from "../api/queries";
import type { Link, LinkInput } from "../api/types";
import { texts } from "../texts";
import { Button } from "../ui/Button";
import { Dialog } from "../ui/Dialog";
import { Field } from "../ui/Field";
import { ErrorNotice } from "../ui/Notice";

const shown = ["destination", "slug", "title"] as const;
type Name = (typeof shown)[number];
type Errors = Partial<Record<Name, string>>;

interface Props {
  onClose: () => void;
  onCreated: (link: Link) => void;
}

export function NewLinkDialog({ onClose, onCreated }: Props) {
  const client = useQueryClient();
  const [form, setForm] = useState<Record<Name, string>>({ destination: "", slug: "", title: "" });
  const [errors, setErrors] = useState<Errors>({});

  const create = useMutation({
    mutationFn: api.createLink,
    onSuccess: async (link) => {
      await client.invalidateQueries({ queryKey: linksKey });
      onCreated(link);
    },
    onError: (error) => setErrors(fieldErrors(error)),
  });

  const set = (name: Name) => (value: string) => {
    setForm((was) => ({ ...was, [name]: value }));
    setErrors(({ [name]: _, ...rest }) => rest);
  };

  const submit = (event: FormEvent) => {
    event.preventDefault();
    const input = toInput(form);
    const problem = destinationProblem(input.destination);
    setErrors(problem ? { destination: problem } : {});
    if (!problem) {
      create.mutate(input);
    }
  };

  const elsewhere = create.isError && Object.keys(fieldErrors(create.error)).length === 0;
  return (
    <Dialog heading={texts.form.heading} onClose={onClose}>
      <form onSubmit={submit} noValidate className="space-y-5 px-6 py-5">
        <Field
          label={texts.form.destination}
          hint={texts.form.destinationHint}
          error={errors.destination}
          type="url"
          inputMode="url"
          required
          autoComplete="off"
          placeholder="https://"
          value={form.destination}
          onChange={(event) => set("destination")(event.target.value)}
        />
        <Field
          label={texts.form.slug}
          hint={texts.form.slugHint}
          error={errors.slug}
          prefix="/"
          autoComplete="off"
          autoCapitalize="none"
          spellCheck={false}
          value={form.slug}
          onChange={(event) => set("slug")(event.target.value)}
        />
        <Field
          label={texts.form.title}
          hint={texts.form.titleHint}
          error={errors.title}
          autoComplete="off"
          value={form.title}
          onChange={(event) => set("title")(event.target.value)}
        />
        {elsewhere && <ErrorNotice error={create.error} />}
        <div className="flex justify-end gap-3 pt-1">
          <Button onClick={onClose}>{texts.cancel}</Button>
          <Button kind="primary" type="submit" disabled={create.isPending}>
            {create.isPending ? texts.form.submitting : texts.form.submit}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

/** What is left empty is left out: the API chooses then. */
function toInput(form: Record<Name, string>): LinkInput {
  const [destination, slug, title] = [form.destination.trim(), form.slug.trim(), form.title.trim()];
  return { destination, ...(slug && { slug }), ...(title && { title }) };
}

/** Catches the two mistakes that everybody makes; the API has the last word on the rest. */
function destinationProblem(destination: string): string | undefined {
  if (!destination) {
    return texts.form.destinationMissing;
  }
  return /^[a-z][a-z0-9+.-]*:/i.test(destination) ? undefined : texts.form.destinationInvalid;
}

function fieldErrors(error: unknown): Errors {
  if (!(error instanceof Problem)) {
    return {};
  }
  const found = error.byField();
  const out: Errors = {};
  for (const name of shown) {
    if (found[name]) {
      out[name] = found[name];
    }
  }
  // A conflict names no field, but there is only one that can conflict.
  if (error.status === 409 && Object.keys(out).length === 0) {
    out.slug = error.message;
  }
  return out;
}

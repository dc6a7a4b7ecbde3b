import { type FormEvent, useRef, useState } from "react";
import type { Link } from "../api/types";
import { texts } from "../texts";
import { Button } from "../ui/Button";
import { DialogBody, DialogFooter } from "../ui/Dialog";
import { ErrorNotice } from "../ui/Notice";
import { Basics } from "./Basics";
import { Campaign } from "./Campaign";
import { apiErrors, type Errors, localErrors } from "./errors";
import type { Form } from "./form";
import { Limits } from "./Limits";
import { PreviewCard } from "./PreviewCard";
import { Protection } from "./Protection";
import { Redirecting } from "./Redirecting";
import { Rules } from "./Rules";
import { useSave } from "./useSave";
import { Variants } from "./Variants";

/** What each part of the editor gets. */
export interface PartProps {
  form: Form;
  link: Link | undefined;
  errors: Errors;
  set: (change: Partial<Form>) => void;
}

interface Props {
  initial: Form;
  link?: Link;
  onClose: () => void;
}

export function EditorForm({ initial, link, onClose }: Props) {
  const [form, setForm] = useState(initial);
  const [errors, setErrors] = useState<Errors>({});
  const element = useRef<HTMLFormElement>(null);
  const save = useSave(link, onClose);

  const set = (change: Partial<Form>) => {
    setForm((was) => ({ ...was, ...change }));
    setErrors({});
  };
  const show = (wrong: Errors) => {
    setErrors(wrong);
    // After the paint, when the groups that hold mistakes are open.
    setTimeout(() => element.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus());
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const wrong = localErrors(form);
    if (Object.keys(wrong).length > 0) {
      show(wrong);
      return;
    }
    save.mutate(form, { onError: (error) => show(apiErrors(error)) });
  };

  const elsewhere = save.isError && Object.keys(apiErrors(save.error)).length === 0;
  const part: PartProps = { form, link, errors, set };
  return (
    <form
      ref={element}
      onSubmit={submit}
      onKeyDown={(event) => {
        if (event.key === "Enter" && (event.metaKey || event.ctrlKey)) {
          element.current?.requestSubmit();
        }
      }}
      noValidate
      className="flex min-h-0 grow flex-col"
    >
      <DialogBody>
        <Basics {...part} />
        <div className="mt-6">
          <Campaign {...part} />
          <Limits {...part} />
          <Protection {...part} />
          <Redirecting {...part} />
          <Rules {...part} />
          <Variants {...part} />
          <PreviewCard {...part} />
        </div>
      </DialogBody>
      <DialogFooter>
        {elsewhere && (
          <div className="w-full">
            <ErrorNotice error={save.error} />
          </div>
        )}
        <Button onClick={onClose}>{texts.cancel}</Button>
        <Button kind="primary" type="submit" disabled={save.isPending}>
          {save.isPending ? texts.form.submitting : link ? texts.form.save : texts.form.submit}
        </Button>
      </DialogFooter>
    </form>
  );
}

import { useMutation } from "@tanstack/react-query";
import type { FormEvent, ReactNode } from "react";
import { Problem } from "../api/problem";
import { texts } from "../texts";
import { Button } from "../ui/Button";
import { Dialog, DialogBody, DialogFooter } from "../ui/Dialog";
import { ErrorNotice } from "../ui/Notice";

interface Props<T> {
  heading: string;
  action: string;
  run: () => Promise<T>;
  onDone: (result: T) => void;
  onClose: () => void;
  /** What is wrong with each field comes in. */
  children: (errors: Record<string, string>) => ReactNode;
}

/** A dialog with a form: saves, and shows what the API has against it. */
export function FormDialog<T>({ heading, action, run, onDone, onClose, children }: Props<T>) {
  const save = useMutation({ mutationFn: run, onSuccess: onDone });
  const errors = save.error instanceof Problem ? save.error.byField() : {};
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate();
  };
  return (
    <Dialog heading={heading} onClose={onClose} as="small">
      <form onSubmit={submit} className="flex min-h-0 grow flex-col">
        <DialogBody className="space-y-4">
          {children(errors)}
          {save.isError && Object.keys(errors).length === 0 && <ErrorNotice error={save.error} />}
        </DialogBody>
        <DialogFooter>
          <Button onClick={onClose}>{texts.cancel}</Button>
          <Button kind="primary" type="submit" disabled={save.isPending}>
            {save.isPending ? texts.form.submitting : action}
          </Button>
        </DialogFooter>
      </form>
    </Dialog>
  );
}

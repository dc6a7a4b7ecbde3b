import { useMutation } from "@tanstack/react-query";
import { texts } from "../texts";
import { Button } from "../ui/Button";
import { Dialog, DialogBody, DialogFooter } from "../ui/Dialog";
import { ErrorNotice } from "../ui/Notice";

interface Props {
  heading: string;
  text: string;
  action: string;
  run: () => Promise<unknown>;
  onDone: () => void;
  onClose: () => void;
}

/** Asks before something that has no way back. */
export function Confirm({ heading, text, action, run, onDone, onClose }: Props) {
  const doing = useMutation({ mutationFn: run, onSuccess: () => [onDone(), onClose()] });
  return (
    <Dialog heading={heading} onClose={onClose} as="small">
      <DialogBody>
        <p>{text}</p>
        {doing.isError && (
          <div className="mt-4">
            <ErrorNotice error={doing.error} />
          </div>
        )}
      </DialogBody>
      <DialogFooter>
        <Button data-autofocus onClick={onClose}>
          {texts.cancel}
        </Button>
        <Button kind="danger" disabled={doing.isPending} onClick={() => doing.mutate()}>
          {action}
        </Button>
      </DialogFooter>
    </Dialog>
  );
}

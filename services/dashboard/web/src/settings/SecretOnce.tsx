import { texts } from "../texts";
import { Button } from "../ui/Button";
import { CopyButton } from "../ui/CopyButton";
import { Dialog, DialogBody, DialogFooter } from "../ui/Dialog";

interface Props {
  heading: string;
  text: string;
  secret: string;
  onClose: () => void;
}

/** A secret that is shown once and never again. */
export function SecretOnce({ heading, text, secret, onClose }: Props) {
  return (
    <Dialog heading={heading} onClose={onClose} as="medium">
      <DialogBody>
        <p>{text}</p>
        <div className="mt-4 flex items-center gap-2 rounded-lg border border-line bg-sunken py-2 pr-2 pl-3.5">
          <code className="min-w-0 grow break-all text-sm" data-secret>
            {secret}
          </code>
          <CopyButton url={secret} label={texts.settings.copySecret} />
        </div>
      </DialogBody>
      <DialogFooter>
        <Button kind="primary" data-autofocus onClick={onClose}>
          {texts.settings.kept}
        </Button>
      </DialogFooter>
    </Dialog>
  );
}

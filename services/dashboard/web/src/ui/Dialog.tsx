import { X } from "lucide-react";
import { type ReactNode, useId, useLayoutEffect, useRef } from "react";
import { texts } from "../texts";
import { IconButton } from "./Button";

interface Props {
  heading: string;
  onClose: () => void;
  children: ReactNode;
}

/** A modal dialog: its first field gets the focus, Escape closes it, and the focus goes back to where it was. */
export function Dialog({ heading, onClose, children }: Props) {
  const ref = useRef<HTMLDialogElement>(null);
  const headingId = useId();
  useLayoutEffect(() => {
    const dialog = ref.current;
    dialog?.showModal();
    dialog?.querySelector("input")?.focus();
    // Before the element is gone: closing is what gives the focus back.
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={ref}
      aria-labelledby={headingId}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      className="w-[min(32rem,calc(100vw-2rem))] rounded-2xl border border-line bg-panel text-text shadow-2xl backdrop:bg-black/50"
    >
      <header className="flex items-center justify-between border-line border-b py-3 pr-3 pl-6">
        <h2 id={headingId} className="font-semibold text-base tracking-tight">
          {heading}
        </h2>
        <IconButton label={texts.close} onClick={onClose}>
          <X size={18} aria-hidden />
        </IconButton>
      </header>
      {children}
    </dialog>
  );
}

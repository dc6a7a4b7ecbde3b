import { X } from "lucide-react";
import { type ReactNode, useId, useLayoutEffect, useRef } from "react";
import { texts } from "../texts";
import { IconButton } from "./Button";

interface Props {
  heading: string;
  onClose: () => void;
  children: ReactNode;
  /** "side" is a panel over the whole height on the right; on a phone, the whole screen. */
  as?: "small" | "medium" | "wide" | "side";
  /** Beside the heading. */
  actions?: ReactNode;
}

const shapes = {
  small: "max-h-[calc(100dvh-1.5rem)] w-[min(28rem,calc(100vw-1.5rem))] rounded-2xl",
  medium: "max-h-[calc(100dvh-1.5rem)] w-[min(40rem,calc(100vw-1.5rem))] rounded-2xl",
  wide: "max-h-[calc(100dvh-1.5rem)] w-[min(64rem,calc(100vw-1.5rem))] rounded-2xl",
  side: "h-dvh max-h-dvh w-[min(36rem,100vw)] max-w-none border-y-0 border-r-0 sm:rounded-l-2xl",
};

/** A modal dialog: its first field gets the focus, Escape closes it, and the focus goes back to where it was. */
export function Dialog({ heading, onClose, children, as = "medium", actions }: Props) {
  const ref = useRef<HTMLDialogElement>(null);
  const headingId = useId();
  useLayoutEffect(() => {
    const dialog = ref.current;
    dialog?.showModal();
    dialog?.querySelector<HTMLElement>("[data-autofocus], form input, form textarea")?.focus();
    // Before the element is gone: closing is what gives the focus back.
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={ref}
      aria-labelledby={headingId}
      data-side={as === "side" ? "" : undefined}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      className={`flex flex-col overflow-hidden border border-line bg-panel p-0 text-text shadow-2xl backdrop:bg-black/40 ${shapes[as]}`}
    >
      <header className="flex h-14 shrink-0 items-center gap-2 border-line border-b pr-3 pl-5">
        <h2 id={headingId} className="min-w-0 truncate font-semibold text-base tracking-tight">
          {heading}
        </h2>
        <div className="ml-auto flex items-center gap-1">
          {actions}
          <IconButton label={texts.close} onClick={onClose}>
            <X size={18} aria-hidden />
          </IconButton>
        </div>
      </header>
      {children}
    </dialog>
  );
}

/** What scrolls in a dialog. */
export function DialogBody({ children, className = "" }: { children: ReactNode; className?: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by keyboard
    <div tabIndex={0} className={`min-h-0 grow overflow-y-auto px-5 py-5 outline-none ${className}`}>
      {children}
    </div>
  );
}

/** What stays at its end. */
export function DialogFooter({ children }: { children: ReactNode }) {
  return (
    <footer className="flex shrink-0 flex-wrap items-center justify-end gap-2.5 border-line border-t bg-panel px-5 py-3">
      {children}
    </footer>
  );
}

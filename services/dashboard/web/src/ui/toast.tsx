import { CircleAlert, CircleCheck, X } from "lucide-react";
import { createContext, type ReactNode, useCallback, useContext, useEffect, useRef, useState } from "react";
import { texts } from "../texts";
import { Button, IconButton } from "./Button";

const SHOWN_MS = 6000;

export interface Toast {
  text: ReactNode;
  tone?: "good" | "bad";
  /** Shown as a button; the toast goes when it is pressed. */
  action?: { label: string; run: () => void };
  /** Called when it goes without the action. */
  onGone?: () => void;
}

type Shown = Toast & { id: number };
type Show = (toast: Toast) => void;

const Context = createContext<Show>(() => {});

/** Says what happened, for a moment, with a way back where there is one. */
export function useToast(): Show {
  return useContext(Context);
}

export function Toasts({ children }: { children: ReactNode }) {
  const [shown, setShown] = useState<Shown[]>([]);
  const next = useRef(0);
  const show = useCallback<Show>((toast) => {
    next.current += 1;
    const id = next.current;
    setShown((was) => [...was.slice(-2), { ...toast, id }]);
  }, []);
  const drop = useCallback((id: number) => setShown((was) => was.filter((t) => t.id !== id)), []);
  return (
    <Context value={show}>
      {children}
      <div
        role="status"
        aria-live="polite"
        className="pointer-events-none fixed inset-x-3 bottom-20 z-30 flex flex-col items-center gap-2 sm:bottom-6"
      >
        {shown.map((toast) => (
          <Card key={toast.id} toast={toast} onDrop={() => drop(toast.id)} />
        ))}
      </div>
    </Context>
  );
}

function Card({ toast, onDrop }: { toast: Shown; onDrop: () => void }) {
  const [held, setHeld] = useState(false);
  const done = useRef(false);
  const latest = useRef({ toast, onDrop });
  latest.current = { toast, onDrop };

  const end = useCallback((acted: boolean) => {
    if (done.current) {
      return;
    }
    done.current = true;
    const { toast: t, onDrop: drop } = latest.current;
    if (acted) {
      t.action?.run();
    } else {
      t.onGone?.();
    }
    drop();
  }, []);

  useEffect(() => {
    if (!held) {
      const timer = setTimeout(() => end(false), SHOWN_MS);
      return () => clearTimeout(timer);
    }
  }, [held, end]);

  // Whoever leaves has decided.
  useEffect(() => {
    const leave = () => end(false);
    addEventListener("pagehide", leave);
    return () => removeEventListener("pagehide", leave);
  }, [end]);
  // Pushed out by newer ones: nobody can press its button any more.
  useEffect(
    () => () => {
      if (!done.current) {
        queueMicrotask(() => {
          if (!document.contains(card.current)) end(false);
        });
      }
    },
    [end],
  );
  const card = useRef<HTMLDivElement>(null);

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: only keeps it from going while it is read
    <div
      ref={card}
      onMouseEnter={() => setHeld(true)}
      onMouseLeave={() => setHeld(false)}
      onFocus={() => setHeld(true)}
      onBlur={() => setHeld(false)}
      className="pointer-events-auto flex max-w-full items-center gap-2.5 rounded-xl border border-line bg-panel py-2 pr-2 pl-3.5 shadow-xl"
    >
      {toast.tone === "bad" ? (
        <CircleAlert size={17} aria-hidden className="shrink-0 text-down" />
      ) : (
        <CircleCheck size={17} aria-hidden className="shrink-0 text-up" />
      )}
      <div className="min-w-0 break-words py-1">{toast.text}</div>
      {toast.action && (
        <Button size="small" onClick={() => end(true)}>
          {toast.action.label}
        </Button>
      )}
      <IconButton size="smallIcon" label={texts.close} onClick={() => end(false)}>
        <X size={15} aria-hidden />
      </IconButton>
    </div>
  );
}

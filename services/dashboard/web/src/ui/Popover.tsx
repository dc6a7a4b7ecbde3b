import { type ReactNode, type RefObject, useEffect, useId, useLayoutEffect, useRef, useState } from "react";

export interface TriggerProps {
  ref: RefObject<HTMLButtonElement | null>;
  onClick: () => void;
  "aria-expanded": boolean;
  "aria-controls": string | undefined;
}

interface Props {
  label: string;
  trigger: (props: TriggerProps) => ReactNode;
  children: (close: () => void) => ReactNode;
  align?: "start" | "end";
  role?: "dialog" | "menu";
  className?: string;
  onKeyDown?: (event: React.KeyboardEvent<HTMLDivElement>) => void;
}

const GAP = 6;

/** A small layer at its button. It lives in the browser's top layer, so that nothing cuts it off. */
export function Popover(props: Props) {
  const { label, trigger, children, align = "start", role = "dialog", className = "", onKeyDown } = props;
  const [open, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const layer = useRef<HTMLDivElement>(null);
  const id = useId();

  const close = () => {
    setOpen(false);
    button.current?.focus();
  };

  useLayoutEffect(() => {
    const [at, box] = [button.current, layer.current];
    if (!open || !at || !box) {
      return;
    }
    box.showPopover?.();
    const place = () => {
      const from = at.getBoundingClientRect();
      const { width, height } = box.getBoundingClientRect();
      const left = align === "end" ? from.right - width : from.left;
      const below = from.bottom + GAP;
      const top = below + height > innerHeight - GAP ? Math.max(GAP, from.top - GAP - height) : below;
      box.style.left = `${Math.max(GAP, Math.min(left, innerWidth - width - GAP))}px`;
      box.style.top = `${top}px`;
    };
    place();
    box
      .querySelector<HTMLElement>(
        "[data-autofocus], [role=menuitemradio][aria-checked=true], [role^=menuitem], input, button, a",
      )
      ?.focus();
    const observer = new ResizeObserver(place);
    observer.observe(box);
    addEventListener("resize", place);
    addEventListener("scroll", place, true);
    return () => {
      observer.disconnect();
      removeEventListener("resize", place);
      removeEventListener("scroll", place, true);
    };
  }, [open, align]);

  // A press outside, or Escape, closes it; the browser tells by this event.
  useEffect(() => {
    const box = layer.current;
    if (!open || !box) {
      return;
    }
    const toggled = (event: Event) => {
      if ((event as ToggleEvent).newState === "closed") {
        setOpen(false);
      }
    };
    box.addEventListener("toggle", toggled);
    return () => box.removeEventListener("toggle", toggled);
  }, [open]);

  return (
    <>
      {trigger({
        ref: button,
        onClick: () => setOpen((was) => !was),
        "aria-expanded": open,
        "aria-controls": open ? id : undefined,
      })}
      {open && (
        // biome-ignore lint/a11y/noStaticElementInteractions: the role is a menu's or a dialog's
        // biome-ignore lint/a11y/useAriaPropsSupportedByRole: both have names
        <div
          ref={layer}
          id={id}
          popover="auto"
          role={role}
          aria-label={label}
          onKeyDown={(event) => {
            if (event.key === "Escape") {
              event.stopPropagation();
              event.preventDefault();
              close();
            }
            onKeyDown?.(event);
          }}
          className={`fixed max-h-[70dvh] max-w-[calc(100vw-0.75rem)] overflow-y-auto rounded-xl border border-line bg-panel text-sm text-text shadow-xl ${className}`}
        >
          {children(close)}
        </div>
      )}
    </>
  );
}

import type { LucideIcon } from "lucide-react";
import type { KeyboardEvent, ReactNode } from "react";
import { Popover, type TriggerProps } from "./Popover";

export interface MenuEntry {
  /** Tells entries apart that have one label. */
  key?: string;
  label: string;
  icon?: LucideIcon;
  onSelect?: () => void;
  href?: string;
  danger?: boolean;
  disabled?: boolean;
  /** A line above it. */
  apart?: boolean;
  /** One of several that exclude each other, and whether it is the chosen one. */
  checked?: boolean;
  detail?: string;
}

interface Props {
  label: string;
  entries: MenuEntry[];
  trigger: (props: TriggerProps & { "aria-haspopup": "menu" }) => ReactNode;
  align?: "start" | "end";
  header?: ReactNode;
}

/** A menu as the keyboard knows it: arrows, Home, End, Escape, first letters. */
export function Menu({ label, entries, trigger, align = "end", header }: Props) {
  return (
    <Popover
      label={label}
      role="menu"
      align={align}
      className="min-w-48 p-1"
      onKeyDown={move}
      trigger={(props) => trigger({ ...props, "aria-haspopup": "menu" })}
    >
      {(close) => (
        <>
          {header}
          {entries.map((entry) => (
            <Entry key={entry.key ?? entry.label} entry={entry} close={close} />
          ))}
        </>
      )}
    </Popover>
  );
}

const entryClass =
  "flex w-full items-center gap-2.5 rounded-lg px-2.5 py-1.5 text-left outline-none hover:bg-sunken focus-visible:bg-sunken disabled:opacity-50";

function Entry({ entry, close }: { entry: MenuEntry; close: () => void }) {
  const { icon: Icon, label, detail, danger, apart, checked } = entry;
  const body = (
    <>
      {Icon && <Icon size={15} aria-hidden className={danger ? "" : "text-quiet"} />}
      <span className="min-w-0 grow truncate">{label}</span>
      {detail && <span className="text-quiet text-xs">{detail}</span>}
      {checked && <span aria-hidden>✓</span>}
    </>
  );
  const look = `${entryClass} ${danger ? "text-down" : ""}`;
  const role =
    checked === undefined
      ? ({ role: "menuitem" } as const)
      : ({ role: "menuitemradio", "aria-checked": checked } as const);
  return (
    <>
      {apart && <hr className="my-1 border-line" />}
      {entry.href ? (
        <a role="menuitem" tabIndex={-1} href={entry.href} className={look} onClick={close}>
          {body}
        </a>
      ) : (
        <button
          type="button"
          {...role}
          tabIndex={-1}
          disabled={entry.disabled}
          className={look}
          onClick={() => {
            close();
            entry.onSelect?.();
          }}
        >
          {body}
        </button>
      )}
    </>
  );
}

function move(event: KeyboardEvent<HTMLDivElement>) {
  const items = [...event.currentTarget.querySelectorAll<HTMLElement>("[role^=menuitem]:not(:disabled)")];
  const at = items.indexOf(document.activeElement as HTMLElement);
  const to = target(event.key, items, at);
  if (to !== undefined) {
    event.preventDefault();
    items[to]?.focus();
  }
}

function target(key: string, items: HTMLElement[], at: number): number | undefined {
  switch (key) {
    case "ArrowDown":
      return (at + 1) % items.length;
    case "ArrowUp":
      return (at - 1 + items.length) % items.length;
    case "Home":
      return 0;
    case "End":
      return items.length - 1;
  }
  if (key.length === 1 && /\p{L}/u.test(key)) {
    const found = items.findIndex((item) => item.textContent?.toLowerCase().startsWith(key.toLowerCase()));
    return found === -1 ? undefined : found;
  }
  return undefined;
}

import { useRef } from "react";

interface Props<T extends string> {
  label: string;
  value: T;
  options: readonly { value: T; label: string }[];
  onChange: (value: T) => void;
}

/** Small tabs over a list; arrow keys move between them. */
export function Tabs<T extends string>({ label, value, options, onChange }: Props<T>) {
  const list = useRef<HTMLDivElement>(null);
  const move = (by: number) => {
    const at = options.findIndex((o) => o.value === value);
    const next = (at + by + options.length) % options.length;
    const option = options[next];
    if (option) {
      onChange(option.value);
      list.current?.querySelectorAll("button")[next]?.focus();
    }
  };
  return (
    <div
      ref={list}
      role="tablist"
      aria-label={label}
      tabIndex={-1}
      onKeyDown={(event) => {
        if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
          event.preventDefault();
          move(event.key === "ArrowRight" ? 1 : -1);
        }
      }}
      className="-mx-1 flex min-w-0 overflow-x-auto"
    >
      {options.map((o) => (
        <button
          key={o.value}
          type="button"
          role="tab"
          aria-selected={o.value === value}
          tabIndex={o.value === value ? 0 : -1}
          onClick={() => onChange(o.value)}
          className="shrink-0 rounded-md px-2 py-1 text-quiet text-xs -outline-offset-2 hover:text-text aria-selected:font-semibold aria-selected:text-accent-text"
        >
          {o.label}
        </button>
      ))}
    </div>
  );
}

import { Search, X } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { texts } from "../texts";

const TYPING_MS = 250;

interface Props {
  value: string;
  onSearch: (text: string) => void;
}

/** Searches once the typing pauses; "/" jumps into it, Escape empties it. */
export function SearchBox({ value, onSearch }: Props) {
  const input = useRef<HTMLInputElement>(null);
  const [text, setText] = useState(value);
  const latest = useRef(onSearch);
  latest.current = onSearch;

  // The address can change under the box: back and forward.
  useEffect(() => setText(value), [value]);

  useEffect(() => {
    if (text.trim() !== value) {
      const timer = setTimeout(() => latest.current(text.trim()), TYPING_MS);
      return () => clearTimeout(timer);
    }
  }, [text, value]);

  useEffect(() => {
    const jump = (event: KeyboardEvent) => {
      const typing =
        event.target instanceof HTMLElement &&
        event.target.matches("input, textarea, select, [contenteditable]");
      if (event.key === "/" && !typing && !document.querySelector("dialog[open]")) {
        event.preventDefault();
        input.current?.focus();
      }
    };
    document.addEventListener("keydown", jump);
    return () => document.removeEventListener("keydown", jump);
  }, []);

  const clear = () => {
    setText("");
    onSearch("");
    input.current?.focus();
  };

  return (
    <search className="relative w-full sm:w-80">
      <Search
        size={16}
        aria-hidden
        className="-translate-y-1/2 pointer-events-none absolute top-1/2 left-3 text-quiet"
      />
      <input
        ref={input}
        type="text"
        enterKeyHint="search"
        aria-label={texts.links.search}
        aria-keyshortcuts="/"
        placeholder={texts.links.searchPlaceholder}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => event.key === "Escape" && clear()}
        className="h-9 w-full rounded-lg border border-line-strong bg-panel pr-9 pl-9 text-sm shadow-xs"
      />
      {text && (
        <button
          type="button"
          aria-label={texts.links.clearSearch}
          onClick={clear}
          className="-translate-y-1/2 absolute top-1/2 right-1.5 grid size-6 place-content-center rounded-md text-quiet hover:text-text"
        >
          <X size={15} aria-hidden />
        </button>
      )}
    </search>
  );
}

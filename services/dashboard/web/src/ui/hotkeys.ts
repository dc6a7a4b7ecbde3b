import { useEffect, useRef } from "react";

const SEQUENCE_MS = 900;
/** The key that begins a sequence. */
const SEQUENCE = "g";

export type Hotkeys = Record<string, (event: KeyboardEvent) => void>;

/** Whether keys belong to a field, a menu or a dialog right now. */
function taken(event: KeyboardEvent): boolean {
  const at = event.target instanceof HTMLElement ? event.target : null;
  return Boolean(
    at?.matches("input:not([type=checkbox]), textarea, select, [contenteditable]") ||
      document.querySelector("dialog[open], [popover]:popover-open"),
  );
}

/**
 * Keys of a page: "c", "?", "enter", or "g l" for one after the other. They rest while
 * somebody types or a dialog is open. "mod+k" works everywhere.
 */
export function useHotkeys(keys: Hotkeys) {
  const latest = useRef(keys);
  latest.current = keys;
  useEffect(() => {
    let before = "";
    let timer: ReturnType<typeof setTimeout> | undefined;
    const pressed = (event: KeyboardEvent) => {
      if (event.defaultPrevented) {
        return;
      }
      const mod = event.metaKey || event.ctrlKey;
      if (mod) {
        run(event, `mod+${event.key.toLowerCase()}`);
        return;
      }
      if (event.altKey || event.key.length > 1 ? !["Enter", "Escape"].includes(event.key) : false) {
        return;
      }
      if (taken(event)) {
        return;
      }
      // After the first key of a sequence, no other listener may take the second for its own.
      const key = event.key.length > 1 ? event.key.toLowerCase() : event.key;
      run(event, before === SEQUENCE ? `${SEQUENCE} ${key}` : key);
      before = before === SEQUENCE ? "" : key;
      clearTimeout(timer);
      timer = setTimeout(() => {
        before = "";
      }, SEQUENCE_MS);
    };
    const run = (event: KeyboardEvent, name: string) => {
      const action = latest.current[name];
      if (action) {
        event.preventDefault();
        action(event);
      }
      return Boolean(action);
    };
    document.addEventListener("keydown", pressed);
    return () => {
      clearTimeout(timer);
      document.removeEventListener("keydown", pressed);
    };
  }, []);
}

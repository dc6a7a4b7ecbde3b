const apple = () => /Mac|iPhone|iPad/.test(navigator.platform);

/** Keys, as they are printed on them. */
export function Kbd({ keys }: { keys: readonly string[] }) {
  return (
    <span className="inline-flex items-center gap-0.5">
      {keys.map((key) => (
        <kbd
          key={key}
          className="grid h-5 min-w-5 place-content-center rounded border border-line-strong bg-panel px-1 font-sans text-quiet text-xs"
        >
          {key === "mod" ? (apple() ? "⌘" : "Ctrl") : key}
        </kbd>
      ))}
    </span>
  );
}

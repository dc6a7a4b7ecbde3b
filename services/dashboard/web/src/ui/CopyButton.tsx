import { Check, Copy } from "lucide-react";
import { useEffect, useState } from "react";
import { texts } from "../texts";
import { IconButton } from "./Button";

const SHOWN_MS = 2000;

/** Copies an address and says so, to the eye and to a screen reader. */
export function CopyButton({ url, label = texts.links.copyUrl(url) }: { url: string; label?: string }) {
  const [result, setResult] = useState<"copied" | "failed" | null>(null);
  useEffect(() => {
    if (result !== null) {
      const timer = setTimeout(() => setResult(null), SHOWN_MS);
      return () => clearTimeout(timer);
    }
  }, [result]);

  // The clipboard exists on secure origins only: plain HTTP on another machine has none.
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(url);
      setResult("copied");
    } catch {
      setResult("failed");
    }
  };

  return (
    <span className="relative inline-flex">
      <IconButton size="smallIcon" label={label} onClick={copy}>
        {result === "copied" ? (
          <Check size={15} className="text-up" aria-hidden />
        ) : (
          <Copy size={15} aria-hidden />
        )}
      </IconButton>
      <span
        role="status"
        className={
          result === "failed"
            ? "absolute top-full right-0 z-10 w-56 rounded-lg border border-line bg-panel px-3 py-2 text-xs shadow-lg"
            : "sr-only"
        }
      >
        {result === "copied" && texts.links.copied}
        {result === "failed" && texts.links.copyFailed}
      </span>
    </span>
  );
}

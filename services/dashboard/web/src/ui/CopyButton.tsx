import { Check, Copy } from "lucide-react";
import { useEffect, useState } from "react";
import { texts } from "../texts";
import { Button } from "./Button";

const SHOWN_MS = 2000;

/** Copies an address and says so, to the eye and to a screen reader. */
export function CopyButton({ url, className = "" }: { url: string; className?: string }) {
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
    <>
      <Button
        kind="quiet"
        aria-label={texts.links.copyUrl(url)}
        title={texts.links.copy}
        className={`size-7 px-0 ${className}`}
        onClick={copy}
      >
        {result === "copied" ? <Check size={15} className="text-up" aria-hidden /> : <Copy size={15} aria-hidden />}
      </Button>
      <span role="status" className={result === "failed" ? "text-down text-xs" : "sr-only"}>
        {result === "copied" && texts.links.copied}
        {result === "failed" && texts.links.copyFailed}
      </span>
    </>
  );
}

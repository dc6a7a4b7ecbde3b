import { X } from "lucide-react";
import { useRef, useState } from "react";
import { texts } from "../texts";
import { Button } from "../ui/Button";

/** The API draws PNGs up to this; an address has to carry it, too. */
const MAX_BYTES = 32 * 1024;

/** A small picture in the middle of a code. It never leaves for anywhere but our own API. */
export function LogoField({ has, onChange }: { has: boolean; onChange: (logo: string) => void }) {
  const input = useRef<HTMLInputElement>(null);
  const [wrong, setWrong] = useState(false);
  const read = (file: File | undefined) => {
    setWrong(false);
    if (!file) {
      return;
    }
    if (file.type !== "image/png" || file.size > MAX_BYTES) {
      setWrong(true);
      return;
    }
    const reader = new FileReader();
    reader.onload = () => onChange(String(reader.result));
    reader.readAsDataURL(file);
  };
  const t = texts.qr;
  return (
    <div className="col-span-2">
      <div className="flex items-center gap-2">
        <Button size="small" onClick={() => input.current?.click()}>
          {has ? t.otherLogo : t.logo}
        </Button>
        {has && (
          <Button size="small" kind="quiet" onClick={() => onChange("")}>
            <X size={14} aria-hidden />
            {t.noLogo}
          </Button>
        )}
      </div>
      <input
        ref={input}
        type="file"
        accept="image/png"
        aria-label={t.logo}
        tabIndex={-1}
        onChange={(event) => read(event.target.files?.[0])}
        className="sr-only"
      />
      <p
        role={wrong ? "alert" : undefined}
        className={`mt-1.5 text-xs ${wrong ? "text-down" : "text-quiet"}`}
      >
        {t.logoHint}
      </p>
    </div>
  );
}

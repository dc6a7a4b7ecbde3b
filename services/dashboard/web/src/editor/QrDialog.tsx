import { useQuery } from "@tanstack/react-query";
import { Download } from "lucide-react";
import { useState } from "react";
import { linkQuery } from "../api/links";
import { decoded, readable } from "../format";
import { texts } from "../texts";
import { Button } from "../ui/Button";
import { Dialog, DialogBody, DialogFooter } from "../ui/Dialog";
import { saveFrom } from "../ui/download";
import { Labelled } from "../ui/Field";
import { Select } from "../ui/Select";
import { LogoField } from "./LogoField";
import { defaultQr, levels, type QrOptions, qrAddress, qrSizes } from "./qr";

/** A link's QR code as it will be printed. The default export is what React.lazy wants. */
export default function QrDialog({ id, onClose }: { id: string; onClose: () => void }) {
  const [options, setOptions] = useState<QrOptions>(defaultQr);
  const [broken, setBroken] = useState("");
  const link = useQuery(linkQuery(id));
  const t = texts.qr;
  const shown = qrAddress(id, { ...options, size: 320 }, "svg");
  const set = (change: Partial<QrOptions>) => setOptions((was) => ({ ...was, ...change }));
  const save = (format: "png" | "svg") => () =>
    saveFrom(qrAddress(id, options, format), `${link.data?.slug.replaceAll("/", "-") ?? "qr"}.${format}`);
  return (
    <Dialog heading={t.heading} onClose={onClose}>
      <DialogBody className="grid items-start gap-6 sm:grid-cols-[13rem_1fr]">
        <figure className="mx-auto w-52">
          <div className="grid aspect-square place-content-center overflow-hidden rounded-xl border border-line bg-white p-2">
            {broken === shown ? (
              <p className="px-3 text-center text-[#64615c] text-xs">{t.broken}</p>
            ) : (
              <img src={shown} alt={t.alt} className="size-full" onError={() => setBroken(shown)} />
            )}
          </div>
          <figcaption className="mt-2 break-all text-center text-quiet text-xs">
            {link.data ? readable(decoded(link.data.short_url)) : ""}
          </figcaption>
        </figure>
        <div className="grid grid-cols-2 gap-4">
          <ColorField label={t.color} value={options.color} onChange={(color) => set({ color })} />
          <ColorField
            label={t.background}
            value={options.background}
            onChange={(background) => set({ background })}
          />
          <Labelled label={t.size}>
            {(control) => (
              <Select
                {...control}
                value={String(options.size)}
                options={qrSizes.map((size) => ({ value: String(size), label: t.pixels(size) }))}
                onChange={(event) => set({ size: Number(event.target.value) })}
              />
            )}
          </Labelled>
          <Labelled label={t.margin}>
            {(control) => (
              <Select
                {...control}
                value={String(options.margin)}
                options={[0, 1, 2, 4, 8].map((m) => ({ value: String(m), label: t.modules(m) }))}
                onChange={(event) => set({ margin: Number(event.target.value) })}
              />
            )}
          </Labelled>
          <Labelled label={t.level} hint={t.levelHint} className="col-span-2">
            {(control) => (
              <Select
                {...control}
                value={options.level}
                options={levels.map((value) => ({ value, label: t.levels[value] }))}
                onChange={(event) => set({ level: event.target.value as QrOptions["level"] })}
              />
            )}
          </Labelled>
          <LogoField
            has={options.logo !== ""}
            onChange={(logo) => set({ logo, ...(logo && { level: "H" as const }) })}
          />
        </div>
      </DialogBody>
      <DialogFooter>
        <p className="mr-auto text-quiet text-xs">{t.apart}</p>
        <Button onClick={save("svg")}>
          <Download size={15} aria-hidden />
          SVG
        </Button>
        <Button kind="primary" onClick={save("png")}>
          <Download size={15} aria-hidden />
          PNG
        </Button>
      </DialogFooter>
    </Dialog>
  );
}

function ColorField({
  label,
  value,
  onChange,
}: {
  label: string;
  value: string;
  onChange: (v: string) => void;
}) {
  return (
    <Labelled label={label}>
      {(control) => (
        <span className="flex h-9 items-center gap-2 rounded-lg border border-line-strong bg-panel px-2">
          <input
            {...control}
            type="color"
            value={value}
            onChange={(event) => onChange(event.target.value)}
            className="h-6 w-8 cursor-pointer rounded border-0 bg-transparent p-0"
          />
          <span className="text-quiet text-xs tabular-nums">{value}</span>
        </span>
      )}
    </Labelled>
  );
}

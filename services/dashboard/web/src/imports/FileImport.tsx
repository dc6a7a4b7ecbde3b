import { useQuery } from "@tanstack/react-query";
import { FileUp } from "lucide-react";
import { type DragEvent, type FormEvent, useRef, useState } from "react";
import { conflicts, formats, type ImportFormat, type ImportOptions, type OnConflict } from "../api/imports";
import { domainsQuery } from "../api/settings";
import { bytes, percent } from "../format";
import { texts } from "../texts";
import { Button } from "../ui/Button";
import { Labelled } from "../ui/Field";
import { ErrorNotice } from "../ui/Notice";
import { Panel } from "../ui/Panel";
import { Select } from "../ui/Select";
import { Bar } from "./Bar";
import { type Chosen, useUpload } from "./useUpload";

interface Props {
  chosen: Chosen;
  onChosen: (chosen: Chosen) => void;
  onJob: (id: string) => void;
}

/** Which file, whose, and what becomes of slugs that are taken. It is looked at before links are made. */
export function FileImport({ chosen, onChosen, onJob }: Props) {
  const { file, options } = chosen;
  const upload = useUpload(chosen, onJob);
  const domains = useQuery(domainsQuery);
  const set = (change: Partial<ImportOptions>) => onChosen({ ...chosen, options: { ...options, ...change } });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    upload.send("look");
  };
  const t = texts.imports;
  return (
    <Panel className="p-5 sm:p-6">
      <form onSubmit={submit} className="space-y-5">
        <DropZone file={file} onFile={(next) => onChosen({ ...chosen, file: next })} />
        <div className="grid gap-4 sm:grid-cols-2">
          <Labelled label={t.format} hint={t.formatHints[options.format]}>
            {(control) => (
              <Select
                {...control}
                value={options.format}
                options={formats.map((value) => ({ value, label: t.formats[value] }))}
                onChange={(event) => set({ format: event.target.value as ImportFormat })}
              />
            )}
          </Labelled>
          <Labelled label={t.onConflict} hint={t.conflictHints[options.on_conflict]}>
            {(control) => (
              <Select
                {...control}
                value={options.on_conflict}
                options={conflicts.map((value) => ({ value, label: t.conflicts[value] }))}
                onChange={(event) => set({ on_conflict: event.target.value as OnConflict })}
              />
            )}
          </Labelled>
          <Labelled label={t.domain} hint={t.domainHint} className="sm:col-span-2">
            {(control) => (
              <Select
                {...control}
                value={options.domain}
                options={[
                  { value: "", label: t.domainOfFile },
                  ...(domains.data ?? []).map((d) => ({ value: d.host, label: d.unicode_host })),
                ]}
                onChange={(event) => set({ domain: event.target.value })}
              />
            )}
          </Labelled>
        </div>
        {upload.error && <ErrorNotice error={upload.error} />}
        {upload.sending ? (
          <div className="flex items-end gap-4">
            <div className="min-w-0 grow">
              <p role="status" className="mb-2 text-quiet tabular-nums">
                {t.sending(percent(upload.share))}
              </p>
              <Bar label={t.sending("")} share={upload.share} />
            </div>
            <Button onClick={upload.stop}>{t.stop}</Button>
          </div>
        ) : (
          <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
            <Button kind="primary" type="submit" disabled={!file}>
              {t.look}
            </Button>
            <p className="min-w-0 text-quiet text-xs">{file ? t.lookHint : t.limits(bytes(MAX_BYTES))}</p>
          </div>
        )}
      </form>
    </Panel>
  );
}

/** What the API takes. */
const MAX_BYTES = 100 * 1024 * 1024;

function DropZone({ file, onFile }: { file: File | null; onFile: (file: File) => void }) {
  const input = useRef<HTMLInputElement>(null);
  const [over, setOver] = useState(false);
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    const [dropped] = event.dataTransfer.files;
    if (dropped) {
      onFile(dropped);
    }
  };
  const t = texts.imports;
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: dropping is for the mouse; the button in it does the same
    <div
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
      className={`flex flex-col items-center gap-3 rounded-xl border border-dashed px-4 py-8 text-center transition-colors ${over ? "border-accent bg-accent-soft" : "border-line-strong bg-ground"}`}
    >
      <FileUp size={22} aria-hidden className="text-quiet" />
      {file ? (
        <p data-import-file className="max-w-full truncate font-medium">
          {file.name} <span className="font-normal text-quiet tabular-nums">{bytes(file.size)}</span>
        </p>
      ) : (
        <p className="text-quiet">{t.drop}</p>
      )}
      <Button onClick={() => input.current?.click()}>{file ? t.chooseOther : t.choose}</Button>
      <input
        ref={input}
        type="file"
        accept=".csv,.tsv,.txt,.jsonl,.ndjson,text/csv,text/plain,application/x-ndjson"
        aria-label={t.choose}
        tabIndex={-1}
        onChange={(event) => {
          const [next] = event.target.files ?? [];
          if (next) onFile(next);
          event.target.value = "";
        }}
        className="sr-only"
      />
    </div>
  );
}

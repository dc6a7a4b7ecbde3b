import { FileUp } from "lucide-react";
import { useRef } from "react";
import { texts } from "../texts";
import { Button } from "../ui/Button";
import { inputClass, Labelled } from "../ui/Field";
import { columnNames } from "./rows";

/** Where the rows come from: pasted, chosen or dropped. They stay in the browser until they are sent. */
export function Source({ text, onText }: { text: string; onText: (text: string) => void }) {
  const input = useRef<HTMLInputElement>(null);
  const read = async (file: File | undefined) => {
    if (file) {
      onText(await file.text());
    }
  };
  const t = texts.imports;
  return (
    <div>
      <Labelled label={t.paste} hint={t.pasteHint}>
        {(control) => (
          <textarea
            {...control}
            value={text}
            rows={14}
            spellCheck={false}
            placeholder={t.placeholder}
            onChange={(event) => onText(event.target.value)}
            onDragOver={(event) => event.preventDefault()}
            onDrop={(event) => {
              event.preventDefault();
              void read(event.dataTransfer.files[0]);
            }}
            className={`block resize-y whitespace-pre py-2.5 font-mono text-xs leading-5 ${inputClass} border-line-strong`}
          />
        )}
      </Labelled>
      <div className="mt-3 flex flex-wrap gap-2">
        <Button onClick={() => input.current?.click()}>
          <FileUp size={15} aria-hidden className="text-quiet" />
          {t.choose}
        </Button>
        {text && (
          <Button kind="quiet" onClick={() => onText("")}>
            {t.clear}
          </Button>
        )}
      </div>
      <input
        ref={input}
        type="file"
        accept=".csv,.tsv,.txt,text/csv,text/plain"
        aria-label={t.choose}
        tabIndex={-1}
        onChange={(event) => {
          void read(event.target.files?.[0]);
          event.target.value = "";
        }}
        className="sr-only"
      />
      <details className="mt-5 text-quiet text-xs">
        <summary className="w-fit cursor-pointer rounded hover:text-text">{t.columns}</summary>
        <p className="mt-2">{t.columnsText}</p>
        <p className="mt-1.5 break-words font-mono">{columnNames.join(", ")}</p>
      </details>
    </div>
  );
}

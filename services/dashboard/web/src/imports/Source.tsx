import { texts } from "../texts";
import { Button } from "../ui/Button";
import { inputClass, Labelled } from "../ui/Field";
import { columnNames } from "./rows";

/** Rows as they are pasted. They stay in the browser until they are sent. */
export function Source({ text, onText }: { text: string; onText: (text: string) => void }) {
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
            className={`block resize-y whitespace-pre py-2.5 font-mono text-xs leading-5 ${inputClass} border-line-strong`}
          />
        )}
      </Labelled>
      {text && (
        <div className="mt-3">
          <Button kind="quiet" onClick={() => onText("")}>
            {t.clear}
          </Button>
        </div>
      )}
      <details className="mt-5 text-quiet text-xs">
        <summary className="w-fit cursor-pointer rounded hover:text-text">{t.columns}</summary>
        <p className="mt-2">{t.columnsText}</p>
        <p className="mt-1.5 break-words font-mono">{columnNames.join(", ")}</p>
      </details>
    </div>
  );
}

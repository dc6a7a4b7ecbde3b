import { X } from "lucide-react";
import { type KeyboardEvent, useId, useState } from "react";
import { useTagCompletion } from "../links/tags";
import { texts } from "../texts";
import { Labelled } from "../ui/Field";

interface Props {
  value: string[];
  error: string | undefined;
  onChange: (tags: string[]) => void;
}

const MAX = 20;

/** Tags as one types them; known ones are offered. */
export function TagInput({ value, error, onChange }: Props) {
  const [text, setText] = useState("");
  const listId = useId();
  const known = useTagCompletion(text).filter((tag) => !value.includes(tag));
  const add = (typed: string) => {
    const tags = typed.split(",").map((tag) => tag.trim());
    onChange([...new Set([...value, ...tags.filter(Boolean)])].slice(0, MAX));
    setText("");
  };
  const press = (event: KeyboardEvent) => {
    if ((event.key === "Enter" || event.key === ",") && text.trim() && !event.metaKey && !event.ctrlKey) {
      event.preventDefault();
      add(text);
    } else if (event.key === "Backspace" && text === "" && value.length > 0) {
      onChange(value.slice(0, -1));
    }
  };
  return (
    <Labelled label={texts.form.tags} optional hint={texts.form.tagsHint} {...(error && { error })}>
      {(control) => (
        <div className="flex min-h-9 flex-wrap items-center gap-1.5 rounded-lg border border-line-strong bg-panel px-1.5 py-1 focus-within:outline-2 focus-within:outline-accent">
          {value.map((tag) => (
            <span key={tag} className="flex h-6.5 items-center rounded-md bg-sunken pl-2 text-sm">
              {tag}
              <button
                type="button"
                aria-label={texts.form.removeTag(tag)}
                onClick={() => onChange(value.filter((t) => t !== tag))}
                className="grid size-6 place-content-center rounded-md text-quiet hover:text-text"
              >
                <X size={13} aria-hidden />
              </button>
            </span>
          ))}
          <input
            {...control}
            value={text}
            list={listId}
            maxLength={64}
            autoComplete="off"
            onChange={(event) => {
              const typed = event.target.value;
              // A choice from the list arrives at once, as a whole.
              if (known.includes(typed) && !("inputType" in event.nativeEvent)) add(typed);
              else setText(typed);
            }}
            onKeyDown={press}
            onBlur={() => text.trim() && add(text)}
            className="h-6.5 min-w-24 grow bg-transparent px-1.5 outline-none"
          />
          <datalist id={listId}>
            {known.map((tag) => (
              <option key={tag} value={tag} />
            ))}
          </datalist>
        </div>
      )}
    </Labelled>
  );
}

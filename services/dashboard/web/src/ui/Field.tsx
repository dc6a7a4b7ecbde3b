import { type InputHTMLAttributes, type ReactNode, useId } from "react";
import { texts } from "../texts";

export const inputClass =
  "w-full min-w-0 rounded-lg border bg-panel px-3 transition-colors focus-visible:outline-offset-0 disabled:bg-sunken disabled:text-quiet";

/** What a control inside a labelled place needs to know. */
export interface Control {
  id: string;
  "aria-invalid": true | undefined;
  "aria-describedby": string | undefined;
}

interface LabelledProps {
  label: string;
  hint?: ReactNode;
  error?: string | undefined;
  optional?: boolean;
  className?: string;
  /** Beside the label, on the right. */
  aside?: ReactNode;
  children: (control: Control) => ReactNode;
}

/** A label, a control, and below it either what is wrong or what to know. */
export function Labelled({ label, hint, error, optional, className = "", aside, children }: LabelledProps) {
  const id = useId();
  const described = error ? `${id}-error` : hint ? `${id}-hint` : undefined;
  return (
    <div className={className}>
      <div className="mb-1.5 flex items-baseline justify-between gap-3">
        <label htmlFor={id} className="font-medium">
          {label}
        </label>
        {aside ?? (optional && <span className="text-quiet text-xs">{texts.form.optional}</span>)}
      </div>
      {children({ id, "aria-invalid": error ? true : undefined, "aria-describedby": described })}
      {error ? (
        <p id={`${id}-error`} role="alert" className="mt-1.5 text-down text-xs">
          {error}
        </p>
      ) : (
        hint && (
          <p id={`${id}-hint`} className="mt-1.5 text-quiet text-xs">
            {hint}
          </p>
        )
      )}
    </div>
  );
}

interface Props extends Omit<InputHTMLAttributes<HTMLInputElement>, "prefix"> {
  label: string;
  hint?: ReactNode;
  error?: string | undefined;
  aside?: ReactNode;
  optional?: boolean;
}

/** A line of text with its label. */
export function Field({ label, hint, error, aside, optional, className, ...input }: Props) {
  return (
    <Labelled
      label={label}
      hint={hint}
      aside={aside}
      {...(error !== undefined && { error })}
      {...(optional !== undefined && { optional })}
      {...(className !== undefined && { className })}
    >
      {(control) => (
        <input
          {...control}
          {...input}
          className={`h-9 ${inputClass} ${error ? "border-down" : "border-line-strong"}`}
        />
      )}
    </Labelled>
  );
}

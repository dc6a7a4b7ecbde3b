import { type InputHTMLAttributes, useId } from "react";
import { texts } from "../texts";

interface Props extends InputHTMLAttributes<HTMLInputElement> {
  label: string;
  hint?: string;
  error?: string | undefined;
  /** Text that stands before what is typed and is no part of it. */
  prefix?: string;
}

export function Field({ label, hint, error, prefix, required, className = "", ...input }: Props) {
  const id = useId();
  const described = error ? `${id}-error` : hint && `${id}-hint`;
  return (
    <div className={className}>
      <label htmlFor={id} className="mb-1.5 flex items-baseline justify-between font-medium text-sm">
        {label}
        {!required && <span className="font-normal text-quiet text-xs">{texts.form.optional}</span>}
      </label>
      <div
        className={`flex h-10 items-center rounded-lg border bg-panel focus-within:outline-2 focus-within:outline-accent ${
          error ? "border-down" : "border-line-strong"
        }`}
      >
        {prefix && (
          <span aria-hidden className="select-none pl-3 text-quiet">
            {prefix}
          </span>
        )}
        <input
          id={id}
          required={required}
          aria-invalid={error ? true : undefined}
          aria-describedby={described}
          className={`h-full w-full min-w-0 rounded-lg bg-transparent pr-3 outline-none ${prefix ? "pl-1" : "pl-3"}`}
          {...input}
        />
      </div>
      {error ? (
        <p id={`${id}-error`} role="alert" className="mt-1.5 text-down text-sm">
          {error}
        </p>
      ) : (
        hint && (
          <p id={`${id}-hint`} className="mt-1.5 text-quiet text-sm">
            {hint}
          </p>
        )
      )}
    </div>
  );
}

import type { ButtonHTMLAttributes } from "react";

type Kind = "primary" | "plain" | "quiet";

const kinds: Record<Kind, string> = {
  primary: "bg-action text-white shadow-sm hover:bg-action-hover",
  plain: "border border-line-strong bg-panel text-text shadow-xs hover:bg-sunken",
  quiet: "text-quiet hover:bg-sunken hover:text-text",
};

interface Props extends ButtonHTMLAttributes<HTMLButtonElement> {
  kind?: Kind;
}

export function Button({ kind = "plain", className = "", type = "button", ...rest }: Props) {
  return (
    <button
      type={type}
      className={`inline-flex h-9 shrink-0 items-center justify-center gap-1.5 whitespace-nowrap rounded-lg px-3.5 font-medium text-sm transition-colors disabled:opacity-60 ${kinds[kind]} ${className}`}
      {...rest}
    />
  );
}

/** A button that shows an icon only; the label is for whoever cannot see it. */
export function IconButton({ label, className = "", ...rest }: Props & { label: string }) {
  return <Button kind="quiet" aria-label={label} title={label} className={`w-9 px-0 ${className}`} {...rest} />;
}

import type { ButtonHTMLAttributes } from "react";

type Kind = "primary" | "plain" | "quiet";
type Size = "medium" | "large" | "icon" | "smallIcon";

const kinds: Record<Kind, string> = {
  primary: "bg-action text-white shadow-sm hover:bg-action-hover",
  plain: "border border-line-strong bg-panel text-text shadow-xs hover:bg-sunken",
  quiet: "text-quiet hover:bg-sunken hover:text-text",
};

const sizes: Record<Size, string> = {
  medium: "h-9 px-3.5",
  large: "h-10 w-full px-3.5",
  icon: "size-9",
  smallIcon: "size-7",
};

interface Props extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, "className"> {
  kind?: Kind;
  size?: Size;
}

export function Button({ kind = "plain", size = "medium", type = "button", ...rest }: Props) {
  return (
    <button
      type={type}
      className={`inline-flex shrink-0 items-center justify-center gap-1.5 whitespace-nowrap rounded-lg font-medium text-sm transition-colors disabled:opacity-60 ${kinds[kind]} ${sizes[size]}`}
      {...rest}
    />
  );
}

/** A button that shows an icon only; the label is for whoever cannot see it. */
export function IconButton({ label, ...rest }: Omit<Props, "kind"> & { label: string }) {
  return <Button kind="quiet" size="icon" aria-label={label} title={label} {...rest} />;
}

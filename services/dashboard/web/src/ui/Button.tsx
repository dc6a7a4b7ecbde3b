import type { ButtonHTMLAttributes, Ref } from "react";

type Kind = "primary" | "plain" | "quiet" | "danger";
type Size = "medium" | "small" | "large" | "icon" | "smallIcon";

const kinds: Record<Kind, string> = {
  primary: "bg-action text-white hover:bg-action-hover",
  plain: "border border-line-strong bg-panel text-text hover:bg-sunken",
  quiet: "text-quiet hover:bg-sunken hover:text-text",
  danger: "border border-line-strong bg-panel text-down hover:bg-danger-soft",
};

const sizes: Record<Size, string> = {
  medium: "h-9 px-3.5",
  small: "h-8 px-2.5",
  large: "h-10 w-full px-3.5",
  icon: "size-9",
  smallIcon: "size-7",
};

export interface ButtonProps extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, "className"> {
  kind?: Kind;
  size?: Size;
  ref?: Ref<HTMLButtonElement>;
}

/** The look of a button, for links that act like one. */
export function buttonClass(kind: Kind = "plain", size: Size = "medium"): string {
  return `inline-flex shrink-0 items-center justify-center gap-1.5 whitespace-nowrap rounded-lg font-medium text-sm transition-colors disabled:cursor-not-allowed disabled:opacity-55 ${kinds[kind]} ${sizes[size]}`;
}

export function Button({ kind = "plain", size = "medium", type = "button", ...rest }: ButtonProps) {
  return <button type={type} className={buttonClass(kind, size)} {...rest} />;
}

/** A button that shows an icon only; the label is for whoever cannot see it. */
export function IconButton({ label, ...rest }: Omit<ButtonProps, "kind"> & { label: string }) {
  return <Button kind="quiet" size="icon" aria-label={label} title={label} {...rest} />;
}

import type { ReactNode } from "react";

const tones = {
  plain: "bg-sunken text-quiet",
  accent: "bg-accent-soft text-accent-text",
  good: "bg-up-soft text-up",
  warn: "bg-warn-soft text-warn",
  bad: "bg-danger-soft text-down",
};

export type Tone = keyof typeof tones;

/** A word that says in what state something is. */
export function Badge({
  tone = "plain",
  title,
  children,
}: {
  tone?: Tone;
  title?: string | undefined;
  children: ReactNode;
}) {
  return (
    <span
      title={title}
      className={`inline-flex h-5 max-w-40 shrink-0 items-center gap-1 truncate rounded-md px-1.5 font-medium text-xs ${tones[tone]}`}
    >
      {children}
    </span>
  );
}

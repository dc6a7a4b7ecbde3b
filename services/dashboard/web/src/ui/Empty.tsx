import type { LucideIcon } from "lucide-react";
import type { ReactNode } from "react";

interface Props {
  icon: LucideIcon;
  text: string;
  hint: string;
  children?: ReactNode;
}

/** A place where nothing is yet, and what to do about it. */
export function Empty({ icon: Icon, text, hint, children }: Props) {
  return (
    <div className="flex flex-col items-center rounded-xl border border-line-strong border-dashed px-6 py-14 text-center">
      <span className="grid size-11 place-content-center rounded-xl bg-accent-soft text-accent-text">
        <Icon size={21} aria-hidden />
      </span>
      <p className="mt-4 break-words font-medium text-base">{text}</p>
      <p className="mt-1 max-w-md text-quiet">{hint}</p>
      {children && <div className="mt-5 flex flex-wrap justify-center gap-2.5">{children}</div>}
    </div>
  );
}

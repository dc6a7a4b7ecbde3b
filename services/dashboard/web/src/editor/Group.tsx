import { ChevronRight, type LucideIcon } from "lucide-react";
import { type ReactNode, useEffect, useRef } from "react";
import { Badge } from "../ui/Badge";

interface Props {
  heading: string;
  hint: string;
  icon: LucideIcon;
  /** A word on what is set in it; nothing is set without. */
  set?: string | undefined;
  /** Something in it is wrong, so it opens. */
  wrong?: boolean;
  children: ReactNode;
}

/** Options that belong together, closed until they are needed. */
export function Group({ heading, hint, icon: Icon, set, wrong = false, children }: Props) {
  const details = useRef<HTMLDetailsElement>(null);
  const first = useRef(Boolean(set));
  useEffect(() => {
    if (details.current && (wrong || first.current)) {
      details.current.open = true;
      first.current = false;
    }
  }, [wrong]);
  return (
    <details ref={details} className="group border-line border-t">
      <summary className="flex cursor-pointer list-none items-center gap-3 rounded-lg py-3.5 [&::-webkit-details-marker]:hidden">
        <Icon size={17} aria-hidden className="shrink-0 text-quiet" />
        <span className="min-w-0 grow">
          <span className="block font-medium">{heading}</span>
          <span className="block truncate text-quiet text-xs">{hint}</span>
        </span>
        {set && <Badge tone="accent">{set}</Badge>}
        <ChevronRight
          size={16}
          aria-hidden
          className="shrink-0 text-quiet transition-transform group-open:rotate-90"
        />
      </summary>
      <div className="space-y-4 pt-1 pb-5 sm:pl-7.25">{children}</div>
    </details>
  );
}

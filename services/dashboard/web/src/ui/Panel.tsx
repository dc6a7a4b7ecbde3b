import type { ReactNode } from "react";

/** A surface that holds what belongs together. */
export function Panel({
  children,
  className = "",
  id,
}: {
  children: ReactNode;
  className?: string;
  id?: string;
}) {
  return (
    <div id={id} className={`rounded-xl border border-line bg-panel ${className}`}>
      {children}
    </div>
  );
}

interface SectionProps {
  heading: string;
  lead?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}

/** A heading with what it is about, and its actions at the right. */
export function Section({ heading, lead, actions, children }: SectionProps) {
  return (
    <section>
      <div className="mb-4 flex flex-wrap items-end justify-between gap-3">
        <div className="min-w-0">
          <h2 className="font-semibold text-base tracking-tight">{heading}</h2>
          {lead && <p className="mt-0.5 max-w-prose text-quiet">{lead}</p>}
        </div>
        {actions && <div className="flex gap-2">{actions}</div>}
      </div>
      {children}
    </section>
  );
}

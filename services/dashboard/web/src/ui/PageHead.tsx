import { type ReactNode, useEffect } from "react";
import { texts } from "../texts";

interface Props {
  heading: string;
  children?: ReactNode;
}

/** The name of a page, also in the browser's tab, and its actions. */
export function PageHead({ heading, children }: Props) {
  useEffect(() => {
    document.title = texts.title(heading);
  }, [heading]);
  return (
    <div className="mb-5 flex min-h-9 flex-wrap items-center justify-between gap-3">
      <h1 className="min-w-0 truncate font-semibold text-xl tracking-tight">{heading}</h1>
      {children && <div className="flex flex-wrap items-center gap-2">{children}</div>}
    </div>
  );
}

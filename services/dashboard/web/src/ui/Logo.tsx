import { texts } from "../texts";

/** The mark and the name. Where there is little room, the name is left out. */
export function Logo({ tight = false }: { tight?: boolean }) {
  return (
    <span className="flex items-center gap-2.5">
      <svg viewBox="0 0 32 32" className="size-7" aria-hidden="true">
        <rect width="32" height="32" rx="8" className="fill-action" />
        <path
          d="M8 12.5c4 0 4 7 8 7s4-7 8-7"
          fill="none"
          className="stroke-white"
          strokeWidth="3"
          strokeLinecap="round"
        />
        <circle cx="8" cy="12.5" r="2.4" className="fill-white" />
        <circle cx="24" cy="12.5" r="2.4" className="fill-white" />
      </svg>
      <span className={`font-semibold text-[1.0625rem] tracking-tight ${tight ? "max-sm:hidden" : ""}`}>
        {texts.product}
      </span>
    </span>
  );
}

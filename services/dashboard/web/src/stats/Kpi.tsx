import { ArrowDownRight, ArrowUpRight } from "lucide-react";
import { change, compact, whole } from "../format";
import { texts } from "../texts";
import { Skeleton } from "../ui/Notice";

interface Props {
  label: string;
  help: string;
  now: number | undefined;
  before: number | undefined;
  /** What the change is measured against, for instance "vs. the 7 days before". */
  versus: string;
  /** More of it is neither good nor bad. */
  neutral?: boolean;
  chosen: boolean;
  onChoose: () => void;
}

/** A figure, how it changed, and the choice to draw it. */
export function Kpi({ label, help, now, before, versus, neutral = false, chosen, onChoose }: Props) {
  return (
    <button
      type="button"
      aria-pressed={chosen}
      title={help}
      onClick={onChoose}
      className={`relative flex min-w-0 flex-col px-3 pt-4 pb-4 text-left -outline-offset-2 transition-colors hover:bg-ground sm:px-6 sm:pt-5 ${
        chosen ? "after:absolute after:inset-x-0 after:-bottom-px after:h-0.5 after:bg-accent" : ""
      }`}
    >
      <span className={`block truncate text-xs sm:text-sm ${chosen ? "text-accent-text" : "text-quiet"}`}>
        {label}
      </span>
      {now === undefined ? (
        <Skeleton className="mt-2 mb-1.5 h-7 w-16" />
      ) : (
        <span className="mt-0.5 flex flex-wrap items-baseline gap-x-2.5">
          <span
            className="font-semibold text-[1.375rem] tabular-nums tracking-tight sm:text-[1.75rem]"
            title={whole(now)}
          >
            {compact(now)}
          </span>
          {before !== undefined && <Delta now={now} before={before} versus={versus} neutral={neutral} />}
        </span>
      )}
    </button>
  );
}

function Delta({
  now,
  before,
  versus,
  neutral,
}: {
  now: number;
  before: number;
  versus: string;
  neutral: boolean;
}) {
  const c = change(now, before);
  const title = `${versus}: ${whole(before)}`;
  if (c.kind === "same" || c.kind === "fresh") {
    return (
      <span className="text-quiet text-xs" title={title}>
        {texts.overview[c.kind]}
      </span>
    );
  }
  const up = c.kind === "up";
  const tint = neutral ? "text-quiet" : up ? "text-up" : "text-down";
  const Arrow = up ? ArrowUpRight : ArrowDownRight;
  return (
    <span
      className={`inline-flex items-center gap-0.5 font-medium text-xs tabular-nums ${tint}`}
      title={title}
    >
      <Arrow size={14} aria-hidden />
      <span className="sr-only">{up ? texts.overview.up(c.percent) : texts.overview.down(c.percent)}</span>
      <span aria-hidden>{c.percent}</span>
      <span className="sr-only">{versus}</span>
    </span>
  );
}

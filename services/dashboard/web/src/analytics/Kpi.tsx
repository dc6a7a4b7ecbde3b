import { ArrowDownRight, ArrowUpRight } from "lucide-react";
import { change, compact, whole } from "../format";
import { texts } from "../texts";

interface Props {
  label: string;
  help: string;
  now: number;
  before: number;
  /** What the change is measured against, for instance "vs. the 7 days before". */
  versus: string;
  /** More of it is neither good nor bad. */
  neutral?: boolean;
}

export function Kpi({ label, help, now, before, versus, neutral = false }: Props) {
  return (
    <div className="min-w-0 px-3 py-4 sm:px-6 sm:py-5">
      <dt className="truncate text-quiet text-xs sm:text-sm" title={help}>
        {label}
      </dt>
      <dd className="mt-1 flex flex-wrap items-baseline gap-x-2.5">
        <span
          className="font-semibold text-[1.375rem] tabular-nums tracking-tight sm:text-[1.75rem]"
          title={whole(now)}
        >
          {compact(now)}
        </span>
        <Delta now={now} before={before} versus={versus} neutral={neutral} />
      </dd>
    </div>
  );
}

function Delta({ now, before, versus, neutral }: Required<Omit<Props, "label" | "help">>) {
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
      className={`inline-flex items-center gap-0.5 font-medium text-sm tabular-nums ${tint}`}
      title={title}
    >
      <Arrow size={15} aria-hidden />
      <span className="sr-only">{up ? texts.overview.up(c.percent) : texts.overview.down(c.percent)}</span>
      <span aria-hidden>{c.percent}</span>
      <span className="sr-only">{versus}</span>
    </span>
  );
}

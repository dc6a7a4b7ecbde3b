import { CornerDownRight, MousePointerClick } from "lucide-react";
import type { Period } from "../analytics/period";
import type { Link } from "../api/types";
import { day, decoded, exact, readable, whole } from "../format";
import { texts } from "../texts";
import { CopyButton } from "../ui/CopyButton";

/** The grid that the rows share with their heading. */
export const columns =
  "grid grid-cols-[2.25rem_minmax(0,1fr)_auto] gap-x-3.5 px-4 sm:grid-cols-[2.25rem_minmax(0,1fr)_6rem_6rem] sm:px-6";

interface Props {
  link: Link;
  /** undefined: not there yet; null: not known, for instance because the link is not among the most clicked. */
  clicks: number | null | undefined;
  period: Period;
}

export function LinkRow({ link, clicks, period }: Props) {
  const created = new Date(link.created_at);
  const short = readable(decoded(link.short_url));
  return (
    <li className={`items-center py-3.5 ${columns}`}>
      <Tile destination={link.destination} />
      <div className="min-w-0">
        {link.title && <p className="truncate font-medium">{link.title}</p>}
        <div className="flex items-center gap-x-1">
          <a
            href={link.short_url}
            target="_blank"
            rel="noreferrer"
            title={short}
            className={`min-w-0 truncate rounded-sm hover:underline ${
              link.title ? "text-accent-text text-sm" : "font-medium text-accent-text"
            }`}
          >
            {short}
          </a>
          <CopyButton url={link.short_url} />
        </div>
        <p className="flex items-center gap-1.5 text-quiet text-sm">
          <CornerDownRight size={14} aria-hidden className="shrink-0" />
          <span className="truncate" title={link.destination}>
            {readable(link.destination)}
          </span>
        </p>
      </div>
      <div className="text-right">
        <Clicks clicks={clicks} period={period} />
        <p className="mt-1 text-quiet text-xs sm:hidden">
          <CreatedAt at={created} />
        </p>
      </div>
      <p className="text-right text-quiet text-sm max-sm:hidden">
        <CreatedAt at={created} />
      </p>
    </li>
  );
}

function Clicks({ clicks, period }: Pick<Props, "clicks" | "period">) {
  if (clicks === undefined) {
    return <span aria-hidden className="inline-block h-4 w-8 animate-pulse rounded bg-sunken align-middle" />;
  }
  if (clicks === null) {
    return (
      <span className="text-quiet" title={texts.links.clicksUnknown}>
        <span aria-hidden>–</span>
        <span className="sr-only">{texts.links.clicksUnknown}</span>
      </span>
    );
  }
  const spoken = `${texts.links.clicks(clicks, whole(clicks))} ${texts.period.in[period]}`;
  return (
    <span
      title={spoken}
      className={`inline-flex items-center gap-1.5 text-sm tabular-nums ${clicks ? "font-medium" : "text-quiet"}`}
    >
      <MousePointerClick size={14} aria-hidden className="text-quiet" />
      <span aria-hidden>{whole(clicks)}</span>
      <span className="sr-only">{spoken}</span>
    </span>
  );
}

function CreatedAt({ at }: { at: Date }) {
  return (
    <time dateTime={at.toISOString()} title={exact(at)}>
      {day(at, new Date())}
    </time>
  );
}

/** Stands in for the destination's icon, which only a foreign host could give us. */
function Tile({ destination }: { destination: string }) {
  const host = hostOf(destination).replace(/^www\./, "");
  let hash = 0;
  for (const char of host) {
    hash = (hash * 31 + (char.codePointAt(0) ?? 0)) % 997;
  }
  const tints = [
    "bg-indigo-100 text-indigo-800 dark:bg-indigo-950 dark:text-indigo-200",
    "bg-emerald-100 text-emerald-800 dark:bg-emerald-950 dark:text-emerald-200",
    "bg-amber-100 text-amber-900 dark:bg-amber-950 dark:text-amber-200",
    "bg-rose-100 text-rose-800 dark:bg-rose-950 dark:text-rose-200",
    "bg-sky-100 text-sky-900 dark:bg-sky-950 dark:text-sky-200",
    "bg-fuchsia-100 text-fuchsia-800 dark:bg-fuchsia-950 dark:text-fuchsia-200",
  ];
  return (
    <span
      aria-hidden
      className={`grid size-9 place-content-center rounded-lg font-semibold text-sm uppercase ${tints[hash % tints.length]}`}
    >
      {host.charAt(0) || "?"}
    </span>
  );
}

function hostOf(url: string): string {
  try {
    return new URL(url).host;
  } catch {
    return url;
  }
}

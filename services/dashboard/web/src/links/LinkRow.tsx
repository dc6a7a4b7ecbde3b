import { Link } from "@tanstack/react-router";
import { CornerDownRight } from "lucide-react";
import { ago, compact, day, decoded, exact, readable, whole } from "../format";
import { texts } from "../texts";
import { Badge } from "../ui/Badge";
import { CopyButton } from "../ui/CopyButton";
import { RowMenu } from "./RowMenu";
import type { Row } from "./row";
import { Sparkline } from "./Sparkline";
import { StateBadges } from "./StateBadges";
import { Tile } from "./Tile";

/** The grid that the rows share with their heading. */
export const columns =
  "grid items-center gap-x-3 px-3 sm:px-4 grid-cols-[1.25rem_minmax(0,1fr)_auto_auto] md:grid-cols-[1.25rem_minmax(0,1fr)_5.5rem_4rem_4rem_6rem_2rem]";

interface Props {
  row: Row;
  selected: boolean;
  current: boolean;
  figuresFailed: boolean;
  onSelect: (on: boolean, range: boolean) => void;
  onTag: (tag: string) => void;
}

/** A link with its figures. */
export function LinkRow({ row, selected, current, figuresFailed, onSelect, onTag }: Props) {
  const short = readable(decoded(row.shortUrl));
  const name = row.title || short;
  const { figures } = row;
  return (
    <li
      data-row={row.id}
      data-current={current || undefined}
      className={`group py-3 transition-colors data-current:bg-ground ${selected ? "bg-accent-soft" : "hover:bg-ground"} ${columns}`}
    >
      <input
        type="checkbox"
        aria-label={texts.links.select(name)}
        checked={selected}
        onClick={(event) => onSelect(!selected, event.shiftKey)}
        onChange={() => {}}
        className="size-4 cursor-pointer accent-action"
      />
      <div className="flex min-w-0 items-center gap-3">
        <span className="max-sm:hidden">
          <Tile destination={row.destination} />
        </span>
        <div className="min-w-0">
          <div className="flex min-w-0 items-center gap-1.5">
            <Link
              to="/links/$id"
              params={{ id: row.id }}
              data-open
              className="min-w-0 truncate rounded-sm font-semibold hover:text-accent-text"
            >
              {short}
            </Link>
            <CopyButton url={row.shortUrl} />
            <span className="flex gap-1 max-sm:hidden">
              <StateBadges row={row} />
            </span>
          </div>
          <p className="flex min-w-0 items-center gap-1.5 text-quiet">
            <CornerDownRight size={13} aria-hidden className="shrink-0" />
            <span className="truncate" title={row.destination}>
              {row.title ? (
                <>
                  <span className="text-text">{row.title}</span>
                  <span aria-hidden> · </span>
                </>
              ) : null}
              {readable(row.destination)}
            </span>
            <span className="flex shrink-0 gap-1 max-lg:hidden">
              {row.tags.slice(0, 2).map((tag) => (
                <button
                  key={tag}
                  type="button"
                  onClick={() => onTag(tag)}
                  title={texts.filters.by(tag)}
                  className="-my-0.5 flex h-6 items-center"
                >
                  <Badge>{tag}</Badge>
                </button>
              ))}
              {row.tags.length > 2 && (
                <Badge title={row.tags.slice(2).join(", ")}>+{row.tags.length - 2}</Badge>
              )}
            </span>
          </p>
          <p className="mt-1 flex flex-wrap gap-1 empty:hidden sm:hidden">
            <StateBadges row={row} />
          </p>
        </div>
      </div>
      <span className="max-md:hidden">{figures && <Sparkline values={figures.sparkline} />}</span>
      <Figure value={figures?.clicks} spoken={texts.metrics.clicks.count} failed={figuresFailed} strong />
      <span className="max-md:hidden">
        <Figure
          value={figures?.unique_visitors}
          spoken={texts.metrics.unique_visitors.count}
          failed={figuresFailed}
        />
      </span>
      <span className="text-right text-quiet text-xs max-md:hidden">
        <Moment row={row} />
      </span>
      <RowMenu row={row} />
    </li>
  );
}

/** When it was clicked last; when it was made, while nobody has. */
function Moment({ row }: { row: Row }) {
  const now = new Date();
  const last = row.figures?.last_click_at;
  const at = new Date(last ?? row.createdAt);
  const title = last ? texts.links.lastClickAt(exact(at)) : texts.links.createdAt(exact(at));
  return (
    <time dateTime={at.toISOString()} title={title}>
      {last ? ago(at, now) : texts.links.newSince(day(at, now))}
    </time>
  );
}

interface FigureProps {
  value: number | undefined;
  spoken: (n: number, formatted: string) => string;
  failed: boolean;
  strong?: boolean;
}

function Figure({ value, spoken, failed, strong = false }: FigureProps) {
  if (value === undefined) {
    return (
      <span className="block text-right text-quiet" title={failed ? texts.links.clicksUnknown : undefined}>
        {failed ? (
          "–"
        ) : (
          <span className="inline-block h-3.5 w-8 animate-pulse rounded bg-sunken align-middle" />
        )}
      </span>
    );
  }
  return (
    <span
      title={spoken(value, whole(value))}
      className={`block text-right tabular-nums ${strong && value > 0 ? "font-semibold" : value > 0 ? "" : "text-quiet"}`}
    >
      <span aria-hidden>{compact(value)}</span>
      <span className="sr-only">{spoken(value, whole(value))}</span>
    </span>
  );
}

import { Link } from "@tanstack/react-router";
import type { LiveClick } from "../api/types";
import { decoded } from "../format";
import { valueLabel } from "../stats/labels";
import { texts } from "../texts";
import { Badge } from "../ui/Badge";

/** The newest clicks, one by one. What visitors sent is text and nothing else. */
export function LiveFeed({ clicks, withLink }: { clicks: LiveClick[]; withLink: boolean }) {
  if (clicks.length === 0) {
    return (
      <p className="grid min-h-40 place-content-center px-6 text-center text-quiet">{texts.live.quiet}</p>
    );
  }
  return (
    <ul className="divide-y divide-line" data-live-feed>
      {clicks.map((click) => (
        <li key={click.id} className="flex items-center gap-x-4 gap-y-1 px-4 py-2.5 max-sm:flex-wrap sm:px-5">
          <time dateTime={click.t} className="w-18 shrink-0 text-quiet text-xs tabular-nums">
            {new Date(click.t).toLocaleTimeString(undefined, {
              hour: "numeric",
              minute: "2-digit",
              second: "2-digit",
            })}
          </time>
          {withLink && (
            <Link
              to="/links/$id"
              params={{ id: click.link_id }}
              className="min-w-0 truncate rounded font-medium hover:text-accent-text sm:w-2/5"
            >
              {click.host}/{decoded(click.slug)}
            </Link>
          )}
          <span className="min-w-0 truncate text-quiet max-sm:w-full">
            {[placeOf(click), deviceOf(click), click.referrer || texts.values.referrer[""]]
              .filter(Boolean)
              .join(" · ")}
          </span>
          <span className="ml-auto flex shrink-0 gap-1 max-sm:hidden">
            {click.source && <Badge tone="accent">{valueLabel("source", click.source)}</Badge>}
            {click.bot && <Badge>{texts.live.bot}</Badge>}
            <Badge>{click.edge_region}</Badge>
          </span>
        </li>
      ))}
    </ul>
  );
}

function placeOf(click: LiveClick): string {
  const country = click.country && valueLabel("country", click.country);
  return [country, click.city].filter(Boolean).join(", ");
}

function deviceOf(click: LiveClick): string {
  return [click.browser, click.os].filter(Boolean).join(", ");
}

import { useQuery } from "@tanstack/react-query";
import { Link as RouterLink } from "@tanstack/react-router";
import type { Link } from "../api/types";
import { ago, day, exact, readable, whole } from "../format";
import { StateBadges } from "../links/StateBadges";
import { Tile } from "../links/Tile";
import { LiveDot } from "../live/LiveMark";
import type { useMoment } from "../live/useMoment";
import { totalsQuery } from "../stats/queries";
import { readView } from "../stats/view";
import { texts } from "../texts";
import { Badge } from "../ui/Badge";
import { CopyButton } from "../ui/CopyButton";
import { Panel } from "../ui/Panel";

/** What the link is, and its totals of all times. */
export function LinkSummary({ link, live }: { link: Link; live: ReturnType<typeof useMoment> }) {
  const totals = useQuery(totalsQuery(readView({}), { link_id: link.id }));
  const now = new Date();
  const created = new Date(link.created_at);
  const last = totals.data?.last_click_at ? new Date(totals.data.last_click_at) : null;
  const t = texts.linkPage;
  return (
    <Panel className="mb-6 p-4 sm:p-5">
      <div className="flex items-start gap-3.5">
        <Tile destination={link.destination} />
        <div className="min-w-0 grow">
          {link.title && <p className="font-medium">{link.title}</p>}
          <p className="flex min-w-0 items-center gap-1 text-quiet">
            <a
              href={link.destination}
              target="_blank"
              rel="noreferrer"
              title={link.destination}
              className="min-w-0 truncate rounded hover:text-text hover:underline"
            >
              {readable(link.destination)}
            </a>
          </p>
          <p className="mt-2 flex flex-wrap items-center gap-1.5 empty:hidden">
            <StateBadges row={{ link, archived: link.archived }} />
            {link.tags.map((tag) => (
              <RouterLink
                key={tag}
                to="/analytics"
                search={{ tag }}
                title={t.tagAnalytics(tag)}
                className="flex h-6 items-center"
              >
                <Badge>{tag}</Badge>
              </RouterLink>
            ))}
          </p>
          {link.notes && <p className="mt-2 whitespace-pre-line text-quiet">{link.notes}</p>}
        </div>
        <CopyButton url={link.short_url} />
      </div>
      <dl className="mt-4 grid grid-cols-2 gap-4 border-line border-t pt-4 sm:grid-cols-4">
        <Fact label={t.allTime} value={totals.data ? whole(totals.data.clicks) : "…"} />
        <Fact
          label={t.lastClick}
          value={last ? ago(last, now) : totals.data ? t.never : "…"}
          {...(last && { title: exact(last) })}
        />
        <Fact label={t.created} value={day(created, now)} title={exact(created)} />
        <div>
          <dt className="text-quiet text-xs">{t.live}</dt>
          <dd className="mt-0.5 flex items-center gap-2 font-medium tabular-nums">
            <a href="#live" className="rounded hover:underline" data-live-count={live.moment?.clicks}>
              {live.moment ? texts.metrics.clicks.count(live.moment.clicks, whole(live.moment.clicks)) : "…"}
            </a>
            <LiveDot state={live.state} />
          </dd>
        </div>
      </dl>
    </Panel>
  );
}

function Fact({ label, value, title }: { label: string; value: string; title?: string }) {
  return (
    <div>
      <dt className="text-quiet text-xs">{label}</dt>
      <dd className="mt-0.5 font-medium tabular-nums" title={title}>
        {value}
      </dd>
    </div>
  );
}

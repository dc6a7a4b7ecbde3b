import { whole } from "../format";
import { PlaceSource } from "../stats/PlaceSource";
import { texts } from "../texts";
import { Skeleton } from "../ui/Notice";
import { PageHead } from "../ui/PageHead";
import { Panel } from "../ui/Panel";
import { LiveBars } from "./LiveBars";
import { LiveFeed } from "./LiveFeed";
import { LiveMark } from "./LiveMark";
import { LiveTop } from "./LiveTop";
import { useMoment } from "./useMoment";

/** What happens right now, in the whole workspace. */
export function LivePage() {
  const { moment, state } = useMoment({});
  const t = texts.live;
  return (
    <>
      <PageHead heading={texts.nav.live}>
        <LiveMark state={state} />
      </PageHead>
      <div className="grid gap-4">
        <Panel className="p-4 sm:p-6">
          {moment ? (
            <>
              <div className="mb-5 flex flex-wrap gap-x-10 gap-y-3">
                <Figure label={t.clicks} value={moment.clicks} />
                <Figure label={t.visitors} value={moment.unique_visitors} />
                <Figure label={t.bots} value={moment.bot_clicks} />
              </div>
              <LiveBars moment={moment} />
              <div aria-hidden className="mt-1.5 flex justify-between text-quiet text-xs">
                <span>{t.windowStart(moment.window_seconds / 60)}</span>
                <span>{t.now}</span>
              </div>
            </>
          ) : (
            <Skeleton className="h-44" />
          )}
        </Panel>
        {moment && (
          <>
            <div className="grid gap-4 md:grid-cols-3">
              <LiveTop heading={texts.overview.links} by="link" values={moment.top.links} />
              <LiveTop heading={texts.dimensions.country} by="country" values={moment.top.countries} />
              <LiveTop heading={texts.dimensions.referrer} by="referrer" values={moment.top.referrers} />
            </div>
            <Panel className="overflow-hidden">
              <h2 className="border-line border-b px-4 py-3 font-semibold sm:px-5">{t.recent}</h2>
              <LiveFeed clicks={moment.recent} withLink />
            </Panel>
            <PlaceSource />
          </>
        )}
      </div>
    </>
  );
}

function Figure({ label, value }: { label: string; value: number }) {
  return (
    <div>
      <p className="text-quiet">{label}</p>
      <p className="font-semibold text-3xl tabular-nums tracking-tight">{whole(value)}</p>
    </div>
  );
}

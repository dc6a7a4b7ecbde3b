import type { Moment } from "../api/types";
import { whole } from "../format";
import { texts } from "../texts";
import { Panel } from "../ui/Panel";
import { LiveBars } from "./LiveBars";
import { LiveFeed } from "./LiveFeed";
import { LiveMark } from "./LiveMark";
import type { LiveState } from "./useMoment";

/** The last five minutes of one link. */
export function LiveStrip({ moment, state }: { moment: Moment | null; state: LiveState }) {
  return (
    <Panel className="mt-4 overflow-hidden" id="live">
      <div className="flex items-center justify-between gap-3 px-4 pt-4 sm:px-5">
        <h2 className="font-semibold">{texts.live.heading}</h2>
        <LiveMark state={state} />
      </div>
      {moment && (
        <>
          <div className="grid items-end gap-4 px-4 pt-2 pb-4 sm:grid-cols-[9rem_1fr] sm:px-5">
            <p>
              <span className="font-semibold text-3xl tabular-nums tracking-tight">
                {whole(moment.clicks)}
              </span>
              <span className="block text-quiet text-xs">
                {texts.live.window(moment.clicks, moment.window_seconds / 60)}
              </span>
            </p>
            <LiveBars moment={moment} />
          </div>
          {moment.recent.length > 0 && (
            <section
              // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable by keyboard
              tabIndex={0}
              aria-label={texts.live.recent}
              className="max-h-72 overflow-y-auto border-line border-t -outline-offset-2"
            >
              <LiveFeed clicks={moment.recent} withLink={false} />
            </section>
          )}
        </>
      )}
    </Panel>
  );
}

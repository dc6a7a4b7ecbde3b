import type { Moment } from "../api/types";
import { texts } from "../texts";

/** The window, bucket by bucket; the newest is on the right and still growing. */
export function LiveBars({ moment }: { moment: Moment }) {
  const most = Math.max(4, ...moment.buckets.map((b) => b.clicks));
  return (
    <div
      role="img"
      aria-label={texts.live.bars(moment.clicks, moment.window_seconds / 60)}
      className="flex h-24 items-end gap-px sm:gap-0.5"
    >
      {moment.buckets.map((b) => (
        <span key={b.t} title={texts.live.bar(b.clicks)} className="flex h-full min-w-0 grow items-end">
          <span
            className={`w-full rounded-t-sm ${b.clicks > 0 ? "bg-accent" : "bg-sunken"}`}
            style={{ height: b.clicks > 0 ? `${Math.max(6, (b.clicks / most) * 100)}%` : "3px" }}
          />
        </span>
      ))}
    </div>
  );
}

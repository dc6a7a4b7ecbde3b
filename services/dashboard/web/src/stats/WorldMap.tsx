import { useQuery } from "@tanstack/react-query";
import { type PointerEvent, useMemo, useState } from "react";
import { whole } from "../format";
import { texts } from "../texts";
import { Skeleton } from "../ui/Notice";
import { HEIGHT, loadShapes, WIDTH } from "./atlas";
import type { BreakdownProps } from "./Breakdown";
import { CountryMark } from "./CountryMark";
import { valueLabel } from "./labels";
import { breakdownQuery, DETAILS } from "./queries";
import { toggled } from "./view";

/**
 * Clicks by country; darker is more. The list beside it says the same to whoever
 * does not see it, so that here a picture is enough. The default export is what
 * React.lazy wants.
 */
export default function WorldMap({ view, scope, onChange }: BreakdownProps) {
  const shapes = useQuery({
    queryKey: ["atlas"],
    queryFn: ({ signal }) => loadShapes(signal),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const rows = useQuery(breakdownQuery(view, scope, "country", DETAILS));
  const [at, setAt] = useState<{ country: string; x: number; y: number } | null>(null);
  const counts = useMemo(
    () => new Map(rows.data?.map((r) => [r.value, r[view.metric]])),
    [rows.data, view.metric],
  );
  const most = Math.max(1, ...counts.values());
  const chosen = view.filters.country ?? [];
  if (!shapes.data) {
    return <Skeleton className="aspect-[2/1] w-full" />;
  }

  const follow = (event: PointerEvent<SVGSVGElement>) => {
    const country = (event.target as Element).getAttribute("data-country");
    const box = event.currentTarget.getBoundingClientRect();
    setAt(country ? { country, x: event.clientX - box.left, y: event.clientY - box.top } : null);
  };
  const choose = (event: React.MouseEvent) => {
    const country = (event.target as Element).getAttribute("data-country");
    if (country && counts.has(country)) {
      onChange({ ...view, filters: toggled(view.filters, "country", country) });
    }
  };
  return (
    <div className="relative self-center">
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the list beside it does the same by keyboard */}
      <svg
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        role="img"
        aria-label={texts.overview.map}
        className="w-full"
        onPointerMove={follow}
        onPointerLeave={() => setAt(null)}
        onClick={choose}
      >
        {shapes.data.map(({ key, country, path }) => {
          const count = (country && counts.get(country)) || 0;
          return (
            <path
              key={key}
              d={path}
              data-country={country}
              className={`stroke-panel transition-colors hover:stroke-text ${count ? "cursor-pointer fill-accent" : "fill-sunken"} ${
                country && chosen.includes(country) ? "stroke-text" : ""
              }`}
              strokeWidth={0.7}
              style={count ? { fillOpacity: shade(count / most) } : undefined}
            />
          );
        })}
      </svg>
      {at && (
        <div
          aria-hidden
          className="-translate-x-1/2 -translate-y-full pointer-events-none absolute z-10 mt-[-0.6rem] whitespace-nowrap rounded-lg border border-line bg-panel px-2.5 py-1.5 text-xs shadow-lg"
          style={{ left: at.x, top: at.y }}
        >
          <CountryMark country={at.country} />
          <span className="font-medium">{valueLabel("country", at.country)}</span>{" "}
          <span className="text-quiet tabular-nums">
            {texts.metrics[view.metric].count(
              counts.get(at.country) ?? 0,
              whole(counts.get(at.country) ?? 0),
            )}
          </span>
        </div>
      )}
    </div>
  );
}

/** By the square root: a tenth of the most is still to be seen. */
function shade(share: number): number {
  return 0.14 + 0.86 * Math.sqrt(share);
}

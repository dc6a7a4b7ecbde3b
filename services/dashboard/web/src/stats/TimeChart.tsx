import { LineChart } from "echarts/charts";
import { GridComponent, TooltipComponent } from "echarts/components";
import { type EChartsType, init, use } from "echarts/core";
import { CanvasRenderer } from "echarts/renderers";
import { useEffect, useMemo, useRef } from "react";
import type { Bucket } from "../api/types";
import { moment, whole } from "../format";
import { texts } from "../texts";
import { useTheme } from "../ui/theme";
import { chartOptions, type Point } from "./chartOptions";
import type { Interval } from "./period";
import type { Metric } from "./view";

use([LineChart, GridComponent, TooltipComponent, CanvasRenderer]);

interface Props {
  interval: Interval;
  buckets: Bucket[];
  /** For each bucket the one of the period before, where there is one. */
  previous: Bucket[];
  metric: Metric;
  tz: string;
}

/**
 * A figure over time. What the canvas shows is also in a table, for whoever does
 * not see it. The default export is what React.lazy wants.
 */
export default function TimeChart({ interval, buckets, previous, metric, tz }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const chart = useRef<EChartsType>(null);
  const theme = useTheme();
  const points = useMemo<Point[]>(
    () => buckets.map((b, i) => ({ at: new Date(b.t), now: b[metric], before: previous[i]?.[metric] })),
    [buckets, previous, metric],
  );
  const total = points.reduce((sum, p) => sum + p.now, 0);
  const label = texts.metrics[metric].label;

  useEffect(() => {
    const element = place.current;
    if (!element) {
      return;
    }
    const created = init(element, null, { renderer: "canvas" });
    chart.current = created;
    const observer = new ResizeObserver(() => created.resize());
    observer.observe(element);
    return () => {
      observer.disconnect();
      created.dispose();
      chart.current = null;
    };
  }, []);

  // biome-ignore lint/correctness/useExhaustiveDependencies: the theme changes the colours that the options read from the page
  useEffect(() => {
    chart.current?.setOption(chartOptions({ interval, points, metric, tz }), { notMerge: true });
  }, [interval, points, metric, tz, theme]);

  const first = points.at(0);
  const last = points.at(-1);
  return (
    <figure className="h-full">
      <div
        ref={place}
        role="img"
        aria-label={
          first && last
            ? texts.overview.chart(
                label,
                moment(first.at, interval, tz),
                moment(last.at, interval, tz),
                whole(total),
              )
            : texts.overview.quiet
        }
        className="h-full"
      />
      {total === 0 && (
        <p className="pointer-events-none absolute inset-0 grid place-content-center px-6 pb-8 text-center text-quiet">
          {texts.overview.quiet}
        </p>
      )}
      <table className="sr-only">
        <caption>{texts.overview.chartTable(label)}</caption>
        <thead>
          <tr>
            <th scope="col">{texts.overview.time}</th>
            <th scope="col">{label}</th>
          </tr>
        </thead>
        <tbody>
          {points.map((p) => (
            <tr key={p.at.getTime()}>
              <td>{moment(p.at, interval, tz)}</td>
              <td>{whole(p.now)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </figure>
  );
}

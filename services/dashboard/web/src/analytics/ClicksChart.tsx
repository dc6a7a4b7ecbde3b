import { LineChart } from "echarts/charts";
import { GridComponent, TooltipComponent } from "echarts/components";
import { type EChartsType, init, use } from "echarts/core";
import { CanvasRenderer } from "echarts/renderers";
import { useEffect, useMemo, useRef } from "react";
import type { Bucket } from "../api/types";
import { compact, moment, tick, whole } from "../format";
import { texts } from "../texts";
import { useTheme } from "../ui/theme";
import type { Interval } from "./period";

use([LineChart, GridComponent, TooltipComponent, CanvasRenderer]);

interface Props {
  interval: Interval;
  buckets: Bucket[];
}

/**
 * Clicks over time. What the canvas shows is also in a table, for whoever does
 * not see it. The default export is what React.lazy wants.
 */
export default function ClicksChart({ interval, buckets }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const chart = useRef<EChartsType>(null);
  const theme = useTheme();
  const points = useMemo(() => buckets.map((b) => ({ at: new Date(b.t), clicks: b.clicks })), [buckets]);
  const total = points.reduce((sum, p) => sum + p.clicks, 0);

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

  // biome-ignore lint/correctness/useExhaustiveDependencies: the theme changes the colours that options() reads from the page
  useEffect(() => {
    chart.current?.setOption(options(interval, points));
  }, [interval, points, theme]);

  const first = points.at(0);
  const last = points.at(-1);
  return (
    <figure className="h-full">
      <div
        ref={place}
        role="img"
        aria-label={
          first && last
            ? texts.overview.chart(moment(first.at, interval), moment(last.at, interval), whole(total))
            : texts.overview.quiet
        }
        className="h-full"
      />
      {total === 0 && (
        <p className="pointer-events-none absolute inset-0 grid place-content-center px-6 text-center text-quiet text-sm">
          {texts.overview.quiet}
        </p>
      )}
      <table className="sr-only">
        <caption>{texts.overview.chartTable}</caption>
        <thead>
          <tr>
            <th>{texts.overview.time}</th>
            <th>{texts.overview.clicks}</th>
          </tr>
        </thead>
        <tbody>
          {points.map((p) => (
            <tr key={p.at.getTime()}>
              <td>{moment(p.at, interval)}</td>
              <td>{whole(p.clicks)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </figure>
  );
}

function options(interval: Interval, points: { at: Date; clicks: number }[]) {
  const css = getComputedStyle(document.documentElement);
  const color = (name: string) => css.getPropertyValue(`--${name}`).trim();
  const last = points.length - 1;
  const label = { color: color("quiet"), fontFamily: "Inter Variable, system-ui, sans-serif", fontSize: 12 };
  return {
    animationDuration: 250,
    animationDurationUpdate: 250,
    grid: {
      left: 8,
      right: 20,
      top: 12,
      bottom: 4,
      outerBoundsMode: "same",
      outerBoundsContain: "axisLabel",
    },
    xAxis: {
      type: "category",
      boundaryGap: false,
      data: points.map((p) => tick(p.at, interval)),
      axisLine: { lineStyle: { color: color("line-strong") } },
      axisTick: { show: false },
      axisLabel: { ...label, margin: 12, hideOverlap: true },
    },
    yAxis: {
      type: "value",
      minInterval: 1,
      max: ({ max }: { max: number }) => (max === 0 ? 4 : undefined),
      splitNumber: 4,
      splitLine: { lineStyle: { color: color("line") } },
      axisLabel: { ...label, formatter: compact },
    },
    tooltip: {
      trigger: "axis",
      padding: 0,
      borderWidth: 0,
      backgroundColor: "transparent",
      extraCssText: "box-shadow: none",
      axisPointer: { lineStyle: { color: color("line-strong"), type: "solid" } },
      formatter: ([item]: { dataIndex: number }[]) => bubble(interval, item && points[item.dataIndex]),
    },
    series: [
      line(
        points.map((p, i) => (i < last ? p.clicks : null)),
        "solid",
      ),
      // The newest bucket is still filling: a dashed line says that its dip is none.
      line(
        points.map((p, i) => (i >= last - 1 ? p.clicks : null)),
        "dashed",
      ),
    ],
  };

  function line(data: (number | null)[], type: "solid" | "dashed") {
    return {
      type: "line",
      name: texts.overview.clicks,
      data,
      symbol: "circle",
      symbolSize: 7,
      showSymbol: false,
      lineStyle: { width: 2.25, color: color("accent"), type },
      itemStyle: { color: color("accent") },
      areaStyle: {
        color: {
          type: "linear",
          x: 0,
          y: 0,
          x2: 0,
          y2: 1,
          colorStops: [
            { offset: 0, color: `${color("accent")}3d` },
            { offset: 1, color: `${color("accent")}05` },
          ],
        },
      },
    };
  }
}

/** Elements, not HTML: the content policy allows no style in markup. */
function bubble(interval: Interval, point: { at: Date; clicks: number } | undefined): HTMLElement {
  const box = document.createElement("div");
  if (point) {
    box.className = "font-sans rounded-lg border border-line bg-panel px-3 py-2 text-sm text-text shadow-lg";
    const time = document.createElement("div");
    time.className = "text-quiet text-xs";
    time.textContent = moment(point.at, interval);
    const count = document.createElement("div");
    count.className = "mt-0.5 font-semibold tabular-nums";
    count.textContent = texts.links.clicks(point.clicks, whole(point.clicks));
    box.append(time, count);
  }
  return box;
}

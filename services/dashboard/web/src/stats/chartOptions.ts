import { compact, moment, tick, whole } from "../format";
import { texts } from "../texts";
import type { Interval } from "./period";
import type { Metric } from "./view";

export interface Point {
  at: Date;
  now: number;
  before: number | undefined;
}

interface Drawn {
  interval: Interval;
  points: Point[];
  metric: Metric;
  tz: string;
}

/** A short zero line looks better than an axis without numbers. */
const EMPTY_MAX = 4;

export function chartOptions({ interval, points, metric, tz }: Drawn) {
  const css = getComputedStyle(document.documentElement);
  const color = (name: string) => css.getPropertyValue(`--${name}`).trim();
  const last = points.length - 1;
  const running = isRunning(points, interval);
  const label = { color: color("quiet"), fontFamily: "Inter Variable, system-ui, sans-serif", fontSize: 12 };
  const before = points.some((p) => p.before !== undefined);
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
      data: points.map((p) => tick(p.at, interval, tz)),
      axisLine: { lineStyle: { color: color("line") } },
      axisTick: { show: false },
      axisLabel: { ...label, margin: 12, hideOverlap: true },
    },
    yAxis: {
      type: "value",
      minInterval: 1,
      max: ({ max }: { max: number }) => (max === 0 ? EMPTY_MAX : undefined),
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
      formatter: ([item]: { dataIndex: number }[]) =>
        bubble(item && points[item.dataIndex], interval, metric, tz),
    },
    series: [
      ...(before
        ? [
            {
              ...line(
                points.map((p) => p.before ?? null),
                "solid",
                color("line-strong"),
              ),
              areaStyle: undefined,
              lineStyle: { width: 1.5, color: color("line-strong") },
              z: 1,
            },
          ]
        : []),
      line(
        points.map((p, i) => (running && i === last ? null : p.now)),
        "solid",
        color("accent"),
      ),
      // The newest bucket is still filling: a dashed line says that its dip is none.
      ...(running
        ? [
            {
              ...line(
                points.map((p, i) => (i >= last - 1 ? p.now : null)),
                "dashed",
                color("accent"),
              ),
              areaStyle: undefined,
            },
          ]
        : []),
    ],
  };
}

function line(data: (number | null)[], type: "solid" | "dashed", color: string) {
  return {
    type: "line",
    data,
    symbol: "circle",
    symbolSize: 7,
    showSymbol: data.filter((v) => v !== null).length === 1,
    lineStyle: { width: 2, color, type },
    itemStyle: { color },
    areaStyle: {
      color: {
        type: "linear",
        x: 0,
        y: 0,
        x2: 0,
        y2: 1,
        colorStops: [
          { offset: 0, color: `${color}33` },
          { offset: 1, color: `${color}05` },
        ],
      },
    },
  };
}

const widths = {
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
  week: 7 * 86_400_000,
  month: 31 * 86_400_000,
};

/** Whether the last point's time is not over yet. */
function isRunning(points: Point[], interval: Interval): boolean {
  const at = points.at(-1)?.at.getTime();
  return at !== undefined && Date.now() < at + widths[interval];
}

/** Elements, not HTML: the content policy allows no style in markup. */
function bubble(point: Point | undefined, interval: Interval, metric: Metric, tz: string): HTMLElement {
  const box = document.createElement("div");
  if (!point) {
    return box;
  }
  const add = (className: string, text: string) => {
    const element = document.createElement("div");
    element.className = className;
    element.textContent = text;
    box.append(element);
  };
  box.className = "font-sans rounded-lg border border-line bg-panel px-3 py-2 text-sm text-text shadow-lg";
  add("text-quiet text-xs", moment(point.at, interval, tz));
  add("mt-0.5 font-semibold tabular-nums", texts.metrics[metric].count(point.now, whole(point.now)));
  if (point.before !== undefined) {
    add("text-quiet text-xs tabular-nums", texts.overview.before(whole(point.before)));
  }
  return box;
}

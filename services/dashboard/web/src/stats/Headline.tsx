import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense } from "react";
import { texts } from "../texts";
import { ErrorNotice, Skeleton } from "../ui/Notice";
import { Panel } from "../ui/Panel";
import { Segmented } from "../ui/Segmented";
import { Kpi } from "./Kpi";
import { intervalsOf, spanOf } from "./period";
import { seriesQuery, summaryQuery } from "./queries";
import { metrics, type Scope, type View } from "./view";

// The chart library is the largest part of the app and not needed to log in.
const TimeChart = lazy(() => import("./TimeChart"));

interface Props {
  view: View;
  scope: Scope;
  onChange: (view: View) => void;
}

/** The figures of a period, and the course of the one that was chosen. */
export function Headline({ view, scope, onChange }: Props) {
  const summary = useQuery(summaryQuery(view, scope));
  const series = useQuery(seriesQuery(view, scope));
  const error = summary.error ?? series.error;
  if (error && !(summary.data && series.data)) {
    const retry = () => {
      void summary.refetch();
      void series.refetch();
    };
    return <ErrorNotice text={texts.overview.failed} error={error} onRetry={retry} />;
  }
  const stale = summary.isPlaceholderData || series.isPlaceholderData;
  const intervals = intervalsOf(spanOf(view.period, new Date(), view.tz));
  return (
    <section aria-label={texts.overview.heading} aria-busy={stale}>
      <Panel className={`overflow-hidden transition-opacity ${stale ? "opacity-60" : ""}`}>
        <div className="grid grid-cols-3 divide-x divide-line border-line border-b">
          {metrics.map((metric) => (
            <Kpi
              key={metric}
              label={texts.metrics[metric].label}
              help={texts.metrics[metric].help}
              now={summary.data?.[metric]}
              before={summary.data?.previous[metric]}
              versus={texts.overview.versus}
              neutral={metric === "bot_clicks"}
              chosen={view.metric === metric}
              onChoose={() => onChange({ ...view, metric })}
            />
          ))}
        </div>
        <div className="flex h-13 items-center justify-between gap-3 px-3 pt-3 sm:px-6">
          <p className="min-w-0 truncate text-quiet text-xs">
            {series.data && texts.overview.per(texts.metrics[view.metric].label, series.data.interval)}
            {series.data && series.data.previous.length > 0 && (
              <span className="max-sm:hidden"> · {texts.overview.greyLine}</span>
            )}
          </p>
          {intervals.length > 1 && series.data && (
            <Segmented
              label={texts.overview.interval}
              value={series.data.interval}
              options={intervals.map((value) => ({ value, label: texts.intervals[value] }))}
              onChange={(interval) =>
                onChange({ ...view, interval: interval === intervals[0] ? undefined : interval })
              }
            />
          )}
        </div>
        <div className="relative h-56 px-1 pb-3 sm:h-64 sm:px-4">
          <Suspense fallback={<Skeleton className="h-full" />}>
            {series.data ? (
              <TimeChart
                interval={series.data.interval}
                buckets={series.data.buckets}
                previous={series.data.previous}
                metric={view.metric}
                tz={view.tz}
              />
            ) : (
              <Skeleton className="h-full" />
            )}
          </Suspense>
        </div>
      </Panel>
    </section>
  );
}

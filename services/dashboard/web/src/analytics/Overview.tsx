import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense } from "react";
import { summaryQuery, timeseriesQuery } from "../api/queries";
import { texts } from "../texts";
import { ErrorNotice, Skeleton } from "../ui/Notice";
import { Kpi } from "./Kpi";
import type { Period } from "./period";

// The chart library is the largest part of the app and not needed to log in.
const ClicksChart = lazy(() => import("./ClicksChart"));

/** The figures of a period and their course. */
export function Overview({ period }: { period: Period }) {
  const summary = useQuery(summaryQuery(period));
  const series = useQuery(timeseriesQuery(period));
  const error = summary.error ?? series.error;
  if (error && !(summary.data && series.data)) {
    const retry = () => {
      void summary.refetch();
      void series.refetch();
    };
    return <ErrorNotice text={texts.overview.failed} error={error} onRetry={retry} />;
  }
  const versus = texts.period.previous[period];
  const data = summary.data;
  return (
    <section
      aria-label={texts.overview.heading}
      aria-busy={summary.isPlaceholderData || series.isPlaceholderData}
      className="overflow-hidden rounded-2xl border border-line bg-panel shadow-xs"
    >
      <dl className="grid grid-cols-3 divide-x divide-line border-line border-b">
        {data ? (
          <>
            <Kpi
              label={texts.overview.visitors}
              help={texts.overview.visitorsHelp}
              now={data.unique_visitors}
              before={data.previous.unique_visitors}
              versus={versus}
            />
            <Kpi
              label={texts.overview.clicks}
              help={texts.overview.clicksHelp}
              now={data.clicks}
              before={data.previous.clicks}
              versus={versus}
            />
            <Kpi
              label={texts.overview.bots}
              help={texts.overview.botsHelp}
              now={data.bot_clicks}
              before={data.previous.bot_clicks}
              versus={versus}
              neutral
            />
          </>
        ) : (
          ["a", "b", "c"].map((key) => (
            <div key={key} className="px-3 py-4 sm:px-6 sm:py-5">
              <Skeleton className="h-4 w-20" />
              <Skeleton className="mt-2.5 h-7 w-14" />
            </div>
          ))
        )}
      </dl>
      <h2 className="h-10 px-3 pt-4 font-medium text-quiet text-xs sm:px-6">
        {series.data && texts.overview.per[series.data.interval]}
      </h2>
      <div className="relative h-52 px-1 pb-3 sm:h-60 sm:px-4">
        <Suspense fallback={<Skeleton className="h-full" />}>
          {series.data ? (
            <ClicksChart interval={series.data.interval} buckets={series.data.buckets} />
          ) : (
            <Skeleton className="h-full" />
          )}
        </Suspense>
      </div>
    </section>
  );
}

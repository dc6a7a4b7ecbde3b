import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Group } from "../api/types";
import { texts } from "../texts";
import { Button } from "../ui/Button";
import { ErrorNotice, Skeleton } from "../ui/Notice";
import { Panel } from "../ui/Panel";
import { BarList, type BarRow } from "./BarList";
import { CountryMark } from "./CountryMark";
import { DetailsDialog } from "./DetailsDialog";
import { LinkName } from "./LinkName";
import { dimensionLabel, isPlace, valueLabel } from "./labels";
import { PlaceSource } from "./PlaceSource";
import { breakdownQuery, TOP } from "./queries";
import { Tabs } from "./Tabs";
import { VariantName } from "./VariantName";
import { type Dimension, type Scope, toggled, type View } from "./view";

export interface BreakdownProps {
  view: View;
  scope: Scope;
  onChange: (view: View) => void;
}

/** A panel with a few related dimensions as tabs. */
export function Breakdown({
  heading,
  dimensions,
  ...rest
}: BreakdownProps & { heading: string; dimensions: Dimension[] }) {
  const [by, setBy] = useState<Dimension>(dimensions[0] ?? "country");
  const [details, setDetails] = useState(false);
  return (
    <Panel className="flex min-w-0 flex-col p-4 sm:p-5">
      <div className="mb-3 flex flex-wrap items-center justify-between gap-x-4 gap-y-1">
        <h2 className="font-semibold">{heading}</h2>
        <Tabs
          label={heading}
          value={by}
          options={dimensions.map((d) => ({ value: d, label: dimensionLabel(d) }))}
          onChange={setBy}
        />
      </div>
      <TopValues by={by} {...rest} />
      <div className="mt-auto flex items-center justify-between gap-3 pt-3">
        {isPlace(by) ? <PlaceSource /> : <span />}
        <Button kind="quiet" size="small" onClick={() => setDetails(true)}>
          {texts.overview.details}
        </Button>
      </div>
      {details && <DetailsDialog by={by} {...rest} onClose={() => setDetails(false)} />}
    </Panel>
  );
}

/** The values that occur most. */
export function TopValues({ by, view, scope, onChange }: BreakdownProps & { by: Dimension }) {
  const rows = useQuery(breakdownQuery(view, scope, by, TOP));
  if (rows.isPending) {
    return <BarSkeleton />;
  }
  if (rows.isError && !rows.data) {
    return <ErrorNotice error={rows.error} onRetry={() => void rows.refetch()} />;
  }
  const data = rows.data ?? [];
  if (data.length === 0) {
    return (
      <p className="grid min-h-24 grow sm:min-h-64 place-content-center text-quiet">
        {texts.overview.nothing}
      </p>
    );
  }
  return (
    <div className={`transition-opacity sm:min-h-78 ${rows.isPlaceholderData ? "opacity-60" : ""}`}>
      <div className="mb-1 flex justify-between px-2 text-quiet text-xs">
        <span>{dimensionLabel(by)}</span>
        <span>{texts.metrics[view.metric].label}</span>
      </div>
      <BarList
        rows={barRows(by, data, view)}
        total={data.reduce((sum, row) => sum + row[view.metric], 0)}
        chosen={view.filters[by] ?? []}
        onChoose={(value) => onChange({ ...view, filters: toggled(view.filters, by, value) })}
      />
    </div>
  );
}

export function barRows(by: Dimension, data: Group[], view: View): BarRow[] {
  return [...data]
    .sort((a, b) => b[view.metric] - a[view.metric])
    .map((row) => {
      const name = valueLabel(by, row.value);
      return {
        value: row.value,
        name,
        count: row[view.metric],
        label: <ValueLabel by={by} value={row.value} />,
      };
    });
}

/** A value with its picture where it has one. */
export function ValueLabel({ by, value }: { by: Dimension; value: string }) {
  if (by === "link") {
    return <LinkName id={value} />;
  }
  return (
    <>
      {by === "country" && <CountryMark country={value} />}
      {valueLabel(by, value)}
      <VariantName by={by} value={value} />
    </>
  );
}

function BarSkeleton() {
  return (
    <div role="status" className="min-h-78 space-y-1 pt-6">
      <span className="sr-only">{texts.loading}</span>
      {[88, 64, 52, 40, 31, 22].map((width) => (
        <div key={width} className="flex h-8 items-center" style={{ width: `${width}%` }}>
          <Skeleton className="h-6 w-full" />
        </div>
      ))}
    </div>
  );
}

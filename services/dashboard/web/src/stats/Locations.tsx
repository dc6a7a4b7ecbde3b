import { lazy, Suspense, useState } from "react";
import { texts } from "../texts";
import { Button } from "../ui/Button";
import { Skeleton } from "../ui/Notice";
import { Panel } from "../ui/Panel";
import { type BreakdownProps, TopValues } from "./Breakdown";
import { DetailsDialog } from "./DetailsDialog";
import { dimensionLabel } from "./labels";
import { PlaceSource } from "./PlaceSource";
import { Tabs } from "./Tabs";
import type { Dimension } from "./view";

const WorldMap = lazy(() => import("./WorldMap"));

const places: Dimension[] = ["country", "region", "city", "continent"];

/** Where visitors are: a map for the eye, lists for the numbers. */
export function Locations(props: BreakdownProps) {
  const [by, setBy] = useState<Dimension>("country");
  const [details, setDetails] = useState(false);
  return (
    <Panel className="min-w-0 p-4 sm:p-5">
      <div className="mb-3 flex flex-wrap items-center justify-between gap-x-4 gap-y-1">
        <h2 className="font-semibold">{texts.overview.locations}</h2>
        <Tabs
          label={texts.overview.locations}
          value={by}
          options={places.map((d) => ({ value: d, label: dimensionLabel(d) }))}
          onChange={setBy}
        />
      </div>
      <div className="grid gap-x-8 gap-y-4 lg:grid-cols-[minmax(0,1.5fr)_minmax(0,1fr)]">
        <Suspense fallback={<Skeleton className="aspect-[2/1] w-full" />}>
          <WorldMap {...props} />
        </Suspense>
        <div className="flex min-w-0 flex-col">
          <TopValues by={by} {...props} />
        </div>
      </div>
      <div className="flex items-center justify-between gap-3 pt-3">
        <PlaceSource />
        <Button kind="quiet" size="small" onClick={() => setDetails(true)}>
          {texts.overview.details}
        </Button>
      </div>
      {details && <DetailsDialog by={by} {...props} onClose={() => setDetails(false)} />}
    </Panel>
  );
}

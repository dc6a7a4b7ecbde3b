import { Download } from "lucide-react";
import { filled } from "../api/client";
import { texts } from "../texts";
import { IconButton } from "../ui/Button";
import { saveFrom } from "../ui/download";
import { Menu } from "../ui/Menu";
import { stringifySearch } from "../url";
import { question, type Scope, type View } from "./view";

/** The same view as a file: every click, or the sums of a dimension. */
export function ExportMenu({ view, scope }: { view: View; scope: Scope }) {
  const save = (extra: Record<string, string>, name: string) => () =>
    saveFrom(
      `/v1/analytics/export${stringifySearch(filled({ ...question(view, scope, new Date()), ...extra }))}`,
      name,
    );
  return (
    <Menu
      label={texts.exports.heading}
      trigger={(props) => (
        <IconButton {...props} label={texts.exports.heading}>
          <Download size={16} aria-hidden />
        </IconButton>
      )}
      entries={[
        { label: texts.exports.clicks, icon: Download, onSelect: save({ what: "clicks" }, "clicks.csv") },
        {
          label: texts.exports.series,
          onSelect: save(
            { what: "timeseries", ...(view.interval && { interval: view.interval }) },
            "timeseries.csv",
          ),
        },
        ...(["link", "country", "referrer", "device", "utm_campaign"] as const).map((by, i) => ({
          label: texts.exports.by(texts.dimensions[by]),
          apart: i === 0,
          onSelect: save({ what: "breakdown", by }, `${by}.csv`),
        })),
      ]}
    />
  );
}

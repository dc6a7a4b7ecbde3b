import { useQuery } from "@tanstack/react-query";
import { Download } from "lucide-react";
import { useState } from "react";
import { percent, whole } from "../format";
import { texts } from "../texts";
import { Button } from "../ui/Button";
import { Dialog, DialogBody } from "../ui/Dialog";
import { csvOf, saveText } from "../ui/download";
import { inputClass } from "../ui/Field";
import { ErrorNotice, Skeleton } from "../ui/Notice";
import { type BreakdownProps, ValueLabel } from "./Breakdown";
import { dimensionLabel, isPlace, valueLabel } from "./labels";
import { PlaceSource } from "./PlaceSource";
import { breakdownQuery, DETAILS } from "./queries";
import { type Dimension, toggled } from "./view";

/** All values of a dimension, with all figures. */
export function DetailsDialog(props: BreakdownProps & { by: Dimension; onClose: () => void }) {
  const { by, view, scope, onChange, onClose } = props;
  const [text, setText] = useState("");
  const rows = useQuery(breakdownQuery(view, scope, by, DETAILS));
  const data = rows.data ?? [];
  const total = data.reduce((sum, row) => sum + row.clicks, 0);
  const wanted = text.trim().toLowerCase();
  const shown = data.filter((row) =>
    `${valueLabel(by, row.value)} ${row.value}`.toLowerCase().includes(wanted),
  );
  const save = () =>
    saveText(
      `${by}.csv`,
      csvOf([
        [by, "clicks", "unique_visitors", "bot_clicks"],
        ...data.map((row) => [row.value, row.clicks, row.unique_visitors, row.bot_clicks]),
      ]),
    );
  return (
    <Dialog
      heading={dimensionLabel(by)}
      onClose={onClose}
      actions={
        <Button kind="quiet" size="small" onClick={save} disabled={data.length === 0}>
          <Download size={15} aria-hidden />
          {texts.overview.saveCsv}
        </Button>
      }
    >
      <DialogBody>
        <input
          data-autofocus
          aria-label={texts.filters.search}
          placeholder={texts.filters.search}
          value={text}
          onChange={(event) => setText(event.target.value)}
          className={`mb-3 h-9 ${inputClass} border-line-strong`}
        />
        {rows.isError && <ErrorNotice error={rows.error} onRetry={() => void rows.refetch()} />}
        {rows.isPending && <Skeleton className="h-72" />}
        {rows.data && (
          <table className="w-full table-fixed tabular-nums">
            <thead className="text-quiet text-xs">
              <tr className="border-line border-b">
                <th scope="col" className="py-2 text-left font-medium">
                  {dimensionLabel(by)}
                </th>
                <th scope="col" className="w-20 py-2 text-right font-medium">
                  {texts.metrics.clicks.label}
                </th>
                <th scope="col" className="w-14 py-2 text-right font-medium max-sm:hidden">
                  {texts.overview.part}
                </th>
                <th scope="col" className="w-20 py-2 text-right font-medium">
                  {texts.metrics.unique_visitors.short}
                </th>
                <th scope="col" className="w-16 py-2 text-right font-medium max-sm:hidden">
                  {texts.metrics.bot_clicks.short}
                </th>
              </tr>
            </thead>
            <tbody>
              {shown.map((row) => (
                <tr key={row.value} className="border-line border-b last:border-0 hover:bg-ground">
                  <td className="truncate py-1.5 pr-3">
                    <button
                      type="button"
                      className="max-w-full truncate rounded hover:underline"
                      onClick={() => {
                        onChange({ ...view, filters: toggled(view.filters, by, row.value) });
                        onClose();
                      }}
                    >
                      <ValueLabel by={by} value={row.value} />
                    </button>
                  </td>
                  <td className="py-1.5 text-right font-medium">{whole(row.clicks)}</td>
                  <td className="py-1.5 text-right text-quiet max-sm:hidden">
                    {percent(total ? row.clicks / total : 0)}
                  </td>
                  <td className="py-1.5 text-right">{whole(row.unique_visitors)}</td>
                  <td className="py-1.5 text-right text-quiet max-sm:hidden">{whole(row.bot_clicks)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
        {rows.data && shown.length === 0 && (
          <p className="py-10 text-center text-quiet">{texts.overview.nothing}</p>
        )}
        {isPlace(by) && (
          <p className="mt-3">
            <PlaceSource />
          </p>
        )}
      </DialogBody>
    </Dialog>
  );
}

import type { Moment } from "../api/types";
import { whole } from "../format";
import { ValueLabel } from "../stats/Breakdown";
import type { Dimension } from "../stats/view";
import { texts } from "../texts";
import { Panel } from "../ui/Panel";

interface Props {
  heading: string;
  by: Dimension;
  values: Moment["top"]["links"];
}

/** What had the most clicks in the window. */
export function LiveTop({ heading, by, values }: Props) {
  return (
    <Panel className="min-w-0 p-4 sm:p-5">
      <h2 className="mb-2 font-semibold">{heading}</h2>
      {values.length === 0 ? (
        <p className="py-6 text-center text-quiet">{texts.overview.nothing}</p>
      ) : (
        <ul>
          {values.map((row) => (
            <li key={row.value} className="flex justify-between gap-4 py-1">
              <span className="min-w-0 truncate">
                <ValueLabel by={by} value={row.value} />
              </span>
              <span className="font-medium tabular-nums">{whole(row.clicks)}</span>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

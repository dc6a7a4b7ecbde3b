import { browserZone } from "../stats/period";
import { Select } from "./Select";

interface Props {
  value: string;
  onChange: (zone: string) => void;
  id?: string;
  "aria-label"?: string;
  "aria-describedby"?: string | undefined;
  "aria-invalid"?: true | undefined;
}

/** All zones that the browser knows, its own and UTC first. */
export function ZoneSelect({ value, onChange, ...rest }: Props) {
  const zones = [...new Set([value, browserZone(), "UTC", ...Intl.supportedValuesOf("timeZone")])];
  return (
    <Select
      {...rest}
      value={value}
      options={zones.map((zone) => ({ value: zone, label: zone.replaceAll("_", " ") }))}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}

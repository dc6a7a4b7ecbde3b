import { ChartColumn, Link2, Radio, Settings, Upload } from "lucide-react";
import { texts } from "../texts";

/** The places of the app, in the order of the bar; the key follows a "g". */
export const places = [
  { to: "/", label: texts.nav.links, icon: Link2, key: "l" },
  { to: "/analytics", label: texts.nav.analytics, icon: ChartColumn, key: "a" },
  { to: "/live", label: texts.nav.live, icon: Radio, key: "i" },
  { to: "/settings", label: texts.nav.settings, icon: Settings, key: "s" },
] as const;

export const importPlace = { to: "/import", label: texts.nav.import, icon: Upload, key: "u" } as const;

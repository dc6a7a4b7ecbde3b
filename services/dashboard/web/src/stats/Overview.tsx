import { useQuery } from "@tanstack/react-query";
import { texts } from "../texts";
import { useHotkeys } from "../ui/hotkeys";
import { Breakdown } from "./Breakdown";
import { ExportMenu } from "./ExportMenu";
import { FilterBar } from "./FilterBar";
import { Headline } from "./Headline";
import { Locations } from "./Locations";
import { PeriodPicker } from "./PeriodPicker";
import type { Preset } from "./period";
import { definitionsQuery } from "./queries";
import { ShareButton } from "./ShareButton";
import type { Scope, View } from "./view";

interface Props {
  view: View;
  scope: Scope;
  onChange: (view: View) => void;
}

const keyed: Preset[] = ["24h", "7d", "30d", "90d", "12m", "all"];

/** Everything about the clicks of a link, or of all. The same page for a workspace, a domain, a tag, a campaign. */
export function Overview({ view, scope, onChange }: Props) {
  useHotkeys({
    ...Object.fromEntries(
      keyed.map((preset, i) => [
        String(i + 1),
        () => onChange({ ...view, period: { preset }, interval: undefined }),
      ]),
    ),
    escape: () => onChange({ ...view, bots: "exclude", filters: {} }),
  });
  const rest = { view, scope, onChange };
  const t = texts.overview;
  return (
    <>
      <div className="mb-4 flex flex-wrap items-start justify-between gap-3">
        <FilterBar {...rest} />
        <div className="ml-auto flex items-center gap-1 sm:gap-2">
          <ExportMenu view={view} scope={scope} />
          <ShareButton view={view} />
          <PeriodPicker view={view} onChange={onChange} />
        </div>
      </div>
      <div className="grid gap-4">
        <Headline {...rest} />
        <div className="grid gap-4 lg:grid-cols-2">
          {scope.link_id ? (
            <Breakdown heading={t.campaigns} dimensions={campaigns} {...rest} />
          ) : (
            <Breakdown heading={t.links} dimensions={["link", "tag", "domain"]} {...rest} />
          )}
          <Breakdown
            heading={t.sources}
            dimensions={["referrer", "referrer_source", "referrer_medium", "source"]}
            {...rest}
          />
        </div>
        <Locations {...rest} />
        <div className="grid gap-4 lg:grid-cols-2">
          <Breakdown heading={t.devices} dimensions={["device", "browser", "os", "language"]} {...rest} />
          {scope.link_id ? (
            <Breakdown
              heading={t.targets}
              dimensions={["variant", "rule", "status", "edge_region", "bot_kind"]}
              {...rest}
            />
          ) : (
            <Breakdown heading={t.campaigns} dimensions={campaigns} {...rest} />
          )}
        </div>
      </div>
      <Definitions />
    </>
  );
}

const campaigns = [
  "utm_campaign",
  "utm_source",
  "utm_medium",
  "utm_term",
  "utm_content",
] as const satisfies string[];

/** What the figures mean, beside the figures. */
function Definitions() {
  const definitions = useQuery(definitionsQuery);
  return (
    <details className="mt-6 text-quiet text-xs">
      <summary className="w-fit cursor-pointer rounded hover:text-text">{texts.definitions.heading}</summary>
      <dl className="mt-2 grid max-w-prose gap-2">
        {(definitions.data ?? []).map(({ term, text }) => (
          <div key={term}>
            <dt className="inline font-medium text-text">
              {texts.definitions.terms[term as keyof typeof texts.definitions.terms] ?? term}:{" "}
            </dt>
            <dd className="inline">{text}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}

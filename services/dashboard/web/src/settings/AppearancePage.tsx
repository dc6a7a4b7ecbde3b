import { useQuery } from "@tanstack/react-query";
import { sessionQuery } from "../api/session";
import { currentWorkspace } from "../session/workspace";
import { browserZone } from "../stats/period";
import { texts } from "../texts";
import { Panel, Section } from "../ui/Panel";
import { Segmented } from "../ui/Segmented";
import { chooseTheme, useThemeChoice } from "../ui/theme";

/** How the page looks, and what it takes from the browser. */
export function AppearancePage() {
  const chosen = useThemeChoice();
  const { data: who } = useQuery(sessionQuery);
  const t = texts.appearance;
  const { locale } = Intl.DateTimeFormat().resolvedOptions();
  const facts: [string, string][] = [
    [t.language, new Intl.DisplayNames(undefined, { type: "language" }).of(locale) ?? locale],
    [t.zone, browserZone()],
    [t.number, new Intl.NumberFormat().format(1234567.8)],
    [t.date, new Date().toLocaleString(undefined, { dateStyle: "long", timeStyle: "short" })],
    [t.workspace, (who && currentWorkspace(who)?.name) ?? ""],
    [t.workspaceId, who?.workspace_id ?? ""],
  ];
  return (
    <Section heading={texts.settings.appearance} lead={t.lead}>
      <Panel className="divide-y divide-line">
        <div className="flex flex-wrap items-center justify-between gap-3 px-4 py-3.5 sm:px-5">
          <span className="font-medium">{t.theme}</span>
          <Segmented
            label={t.theme}
            value={chosen}
            options={(["light", "dark", "system"] as const).map((value) => ({
              value,
              label: t.themes[value],
            }))}
            onChange={chooseTheme}
          />
        </div>
        {facts.map(([label, value]) => (
          <div key={label} className="flex flex-wrap items-center justify-between gap-x-6 px-4 py-3 sm:px-5">
            <span>{label}</span>
            <span className="break-all text-quiet tabular-nums">{value}</span>
          </div>
        ))}
      </Panel>
    </Section>
  );
}

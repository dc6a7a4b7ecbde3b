import { useQuery } from "@tanstack/react-query";
import { Archive, ArrowDownWideNarrow } from "lucide-react";
import { domainsQuery } from "../api/settings";
import { whole } from "../format";
import { presets } from "../stats/period";
import { texts } from "../texts";
import { Select } from "../ui/Select";
import { SearchBox } from "./SearchBox";
import { type ListView, type Sort, sorts } from "./search";
import { useTags } from "./tags";

interface Props {
  view: ListView;
  onView: (view: ListView) => void;
}

/** What the list is narrowed to and how it is sorted. */
export function Toolbar({ view, onView }: Props) {
  const domains = useQuery(domainsQuery);
  const tags = useTags();
  const t = texts.links;
  const hosts = domains.data ?? [];
  const tagOptions = tags.map(({ tag, links }) => ({ value: tag, label: t.tagWithCount(tag, whole(links)) }));
  if (view.tag && !tags.some(({ tag }) => tag === view.tag)) {
    tagOptions.unshift({ value: view.tag, label: view.tag });
  }
  return (
    <div className="mb-4 flex flex-wrap items-center gap-2">
      <SearchBox value={view.q} onSearch={(q) => onView({ ...view, q })} />
      {hosts.length > 1 && (
        <Select
          fit
          aria-label={texts.dimensions.domain}
          value={view.domain ?? ""}
          options={[
            { value: "", label: t.allDomains },
            ...hosts.map((d) => ({ value: d.host, label: d.unicode_host })),
          ]}
          onChange={(event) => onView({ ...view, domain: event.target.value || undefined })}
        />
      )}
      {tagOptions.length > 0 && (
        <Select
          fit
          aria-label={texts.dimensions.tag}
          value={view.tag ?? ""}
          options={[{ value: "", label: t.allTags }, ...tagOptions]}
          onChange={(event) => onView({ ...view, tag: event.target.value || undefined })}
        />
      )}
      <label className="flex h-9 cursor-pointer items-center gap-2 rounded-lg border border-line-strong bg-panel px-3 has-checked:border-accent has-checked:bg-accent-soft has-checked:text-accent-text has-focus-visible:outline-2 has-focus-visible:outline-accent">
        <input
          type="checkbox"
          checked={view.archived}
          onChange={(event) => onView({ ...view, archived: event.target.checked })}
          className="sr-only"
        />
        <Archive size={15} aria-hidden className="text-quiet" />
        {t.archived}
      </label>
      <div className="flex items-center gap-2 sm:ml-auto">
        <ArrowDownWideNarrow size={16} aria-hidden className="text-quiet max-sm:hidden" />
        <Select
          fit
          aria-label={t.sortBy}
          value={view.sort}
          options={sorts.map((value) => ({ value, label: t.sorts[value] }))}
          onChange={(event) => onView({ ...view, sort: event.target.value as Sort })}
        />
        <Select
          fit
          aria-label={texts.period.label}
          value={"preset" in view.period ? view.period.preset : ""}
          options={presets.map((value) => ({ value, label: texts.period.names[value] }))}
          onChange={(event) =>
            onView({ ...view, period: { preset: event.target.value as (typeof presets)[number] } })
          }
        />
      </div>
    </div>
  );
}

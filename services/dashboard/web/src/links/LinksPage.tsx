import { getRouteApi } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { useState } from "react";
import { Overview } from "../analytics/Overview";
import { PeriodPicker } from "../analytics/PeriodPicker";
import { defaultPeriod, type Period } from "../analytics/period";
import type { Link } from "../api/types";
import { decoded, readable } from "../format";
import { texts } from "../texts";
import { Button } from "../ui/Button";
import { CopyButton } from "../ui/CopyButton";
import { LinkList } from "./LinkList";
import { NewLinkDialog } from "./NewLinkDialog";
import { SearchBox } from "./SearchBox";
import type { LinksSearch } from "./search";

const route = getRouteApi("/inside/");

/** The first page: how it goes, and all links. */
export function LinksPage() {
  const { period = defaultPeriod, q = "" } = route.useSearch();
  const navigate = route.useNavigate();
  const [creating, setCreating] = useState(false);
  const [created, setCreated] = useState<Link | null>(null);

  // What is as it was anyway stays out of the address.
  const show = (next: LinksSearch) => void navigate({ search: next, replace: true, resetScroll: false });
  const choosePeriod = (p: Period) => show({ ...(p !== defaultPeriod && { period: p }), ...(q && { q }) });
  const search = (text: string) => {
    setCreated(null);
    show({ ...(period !== defaultPeriod && { period }), ...(text && { q: text }) });
  };

  return (
    <>
      <div className="flex flex-wrap items-center justify-between gap-3">
        <h1 className="font-semibold text-xl tracking-tight">{texts.overview.heading}</h1>
        <div className="flex items-center gap-3 max-sm:w-full max-sm:justify-between">
          <PeriodPicker value={period} onChange={choosePeriod} />
          <Button kind="primary" onClick={() => setCreating(true)}>
            <Plus size={17} aria-hidden />
            {texts.links.create}
          </Button>
        </div>
      </div>

      <div className="mt-5">
        <Overview period={period} />
      </div>

      <section aria-labelledby="links-heading" className="mt-10">
        <div className="flex flex-wrap items-center justify-between gap-3">
          <h2 id="links-heading" className="font-semibold text-base tracking-tight">
            {texts.links.heading}
          </h2>
          <SearchBox value={q} onSearch={search} />
        </div>
        <div role="status">
          {created && (
            <p className="mt-4 flex flex-wrap items-center gap-2 rounded-xl bg-accent-soft px-4 py-2.5 text-sm">
              <span className="break-all">{texts.links.created(readable(decoded(created.short_url)))}</span>
              <CopyButton url={created.short_url} />
            </p>
          )}
        </div>
        <div className="mt-4">
          <LinkList q={q} period={period} onCreate={() => setCreating(true)} />
        </div>
      </section>

      {creating && (
        <NewLinkDialog
          onClose={() => setCreating(false)}
          onCreated={(link) => {
            setCreating(false);
            setCreated(link);
          }}
        />
      )}
    </>
  );
}

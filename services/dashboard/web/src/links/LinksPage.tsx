import { getRouteApi, Link } from "@tanstack/react-router";
import { Link2, Plus, SearchX, Upload } from "lucide-react";
import { useEditor } from "../editor/open";
import { texts } from "../texts";
import { Button, buttonClass } from "../ui/Button";
import { Empty } from "../ui/Empty";
import { ErrorNotice, Skeleton } from "../ui/Notice";
import { PageHead } from "../ui/PageHead";
import { LinkTable } from "./LinkTable";
import { type ListView, readList, writeList } from "./search";
import { Toolbar } from "./Toolbar";
import { useRows } from "./useRows";

const route = getRouteApi("/inside/");

/** The first page: all links, and how each of them does. */
export function LinksPage() {
  const view = readList(route.useSearch());
  const navigate = route.useNavigate();
  const show = (next: ListView) =>
    void navigate({ search: writeList(next), replace: true, resetScroll: false });
  return (
    <>
      <PageHead heading={texts.links.heading}>
        <Link to="/import" className={buttonClass()}>
          <Upload size={15} aria-hidden className="text-quiet" />
          {texts.nav.import}
        </Link>
      </PageHead>
      <Toolbar view={view} onView={show} />
      <List view={view} onView={show} />
    </>
  );
}

function List({ view, onView }: { view: ListView; onView: (view: ListView) => void }) {
  const { rows, pending, stale, error, figuresError, retry, more } = useRows(view);
  if (pending) {
    return <Loading />;
  }
  if (error) {
    return <ErrorNotice text={texts.links.loadFailed} error={error} onRetry={retry} />;
  }
  if (rows.length === 0 && !more.has) {
    return <Nothing view={view} />;
  }
  return (
    <>
      {figuresError !== null && (
        <div className="mb-4">
          <ErrorNotice text={texts.links.figuresFailed} error={figuresError} />
        </div>
      )}
      <LinkTable
        rows={rows}
        view={view}
        stale={stale}
        figuresFailed={figuresError !== null}
        onView={onView}
      />
      {more.failed && (
        <div className="mt-4">
          <ErrorNotice text={texts.links.moreFailed} error={null} onRetry={more.load} />
        </div>
      )}
      {more.has && !more.failed && (
        <div className="mt-5 text-center">
          <Button onClick={more.load} disabled={more.loading}>
            {more.loading ? texts.links.loadingMore : texts.links.more}
          </Button>
        </div>
      )}
    </>
  );
}

function Nothing({ view }: { view: ListView }) {
  const editor = useEditor();
  const t = texts.links;
  if (view.q || view.tag || view.domain) {
    return <Empty icon={SearchX} text={t.noMatch} hint={t.noMatchHint} />;
  }
  if (view.archived) {
    return <Empty icon={Link2} text={t.noneArchived} hint={t.noneArchivedHint} />;
  }
  return (
    <Empty icon={Link2} text={t.none} hint={t.noneHint}>
      <Button kind="primary" onClick={() => editor.create()}>
        <Plus size={16} aria-hidden />
        {t.create}
      </Button>
      <Link to="/import" className={buttonClass()}>
        {texts.nav.import}
      </Link>
    </Empty>
  );
}

function Loading() {
  return (
    <div role="status" className="divide-y divide-line rounded-xl border border-line bg-panel">
      <span className="sr-only">{texts.loading}</span>
      {["a", "b", "c", "d", "e", "f"].map((key) => (
        <div key={key} className="flex items-center gap-4 px-4 py-3.5">
          <Skeleton className="size-9 rounded-full" />
          <div className="flex-1">
            <Skeleton className="h-3.5 w-44" />
            <Skeleton className="mt-2 h-3.5 w-72 max-w-full" />
          </div>
          <Skeleton className="h-4 w-20 max-sm:hidden" />
          <Skeleton className="h-4 w-10" />
        </div>
      ))}
    </div>
  );
}

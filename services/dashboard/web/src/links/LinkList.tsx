import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link2, Plus, SearchX } from "lucide-react";
import type { ReactNode } from "react";
import type { Period } from "../analytics/period";
import { clicksByLinkQuery, linksQuery } from "../api/queries";
import { texts } from "../texts";
import { Button } from "../ui/Button";
import { ErrorNotice, Skeleton } from "../ui/Notice";
import { columns, LinkRow } from "./LinkRow";

interface Props {
  q: string;
  period: Period;
  onCreate: () => void;
}

/** All links that match, newest first, as many as were asked for so far. */
export function LinkList({ q, period, onCreate }: Props) {
  const links = useInfiniteQuery(linksQuery(q));
  const counts = useQuery(clicksByLinkQuery(period));

  if (links.isPending) {
    return <Loading />;
  }
  if (links.isError && !links.data) {
    return (
      <ErrorNotice text={texts.links.loadFailed} error={links.error} onRetry={() => void links.refetch()} />
    );
  }
  const rows = links.data.pages.flatMap((page) => page.data);
  if (rows.length === 0) {
    return q ? (
      <Empty
        icon={<SearchX size={22} aria-hidden />}
        text={texts.links.noMatch(q)}
        hint={texts.links.noMatchHint}
      />
    ) : (
      <Empty icon={<Link2 size={22} aria-hidden />} text={texts.links.none} hint={texts.links.noneHint}>
        <div className="mt-5">
          <Button kind="primary" onClick={onCreate}>
            <Plus size={17} aria-hidden />
            {texts.links.create}
          </Button>
        </div>
      </Empty>
    );
  }
  // Below the most clicked there is no number to show, not a zero.
  const unlisted = counts.data?.whole ? 0 : null;
  const clicksOf = (id: string) => (counts.isPending ? undefined : (counts.data?.clicks.get(id) ?? unlisted));
  return (
    <>
      <div
        aria-busy={links.isPlaceholderData}
        className={`rounded-2xl border border-line bg-panel shadow-xs transition-opacity ${
          links.isPlaceholderData ? "opacity-60" : ""
        }`}
      >
        <div
          aria-hidden
          className={`border-line border-b py-2.5 font-medium text-quiet text-xs max-sm:hidden ${columns}`}
        >
          <span className="col-span-2">{texts.links.columns.link}</span>
          <span className="text-right">{texts.links.columns.clicks}</span>
          <span className="text-right">{texts.links.columns.created}</span>
        </div>
        <ul className="divide-y divide-line">
          {rows.map((link) => (
            <LinkRow key={link.id} link={link} clicks={clicksOf(link.id)} period={period} />
          ))}
        </ul>
      </div>
      {links.isFetchNextPageError && (
        <div className="mt-4">
          <ErrorNotice
            text={texts.links.moreFailed}
            error={links.error}
            onRetry={() => void links.fetchNextPage()}
          />
        </div>
      )}
      {links.hasNextPage && !links.isFetchNextPageError && (
        <div className="mt-5 text-center">
          <Button onClick={() => void links.fetchNextPage()} disabled={links.isFetchingNextPage}>
            {links.isFetchingNextPage ? texts.links.loadingMore : texts.links.more}
          </Button>
        </div>
      )}
    </>
  );
}

function Empty({
  icon,
  text,
  hint,
  children,
}: {
  icon: ReactNode;
  text: string;
  hint: string;
  children?: ReactNode;
}) {
  return (
    <div className="flex flex-col items-center rounded-2xl border border-line-strong border-dashed px-6 py-14 text-center">
      <span className="grid size-11 place-content-center rounded-xl bg-accent-soft text-accent-text">
        {icon}
      </span>
      <p className="mt-4 break-words font-medium">{text}</p>
      <p className="mt-1 max-w-sm text-quiet text-sm">{hint}</p>
      {children}
    </div>
  );
}

function Loading() {
  return (
    <div role="status" className="rounded-2xl border border-line bg-panel">
      <span className="sr-only">{texts.loading}</span>
      {["a", "b", "c", "d"].map((key) => (
        <div
          key={key}
          className="flex items-center gap-4 border-line px-4 py-4 not-first-of-type:border-t sm:px-6"
        >
          <Skeleton className="size-9 rounded-lg" />
          <div className="flex-1">
            <Skeleton className="h-4 w-40" />
            <Skeleton className="mt-2 h-3.5 w-64 max-w-full" />
          </div>
          <Skeleton className="h-4 w-10" />
        </div>
      ))}
    </div>
  );
}

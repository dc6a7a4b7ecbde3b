import type { UseQueryResult } from "@tanstack/react-query";
import type { LucideIcon } from "lucide-react";
import type { ReactNode } from "react";
import { texts } from "../texts";
import { Empty } from "../ui/Empty";
import { ErrorNotice, Skeleton } from "../ui/Notice";
import { Panel } from "../ui/Panel";

interface Props<T> {
  query: UseQueryResult<T[]>;
  empty: { icon: LucideIcon; text: string; hint: string };
  row: (item: T) => ReactNode;
  keyOf: (item: T) => string;
}

/** A list of settings in all its states. */
export function SettingsList<T>({ query, empty, row, keyOf }: Props<T>) {
  if (query.isPending) {
    return (
      <div role="status">
        <span className="sr-only">{texts.loading}</span>
        <Skeleton className="h-40" />
      </div>
    );
  }
  if (query.isError && !query.data) {
    return <ErrorNotice error={query.error} onRetry={() => void query.refetch()} />;
  }
  const items = query.data ?? [];
  if (items.length === 0) {
    return <Empty {...empty} />;
  }
  return (
    <Panel className="overflow-hidden">
      <ul className="divide-y divide-line">
        {items.map((item) => (
          <li key={keyOf(item)} className="flex flex-wrap items-center gap-x-4 gap-y-2 px-4 py-3.5 sm:px-5">
            {row(item)}
          </li>
        ))}
      </ul>
    </Panel>
  );
}

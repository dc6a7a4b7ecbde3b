import { CircleAlert } from "lucide-react";
import { explain, Problem } from "../api/problem";
import { texts } from "../texts";
import { Button } from "./Button";

/** What failed and, where it helps, a way to try again. */
export function ErrorNotice({
  text,
  error,
  onRetry,
}: {
  text?: string;
  error: unknown;
  onRetry?: () => void;
}) {
  const requestId = error instanceof Problem && error.status >= 500 ? error.requestId : undefined;
  return (
    <div
      role="alert"
      className="flex flex-wrap items-center gap-x-3 gap-y-2 rounded-xl bg-danger-soft px-4 py-3 text-sm"
    >
      <CircleAlert size={18} className="shrink-0 text-down" aria-hidden />
      <div className="min-w-0 flex-1">
        <p>
          {text && <strong className="font-medium">{text} </strong>}
          {explain(error)}
        </p>
        {requestId && (
          <p className="mt-0.5 break-all text-quiet text-xs">{texts.problems.requestId(requestId)}</p>
        )}
      </div>
      {onRetry && <Button onClick={onRetry}>{texts.retry}</Button>}
    </div>
  );
}

/** A grey place for what is still coming. */
export function Skeleton({ className }: { className: string }) {
  return <div aria-hidden className={`animate-pulse rounded-md bg-sunken ${className}`} />;
}

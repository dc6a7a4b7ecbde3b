import { useEffect, useState } from "react";
import { filled, type Query } from "../api/client";
import type { Moment } from "../api/types";
import { stringifySearch } from "../url";

export type LiveState = "connecting" | "live" | "lost";

/**
 * A browser connects again when a stream breaks, but gives up for good when it was
 * refused: when there are too many viewers, or a service starts again.
 */
const AGAIN_MS = 10_000;

/**
 * The last five minutes, again every second, for as long as the page is seen. Each
 * event is whole, so whoever connects again has missed nothing.
 */
export function useMoment(query: Query): { moment: Moment | null; state: LiveState } {
  const [moment, setMoment] = useState<Moment | null>(null);
  const [state, setState] = useState<LiveState>("connecting");
  const address = `/v1/analytics/live${stringifySearch(filled(query))}`;
  useEffect(() => {
    let source: EventSource | null = null;
    let again: ReturnType<typeof setTimeout> | undefined;
    const shut = () => {
      clearTimeout(again);
      source?.close();
      source = null;
    };
    const open = () => {
      if (source || document.hidden) {
        return;
      }
      const opened = new EventSource(address);
      source = opened;
      opened.addEventListener("moment", (event) => {
        setMoment(JSON.parse((event as MessageEvent<string>).data) as Moment);
        setState("live");
      });
      opened.onerror = () => {
        setState("lost");
        if (opened.readyState === EventSource.CLOSED) {
          shut();
          again = setTimeout(open, AGAIN_MS);
        }
      };
    };
    // A page that nobody sees gives its place to others.
    const seen = () => (document.hidden ? shut() : open());
    setMoment(null);
    setState("connecting");
    open();
    document.addEventListener("visibilitychange", seen);
    return () => {
      document.removeEventListener("visibilitychange", seen);
      shut();
    };
  }, [address]);
  return { moment, state };
}

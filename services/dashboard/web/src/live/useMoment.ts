import { useEffect, useState } from "react";
import { filled, type Query } from "../api/client";
import type { Moment } from "../api/types";
import { stringifySearch } from "../url";

export type LiveState = "connecting" | "live" | "lost";

/**
 * The last five minutes, again every second, for as long as the page is seen. The
 * browser connects again by itself; each event is whole, so nothing is missed.
 */
export function useMoment(query: Query): { moment: Moment | null; state: LiveState } {
  const [moment, setMoment] = useState<Moment | null>(null);
  const [state, setState] = useState<LiveState>("connecting");
  const address = `/v1/analytics/live${stringifySearch(filled(query))}`;
  useEffect(() => {
    let source: EventSource | null = null;
    const open = () => {
      if (source || document.hidden) {
        return;
      }
      source = new EventSource(address);
      source.addEventListener("moment", (event) => {
        setMoment(JSON.parse((event as MessageEvent<string>).data) as Moment);
        setState("live");
      });
      source.onerror = () => setState("lost");
    };
    const shut = () => {
      source?.close();
      source = null;
    };
    // A page that nobody sees gives its place to others.
    const seen = () => (document.hidden ? shut() : open());
    open();
    document.addEventListener("visibilitychange", seen);
    return () => {
      document.removeEventListener("visibilitychange", seen);
      shut();
    };
  }, [address]);
  return { moment, state };
}

import { texts } from "../texts";
import type { LiveState } from "./useMoment";

/** Whether what one sees is now. */
export function LiveMark({ state }: { state: LiveState }) {
  return (
    <span role="status" data-live={state} className="inline-flex items-center gap-2 text-quiet">
      <LiveDot state={state} />
      {texts.live.states[state]}
    </span>
  );
}

export function LiveDot({ state }: { state: LiveState }) {
  return (
    <span className="relative flex size-2" aria-hidden>
      {state === "live" && (
        <span className="absolute inset-0 animate-ping rounded-full bg-up opacity-60 motion-reduce:hidden" />
      )}
      <span className={`size-2 rounded-full ${state === "live" ? "bg-up" : "bg-line-strong"}`} />
    </span>
  );
}

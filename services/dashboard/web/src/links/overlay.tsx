import { createContext, type ReactNode, useCallback, useContext, useMemo, useState } from "react";

// What was done a moment ago and the server may not know yet: a list shows it at once.

/** What a list has to show differently; undefined means gone. */
export type Overlay = ReadonlyMap<string, { archived: boolean } | undefined>;

interface Value {
  overlay: Overlay;
  set: (ids: readonly string[], what: { archived: boolean } | undefined) => void;
  clear: (ids: readonly string[]) => void;
}

const Context = createContext<Value>({ overlay: new Map(), set: () => {}, clear: () => {} });

export function useOverlay(): Value {
  return useContext(Context);
}

export function OverlayProvider({ children }: { children: ReactNode }) {
  const [overlay, setOverlay] = useState<Overlay>(new Map());
  const set = useCallback<Value["set"]>((ids, what) => {
    setOverlay((was) => new Map([...was, ...ids.map((id) => [id, what] as const)]));
  }, []);
  const clear = useCallback<Value["clear"]>((ids) => {
    setOverlay((was) => new Map([...was].filter(([id]) => !ids.includes(id))));
  }, []);
  const value = useMemo(() => ({ overlay, set, clear }), [overlay, set, clear]);
  return <Context value={value}>{children}</Context>;
}

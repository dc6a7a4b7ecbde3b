import { act, cleanup, renderHook } from "@testing-library/react";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { useMoment } from "./useMoment";

/** Stands in for the browser's, which happy-dom does not have. */
class FakeSource extends EventTarget {
  static readonly CLOSED = 2;
  static opened: FakeSource[] = [];
  readyState = 1;
  onerror: (() => void) | null = null;
  readonly url: string;

  constructor(url: string) {
    super();
    this.url = url;
    FakeSource.opened.push(this);
  }

  close() {
    this.readyState = FakeSource.CLOSED;
  }

  say(clicks: number) {
    act(() => {
      this.dispatchEvent(new MessageEvent("moment", { data: JSON.stringify({ clicks }) }));
    });
  }

  fail(readyState: number) {
    this.readyState = readyState;
    act(() => this.onerror?.());
  }
}

beforeEach(() => {
  FakeSource.opened = [];
  vi.stubGlobal("EventSource", FakeSource);
  vi.useFakeTimers();
});
afterEach(() => {
  cleanup();
  vi.useRealTimers();
});

const last = () => FakeSource.opened.at(-1) as FakeSource;

it("shows the newest moment of what was asked for", () => {
  const { result } = renderHook(() => useMoment({ link_id: "1" }));
  expect(last().url).toBe("/v1/analytics/live?link_id=1");
  expect(result.current).toEqual({ moment: null, state: "connecting" });
  last().say(3);
  last().say(4);
  expect(result.current).toMatchObject({ moment: { clicks: 4 }, state: "live" });
});

it("leaves a break to the browser, and asks again itself when it was refused", () => {
  const { result } = renderHook(() => useMoment({}));
  last().say(3);
  last().fail(0);
  expect(result.current).toMatchObject({ moment: { clicks: 3 }, state: "lost" });
  act(() => vi.advanceTimersByTime(60_000));
  expect(FakeSource.opened).toHaveLength(1);
  last().fail(FakeSource.CLOSED);
  act(() => vi.advanceTimersByTime(9_999));
  expect(FakeSource.opened).toHaveLength(1);
  act(() => vi.advanceTimersByTime(1));
  expect(FakeSource.opened).toHaveLength(2);
});

it("closes its stream when it goes", () => {
  const { unmount } = renderHook(() => useMoment({}));
  const source = last();
  unmount();
  expect(source.readyState).toBe(FakeSource.CLOSED);
  act(() => vi.advanceTimersByTime(60_000));
  expect(FakeSource.opened).toHaveLength(1);
});

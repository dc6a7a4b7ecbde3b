import { describe, expect, it, vi } from "vitest";
import { spanOf } from "../analytics/period";
import { texts } from "../texts";
import { api } from "./client";
import { Problem } from "./problem";

/** Answers the next calls of fetch with the given response and keeps what was asked. */
function answering(body: unknown, init: ResponseInit = {}) {
  const fetch = vi.fn(
    async (_input: string, _init: RequestInit) =>
      new Response(body === undefined ? null : typeof body === "string" ? body : JSON.stringify(body), init),
  );
  vi.stubGlobal("fetch", fetch);
  return fetch;
}

const signal = () => new AbortController().signal;

async function problemOf(call: Promise<unknown>): Promise<Problem> {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(Problem);
  return error as Problem;
}

describe("client", () => {
  it("asks for a page of links and leaves out what is empty", async () => {
    const fetch = answering({ data: [], next_cursor: null });
    await api.links({ q: "", cursor: undefined, limit: 25 }, signal());
    expect(fetch.mock.calls[0]?.[0]).toBe("/v1/links?limit=25");
    await api.links({ q: "a b&c", cursor: "x=", limit: 25 }, signal());
    expect(fetch.mock.calls[1]?.[0]).toBe("/v1/links?q=a+b%26c&cursor=x%3D&limit=25");
  });

  it("asks analytics for what it knows and nothing else", async () => {
    const fetch = answering({ data: [] });
    const span = spanOf("7d", new Date("2026-11-30T12:00:00Z"), "Asia/Kolkata");
    const time = "from=2026-11-24&to=2026-11-30&tz=Asia%2FKolkata";
    await api.summary(span, signal());
    await api.timeseries(span, "day", signal());
    await api.breakdown(span, "link", 200, signal());
    expect(fetch.mock.calls.map(([path]) => path)).toEqual([
      `/v1/analytics/summary?${time}`,
      `/v1/analytics/timeseries?${time}&interval=day`,
      `/v1/analytics/breakdown?${time}&by=link&limit=200`,
    ]);
  });

  it("sends JSON only when there is a body", async () => {
    const fetch = answering({ id: "1" }, { status: 201 });
    await api.createLink({ destination: "https://example.com/" });
    const [path, init] = fetch.mock.calls[0] ?? [];
    expect(path).toBe("/v1/links");
    expect(init).toMatchObject({ method: "POST", body: '{"destination":"https://example.com/"}' });
    expect(init?.headers).toMatchObject({ "Content-Type": "application/json" });
    await api.who();
    expect(fetch.mock.calls[1]?.[1].headers).not.toHaveProperty("Content-Type");
  });

  it("takes an answer without a body", async () => {
    answering(undefined, { status: 204 });
    await expect(api.logOut()).resolves.toBeUndefined();
  });

  it("turns problem+json into a Problem with its fields", async () => {
    const errors = [
      { field: "slug", code: "reserved", detail: "is reserved" },
      { field: "slug", code: "second", detail: "is never shown" },
      { field: "destination", code: "scheme", detail: "must be http or https" },
    ];
    answering({ status: 422, code: "validation", detail: "No.", request_id: "r1", errors }, { status: 422 });
    const problem = await problemOf(api.createLink({ destination: "x" }));
    expect(problem).toMatchObject({ status: 422, code: "validation", message: "No.", requestId: "r1" });
    expect(problem.byField()).toEqual({ slug: "Is reserved", destination: "Must be http or https" });
  });

  it("survives an error page of a proxy in between", async () => {
    answering("<html>Bad gateway</html>", { status: 502, headers: { "X-Request-Id": "r2" } });
    const problem = await problemOf(api.who());
    expect(problem).toMatchObject({ status: 502, message: texts.problems.server, requestId: "r2" });
  });

  it("says that the network is away", async () => {
    vi.stubGlobal("fetch", vi.fn().mockRejectedValue(new TypeError("Failed to fetch")));
    expect(await problemOf(api.who())).toMatchObject({ status: 0, message: texts.problems.network });
  });
});

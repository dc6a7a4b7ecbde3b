import { describe, expect, it, vi } from "vitest";
import { texts } from "../texts";
import { call } from "./client";
import { createLink, editLink, listLinks } from "./links";
import { Problem } from "./problem";
import { logOut } from "./session";

/** Answers the next calls of fetch with the given response and keeps what was asked. */
function answering(body: unknown, init: ResponseInit = {}) {
  const fetch = vi.fn(
    async (_input: string, _init: RequestInit) =>
      new Response(body === undefined ? null : typeof body === "string" ? body : JSON.stringify(body), init),
  );
  vi.stubGlobal("fetch", fetch);
  return fetch;
}

async function problemOf(asked: Promise<unknown>): Promise<Problem> {
  const error = await asked.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(Problem);
  return error as Problem;
}

describe("client", () => {
  it("asks for a page of links and leaves out what is empty", async () => {
    const fetch = answering({ data: [], next_cursor: null });
    await listLinks({ q: "", archived: false }, { limit: 25 });
    await listLinks({ q: "a b&c", tag: "x" }, { limit: 25, cursor: "y=" });
    expect(fetch.mock.calls.map(([path]) => path)).toEqual([
      "/v1/links?archived=false&limit=25",
      "/v1/links?q=a+b%26c&tag=x&limit=25&cursor=y%3D",
    ]);
  });

  it("repeats the name of what has several values, the unknown among them", async () => {
    const fetch = answering({ data: [] });
    await call("GET", "/v1/analytics/summary", { query: { country: ["DE", ""], os: undefined } });
    expect(fetch.mock.calls[0]?.[0]).toBe("/v1/analytics/summary?country=DE&country=");
  });

  it("sends JSON only when there is a body, and says which version it changes", async () => {
    const fetch = answering({ id: "1" }, { status: 201 });
    await createLink({ destination: "https://example.com/" });
    await editLink("1", { title: "x" }, 3);
    await call("GET", "/session");
    const [made, edited, asked] = fetch.mock.calls.map(([, init]) => init);
    expect(made).toMatchObject({ method: "POST", body: '{"destination":"https://example.com/"}' });
    expect(made?.headers).toMatchObject({ "Content-Type": "application/json" });
    expect(edited?.headers).toMatchObject({ "If-Match": '"3"' });
    expect(asked?.headers).not.toHaveProperty("Content-Type");
  });

  it("takes an answer without a body", async () => {
    answering(undefined, { status: 204 });
    await expect(logOut()).resolves.toBeUndefined();
  });

  it("turns problem+json into a Problem with its fields", async () => {
    const errors = [
      { field: "slug", code: "reserved", detail: "is reserved" },
      { field: "slug", code: "second", detail: "is never shown" },
      { field: "rules[0].destination", code: "scheme", detail: "must be http or https" },
    ];
    answering({ status: 422, code: "validation", detail: "No.", request_id: "r1", errors }, { status: 422 });
    const problem = await problemOf(createLink({ destination: "x" }));
    expect(problem).toMatchObject({ status: 422, code: "validation", message: "No.", requestId: "r1" });
    expect(problem.byField()).toEqual({
      slug: "Is reserved",
      "rules[0].destination": "Must be http or https",
    });
  });

  it("survives an error page of a proxy in between", async () => {
    answering("<html>Bad gateway</html>", { status: 502, headers: { "X-Request-Id": "r2" } });
    const problem = await problemOf(call("GET", "/session"));
    expect(problem).toMatchObject({ status: 502, message: texts.problems.server, requestId: "r2" });
  });

  it("says that the network is away", async () => {
    vi.stubGlobal("fetch", vi.fn().mockRejectedValue(new TypeError("Failed to fetch")));
    expect(await problemOf(call("GET", "/x"))).toMatchObject({ status: 0, message: texts.problems.network });
  });
});

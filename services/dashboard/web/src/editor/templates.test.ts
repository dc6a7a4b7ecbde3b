import { afterEach, expect, it, vi } from "vitest";
import { filledUtm, moveTemplates, readTemplates, utmBody, utmPatch } from "./templates";

afterEach(() => vi.unstubAllGlobals());

const utm = { source: "news", medium: "", campaign: "", term: "", content: "" };

it("reads templates of the browser, and nothing that is none", () => {
  const good = { name: " Newsletter ", utm: { source: "news", medium: 7, extra: "x" } };
  expect(
    readTemplates(JSON.stringify([good, null, 7, { name: 1, utm: {} }, { name: "x" }, { name: " " }])),
  ).toEqual([{ name: "Newsletter", utm }]);
  expect(readTemplates(null)).toEqual([]);
  expect(readTemplates("{")).toEqual([]);
  expect(readTemplates('{"a":1}')).toEqual([]);
});

it("says what the API wants to hear", () => {
  expect(filledUtm({ source: "news" })).toEqual(utm);
  expect(utmBody({ ...utm, medium: " mail " })).toEqual({ source: "news", medium: "mail" });
  expect(utmPatch(utm)).toEqual({ source: "news", medium: null, campaign: null, term: null, content: null });
});

it("moves what is kept, leaves what the workspace has, and stops at trouble", async () => {
  const sent: string[] = [];
  const answers: Record<string, [number, object]> = {
    taken: [409, { code: "name_taken", detail: "taken" }],
    full: [409, { code: "too_many_templates", detail: "full" }],
  };
  vi.stubGlobal("fetch", async (_path: string, init: RequestInit) => {
    const { name } = JSON.parse(String(init.body)) as { name: string };
    sent.push(name);
    const [status, body] = answers[name] ?? [201, {}];
    return new Response(JSON.stringify(body), { status });
  });
  await moveTemplates([
    { name: "taken", utm },
    { name: "empty", utm: filledUtm({}) },
    { name: "new", utm },
  ]);
  expect(sent).toEqual(["taken", "new"]);
  await expect(
    moveTemplates([
      { name: "full", utm },
      { name: "never", utm },
    ]),
  ).rejects.toThrow("full");
  expect(sent).toEqual(["taken", "new", "full"]);
});

import { expect, it } from "vitest";
import { readTemplates } from "./templates";

it("reads templates, and nothing that is none", () => {
  const good = { name: "Newsletter", utm: { source: "news", medium: 7, extra: "x" } };
  expect(readTemplates(JSON.stringify([good, null, 7, { name: 1, utm: {} }, { name: "x" }]))).toEqual([
    { name: "Newsletter", utm: { source: "news", medium: "", campaign: "", term: "", content: "" } },
  ]);
  expect(readTemplates(null)).toEqual([]);
  expect(readTemplates("{")).toEqual([]);
  expect(readTemplates('{"a":1}')).toEqual([]);
});

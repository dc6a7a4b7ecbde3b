import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { launch, logIn, open, type Watched } from "./page.ts";
import { api, eventually, stack } from "./stack.ts";
import { textOf } from "./visit.ts";

// Many links at once: pasted, or from a file as a job.

const run = Date.now().toString(36);
const taken = `taken-${run}`;

let browser: Browser;
let watched: Watched;
let page: Page;

beforeAll(async () => {
  browser = await launch();
  watched = await open(browser);
  page = watched.page;
  await logIn(page);
  await api("POST", "/v1/links", { destination: "https://example.com/taken", slug: taken });
});
afterAll(() => browser?.close());

const toast = (text: string | RegExp) => page.getByRole("status").getByText(text);

describe("pasted links", () => {
  it("shows mistakes row by row before anything is sent, then what became of each", async () => {
    await page.goto(`${stack.url}/import?from=paste`);
    const rows = [
      "destination,slug,title,tags",
      ...Array.from({ length: 240 }, (_, i) => `https://example.com/i/${i},imp-${run}-${i},Row ${i},import`),
      "example.com,bad,,",
      `https://example.com/,${taken},taken,`,
    ];
    await page.getByLabel("Paste links").fill(rows.join("\n"));
    await page.locator("[data-import-ready='241']").waitFor();
    await page.getByText("The destination must begin with").waitFor();
    await page.getByRole("button", { name: "Create 241 links" }).click();
    await page.locator("[data-import=done]").waitFor({ timeout: 60_000 });
    await page.getByText("240 links made").waitFor();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Result file" }).click(),
    ]);
    const lines = (await textOf(download)).trim().split("\r\n");
    expect(lines).toHaveLength(242);
    expect(lines.filter((line) => line.includes(`/imp-${run}-`))).toHaveLength(240);
    expect(lines.at(-1)).toMatch(/taken|slug/i);
  });

  it("changes many at once", async () => {
    await page.goto(`${stack.url}/?tag=import&q=imp-${run}`);
    await page.getByLabel("Select all").check();
    await page.getByText("25 selected").waitFor();
    await page.getByRole("toolbar").getByRole("button", { name: "Archive" }).click();
    await toast("25 links archived.").waitFor();
    await eventually("they are archived", async () => {
      const { data } = await api<{ data: unknown[] }>(
        "GET",
        `/v1/links?archived=true&limit=100&q=imp-${run}`,
      );
      return data.length === 25;
    });
  });
});

describe("a file", () => {
  const file = (name: string, rows: string[]) => ({
    name,
    mimeType: "text/csv",
    buffer: Buffer.from(`${rows.join("\n")}\n`),
  });

  it("is checked first, and makes nothing before somebody says so", async () => {
    await page.goto(`${stack.url}/import`);
    await page
      .getByLabel("Choose a file")
      .setInputFiles(
        file("links.csv", [
          "destination,slug,title,Owner",
          ...Array.from({ length: 600 }, (_, i) => `https://example.com/f/${i},file-${run}-${i},Row ${i},me`),
          "example.com,,no address,me",
          `https://example.com/,${taken},taken,me`,
        ]),
      );
    await page.locator("[data-import-file]").getByText("links.csv").waitFor();
    await page.getByRole("button", { name: "Check the file" }).click();
    await page.locator("[data-import=done]").waitFor({ timeout: 60_000 });
    await page.getByText("602 of 602").waitFor();
    await page.getByText("These columns are not used: Owner").waitFor();
    // Those that somebody has to look at come first.
    await expect
      .poll(() => page.locator("[data-row-status]").first().getAttribute("data-row-status"))
      .toBe("failed");
    expect(await page.locator("[data-row-status=skipped]").count()).toBe(1);
    const { data } = await api<{ data: unknown[] }>("GET", `/v1/links?q=file-${run}`);
    expect(data).toEqual([]);
  });

  it("becomes links, with a result for each row", async () => {
    await page.getByRole("button", { name: "Create 600 links" }).click();
    await page.getByRole("heading", { name: /^Done/ }).waitFor({ timeout: 60_000 });
    await page.getByText("602 of 602").waitFor();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Result file" }).click(),
    ]);
    const lines = (await textOf(download)).trim().split("\r\n");
    expect(lines).toHaveLength(603);
    expect(lines.filter((line) => line.includes(",created,"))).toHaveLength(600);
    expect(lines.at(-1)).toContain("slug_taken");
    const { data } = await api<{ data: unknown[] }>("GET", `/v1/links?q=file-${run}&limit=100`);
    expect(data).toHaveLength(100);
  });

  it("is found again when the page is loaded anew, and sent again makes nothing twice", async () => {
    await page.reload();
    await page.getByRole("heading", { name: /^Done/ }).waitFor();
    await page.getByRole("button", { name: "Import more" }).click();
    await page
      .getByRole("button", { name: /^CSV Done 600 made/ })
      .first()
      .waitFor();
    await page
      .getByLabel("Choose a file")
      .setInputFiles(file("again.csv", ["destination,slug", `https://example.com/f/0,file-${run}-0`]));
    await page.getByRole("button", { name: "Check the file" }).click();
    await page.locator("[data-import=done]").waitFor({ timeout: 60_000 });
    await page.locator("[data-row-status=skipped]").waitFor();
    expect(await page.getByRole("button", { name: /^Create/ }).count()).toBe(0);
  });

  it("may be one of another tool", async () => {
    await page.goto(`${stack.url}/import`);
    await page
      .getByLabel("Choose a file")
      .setInputFiles(
        file("kutt.csv", [
          "address,target,description,visit_count",
          `kutt-${run},https://example.com/k,From Kutt,12`,
        ]),
      );
    await page.getByLabel("Whose file it is").selectOption("kutt");
    await page.getByLabel("When a slug is taken").selectOption("rename");
    await page.getByRole("button", { name: "Check the file" }).click();
    await page.locator("[data-import=done]").waitFor({ timeout: 60_000 });
    await page.getByRole("button", { name: "Create 1 link" }).click();
    await page.getByRole("heading", { name: /^Done/ }).waitFor({ timeout: 60_000 });
    const { data } = await api<{ data: { notes: string }[] }>("GET", `/v1/links?q=kutt-${run}`);
    expect(data[0]?.notes).toContain("12");
    await page.getByRole("link", { name: `kutt-${run}` }).click();
    await page.getByRole("heading", { level: 1, name: new RegExp(`kutt-${run}`) }).waitFor();
  });

  it("that is none says why", async () => {
    await page.goto(`${stack.url}/import`);
    await page.getByLabel("Choose a file").setInputFiles(file("photo.csv", ["\u0000\u0001"]));
    await page.getByRole("button", { name: "Check the file" }).click();
    await page.getByRole("alert").waitFor();
  });
});

it("has seen nothing that the page must not do", () => {
  expect(watched.complaints).toEqual([]);
});

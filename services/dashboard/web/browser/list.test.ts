import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { launch, logIn, open, settled, type Watched } from "./page.ts";
import { api, eventually, stack } from "./stack.ts";
import { visit } from "./visit.ts";

// The list of links: found, sorted, archived, deleted, and always with a way back.

const run = Date.now().toString(36);
const slug = `list-${run}`;

let browser: Browser;
let watched: Watched;
let page: Page;
let linkPath: string;

beforeAll(async () => {
  browser = await launch();
  watched = await open(browser);
  page = watched.page;
  await logIn(page);
  const link = await api<{ id: string }>("POST", "/v1/links", {
    destination: "https://example.com/list",
    slug,
    title: `List ${run}`,
    tags: [`list-${run}`],
    max_clicks: 1000,
  });
  linkPath = `/links/${link.id}`;
  await Promise.all(stack.edges.map((edge) => visit(edge, slug)));
});
afterAll(() => browser?.close());

describe("the list", () => {
  const row = () =>
    page.getByRole("listitem").filter({ has: page.getByRole("link", { name: new RegExp(`/${slug}$`) }) });

  it("is searched, sorted and narrowed, all in the address", async () => {
    await page.goto(`${stack.url}/`);
    await settled(page);
    await page.keyboard.press("/");
    await page.keyboard.type(slug);
    await page.waitForURL((url) => url.searchParams.get("q") === slug);
    await row().waitFor();
    await page.getByLabel("Sort by").selectOption("clicks");
    await page.waitForURL((url) => url.searchParams.get("sort") === "clicks");
    await settled(page);
    await row()
      .getByText(/\d+ clicks?/)
      .first()
      .waitFor();
    // What is special about a link is known in this order, too.
    await row().getByText("Limited").first().waitFor();
    await page.goto(`${stack.url}/?tag=list-${run}`);
    await row().waitFor();
  });

  it("archives with a way back, by keyboard", async () => {
    await page.keyboard.press("j");
    await page.keyboard.press("a");
    await row().waitFor({ state: "hidden" });
    await page.getByRole("button", { name: "Undo" }).click();
    await row().waitFor();
    await eventually("it is not archived", async () => {
      return !(await api<{ archived: boolean }>("GET", `/v1${linkPath}`)).archived;
    });
  });

  it("deletes only when nobody wants it back", async () => {
    await page
      .getByRole("button", { name: /^Actions for .*list-/ })
      .first()
      .click();
    await page.getByRole("menuitem", { name: "Delete" }).click();
    await row().waitFor({ state: "hidden" });
    await page.getByRole("button", { name: "Undo" }).click();
    await row().waitFor();
    await page.waitForTimeout(1000);
    expect(await api<{ id: string }>("GET", `/v1${linkPath}`)).toHaveProperty("id");
  });

  it("finds a link in the palette", async () => {
    await page.goto(`${stack.url}/settings/appearance`);
    await page.getByRole("heading", { name: "Appearance" }).waitFor();
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Command palette" }).fill(slug);
    await page.getByRole("option", { name: new RegExp(`List ${run}`) }).waitFor();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("Enter");
    await page.waitForURL((url) => url.pathname === linkPath);
  });
});

it("has seen nothing that the page must not do", () => {
  expect(watched.complaints).toEqual([]);
});

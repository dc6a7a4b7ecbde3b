import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { launch, logIn, open, settled, type Watched } from "./page.ts";
import { api, eventually, stack } from "./stack.ts";
import { agents, referrers, textOf, visit } from "./visit.ts";

// What comes through the gateway in other ways than calls: streams, files, and lists as one types.

const run = Date.now().toString(36);
const slugs = [`gate-${run}-a`, `gate-${run}-b`];
const tag = `gate-${run}`;

let browser: Browser;
let watched: Watched;
let page: Page;

beforeAll(async () => {
  browser = await launch();
  watched = await open(browser);
  page = watched.page;
  await logIn(page);
  for (const slug of slugs) {
    await api("POST", "/v1/links", { destination: "https://example.com/gate", slug, tags: [tag] });
  }
});
afterAll(() => browser?.close());

/** Clicks on both links, as people make them. */
async function clicks(n: number): Promise<void> {
  for (let i = 0; i < n; i += 1) {
    await visit(stack.edges[i % stack.edges.length] ?? "", slugs[i % slugs.length] ?? "", {
      "User-Agent": agents.Safari,
      Referer: referrers[0] ?? "",
    });
  }
}

describe("the live view", () => {
  it("shows clicks of the workspace about a second after they happen", async () => {
    await page.goto(`${stack.url}/live`);
    await page.locator("[data-live=live]").waitFor();
    const feed = (slug: string | undefined) =>
      page
        .locator("[data-live-feed] li")
        .filter({ hasText: slug ?? "" })
        .count();
    await clicks(6);
    for (const slug of slugs) {
      await expect.poll(() => feed(slug), { timeout: 15_000 }).toBe(3);
    }
  });
});

describe("exports", () => {
  const save = async (entry: string) => {
    await page.getByRole("button", { name: "Export as CSV" }).click();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("menuitem", { name: entry }).click(),
    ]);
    return (await textOf(download)).trim().split("\r\n");
  };

  it("has each click of a tag, its course and its sums, as the filters say", async () => {
    await eventually("six clicks are counted", async () => {
      await page.goto(`${stack.url}/analytics?period=today&tag=${tag}`);
      await settled(page);
      return page.getByRole("button", { name: /^Clicks *6\b/ }).isVisible();
    });
    const all = await save("Every click");
    expect(all).toHaveLength(7);
    expect(all[0]).toContain("referrer");
    expect(all.slice(1).every((line) => slugs.some((slug) => line.includes(slug)))).toBe(true);
    const course = await save("The course over time");
    expect(course.length).toBeGreaterThan(1);
    const sums = course.slice(1).reduce((sum, line) => sum + Number(line.split(",")[1]), 0);
    expect(sums).toBe(6);
    const links = await save("Sums by links");
    expect(links.filter((line) => /,3(,|$)/.test(line))).toHaveLength(2);
  });

  it("has the links that are selected", async () => {
    await page.goto(`${stack.url}/?tag=${tag}`);
    await page.getByLabel("Select all").check();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("toolbar").getByRole("button", { name: "CSV" }).click(),
    ]);
    const lines = (await textOf(download)).trim().split("\r\n");
    expect(lines).toHaveLength(3);
    expect(lines.filter((line) => line.includes(tag))).toHaveLength(2);
  });
});

describe("tags", () => {
  it("are all there to filter by, with how many links have each", async () => {
    await page.goto(`${stack.url}/`);
    await settled(page);
    const select = page.getByLabel("Tag", { exact: true });
    await select.selectOption({ label: `${tag} (2)` });
    await page.waitForURL((url) => url.searchParams.get("tag") === tag);
    await expect.poll(() => page.locator("[data-row]").count()).toBe(2);
  });

  it("are offered as one types", async () => {
    await page.keyboard.press("c");
    const dialog = page.getByRole("dialog", { name: "New link" });
    const input = dialog.getByLabel("Tags");
    await input.pressSequentially(tag.slice(0, -2));
    await expect.poll(() => dialog.locator(`datalist option[value="${tag}"]`).count()).toBe(1);
    await page.keyboard.press("Escape");
  });

  it("are known at once when a link has a new one", async () => {
    const other = `${tag}-new`;
    await page.goto(`${stack.url}/?tag=${tag}`);
    await page.getByLabel("Select all").check();
    await page.getByRole("toolbar").getByRole("button", { name: "Tag" }).click();
    await page.getByRole("dialog", { name: "Tag" }).getByLabel("Tag").fill(other);
    await page.getByRole("button", { name: "Add the tag" }).click();
    await page.getByLabel("Tag", { exact: true }).selectOption({ label: `${other} (2)` });
    await page.waitForURL((url) => url.searchParams.get("tag") === other);
  });
});

describe("campaign templates", () => {
  it("are the workspace's: what one browser saves, another uses", async () => {
    const name = `Letter ${run}`;
    const editor = async (on: Page) => {
      await on.keyboard.press("c");
      const dialog = on.getByRole("dialog", { name: "New link" });
      await dialog.locator("summary", { hasText: "Campaign" }).click();
      return dialog;
    };
    await page.goto(`${stack.url}/`);
    await settled(page);
    const dialog = await editor(page);
    await dialog.getByLabel("Source").fill("letter");
    await dialog.getByLabel("Medium").fill("mail");
    await dialog.getByLabel("Save as a template").fill(name);
    await dialog.getByRole("button", { name: "Save template" }).click();
    await page.getByText(`Template “${name}” saved.`).waitFor();

    const other = await open(browser, "dark");
    await logIn(other.page);
    const theirs = await editor(other.page);
    await theirs.getByRole("button", { name: "Use a template" }).click();
    await other.page.getByRole("menuitem", { name }).click();
    expect(await theirs.getByLabel("Medium").inputValue()).toBe("mail");
    await theirs.getByRole("button", { name: "Delete a template" }).click();
    await other.page.getByRole("menuitem", { name }).click();
    await other.page.getByText(`Template “${name}” deleted.`).waitFor();
    expect(other.complaints).toEqual([]);
    await other.context.close();
    await page.keyboard.press("Escape");
  });

  it("that an earlier version left in the browser are moved once", async () => {
    const name = `Old ${run}`;
    const { workspace_id } = await page.evaluate(
      async () => (await (await fetch("/session")).json()) as { workspace_id: string },
    );
    await page.evaluate(
      ([key, text]) => localStorage.setItem(key ?? "", text ?? ""),
      [`utm-templates:${workspace_id}`, JSON.stringify([{ name, utm: { source: "old" } }])],
    );
    await page.goto(`${stack.url}/`);
    await settled(page);
    await page.keyboard.press("c");
    const dialog = page.getByRole("dialog", { name: "New link" });
    await dialog.locator("summary", { hasText: "Campaign" }).click();
    await dialog.getByRole("button", { name: "Move to the workspace" }).click();
    await page.getByText("The templates are in the workspace now.").waitFor();
    expect(await dialog.getByText("in this browser only").count()).toBe(0);
    const { data } = await api<{ data: { id: string; name: string; utm: object }[] }>(
      "GET",
      "/v1/utm-templates",
    );
    const moved = data.find((template) => template.name === name);
    expect(moved?.utm).toEqual({ source: "old" });
    await api("DELETE", `/v1/utm-templates/${moved?.id}`);
  });
});

it("has seen nothing that the page must not do", () => {
  expect(watched.complaints).toEqual([]);
});

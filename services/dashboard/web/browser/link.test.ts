import { readFileSync } from "node:fs";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { launch, logIn, open, settled, type Watched } from "./page.ts";
import { api, eventually, stack } from "./stack.ts";
import { agents, referrers, textOf, visit } from "./visit.ts";

// A link's life, as a marketing team lives it, in a real browser against real services.

// Guards I81, I82, I83.

const run = Date.now().toString(36);
const slug = `flow-${run}`;

let browser: Browser;
let watched: Watched;
let page: Page;
let linkPath: string;

beforeAll(async () => {
  browser = await launch();
  watched = await open(browser);
  page = watched.page;
  await logIn(page);
});
afterAll(() => browser?.close());

const toast = (text: string | RegExp) => page.getByRole("status").getByText(text);

describe("a link's life", () => {
  it("is created in the page", async () => {
    await page.keyboard.press("c");
    const dialog = page.getByRole("dialog", { name: "New link" });
    await dialog.getByLabel("Destination").first().fill("https://example.com/first");
    await dialog.getByLabel("Short link").fill(slug);
    await dialog.locator("[data-slug=free]").waitFor();
    await dialog.getByLabel("Title").first().fill("Flow");
    await dialog.getByLabel("Tags").fill("flow,");
    await dialog.getByRole("button", { name: "Create link" }).click();
    await toast(/is live/).waitFor();
    await page.getByRole("link", { name: new RegExp(`/${slug}$`) }).click();
    await page.getByRole("heading", { level: 1, name: new RegExp(slug) }).waitFor();
    linkPath = new URL(page.url()).pathname;
  });

  it("says while one types that a slug is taken", async () => {
    await page.keyboard.press("c");
    const dialog = page.getByRole("dialog", { name: "New link" });
    await dialog.getByLabel("Short link").fill(slug.toUpperCase());
    await dialog.locator("[data-slug=taken]").waitFor();
    await dialog.getByLabel("Short link").fill(`${slug}-x`);
    await dialog.locator("[data-slug=free]").waitFor();
    await page.keyboard.press("Escape");
  });

  it("shows clicks of three agents and two referrers live", async () => {
    await page.locator("[data-live-count='0']").waitFor();
    const started = Date.now();
    for (const [i, agent] of Object.values(agents).entries()) {
      for (const referrer of referrers) {
        const to = await visit(stack.edges[i % stack.edges.length] ?? "", slug, {
          "User-Agent": agent,
          Referer: referrer,
          "Accept-Language": "en",
        });
        expect(to).toBe("https://example.com/first");
      }
    }
    await visit(stack.edges[0] ?? "", slug, { "User-Agent": "Mozilla/5.0 (compatible; Googlebot/2.1)" });
    await page.locator("[data-live-count='6']").waitFor({ timeout: 15_000 });
    expect(Date.now() - started).toBeLessThan(15_000);
    await expect.poll(() => page.locator("[data-live-feed] li").count()).toBeGreaterThanOrEqual(6);
  });

  it("counts them, bots apart", async () => {
    const kpi = (name: string) => page.getByRole("button", { name: new RegExp(`^${name} *\\d`) });
    await eventually("the figures are there", async () => {
      await page.reload();
      await settled(page);
      const [visitors, clicks, bots] = await Promise.all(
        ["Unique visitors", "Clicks", "Bot clicks"].map((name) => kpi(name).textContent()),
      );
      return (
        /visitors3(\D|$)/.test(visitors ?? "") &&
        /Clicks6(\D|$)/.test(clicks ?? "") &&
        /clicks1(\D|$)/.test(bots ?? "")
      );
    });
    await page.getByRole("tab", { name: "Browser" }).click();
    for (const name of Object.keys(agents)) {
      const row = page.getByRole("button", { name: new RegExp(`^${name}.*2$`) });
      await row.first().waitFor();
    }
    await page.getByRole("button", { name: /^news\.example\.org.*3$/ }).waitFor();
    await page.getByRole("button", { name: /^blog\.example\.net.*3$/ }).waitFor();
  });

  it("filters by a click on a bar, and the address opens the same view for others", async () => {
    await page.getByRole("button", { name: /^Firefox/ }).click();
    await page.waitForURL(/browser=Firefox/);
    await settled(page);
    await page.getByRole("button", { name: /^Clicks *2\b/ }).waitFor();
    await page.getByRole("button", { name: "Copy an address that opens this view" }).click();
    await toast(/opens this view/).waitFor();
    const shared = await page.evaluate(() => navigator.clipboard.readText());
    expect(shared).toContain("browser=Firefox");
    expect(shared).toContain("tz=Europe");

    const other = await open(browser, "dark");
    await logIn(other.page);
    await other.page.goto(shared);
    await settled(other.page);
    await other.page.getByRole("button", { name: /^Clicks *2\b/ }).waitFor();
    await other.page.getByText("Browser Firefox").waitFor();
    expect(other.complaints).toEqual([]);
    await other.context.close();
    await page.getByRole("button", { name: "Remove the filter Browser: Firefox" }).click();
    await page.waitForURL((url) => !url.search.includes("browser"));
  });

  it("exports the clicks", async () => {
    await page.getByRole("button", { name: "Export as CSV" }).click();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("menuitem", { name: "Every click" }).click(),
    ]);
    const lines = (await textOf(download)).trim().split("\r\n");
    expect(lines).toHaveLength(7);
    expect(lines[0]).toContain("country");
    expect(lines.filter((line) => line.includes("news.example.org"))).toHaveLength(3);
  });

  it("is edited, and every edge serves the new target when the page says so", async () => {
    await page.getByRole("button", { name: "Edit", exact: true }).click();
    const dialog = page.getByRole("dialog", { name: "Edit link" });
    await dialog.getByLabel("Destination").first().fill("https://example.com/second");
    await dialog.getByRole("button", { name: "Save", exact: true }).click();
    await page.locator("[data-live-everywhere]").waitFor();
    expect(await page.locator("[data-live-everywhere]").textContent()).toMatch(
      /fra \d+ ms.*ash \d+ ms|ash \d+ ms.*fra \d+ ms/s,
    );
    for (const edge of stack.edges) {
      expect(await visit(edge, slug, { "User-Agent": agents.Firefox })).toBe("https://example.com/second");
    }
    await page.getByRole("button", { name: "Undo" }).click();
    await toast("Taken back.").waitFor();
    await eventually("the old target is served again", async () => {
      const all = await Promise.all(
        stack.edges.map((edge) => visit(edge, slug, { "User-Agent": agents.Firefox })),
      );
      return all.every((to) => to === "https://example.com/first");
    });
  });

  it("shows what visitors sent as text", async () => {
    const evil = '<img src=x onerror="alert(1)">';
    let alerted = false;
    page.once("dialog", (dialog) => {
      alerted = true;
      void dialog.dismiss();
    });
    await visit(stack.edges[0] ?? "", `${slug}?utm_campaign=${encodeURIComponent(evil)}`, {
      "User-Agent": agents.Firefox,
      Referer: "https://<script>alert(1)</script>.example.com/",
    });
    await eventually("the campaign is there", async () => {
      await page.reload();
      await settled(page);
      return page.getByText(evil, { exact: true }).first().isVisible();
    });
    expect(await page.locator("img[src=x]").count()).toBe(0);
    expect(alerted).toBe(false);
  });

  it("is purged and pre-warmed, with a result for each region", async () => {
    await page.getByRole("button", { name: "Purge" }).click();
    await page.getByText(`Purged: ${stack.edges.length} of ${stack.edges.length} edges confirmed`).waitFor();
    await page.getByRole("button", { name: "Pre-warm" }).click();
    await page.getByText(/is in memory everywhere after/).waitFor();
    expect(await page.locator("[data-regions] li").count()).toBe(2);
  });

  it("has a QR code to print", async () => {
    await page.getByRole("button", { name: "QR code" }).click();
    const dialog = page.getByRole("dialog", { name: "QR code" });
    await expect
      .poll(() => dialog.getByRole("img").evaluate((img: HTMLImageElement) => img.naturalWidth))
      .toBeGreaterThan(0);
    const [png] = await Promise.all([
      page.waitForEvent("download"),
      dialog.getByRole("button", { name: "PNG" }).click(),
    ]);
    expect(
      readFileSync(await png.path())
        .subarray(1, 4)
        .toString(),
    ).toBe("PNG");
    expect(png.suggestedFilename()).toBe(`${slug}.png`);
    await page.keyboard.press("Escape");
  });

  it("takes every option and shows what it was given", async () => {
    await page.getByRole("button", { name: "Edit", exact: true }).click();
    const dialog = page.getByRole("dialog", { name: "Edit link" });
    const group = (name: string) =>
      dialog.locator("details", { has: page.locator(`summary:has-text("${name}")`) });
    await dialog.locator("summary", { hasText: "Campaign" }).click();
    await group("Campaign").getByLabel("Source").fill("news");
    await dialog.locator("summary", { hasText: "Schedule" }).click();
    await group("Schedule").getByLabel("Ends", { exact: true }).fill("2031-01-01T09:00");
    await group("Schedule").getByLabel("Clicks at most").fill("1000");
    await dialog.locator("summary", { hasText: "Targeting" }).click();
    await group("Targeting").getByRole("button", { name: "Add a rule" }).click();
    await group("Targeting").getByLabel("Country: one of").fill("FR, BE");
    await group("Targeting").getByLabel("Send them to").fill("https://example.com/fr");
    await dialog.locator("summary", { hasText: "A/B test" }).click();
    await group("A/B test").getByRole("button", { name: "Start an A/B test" }).click();
    await group("A/B test").getByLabel("Sends to").nth(1).fill("https://example.com/b");
    await dialog.locator("summary", { hasText: "Social preview" }).click();
    await group("Social preview").getByLabel("Title").fill("Look at this");
    await dialog.getByRole("button", { name: "Save", exact: true }).click();
    await dialog.waitFor({ state: "hidden" });
    const link = await api<Record<string, unknown>>("GET", `/v1${linkPath}`);
    expect(link).toMatchObject({
      utm: { source: "news" },
      expires_at: "2031-01-01T08:00:00Z",
      max_clicks: 1000,
      rules: [
        { destination: "https://example.com/fr", conditions: [{ type: "country", values: ["FR", "BE"] }] },
      ],
      variants: [
        { destination: "https://example.com/first", weight: 50, name: "A" },
        { destination: "https://example.com/b", weight: 50, name: "B" },
      ],
      preview: { title: "Look at this" },
    });
  });

  it("shows at its field what the API has against it", async () => {
    await page.getByRole("button", { name: "Edit", exact: true }).click();
    const dialog = page.getByRole("dialog", { name: "Edit link" });
    const rule = dialog.getByLabel("Country: one of");
    await rule.fill("Atlantis");
    await dialog.getByRole("button", { name: "Save", exact: true }).click();
    await dialog.getByText(/two letters/).waitFor();
    expect(await rule.getAttribute("aria-invalid")).toBe("true");
    await page.keyboard.press("Escape");
  });
});

it("has seen nothing that the page must not do", () => {
  expect(watched.complaints).toEqual([]);
});

import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser, Download, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { launch, logIn, open, settled, type Watched } from "./page.ts";
import { api, eventually, stack } from "./stack.ts";

// What a marketing team does all day, in a real browser against real services.

// Guards I81, I82, I83.

const run = Date.now().toString(36);
const slug = `flow-${run}`;

const agents = {
  Chrome:
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36",
  Firefox: "Mozilla/5.0 (X11; Linux x86_64; rv:132.0) Gecko/20100101 Firefox/132.0",
  Safari:
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1",
};
const referrers = ["https://news.example.org/today", "https://blog.example.net/"];

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

/** Follows the short link at an edge and says where it leads. */
async function visit(edge: string, path: string, headers: Record<string, string>): Promise<string | null> {
  const answer = await fetch(`${edge}/${path}`, { redirect: "manual", headers });
  return answer.headers.get("location");
}

async function textOf(download: Download): Promise<string> {
  return readFileSync(await download.path(), "utf8");
}

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
      .getByText("10 clicks")
      .or(row().getByText(/\d+ clicks/))
      .first()
      .waitFor();
    await page.goto(`${stack.url}/?tag=flow`);
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
      .getByRole("button", { name: /^Actions for .*flow-/ })
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
    await page.getByRole("option", { name: /Flow/ }).waitFor();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("Enter");
    await page.waitForURL((url) => url.pathname === linkPath);
  });
});

describe("import", () => {
  it("shows mistakes row by row before anything is sent, then what became of each", async () => {
    await page.goto(`${stack.url}/import`);
    const rows = [
      "destination,slug,title,tags",
      ...Array.from({ length: 240 }, (_, i) => `https://example.com/i/${i},imp-${run}-${i},Row ${i},import`),
      "example.com,bad,,",
      `https://example.com/,${slug},taken,`,
    ];
    await page.getByLabel("Paste links, or drop a file").fill(rows.join("\n"));
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

describe("settings", () => {
  let receiver: Server;
  const received: string[] = [];

  beforeAll(async () => {
    receiver = createServer((request, response) => {
      received.push(String(request.headers["webhook-signature"] ?? ""));
      request.resume();
      response.end("thanks");
    });
    await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  });
  afterAll(() => void receiver.close());

  it("adds a domain and takes it away", async () => {
    await page.goto(`${stack.url}/settings/domains`);
    await page.getByRole("button", { name: "Add a domain" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Host").fill(`go-${run}.example.com`);
    await dialog.getByLabel("Home page").fill("https://example.com/");
    await dialog.getByRole("button", { name: "Add a domain" }).click();
    await page
      .getByRole("listitem")
      .filter({ hasText: `go-${run}.example.com` })
      .waitFor();
    await page.getByRole("button", { name: `Delete go-${run}.example.com` }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page
      .getByRole("listitem")
      .filter({ hasText: `go-${run}.example.com` })
      .waitFor({ state: "hidden" });
  });

  it("makes a key with a quota, shows it once, and revokes it", async () => {
    await page.goto(`${stack.url}/settings/keys`);
    await page.getByRole("button", { name: "New key" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name").fill(`key ${run}`);
    await dialog.getByLabel("Requests at once").fill("50");
    await dialog.getByLabel("More each second").fill("5");
    await dialog.getByRole("button", { name: "New key" }).click();
    const secret = await page.locator("[data-secret]").textContent();
    expect(secret).toMatch(/^ls_key_/);
    const answer = await fetch(`${stack.url}/v1/links?limit=1`, {
      headers: { Authorization: `Bearer ${secret}` },
    });
    expect([answer.status, answer.headers.get("x-ratelimit-limit")]).toEqual([200, "50"]);
    await page.getByRole("button", { name: "I have kept it" }).click();
    await page.getByText("50 at once, 5 more a second").first().waitFor();
    await page.getByRole("button", { name: `Revoke key ${run}` }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    await page
      .getByRole("listitem")
      .filter({ hasText: `key ${run}` })
      .waitFor({ state: "hidden" });
  });

  it("adds a member and removes them", async () => {
    await page.goto(`${stack.url}/settings/members`);
    await page.getByRole("button", { name: "Add a member" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Email").fill(`m-${run}@example.com`);
    await dialog.getByLabel("Role").selectOption("viewer");
    await dialog.getByRole("button", { name: "Add a member" }).click();
    expect(await page.locator("[data-secret]").textContent()).toMatch(/.{9}/);
    await page.getByRole("button", { name: "I have kept it" }).click();
    await page.getByRole("button", { name: `Remove m-${run}@example.com` }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
    await page
      .getByRole("listitem")
      .filter({ hasText: `m-${run}@example.com` })
      .waitFor({ state: "hidden" });
  });

  it("tells an endpoint, and shows the delivery", async () => {
    await page.goto(`${stack.url}/settings/webhooks`);
    await page.getByRole("button", { name: "Add an endpoint" }).click();
    const dialog = page.getByRole("dialog");
    await dialog
      .getByLabel("Address")
      .fill(`http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`);
    await dialog.getByLabel("Description").fill(`hook ${run}`);
    await dialog.getByRole("button", { name: "Add an endpoint" }).click();
    expect(await page.locator("[data-secret]").textContent()).toMatch(/^whsec_/);
    await page.getByRole("button", { name: "I have kept it" }).click();
    await page.getByRole("link", { name: `hook ${run}` }).click();
    await page.getByRole("button", { name: "Send a test" }).click();
    await page.getByRole("button", { name: /^Delivered webhook\.test/ }).waitFor({ timeout: 20_000 });
    expect(received[0]).toMatch(/^v1,/);
    await page.getByRole("button", { name: /^Delivered webhook\.test/ }).click();
    await page.getByRole("dialog").getByText("thanks").waitFor();
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "More actions" }).click();
    await page.getByRole("menuitem", { name: "Delete" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
    await page.waitForURL(/\/settings\/webhooks$/);
  });

  it("has seen nothing that the page must not do", () => {
    expect(watched.complaints).toEqual([]);
  });
});

import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { axe, launch, open, settled, type Watched } from "./page.ts";
import { stack } from "./stack.ts";

// One person in several workspaces: those of the operator, and one that somebody else
// added them to.

// Guards I94, I95, I100.

const run = Date.now().toString(36);
const email = `ada-${run}@example.com`;
const password = `password of ${run}`;
const names = [`Acme ${run}`, `Side project ${run}`];

let browser: Browser;
let watched: Watched;
let page: Page;

/** Makes a workspace as an operator does, and returns what the command prints. */
async function bootstrap(
  workspace: string,
  owner: string,
  given = "",
): Promise<{ api_key: string; password: string }> {
  const { stdout } = await promisify(execFile)(
    join(stack.bin, "links"),
    ["bootstrap", "--workspace", workspace, "--email", owner, "--domain", stack.domain],
    {
      env: {
        ...process.env,
        LINKSTREAM_POSTGRES_URL: stack.postgres,
        LINKSTREAM_BOOTSTRAP_PASSWORD: given,
        // Its key is not used: one hashed under a secret of this test's own opens nothing.
        LINKSTREAM_TOKEN_PEPPER: "p".repeat(32),
      },
    },
  );
  return JSON.parse(stdout);
}

async function enter(on: Page, who: string, secret: string): Promise<void> {
  await on.goto(`${stack.url}/login`);
  await on.getByLabel("Email").fill(who);
  await on.getByLabel("Password").fill(secret);
  await on.getByRole("button", { name: "Log in" }).click();
  await on.getByRole("heading", { name: "Links", exact: true, level: 1 }).waitFor();
}

const switcher = (on: Page, name: string) =>
  on.getByRole("button", { name: `Workspace ${name}. Switch to another` });

/** Asks the API as the page does: with the session's cookie. */
const asked = (path: string, init: { method?: string; body?: string } = {}) =>
  page.evaluate(
    async ([to, options]) => {
      const answer = await fetch(to, { ...options, headers: { "Content-Type": "application/json" } });
      return {
        status: answer.status,
        body: (await answer.json().catch(() => null)) as Record<string, unknown> | null,
      };
    },
    [path, init] as const,
  );

beforeAll(async () => {
  await bootstrap(names[0] ?? "", email, password);
  await bootstrap(names[1] ?? "", email);
  browser = await launch();
  watched = await open(browser);
  page = watched.page;
  await enter(page, email, password);
});
afterAll(() => browser?.close());

it("shows which workspace is open, and what else there is, to the keyboard", async () => {
  const button = switcher(page, names[0] ?? "");
  await button.focus();
  await page.keyboard.press("Enter");
  const menu = page.getByRole("menu", { name: "Workspaces" });
  await menu.waitFor();
  const items = menu.getByRole("menuitemradio");
  expect(await items.evaluateAll((all) => all.map((i) => i.getAttribute("aria-checked")))).toEqual([
    "true",
    "false",
  ]);
  expect(await page.evaluate(() => document.activeElement?.textContent)).toContain(names[0]);
  expect(await axe(page)).toEqual([]);
  await page.keyboard.press("Escape");
  expect(await button.evaluate((element) => element === document.activeElement)).toBe(true);
});

it("moves there, with every tab, and takes nothing along", async () => {
  const made = await asked("/v1/links", {
    method: "POST",
    body: JSON.stringify({ destination: "https://example.com/acme", slug: `acme-${run}` }),
  });
  expect(made.status).toBe(201);
  await page.goto(`${stack.url}/`);
  await page.getByRole("link", { name: new RegExp(`acme-${run}`) }).waitFor();
  const tab = await watched.context.newPage();
  await tab.goto(`${stack.url}/links/${made.body?.id}`);
  await tab.getByRole("heading", { level: 1, name: new RegExp(`acme-${run}`) }).waitFor();

  await switcher(page, names[0] ?? "").click();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await switcher(page, names[1] ?? "").waitFor();
  await page.getByText("No links yet").waitFor();
  // The other tab has gone where the session is.
  await switcher(tab, names[1] ?? "").waitFor();
  await tab.getByText("No links yet").waitFor();
  await tab.close();
  // What is of the other workspace is not found here, whoever asks.
  for (const [path, method] of [
    ["", "GET"],
    ["", "DELETE"],
    ["/purge", "POST"],
  ]) {
    expect((await asked(`/v1/links/${made.body?.id}${path}`, { method: method ?? "" })).status).toBe(404);
  }
  const totals = await asked("/v1/analytics/summary?from=2026-01-01&to=2027-01-01");
  expect(totals.body).toMatchObject({ clicks: 0 });
});

it("remembers where one was", async () => {
  await page.reload();
  await switcher(page, names[1] ?? "").waitFor();
  const other = await open(browser);
  await enter(other.page, email, password);
  await switcher(other.page, names[1] ?? "").waitFor();
  await other.context.close();
});

it("goes nowhere else", async () => {
  const refused = await asked("/session/workspace", {
    method: "POST",
    body: JSON.stringify({ workspace_id: "01a22bda-e2d3-7cc9-836b-3e71dca00ea4" }),
  });
  expect([refused.status, refused.body?.code]).toEqual([404, "not_found"]);
});

it("joins a workspace that somebody else added one to", async () => {
  // Boss adds the email, and learns nothing of the account that it has.
  const boss = `boss-${run}@example.com`;
  await bootstrap(`Agency ${run}`, boss, password);
  const theirs = await open(browser);
  await enter(theirs.page, boss, password);
  await theirs.page.goto(`${stack.url}/settings/members`);
  await theirs.page.getByRole("button", { name: "Add a member" }).click();
  const dialog = theirs.page.getByRole("dialog");
  await dialog.getByLabel("Email").fill(email);
  await dialog.getByLabel("Role").selectOption("viewer");
  await dialog.getByRole("button", { name: "Add a member" }).click();
  const handedOver = (await theirs.page.locator("[data-secret]").textContent()) ?? "";
  await theirs.context.close();

  await page.goto(`${stack.url}/`);
  await switcher(page, names[1] ?? "").click();
  await page.getByRole("menuitem", { name: "Join another workspace" }).click();
  const join = page.getByRole("dialog", { name: "Join another workspace" });
  await join.getByLabel("The password you were given").fill("a guess");
  await join.getByLabel("Your new password").fill(`only mine ${run}`);
  await join.getByRole("button", { name: "Join", exact: true }).click();
  await join.getByText("No other workspace knows you by this password.").waitFor();
  expect(await axe(page)).toEqual([]);
  await join.getByLabel("The password you were given").fill(handedOver.trim());
  await join.getByRole("button", { name: "Join", exact: true }).click();
  await switcher(page, `Agency ${run}`).waitFor();
  // Here one only reads.
  const made = await asked("/v1/links", {
    method: "POST",
    body: JSON.stringify({ destination: "https://example.com" }),
  });
  expect(made.status).toBe(403);
  await switcher(page, `Agency ${run}`).click();
  expect(await page.getByRole("menuitemradio").count()).toBe(3);
  await page.keyboard.press("Escape");
  await settled(page);
});

it("changes the password, which logs every other session out", async () => {
  const [old, fresh] = [`only mine ${run}`, `newer ${run}`];
  const other = await open(browser);
  await enter(other.page, email, old);
  await page.getByRole("button", { name: "Account" }).click();
  await page.getByRole("menuitem", { name: "Your password" }).click();
  const field = (name: string) => page.getByLabel(name, { exact: true });
  // What is wrong is where one types on.
  const leadsTo = (name: string) =>
    page.waitForFunction((n) => document.activeElement?.getAttribute("name") === n, name);
  await field("Current password").fill("a guess");
  await field("New password").fill(fresh);
  await field("New password").press("Enter");
  await page.getByRole("alert").getByText("Enter the new password again.").waitFor();
  await leadsTo("repeat");
  await page.keyboard.type(fresh);
  await page.keyboard.press("Enter");
  await page.getByRole("alert").getByText("This is not your current password").waitFor();
  await leadsTo("current");
  const ring = await field("Current password").evaluate((input) => getComputedStyle(input).outlineStyle);
  expect(ring).toBe("solid"); // or nobody sees where that is
  expect(await axe(page)).toEqual([]);
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.type(old);
  await page.keyboard.press("Enter");
  await page.getByRole("status").getByText("Your other sessions were logged out.").waitFor();
  expect(await axe(page)).toEqual([]);

  // This one goes on, in the workspace that it was in; the other is over.
  await page.goto(`${stack.url}/`);
  await switcher(page, `Agency ${run}`).waitFor();
  await other.page.goto(`${stack.url}/`);
  await other.page.getByRole("heading", { name: "Log in to linkstream" }).waitFor();
  await other.page.getByLabel("Email").fill(email);
  await other.page.getByLabel("Password").fill(old);
  await other.page.getByRole("button", { name: "Log in" }).click();
  await other.page.getByText("Email and password do not match.").waitFor();
  await enter(other.page, email, fresh);
  await switcher(other.page, `Agency ${run}`).waitFor();
  await other.context.close();
});

it("has seen nothing that the page must not do", () => {
  expect(watched.complaints).toEqual([]);
});

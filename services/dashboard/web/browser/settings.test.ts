import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { launch, logIn, open, type Watched } from "./page.ts";
import { stack } from "./stack.ts";

// Settings: domains, keys, members and webhooks.

const run = Date.now().toString(36);

let browser: Browser;
let watched: Watched;
let page: Page;

beforeAll(async () => {
  browser = await launch();
  watched = await open(browser);
  page = watched.page;
  await logIn(page);
});
afterAll(() => browser?.close());

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
});

it("has seen nothing that the page must not do", () => {
  expect(watched.complaints).toEqual([]);
});

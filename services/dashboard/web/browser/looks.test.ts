import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { axe, desktop, launch, logIn, open, overflow, phone, screenshot, settled } from "./page.ts";
import { checkedImport, click, type Seeded, seed } from "./seed.ts";
import { stack } from "./stack.ts";

// Every page, in both themes, wide and narrow: nothing for axe to find, nothing that
// sticks out, nothing that the content policy refuses, and a picture to look at.

let browser: Browser;
let links: Seeded[];
/** An import that was checked: some rows are good, some are not. */
let job: string;

let traffic: ReturnType<typeof setInterval>;

beforeAll(async () => {
  browser = await launch();
  links = await seed();
  job = await checkedImport();
  // Somebody clicks all the time, so that live views have something to show.
  traffic = setInterval(() => void click(links), 700);
});
afterAll(async () => {
  clearInterval(traffic);
  await browser?.close();
});

const pages = (): [string, string][] => [
  ["links", "/"],
  ["links-clicks", "/?sort=clicks"],
  ["link", `/links/${links[0]?.id}`],
  ["analytics", "/analytics"],
  ["analytics-filtered", "/analytics?period=7d&country=DE&device=mobile&metric=unique_visitors"],
  ["live", "/live"],
  ["import", "/import"],
  ["import-paste", "/import?from=paste"],
  ["import-check", `/import?job=${job}`],
  ["domains", "/settings/domains"],
  ["keys", "/settings/keys"],
  ["members", "/settings/members"],
  ["webhooks", "/settings/webhooks"],
  ["appearance", "/settings/appearance"],
  ["password", "/settings/password"],
];

for (const theme of ["light", "dark"] as const) {
  for (const [size, viewport] of [
    ["desktop", desktop],
    ["phone", phone],
  ] as const) {
    it(`has nothing to find on any page: ${theme}, ${size}`, async () => {
      const { page, context, complaints } = await open(browser, theme, viewport);
      const found: string[] = [];
      await page.goto(`${stack.url}/login`);
      await screenshot(page, `login-${size}-${theme}`);
      found.push(...(await axe(page)).map((line) => `login: ${line}`));
      await logIn(page);
      for (const [name, path] of pages()) {
        await page.goto(stack.url + path);
        await settled(page);
        await screenshot(page, `${name}-${size}-${theme}`, true);
        await screenshot(page, `${name}-${size}-${theme}-fold`);
        found.push(...(await axe(page)).map((line) => `${name}: ${line}`));
        if ((await overflow(page)) > 0) {
          found.push(`${name}: something sticks out at the side`);
        }
      }
      // The reference is Redoc's own page: its colours are ours, its mistakes are not.
      await page.goto(`${stack.url}/docs`);
      await page.locator("[data-section-id]").first().waitFor();
      await page.waitForTimeout(1000);
      await screenshot(page, `docs-${size}-${theme}`);
      expect(found).toEqual([]);
      expect(complaints).toEqual([]);
      await context.close();
    });

    it(`has nothing to find in what opens over pages: ${theme}, ${size}`, async () => {
      const { page, context, complaints } = await open(browser, theme, viewport);
      const found: string[] = [];
      const look = async (name: string) => {
        await settled(page);
        await screenshot(page, `${name}-${size}-${theme}`);
        found.push(...(await axe(page)).map((line) => `${name}: ${line}`));
      };
      await logIn(page);
      await settled(page);
      await page.keyboard.press("c");
      await page.getByRole("dialog").waitFor();
      await look("editor");
      await page.keyboard.press("Escape");
      await page.keyboard.press("?");
      await look("shortcuts");
      await page.keyboard.press("Escape");
      await page.getByRole("button", { name: /^Workspace .* Switch to another/ }).click();
      await look("workspaces");
      await page.getByRole("menuitem", { name: "Join another workspace" }).click();
      await look("join");
      await page.keyboard.press("Escape");
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox", { name: "Command palette" }).fill("spring");
      await look("palette");
      await page.keyboard.press("Escape");
      await page.goto(`${stack.url}/links/${links[0]?.id}`);
      await settled(page);
      await page.getByRole("button", { name: "Edit" }).click();
      await page.getByRole("dialog").getByLabel("Destination").first().waitFor();
      await page.evaluate(() => {
        for (const details of document.querySelectorAll<HTMLDetailsElement>("dialog details")) {
          details.open = true;
        }
      });
      await look("editor-options");
      await page.keyboard.press("Escape");
      await page.getByRole("button", { name: "QR code" }).click();
      await look("qr");
      await page.keyboard.press("Escape");
      await page.getByRole("button", { name: /Last 30 days/ }).click();
      await look("period");
      await page.keyboard.press("Escape");
      await page.getByRole("button", { name: "Filter", exact: true }).click();
      await look("filter");
      await page.keyboard.press("Escape");
      await page.getByRole("button", { name: "Details" }).first().click();
      await look("details");
      await page.goto(`${stack.url}/settings/password`);
      await page.getByRole("button", { name: "Change password" }).click();
      await page.getByRole("alert").first().waitFor();
      await look("password-wrong");
      expect(found).toEqual([]);
      expect(complaints).toEqual([]);
      await context.close();
    });
  }
}

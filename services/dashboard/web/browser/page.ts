import { mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { stack } from "./stack.ts";

export type Theme = "light" | "dark";

export const desktop = { width: 1440, height: 900 };
export const phone = { width: 390, height: 844 };

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

export function launch(): Promise<Browser> {
  return chromium.launch({
    executablePath: stack.chromium,
    args: ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--lang=en-US"],
  });
}

/** What a page did that it must not do: errors, refused content, foreign hosts. */
export interface Watched {
  page: Page;
  context: BrowserContext;
  complaints: string[];
}

export async function open(browser: Browser, theme: Theme = "light", viewport = desktop): Promise<Watched> {
  const context = await browser.newContext({
    viewport,
    colorScheme: theme,
    locale: "en-US",
    timezoneId: "Europe/Berlin",
    reducedMotion: "reduce",
    acceptDownloads: true,
    permissions: ["clipboard-read", "clipboard-write"],
    ...(viewport === phone && { hasTouch: true, isMobile: true, deviceScaleFactor: 2 }),
  });
  const page = await context.newPage();
  const complaints: string[] = [];
  const own = new URL(stack.url).origin;
  page.on("console", (message) => {
    if (message.type() === "error" && !/status of 4\d\d/.test(message.text())) {
      complaints.push(message.text());
    }
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("request", (request) => {
    const url = new URL(request.url());
    if (url.protocol.startsWith("http") && url.origin !== own) {
      complaints.push(`asked a foreign host: ${request.url()}`);
    }
  });
  return { page, context, complaints };
}

export async function logIn(page: Page): Promise<void> {
  await page.goto(`${stack.url}/login`);
  await page.getByLabel("Email").fill(stack.email);
  await page.getByLabel("Password").fill(stack.password);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByRole("heading", { name: "Links", exact: true, level: 1 }).waitFor();
}

/** Everything is there: no skeleton pulses any more, no query runs. */
export async function settled(page: Page): Promise<void> {
  await page.waitForFunction(
    () => !document.querySelector(".animate-pulse") && !document.querySelector("[aria-busy=true]"),
    undefined,
    { timeout: 20_000 },
  );
  await page.waitForTimeout(450); // a chart is drawn within 250 ms
}

/** What axe-core finds against WCAG 2.2 A and AA. */
export async function axe(page: Page): Promise<string[]> {
  await page.evaluate(axeSource);
  return page.evaluate(async () => {
    const { axe: run } = window as unknown as { axe: typeof import("axe-core") };
    const { violations } = await run.run(document, {
      runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    });
    return violations.flatMap((v) =>
      v.nodes.map((node) => `${v.id}: ${node.target.join(" ")} | ${node.any[0]?.message ?? v.help}`),
    );
  });
}

export async function screenshot(page: Page, name: string, fullPage = false): Promise<void> {
  mkdirSync(stack.screenshots, { recursive: true });
  await page.screenshot({ path: join(stack.screenshots, `${name}.png`), fullPage });
}

/** Whether something sticks out at the side. */
export function overflow(page: Page): Promise<number> {
  return page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
}

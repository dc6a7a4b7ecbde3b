import { readFileSync } from "node:fs";
import type { Download } from "playwright-core";

// Visitors as edges see them, and what browsers save.

export const agents = {
  Chrome:
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36",
  Firefox: "Mozilla/5.0 (X11; Linux x86_64; rv:132.0) Gecko/20100101 Firefox/132.0",
  Safari:
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1",
};
export const referrers = ["https://news.example.org/today", "https://blog.example.net/"];

/** Follows the short link at an edge and says where it leads. */
export async function visit(
  edge: string,
  path: string,
  headers: Record<string, string> = { "User-Agent": agents.Firefox },
): Promise<string | null> {
  const answer = await fetch(`${edge}/${path}`, { redirect: "manual", headers });
  return answer.headers.get("location");
}

export async function textOf(download: Download): Promise<string> {
  return readFileSync(await download.path(), "utf8");
}

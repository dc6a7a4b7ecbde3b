import { api, eventually, sql, stack } from "./stack.ts";

// A workspace as a marketing team has it, so that screenshots show what they will see.

interface SeedLink {
  slug: string;
  destination: string;
  title: string;
  tags: string[];
  /** Clicks a day, about. */
  rate: number;
  more?: Record<string, unknown>;
}

const shop = "https://shop.example.com";

const links: SeedLink[] = [
  {
    slug: "spring",
    destination: `${shop}/spring-sale`,
    title: "Spring sale",
    tags: ["sale", "newsletter"],
    rate: 420,
  },
  {
    slug: "get-app",
    destination: "https://apps.example.com/get",
    title: "Get the app",
    tags: ["app"],
    rate: 260,
  },
  {
    slug: "jobs",
    destination: "https://careers.example.com/open-positions",
    title: "Open positions",
    tags: ["hiring"],
    rate: 95,
  },
  {
    slug: "insta",
    destination: `${shop}/collections/new`,
    title: "Instagram bio",
    tags: ["social"],
    rate: 180,
  },
  {
    slug: "podcast",
    destination: "https://audio.example.com/episodes/42",
    title: "Podcast, episode 42",
    tags: ["content", "social"],
    rate: 64,
  },
  {
    slug: "webinar",
    destination: "https://events.example.com/webinar/growth",
    title: "Growth webinar",
    tags: ["events", "newsletter"],
    rate: 48,
  },
  {
    slug: "guide",
    destination: "https://docs.example.com/start",
    title: "Documentation",
    tags: [],
    rate: 75,
  },
  {
    slug: "flyer/berlin",
    destination: `${shop}/stores/berlin`,
    title: "Flyer Berlin",
    tags: ["print"],
    rate: 22,
  },
  {
    slug: "black-friday",
    destination: `${shop}/black-friday`,
    title: "Black Friday",
    tags: ["sale"],
    rate: 310,
  },
  { slug: "press", destination: "https://example.com/press", title: "Press kit", tags: ["pr"], rate: 9 },
  {
    slug: "survey",
    destination: "https://forms.example.com/s/customer-2026",
    title: "Customer survey",
    tags: ["newsletter"],
    rate: 31,
  },
  {
    slug: "partner",
    destination: "https://partners.example.com/join?ref=short",
    title: "Partner programme",
    tags: ["partners"],
    rate: 14,
  },
];

const extras: Record<string, Record<string, unknown>> = {
  "black-friday": { expires_at: "2030-11-30T23:00:00Z", fallback_url: shop },
  "get-app": {
    rules: [
      { conditions: [{ type: "os", values: ["iOS"] }], destination: "https://apps.example.com/ios" },
      { conditions: [{ type: "os", values: ["Android"] }], destination: "https://apps.example.com/android" },
    ],
  },
  spring: {
    variants: [
      { name: "Hero", destination: `${shop}/spring-sale`, weight: 50 },
      { name: "Grid", destination: `${shop}/spring-sale?v=grid`, weight: 50 },
    ],
    utm: { source: "newsletter", medium: "email", campaign: "spring-2026" },
  },
  press: { password: "press-only" },
  webinar: { max_clicks: 50_000 },
};

export interface Seeded {
  id: string;
  slug: string;
  domain: string;
  workspace: string;
}

/** Makes the links and some months of clicks on them. */
export async function seed(days = 60): Promise<Seeded[]> {
  const { workspace_id: workspace } = await whoAmI();
  const out: Seeded[] = [];
  for (const { rate, ...body } of [...links].reverse()) {
    const made = await api<{ id: string; slug: string; domain: string }>("POST", "/v1/links", {
      ...body,
      ...extras[body.slug],
      find_or_create: true,
    });
    out.push({ ...made, workspace });
    await insertClicks({ ...made, workspace }, rate, days);
  }
  return out.reverse();
}

/** Has a file looked at, as the page of imports does. */
export async function checkedImport(): Promise<string> {
  const rows = [
    "destination,slug,title,Owner",
    ...Array.from({ length: 40 }, (_, i) => `${shop}/catalogue/${i},catalogue-${i},Catalogue page ${i},me`),
    `${shop}/taken,spring,Taken,me`,
    "shop.example.com,no-scheme,No address,me",
    ",empty,Nothing,me",
  ];
  const answer = await fetch(`${stack.url}/v1/imports?dry_run=true`, {
    method: "POST",
    headers: { Authorization: `Bearer ${stack.apiKey}`, "Content-Type": "text/csv" },
    body: `${rows.join("\n")}\n`,
  });
  const { id } = (await answer.json()) as { id: string };
  await eventually("the file was looked at", async () => {
    return (await api<{ state: string }>("GET", `/v1/imports/${id}`)).state === "done";
  });
  return id;
}

async function whoAmI(): Promise<{ workspace_id: string }> {
  const answer = await fetch(`${stack.url}/session`, {
    method: "POST",
    headers: { "Content-Type": "application/json", "Sec-Fetch-Site": "same-origin" },
    body: JSON.stringify({ email: stack.email, password: stack.password }),
  });
  return (await answer.json()) as { workspace_id: string };
}

/** A value out of a weighted list, by a hash of the row's number. */
function pick(salt: number, values: [string, number][]): string {
  const total = values.reduce((sum, [, weight]) => sum + weight, 0);
  let upTo = 0;
  const cases = values.map(([value, weight]) => {
    upTo += weight;
    return `h${salt} < ${upTo}, ${literal(value)}`;
  });
  return `(WITH cityHash64(number, ${salt}) % ${total} AS h${salt} SELECT multiIf(${cases.join(", ")}, ''))`.replace(
    /^\(WITH (.*) AS (h\d+) SELECT (.*)\)$/,
    (_all, hash: string, name: string, expression: string) => expression.replaceAll(name, `(${hash})`),
  );
}

const literal = (text: string) => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;

const places: [string, number][] = [
  ["DE|Berlin|Berlin|EU", 22],
  ["DE|Bavaria|Munich|EU", 11],
  ["DE|Hamburg|Hamburg|EU", 8],
  ["US|California|San Francisco|NA", 12],
  ["US|New York|New York|NA", 11],
  ["US|Texas|Austin|NA", 5],
  ["GB|England|London|EU", 12],
  ["FR|Île-de-France|Paris|EU", 9],
  ["AT|Vienna|Vienna|EU", 6],
  ["CH|Zurich|Zurich|EU", 5],
  ["NL|North Holland|Amsterdam|EU", 5],
  ["ES|Madrid|Madrid|EU", 5],
  ["IT|Lombardy|Milan|EU", 4],
  ["PL|Mazovia|Warsaw|EU", 4],
  ["SE|Stockholm|Stockholm|EU", 3],
  ["CA|Ontario|Toronto|NA", 4],
  ["BR|São Paulo|São Paulo|SA", 6],
  ["IN|Karnataka|Bengaluru|AS", 8],
  ["JP|Tokyo|Tokyo|AS", 4],
  ["AU|New South Wales|Sydney|OC", 4],
  ["SG|Singapore|Singapore|AS", 2],
  ["ZA|Gauteng|Johannesburg|AF", 2],
  ["NG|Lagos|Lagos|AF", 2],
  ["MX|Mexico City|Mexico City|NA", 3],
  ["|||", 3],
];
const agents: [string, number][] = [
  ["mobile|iOS|Safari", 30],
  ["mobile|Android|Chrome", 24],
  ["mobile|iOS|Instagram", 9],
  ["desktop|Windows|Chrome", 16],
  ["desktop|macOS|Chrome", 8],
  ["desktop|macOS|Safari", 6],
  ["desktop|Windows|Edge", 5],
  ["desktop|Windows|Firefox", 3],
  ["desktop|Linux|Firefox", 2],
  ["tablet|iPadOS|Safari", 4],
  ["tv|webOS|Chrome", 1],
];
const referrers: [string, number][] = [
  ["||", 34],
  ["www.instagram.com|Instagram|social", 16],
  ["www.google.com|Google|search", 14],
  ["www.linkedin.com|LinkedIn|social", 8],
  ["t.co|X|social", 7],
  ["mail.google.com|Gmail|email", 7],
  ["www.facebook.com|Facebook|social", 6],
  ["chatgpt.com|ChatGPT|ai", 4],
  ["news.example.org||referral", 3],
  ["www.bing.com|Bing|search", 2],
];
const campaigns: [string, number][] = [
  ["||", 46],
  ["newsletter|email|spring-2026", 18],
  ["instagram|social|bio", 12],
  ["google|cpc|brand", 9],
  ["linkedin|social|hiring", 7],
  ["flyer|print|berlin", 4],
  ["newsletter|email|webinar", 4],
];
const languages: [string, number][] = [
  ["de", 36],
  ["en", 40],
  ["fr", 8],
  ["es", 5],
  ["it", 3],
  ["pt", 4],
  ["ja", 2],
  ["pl", 2],
];

/** Rows into the table itself, through the views that keep the sums. */
async function insertClicks(link: Seeded, rate: number, days: number): Promise<void> {
  const part = (expression: string, n: number) => `splitByChar('|', ${expression})[${n}]`;
  const place = pick(1, places);
  const agent = pick(2, agents);
  const referrer = pick(3, referrers);
  const campaign = pick(4, campaigns);
  const total = Math.round(rate * days * 1.2);
  // More by day than at night, more on weekdays, and a slow growth.
  await sql(`INSERT INTO clicks
    SELECT ts, generateUUIDv4(), toUUID('${link.workspace}'), toUUID('${link.id}'), 1, '${link.domain}', '${link.slug}', 302,
      if(number % 5 < 3, 'fra', 'ash'), 'edge-1', cityHash64(number % ${Math.max(20, Math.round(rate * 0.7))}, '${link.id}'),
      bot, if(bot, ${pick(7, [
        ["search-engine", 4],
        ["social-preview", 5],
        ["ai-crawler", 3],
        ["monitoring", 2],
      ])}, ''),
      ${part(place, 1)}, ${part(place, 2)}, ${part(place, 3)}, ${part(place, 4)},
      ${part(agent, 1)}, ${part(agent, 2)}, ${part(agent, 3)}, ${pick(5, languages)},
      ${part(referrer, 1)}, ${part(referrer, 2)}, ${part(referrer, 3)},
      ${part(campaign, 1)}, ${part(campaign, 2)}, ${part(campaign, 3)}, '', '',
      ${link.slug === "spring" ? "number % 2 + 1" : "0"}, ${link.slug === "get-app" ? "number % 3" : "0"},
      if(number % ${link.slug.startsWith("flyer") ? 2 : 23} = 0, 'qr', ''), false
    FROM (
      SELECT number, cityHash64(number, 6) % 100 < 9 AS bot,
        now64(3) - toIntervalSecond(toUInt64(${days * 86400} * (1 - pow(cityHash64(number, 8) % 1000000 / 1000000, 0.8)))) AS ts
      FROM numbers(${total})
      WHERE (cityHash64(number, 9) % 100) < multiIf(toHour(ts) < 6, 22, toHour(ts) < 9, 60, toHour(ts) < 22, 100, 55)
        AND (cityHash64(number, 10) % 100) < if(toDayOfWeek(ts) > 5, 62, 100)
    )`);
}

const visitors = [
  "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1",
  "Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Mobile Safari/537.36",
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36",
  "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Safari/605.1.15",
];
const pages = [
  "https://www.instagram.com/",
  "https://www.google.com/",
  "",
  "https://www.linkedin.com/feed/",
  "",
];

/** One visit of one of the links, as it comes. */
export async function click(links: Seeded[]): Promise<void> {
  const any = <T>(list: T[]): T => list[Math.floor(Math.random() ** 1.6 * list.length)] as T;
  const referrer = any(pages);
  await fetch(`${any(stack.edges)}/${any(links).slug}`, {
    redirect: "manual",
    headers: { "User-Agent": any(visitors), ...(referrer && { Referer: referrer }) },
  }).catch(() => {});
}

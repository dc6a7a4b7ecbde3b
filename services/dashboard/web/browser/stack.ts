// The stack under test, as its dev.env says.

const need = (name: string): string => {
  const value = process.env[name];
  if (!value) {
    throw new Error(`${name} is not set: start a stack, then read its dev.env`);
  }
  return value;
};

export const stack = {
  url: need("LINKSTREAM_DASHBOARD_URL"),
  apiKey: need("LINKSTREAM_API_KEY"),
  email: need("LINKSTREAM_DASHBOARD_EMAIL"),
  password: need("LINKSTREAM_DASHBOARD_PASSWORD"),
  edges: need("LINKSTREAM_EDGE_URLS").split(","),
  /** Where the programs are, for what only an operator does. */
  bin: process.env.LINKSTREAM_E2E_BIN ?? "../../../.local/bin",
  postgres: need("LINKSTREAM_POSTGRES_URL"),
  domain: "localhost",
  clickhouse: new URL(need("LINKSTREAM_CLICKHOUSE_URL")),
  screenshots: process.env.LINKSTREAM_SCREENSHOTS ?? "../../../.local/screenshots",
  chromium: process.env.LINKSTREAM_CHROMIUM ?? "/usr/bin/chromium",
};

/** Calls the API with the key. */
export async function api<T>(method: string, path: string, body?: unknown): Promise<T> {
  const answer = await fetch(stack.url + path, {
    method,
    headers: {
      Authorization: `Bearer ${stack.apiKey}`,
      ...(body !== undefined && { "Content-Type": "application/json" }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  if (!answer.ok) {
    throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
  }
  return (answer.status === 204 ? undefined : await answer.json()) as T;
}

/** Asks ClickHouse itself. */
export async function sql(query: string): Promise<string> {
  const { protocol, host, pathname, username, password } = stack.clickhouse;
  const address = `${protocol}//${host}/?database=${pathname.slice(1)}`;
  const credentials = Buffer.from(`${username || "default"}:${password}`).toString("base64");
  const answer = await fetch(address, {
    method: "POST",
    body: query,
    headers: { Authorization: `Basic ${credentials}` },
  });
  const text = await answer.text();
  if (!answer.ok) {
    throw new Error(`ClickHouse: ${text}`);
  }
  return text;
}

/** Asks again until it is true, or fails with what was said last. */
export async function eventually(
  what: string,
  check: () => Promise<unknown>,
  timeout = 30_000,
): Promise<void> {
  const end = Date.now() + timeout;
  let last: unknown;
  for (;;) {
    try {
      if (await check()) {
        return;
      }
      last = undefined;
    } catch (error) {
      last = error;
    }
    if (Date.now() > end) {
      throw new Error(`not within ${timeout} ms: ${what}${last ? `: ${last}` : ""}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

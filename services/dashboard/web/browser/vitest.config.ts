import { defineConfig } from "vitest/config";

// Tests in a real browser against a running stack: `npm run browser`. They change
// what the stack holds, so give them one of their own.
export default defineConfig({
  test: {
    environment: "node",
    include: ["browser/*.test.ts"],
    root: new URL("..", import.meta.url).pathname,
    fileParallelism: false,
    testTimeout: 120_000,
    hookTimeout: 180_000,
    sequence: { concurrent: false },
    bail: 0,
  },
});

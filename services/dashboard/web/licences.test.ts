// @vitest-environment node
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { entry, importedBy, packageOf } from "./licences";

let root = "";
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "licences-"));
});
afterEach(() => rmSync(root, { recursive: true }));

function write(files: Record<string, string>) {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  return root;
}

const manifest = (license: unknown) => JSON.stringify({ name: "thing", version: "1.2.3", license });

test("a module belongs to the innermost package around it", () => {
  expect(packageOf("/app/src/main.tsx", "/app")).toBeNull();
  expect(packageOf("/app/index.html?html-proxy", "/app")).toBeNull();
  expect(packageOf("/app/node_modules/react/index.js?v=1", "/app")).toBe("/app/node_modules/react");
  expect(packageOf("\0/app/node_modules/react/index.js?commonjs-proxy", "/app")).toBe(
    "/app/node_modules/react",
  );
  expect(packageOf("/app/node_modules/@a/b/node_modules/c/d.js", "/app")).toBe(
    "/app/node_modules/@a/b/node_modules/c",
  );
  expect(packageOf("\0vite/preload-helper.js", "/app")).toBe("/app/node_modules/vite");
  expect(packageOf("\0rolldown/runtime.js", "/app")).toBe("/app/node_modules/rolldown");
});

test("a module from nobody knows where stops the build", () => {
  expect(() => packageOf("\0other/helper.js", "/app")).toThrow("other/helper.js");
  expect(() => packageOf("/elsewhere/x.js", "/app")).toThrow("/elsewhere/x.js");
});

test("a style sheet's imports count, also those of the sheets it imports", () => {
  write({
    "src/a.css": `@import "tailwindcss";\n@import "./b.css";`,
    "src/b.css": `@import url('@font/inter/wght.css');`,
  });
  expect(importedBy(join(root, "src/a.css"), root)).toEqual([
    join(root, "node_modules/tailwindcss"),
    join(root, "node_modules/@font/inter"),
  ]);
});

test("an entry holds the licence, the notice and the licences of parts", () => {
  write({
    "package.json": manifest("Apache-2.0"),
    "LICENSE.txt": "the terms\r\nof use",
    NOTICE: "made by",
    "README.md": "read",
    "licenses/LICENSE-part": "of a part",
  });
  const text = entry(root);
  for (const want of ["thing 1.2.3\nLicence: Apache-2.0\n", "the terms\nof use", "made by", "of a part"]) {
    expect(text).toContain(want);
  }
  expect(text).not.toContain("read");
});

test("a package without a licence text stops the build", () => {
  write({ "package.json": manifest("MIT"), NOTICE: "made by" });
  expect(() => entry(root)).toThrow("thing has no licence text");
  write({ LICENSE: " \n" });
  expect(() => entry(root)).toThrow("thing has no licence text");
});

test("a licence outside the list stops the build", () => {
  for (const license of [
    "GPL-3.0",
    "(MIT OR GPL-3.0)",
    "SEE LICENSE IN LICENSE",
    undefined,
    { type: "MIT" },
  ]) {
    write({ "package.json": manifest(license), LICENSE: "the terms" });
    expect(() => entry(root)).toThrow("not allowed");
  }
});

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { Plugin } from "vite";

// The build copies other people's work into the page. Their licences ask that the
// notices go along, so the build writes them to dist/third-party-licences.txt, from
// what it really bundled. It stops when a package has no licence text, when its
// licence is not in the list below, or when a module comes from nobody knows where.

/** Licences that a program under Apache-2.0 can carry when it carries their texts. */
const allowed = new Set(
  "MIT ISC BSD-2-Clause BSD-3-Clause Apache-2.0 OFL-1.1 0BSD Unlicense CC0-1.0".split(" "),
);

/** Where Vite's licence file goes on with its build-time dependencies, which reach no page. */
const viteDependencies = /^# Licenses of bundled dependencies$/m;

/** The folder of the package that a module id belongs to; null for the app's own modules. */
export function packageOf(id: string, root: string): string | null {
  // Code that the bundler itself adds: "\0vite/preload-helper.js", "\0rolldown/runtime.js".
  const runtime = /^\0(vite|rolldown)\//.exec(id)?.[1];
  if (runtime) return join(root, "node_modules", runtime);
  const file = id.replaceAll("\0", "").replace(/\?.*$/, "").replaceAll("\\", "/");
  const installed = /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0];
  if (installed) return installed;
  if (file.startsWith(`${root}/`)) return null;
  throw new Error(`bundled module ${JSON.stringify(id)} belongs to no known package`);
}

/** The packages that a style sheet imports. Tailwind puts them in, so the bundler never sees them. */
export function importedBy(sheet: string, root: string): string[] {
  const source = readFileSync(sheet, "utf8");
  return [...source.matchAll(/@import\s+(?:url\()?["']([^"']+)["']/g)].flatMap(([, name = ""]) => {
    if (name.startsWith(".")) return importedBy(resolve(dirname(sheet), name), root);
    return packageOf(join(root, "node_modules", name), root) ?? [];
  });
}

/** A package's entry: name, version, licence id and the texts of its licence and notice files. */
export function entry(folder: string): string {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  if (!allowed.has(license)) {
    throw new Error(
      `bundled package ${name} has the licence ${JSON.stringify(license)}, which is not allowed`,
    );
  }
  const texts = textsIn(folder, /^(licen[cs]e|copying|notice)([.-]|$)/i);
  if (!texts.some(({ file, text }) => text !== "" && !/^notice/i.test(file))) {
    throw new Error(`bundled package ${name} has no licence text`);
  }
  // ECharts, for one, keeps the licences of what it contains in a folder of their own.
  texts.push(...textsIn(join(folder, "licenses"), /./));
  const body = texts.map(({ file, text }) => `--- ${file} ---\n\n${text}\n`).join("\n");
  return `${"=".repeat(80)}\n${name} ${version}\nLicence: ${license}\n\n${body}`;
}

function textsIn(folder: string, names: RegExp): { file: string; text: string }[] {
  if (!existsSync(folder)) return [];
  const files = readdirSync(folder, { withFileTypes: true }).filter((file) => file.isFile());
  const wanted = files.map((file) => file.name).filter((file) => names.test(file));
  return wanted.sort().map((file) => {
    const text = readFileSync(join(folder, file), "utf8").replaceAll("\r\n", "\n");
    return {
      file,
      text: text
        .split(viteDependencies, 1)
        .join()
        .replace(/^\s*\n/, "")
        .trimEnd(),
    };
  });
}

/** Writes third-party-licences.txt beside index.html. */
export function thirdPartyLicences(): Plugin {
  let root = "";
  return {
    name: "third-party-licences",
    apply: "build",
    configResolved(config) {
      root = config.root;
    },
    generateBundle: {
      order: "post", // after the style sheets and fonts
      handler(_, bundle) {
        const output = Object.values(bundle);
        const modules = output.flatMap((file) => (file.type === "chunk" ? file.moduleIds : []));
        const assets = output.flatMap((file) => (file.type === "asset" ? file.originalFileNames : []));
        const folders = new Set<string>();
        for (const id of [...modules, ...assets.map((name) => resolve(root, name))]) {
          const folder = packageOf(id, root);
          if (folder) folders.add(folder);
          else if (id.endsWith(".css")) for (const other of importedBy(id, root)) folders.add(other);
        }
        const entries = [...folders].map(entry).sort();
        this.emitFile({
          type: "asset",
          fileName: "third-party-licences.txt",
          source: `This page contains the following works of others.\n\n${entries.join("\n")}`,
        });
      },
    },
  };
}

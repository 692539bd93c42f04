/** Bundles the console (functions/console) for browsers. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build, type Metafile, type Plugin } from "esbuild";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const require = createRequire(import.meta.url);

/**
 * Name of the console's HTML page among the assets. It does not end with `.html`, because the Workers runtime would
 * then redirect requests for it.
 */
export const SHELL = "console/shell.txt";

export interface ConsoleBuild {
  /** Files by name, such as `console/main-ABCDEFGH.js`. */
  files: ReadonlyMap<string, Uint8Array<ArrayBuffer>>;
  /**
   * Compressed size in bytes: of the files that the console loads first, of those that it loads with the first rich
   * text of a form, and of all other files.
   */
  sizes: { first: number; richText: number; all: number };
}

/** Resolves `lucide:<name>` to one icon, so that the bundle contains only the icons in use. */
const icons: Plugin = {
  name: "icons",
  setup(builder) {
    builder.onResolve({ filter: /^lucide:/ }, ({ path }) => ({
      path: path.slice("lucide:".length),
      namespace: "lucide",
    }));
    let nodes: Record<string, unknown> | undefined;
    builder.onLoad({ filter: /.*/, namespace: "lucide" }, ({ path }) => {
      nodes ??= JSON.parse(readFileSync(require.resolve("lucide-static/icon-nodes.json"), "utf8"));
      const found = nodes?.[path];
      return found === undefined
        ? { errors: [{ text: `lucide-static has no icon named ${path}` }] }
        : { contents: JSON.stringify(found), loader: "json" };
    });
  },
};

/** Returns the names of a file and of all files that it imports statically. */
function closure(outputs: Metafile["outputs"], name: string, found = new Set<string>()): Set<string> {
  if (found.has(name)) return found;
  found.add(name);
  for (const { path, kind } of outputs[name]?.imports ?? [])
    if (kind === "import-statement") closure(outputs, path, found);
  return found;
}

/** Returns the files that the browser loads to edit rich text, in addition to those that it has at that time. */
function richTextFiles(outputs: Metafile["outputs"]): string[] {
  const editor = Object.keys(outputs).find(
    (path) => outputs[path]?.entryPoint === "functions/console/fields/rich-text/editor.tsx",
  );
  if (editor === undefined) throw new Error("The editor of rich text is not a file of its own.");
  const importers = Object.keys(outputs).filter((path) =>
    outputs[path]?.imports.some((one) => one.path === editor && one.kind === "dynamic-import"),
  );
  const present = new Set(importers.flatMap((path) => [...closure(outputs, path)]));
  return [...closure(outputs, editor)].filter((path) => !present.has(path));
}

function shellOf(styles: string, theme: string, main: string, preloads: readonly string[]): string {
  const at = (name: string) => `/console/assets/${name}`;
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>Console</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="${at(styles)}">
    <script src="${at(theme)}"></script>
${preloads.map((name) => `    <link rel="modulepreload" href="${at(name)}">\n`).join("")}    <script type="module" src="${at(main)}"></script>
  </head>
  <body>
    <div id="app"></div>
    <noscript>The console needs JavaScript.</noscript>
  </body>
</html>
`;
}

const zipped = (content: Uint8Array) => gzipSync(content, { level: 9 }).length;

/** Bundles the console. The caller stops the bundler. */
export async function bundleConsole(): Promise<ConsoleBuild> {
  const source = (name: string) => join(root, "functions/console", name);
  const result = await build({
    entryPoints: [source("main.tsx"), source("theme.ts"), source("console.css")],
    absWorkingDir: root,
    outdir: join(root, "out"),
    entryNames: "[name]-[hash]",
    chunkNames: "part-[hash]",
    bundle: true,
    splitting: true,
    write: false,
    metafile: true,
    minify: true,
    format: "esm",
    target: ["es2022", "chrome120", "firefox121", "safari17"],
    jsx: "automatic",
    jsxImportSource: "preact",
    charset: "utf8",
    legalComments: "none",
    plugins: [icons],
    logLevel: "silent",
  });
  const { outputs } = result.metafile;
  const entry = (name: string) =>
    Object.keys(outputs).find((path) => outputs[path]?.entryPoint === `functions/console/${name}`) ?? "";
  const main = entry("main.tsx");
  const parts = [...closure(outputs, main)];
  const encode = (text: string) => new TextEncoder().encode(text);
  const shell = encode(
    shellOf(
      basename(entry("console.css")),
      basename(entry("theme.ts")),
      basename(main),
      parts.filter((name) => name !== main).map((name) => basename(name)),
    ),
  );
  const contents = new Map<string, Uint8Array<ArrayBuffer>>([
    [SHELL, shell],
    ...result.outputFiles.map((file): [string, Uint8Array<ArrayBuffer>] => [
      `console/${basename(file.path)}`,
      new Uint8Array(file.contents),
    ]),
  ]);
  const sum = (names: Iterable<string>) =>
    [...names].reduce((bytes, name) => bytes + zipped(contents.get(name) ?? new Uint8Array()), 0);
  const first = [entry("console.css"), entry("theme.ts"), ...parts].map(
    (name) => `console/${basename(name)}`,
  );
  const richText = sum(richTextFiles(outputs).map((name) => `console/${basename(name)}`));
  return {
    files: contents,
    sizes: { first: sum([SHELL, ...first]), richText, all: sum(contents.keys()) - richText },
  };
}

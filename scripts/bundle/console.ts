/** Bundles the console (functions/console) for browsers. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build, type Metafile, type Plugin } from "esbuild";
import { directionOf, LANGUAGES, type Language } from "../../functions/texts/languages.ts";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const require = createRequire(import.meta.url);

/**
 * Name of the console's HTML page in a language among the assets. It does not end with `.html`, because the Workers
 * runtime would then redirect requests for it.
 */
const shellName = (language: Language) => `console/shell-${language}.txt`;

export interface ConsoleBuild {
  /** Files by name, such as `console/main-ABCDEFGH.js`. */
  files: ReadonlyMap<string, Uint8Array<ArrayBuffer>>;
  /**
   * Compressed size in bytes: of the files that the console loads first (in the language with the longest texts), of
   * those that it loads with the first rich text of a form, and of all other files that a browser may load.
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

interface ShellParts {
  styles: string;
  theme: string;
  /** The script with the first texts. It runs before `main`, because the browser keeps the order of scripts. */
  texts: string;
  main: string;
  preloads: readonly string[];
}

function shellOf(language: Language, { styles, theme, texts, main, preloads }: ShellParts): string {
  const at = (name: string) => `/console/assets/${name}`;
  const { app } = textsOf(language);
  return `<!doctype html>
<html lang="${language}" dir="${directionOf(language)}">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>${app.name}</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="${at(styles)}">
    <script src="${at(theme)}"></script>
    <script defer src="${at(texts)}"></script>
${preloads.map((name) => `    <link rel="modulepreload" href="${at(name)}">\n`).join("")}    <script type="module" src="${at(main)}"></script>
  </head>
  <body>
    <div id="app"></div>
    <noscript>${app.needsScript}</noscript>
  </body>
</html>
`;
}

interface PageTexts {
  [area: string]: Readonly<Record<string, unknown>>;
  app: { name: string; needsScript: string };
}

/** Returns the texts of the console in a language, with those that it shares with the sign-in pages. */
function textsOf(language: Language): PageTexts {
  const read = (folder: string) =>
    JSON.parse(readFileSync(join(root, `functions/${folder}/texts/${language}.json`), "utf8"));
  const { passkey, right } = read("pages");
  return { ...read("console"), passkey, right };
}

type NamedScript = readonly [name: string, content: Uint8Array<ArrayBuffer>];

/**
 * Returns the two scripts with the texts of a language: the one that the console loads first, and the one that it loads
 * before it shows a page. The first one names the other.
 * @param code the code that the console loads first. It names the areas of the texts that it needs.
 */
function textScripts(language: Language, code: string): [first: NamedScript, more: NamedScript] {
  const areas = Object.entries(textsOf(language));
  const isFirst = ([area]: (typeof areas)[number]) => new RegExp(`["'\`]${area}\\.`).test(code);
  const script = (name: string, text: string): NamedScript => {
    const content = encode(text);
    const hash = createHash("sha256").update(content).digest("base64url").slice(0, 8);
    return [`${name}-${hash}.js`, content];
  };
  const json = (part: typeof areas) => JSON.stringify(Object.fromEntries(part));
  const rest = areas.filter((area) => !isFirst(area));
  const more = script(`texts-${language}-more`, `Object.assign(consoleTexts,${json(rest)})`);
  const address = JSON.stringify(`/console/assets/${more[0]}`);
  const first = `consoleTexts=${json(areas.filter(isFirst))};moreConsoleTexts=${address}`;
  return [script(`texts-${language}`, first), more];
}

const encode = (text: string) => new TextEncoder().encode(text);
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
  const first = [entry("console.css"), entry("theme.ts"), ...parts].map((name) => basename(name));
  const preloads = parts.filter((name) => name !== main).map((name) => basename(name));
  const named = {
    styles: basename(entry("console.css")),
    theme: basename(entry("theme.ts")),
    main: basename(main),
    preloads,
  };
  const common = result.outputFiles.map(
    (file) => [`console/${basename(file.path)}`, new Uint8Array(file.contents)] as const,
  );
  const code = result.outputFiles
    .filter(({ path }) => first.includes(basename(path)))
    .map(({ text }) => text);
  /** The files that differ by language: the page, its first texts, and its other texts. */
  const byLanguage = LANGUAGES.map((language) => {
    const [[texts, content], [more, others]] = textScripts(language, code.join("\n"));
    const shell = encode(shellOf(language, { ...named, texts }));
    return [
      [shellName(language), shell] as const,
      [`console/${texts}`, content] as const,
      [`console/${more}`, others] as const,
    ] as const;
  });
  const contents = new Map<string, Uint8Array<ArrayBuffer>>([...byLanguage.flat(), ...common]);
  const sum = (names: Iterable<string>) =>
    [...names].reduce((bytes, name) => bytes + zipped(contents.get(name) ?? new Uint8Array()), 0);
  const richText = sum(richTextFiles(outputs).map((name) => `console/${basename(name)}`));
  /** The size of the largest of the files that differ by language. */
  const most = (parts: readonly (0 | 1 | 2)[]) =>
    Math.max(...byLanguage.map((files) => sum(parts.map((part) => files[part][0]))));
  const firstOf = sum(first.map((name) => `console/${name}`)) + most([0, 1]);
  return {
    files: contents,
    sizes: { first: firstOf, richText, all: sum(common.map(([name]) => name)) - richText + most([2]) },
  };
}

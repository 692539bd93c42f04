/** `npm run build:pages` bundles the browser code. A test fails if the output is out of date. */
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

async function text(entry: string, loader: "css" | "ts"): Promise<string> {
  const result = await build({
    entryPoints: [join(root, entry)],
    absWorkingDir: root,
    bundle: loader === "ts",
    minify: true,
    write: false,
    format: loader === "ts" ? "iife" : "esm",
    target: loader === "ts" ? "es2022" : "es2024",
    charset: "utf8",
    legalComments: "none",
    logLevel: "silent",
  });
  return result.outputFiles[0]?.text ?? "";
}

/** Returns the texts of the generated modules by their paths. Equal sources give equal texts. */
export async function renderAssets(): Promise<Record<string, string>> {
  const license = readFileSync(join(root, "node_modules/@simplewebauthn/browser/LICENSE.md"), "utf8");
  const holder = /Copyright.*/.exec(license)?.[0] ?? "";
  const notice = `/* Contains @simplewebauthn/browser, MIT, ${holder.trim()} */\n`;
  const pages = ["signin", "docs"];
  const contents = await Promise.all(
    pages.map(async (page) => ({
      page,
      script: `${page === "signin" ? notice : ""}${await text(`functions/pages/browser/${page}.ts`, "ts")}`,
      style: await text(`functions/pages/${page}.css`, "css"),
    })),
  );
  const hash = (content: string) => createHash("sha256").update(content).digest("base64url").slice(0, 12);
  const files = contents.map(({ page, script, style }) => ({
    page,
    script: { name: `${page}-${hash(script)}.js`, type: "text/javascript; charset=utf-8", content: script },
    style: { name: `${page}-${hash(style)}.css`, type: "text/css; charset=utf-8", content: style },
  }));
  const made =
    "// Made by scripts/build-pages.ts from functions/pages/browser and functions/pages/*.css. Do not edit.";
  const names = [
    made,
    "/** Addresses of each page's files. */",
    "export const files = {",
    ...files.map(({ page, script, style }) => {
      const at = (name: string) => JSON.stringify(`/api/_auth/assets/${name}`);
      return `  ${page}: { script: ${at(script.name)}, style: ${at(style.name)} },`;
    }),
    "} as const;",
    "/** Media types of the files by name. The name holds the content's hash. */",
    "export const types: Readonly<Record<string, string>> = {",
    ...files
      .flatMap(({ script, style }) => [script, style])
      .map(({ name, type }) => `  ${JSON.stringify(name)}: ${JSON.stringify(type)},`),
    "};",
    "",
  ];
  const texts = [
    made,
    "/** Contents of the pages' files by name. */",
    "export const pageFiles: Readonly<Record<string, string>> = {",
    ...files
      .flatMap(({ script, style }) => [script, style])
      .map(({ name, content }) => `  ${JSON.stringify(name)}: ${JSON.stringify(content)},`),
    "};",
    "",
  ];
  return {
    [join(root, "functions/pages/assets.generated.ts")]: names.join("\n"),
    [join(root, "scripts/host/pages.generated.ts")]: texts.join("\n"),
  };
}

if (import.meta.main) {
  for (const [path, content] of Object.entries(await renderAssets())) writeFileSync(path, content);
}

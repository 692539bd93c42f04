/** `npm run build:pages` bundles the browser code. A test fails if the output is out of date. */
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
export const generatedPath = join(root, "functions/pages/assets.generated.ts");

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

/** Returns the module's text. Equal sources give equal text. */
export async function renderAssets(): Promise<string> {
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
  return [
    "// Made by scripts/build-pages.ts from functions/pages/browser and functions/pages/*.css. Do not edit.",
    "/** Addresses of each page's files. */",
    "export const files = {",
    ...files.map(({ page, script, style }) => {
      const at = (name: string) => JSON.stringify(`/api/_auth/assets/${name}`);
      return `  ${page}: { script: ${at(script.name)}, style: ${at(style.name)} },`;
    }),
    "} as const;",
    "/** Files for browsers, by name. The name holds the content's hash. */",
    "export const assets: Readonly<Record<string, { type: string; content: string }>> = {",
    ...files
      .flatMap(({ script, style }) => [script, style])
      .map(({ name, ...file }) => `  ${JSON.stringify(name)}: ${JSON.stringify(file)},`),
    "};",
    "",
  ].join("\n");
}

if (import.meta.main) writeFileSync(generatedPath, await renderAssets());

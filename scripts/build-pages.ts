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
  const script = await text("functions/pages/browser/signin.ts", "ts");
  const style = await text("functions/pages/signin.css", "css");
  const license = readFileSync(join(root, "node_modules/@simplewebauthn/browser/LICENSE.md"), "utf8");
  const holder = /Copyright.*/.exec(license)?.[0] ?? "";
  const withNotice = `/* Contains @simplewebauthn/browser, MIT, ${holder.trim()} */\n${script}`;
  const hash = (content: string) => createHash("sha256").update(content).digest("base64url").slice(0, 12);
  const asset = (name: string, type: string, content: string) =>
    `  ${JSON.stringify(name)}: { type: ${JSON.stringify(type)}, content: ${JSON.stringify(content)} },`;
  const scriptName = `signin-${hash(withNotice)}.js`;
  const styleName = `signin-${hash(style)}.css`;
  return [
    "// Made by scripts/build-pages.ts from functions/pages/browser and signin.css. Do not edit.",
    `export const scriptName = ${JSON.stringify(scriptName)};`,
    `export const styleName = ${JSON.stringify(styleName)};`,
    "/** Files for browsers, by name. The name holds the content's hash. */",
    "export const assets: Readonly<Record<string, { type: string; content: string }>> = {",
    asset(scriptName, "text/javascript; charset=utf-8", withNotice),
    asset(styleName, "text/css; charset=utf-8", style),
    "};",
    "",
  ].join("\n");
}

if (import.meta.main) writeFileSync(generatedPath, await renderAssets());

/** Bundles the browser code and the styles of the web pages (functions/pages). */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

export interface PageFile {
  page: string;
  kind: "script" | "style";
  /** Contains a hash of the content, such as `signin-ABCDEFGHIJKL.js`. */
  name: string;
  type: string;
  content: string;
}

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

const hash = (content: string) => createHash("sha256").update(content).digest("base64url").slice(0, 12);

async function filesOf(page: string, notice: string): Promise<PageFile[]> {
  const script = `${notice}${await text(`functions/pages/browser/${page}.ts`, "ts")}`;
  const style = await text(`functions/pages/${page}.css`, "css");
  return [
    {
      page,
      kind: "script",
      name: `${page}-${hash(script)}.js`,
      type: "text/javascript; charset=utf-8",
      content: script,
    },
    {
      page,
      kind: "style",
      name: `${page}-${hash(style)}.css`,
      type: "text/css; charset=utf-8",
      content: style,
    },
  ];
}

/** Returns the files of all pages. Equal sources give equal files. The caller stops the bundler. */
export async function bundlePages(): Promise<PageFile[]> {
  const license = readFileSync(join(root, "node_modules/@simplewebauthn/browser/LICENSE.md"), "utf8");
  const holder = /Copyright.*/.exec(license)?.[0] ?? "";
  const notice = `/* Contains @simplewebauthn/browser, MIT, ${holder.trim()} */\n`;
  return (await Promise.all([filesOf("signin", notice), filesOf("docs", "")])).flat();
}

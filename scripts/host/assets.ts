/** Static files of the console, and of the page /api/docs (from the package swagger-ui-dist). */
import { createHash } from "node:crypto";
import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { RENDERER_FILES } from "../../functions/pages/docs.ts";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const source = dirname(createRequire(import.meta.url).resolve("swagger-ui-dist/package.json"));

const assetsDir = join(root, ".wrangler/assets");

const read = new Map<string, Promise<{ content: Uint8Array<ArrayBuffer>; tag: string }>>();

async function find(name: string) {
  if (Object.hasOwn(RENDERER_FILES, name)) return load(name);
  if (!name.startsWith("console/")) return undefined;
  // esbuild is large, and most processes never serve the console.
  const { buildConsole } = await import("./console.ts");
  return (await buildConsole()).files.get(name);
}

function load(name: string) {
  let known = read.get(name);
  if (known === undefined) {
    known = (async () => {
      const content = new Uint8Array(await readFile(join(source, name)));
      return { content, tag: `"${createHash("sha256").update(content).digest("base64url").slice(0, 22)}"` };
    })();
    read.set(name, known);
  }
  return known;
}

/** Returns a static file. Its headers are the same as in a deployment to the Workers runtime. */
export async function assetResponse(name: string, ifNoneMatch?: string | null): Promise<Response> {
  const found = await find(name);
  if (found === undefined) return new Response(null, { status: 404 });
  const { content, tag } = found;
  const headers = { etag: tag };
  if (ifNoneMatch === tag) return new Response(null, { status: 304, headers });
  return new Response(content, { headers });
}

/** Writes all static files for a deployment to the Workers runtime. Returns the compressed size of the console. */
export async function writeAssets(): Promise<{ first: number; all: number }> {
  const { buildConsole } = await import("./console.ts");
  const { files, sizes } = await buildConsole();
  rmSync(assetsDir, { recursive: true, force: true });
  mkdirSync(join(assetsDir, "console"), { recursive: true });
  for (const [name, { content }] of files) writeFileSync(join(assetsDir, name), content);
  // Copy the licence texts together with the code.
  for (const name of [
    ...Object.keys(RENDERER_FILES),
    "LICENSE",
    "NOTICE",
    "swagger-ui-bundle.js.LICENSE.txt",
  ]) {
    cpSync(join(source, name), join(assetsDir, name));
  }
  return sizes;
}

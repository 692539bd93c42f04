/** Static files of the page /api/docs, from the package swagger-ui-dist. */
import { createHash } from "node:crypto";
import { cpSync, mkdirSync, rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { RENDERER_FILES } from "../../functions/pages/docs.ts";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const source = dirname(createRequire(import.meta.url).resolve("swagger-ui-dist/package.json"));

const assetsDir = join(root, ".wrangler/assets");

const read = new Map<string, Promise<{ content: Uint8Array<ArrayBuffer>; tag: string }>>();

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
  if (!Object.hasOwn(RENDERER_FILES, name)) return new Response(null, { status: 404 });
  const { content, tag } = await load(name);
  const headers = { etag: tag };
  if (ifNoneMatch === tag) return new Response(null, { status: 304, headers });
  return new Response(content, { headers });
}

export function copyAssets(): void {
  rmSync(assetsDir, { recursive: true, force: true });
  mkdirSync(assetsDir, { recursive: true });
  // Copy the licence texts together with the code.
  for (const name of [
    ...Object.keys(RENDERER_FILES),
    "LICENSE",
    "NOTICE",
    "swagger-ui-bundle.js.LICENSE.txt",
  ]) {
    cpSync(join(source, name), join(assetsDir, name));
  }
}

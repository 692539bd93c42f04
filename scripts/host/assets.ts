/**
 * Serves the static files of the web pages and the console. The package swagger-ui-dist provides the files of
 * /api/docs.
 */
import { createHash } from "node:crypto";
import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { RENDERER_FILES } from "../../functions/pages/docs.ts";
import { pageFiles } from "./pages.generated.ts";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const source = dirname(createRequire(import.meta.url).resolve("swagger-ui-dist/package.json"));

const assetsDir = join(root, ".wrangler/assets");

interface File {
  content: Uint8Array<ArrayBuffer>;
  tag: string;
}

const read = new Map<string, Promise<File>>();

const fileOf = (content: Uint8Array<ArrayBuffer>): File => ({
  content,
  tag: `"${createHash("sha256").update(content).digest("base64url").slice(0, 22)}"`,
});

const pages: ReadonlyMap<string, File> = new Map(
  Object.entries(pageFiles).map(([name, text]) => [`pages/${name}`, fileOf(new TextEncoder().encode(text))]),
);

async function find(name: string) {
  if (Object.hasOwn(RENDERER_FILES, name)) return load(name);
  if (!name.startsWith("console/")) return pages.get(name);
  // Import the bundler only if needed, because it is large and most processes never serve the console.
  const { buildConsole } = await import("./console.ts");
  return (await buildConsole()).files.get(name);
}

function load(name: string) {
  let known = read.get(name);
  if (known === undefined) {
    known = readFile(join(source, name)).then((content) => fileOf(new Uint8Array(content)));
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

/**
 * Writes the bundles of the functions and the image worker, and all static files, for a deployment to the Workers
 * runtime.
 * @returns the compressed sizes of both bundles, of the console's first page, and of all console pages
 */
export async function writeAssets(): Promise<Record<"functions" | "images" | "first" | "all", number>> {
  const { bundleFunctions } = await import("../bundle/bundle.ts");
  const { buildConsole } = await import("./console.ts");
  const { files, sizes } = await buildConsole();
  rmSync(assetsDir, { recursive: true, force: true });
  for (const folder of ["console", "pages"]) mkdirSync(join(assetsDir, folder), { recursive: true });
  for (const [name, { content }] of [...files, ...pages]) writeFileSync(join(assetsDir, name), content);
  // Copy the licence texts together with the code.
  for (const name of [
    ...Object.keys(RENDERER_FILES),
    "LICENSE",
    "NOTICE",
    "swagger-ui-bundle.js.LICENSE.txt",
  ]) {
    cpSync(join(source, name), join(assetsDir, name));
  }
  const bundle = await bundleFunctions();
  writeFileSync(join(root, ".wrangler/worker.js"), bundle);
  return { ...sizes, functions: gzipSync(bundle).length, images: await writeImageWorker() };
}

async function writeImageWorker(): Promise<number> {
  const { bundleImages } = await import("../bundle/images.ts");
  const { code, codecs } = await bundleImages();
  const dir = join(root, ".wrangler/images");
  rmSync(dir, { recursive: true, force: true });
  mkdirSync(dir, { recursive: true });
  const files = [["worker.js", Buffer.from(code)] as const, ...codecs];
  for (const [name, content] of files) writeFileSync(join(dir, name), content);
  return files.reduce((sum, [, content]) => sum + gzipSync(content).length, 0);
}

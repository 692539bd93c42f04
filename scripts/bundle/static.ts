import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { RENDERER_FILES } from "../../functions/pages/docs.ts";
import { bundleConsole, type ConsoleBuild } from "./console.ts";
import { bundleImages } from "./images.ts";
import { bundlePages } from "./pages.ts";

/** The package swagger-ui-dist provides the files of /api/docs. */
const renderer = dirname(createRequire(import.meta.url).resolve("swagger-ui-dist/package.json"));
/** Licence texts, which are copied together with the code. */
const LICENCES = ["LICENSE", "NOTICE", "swagger-ui-bundle.js.LICENSE.txt"];

/**
 * Writes all static files of the web pages and the console into a folder. The caller stops the bundler.
 * @returns the compressed sizes of the console
 */
export async function writeStatic(dir: string): Promise<ConsoleBuild["sizes"]> {
  const [{ files, sizes }, pages] = await Promise.all([bundleConsole(), bundlePages()]);
  for (const folder of ["console", "pages"]) mkdirSync(join(dir, folder), { recursive: true });
  for (const [name, content] of files) writeFileSync(join(dir, name), content);
  for (const { name, content } of pages) writeFileSync(join(dir, "pages", name), content);
  for (const name of [...Object.keys(RENDERER_FILES), ...LICENCES])
    cpSync(join(renderer, name), join(dir, name));
  return sizes;
}

/**
 * Writes the image worker and its codecs into a folder. The caller stops the bundler.
 * @returns their compressed size in bytes
 */
export async function writeImageWorker(dir: string): Promise<number> {
  const { code, codecs } = await bundleImages();
  mkdirSync(dir, { recursive: true });
  const files = [["worker.js", Buffer.from(code)] as const, ...codecs];
  for (const [name, content] of files) writeFileSync(join(dir, name), content);
  return files.reduce((sum, [, content]) => sum + gzipSync(content).length, 0);
}

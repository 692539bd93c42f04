/**
 * Writes the files that a deployment uploads: the bundles of the functions and of the image worker, and the static
 * files of the web pages. Wrangler runs this script first. Exits with 1 if a size exceeds its limit.
 */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { stop } from "esbuild";
import { bundleConversions, bundleFunctions, CONVERSIONS } from "./bundle/bundle.ts";
import { writeImageWorker, writeStatic } from "./bundle/static.ts";

/**
 * Maximum compressed bytes of the functions, of the module that they import for conversions of rich text, of the image
 * worker with its codecs, of the files that the console loads first (`first`), of the editor of rich text (`richText`),
 * and of all other files of the console (`all`).
 */
const LIMITS = {
  functions: 896 * 1024,
  conversions: 80 * 1024,
  images: 360 * 1024,
  first: 82 * 1024,
  richText: 90 * 1024,
  all: 340 * 1024,
} as const;
const NAMES = {
  functions: "Functions",
  conversions: "Functions, conversions of rich text",
  images: "Image worker",
  first: "Console, first page",
  richText: "Console, editor of rich text",
  all: "Console, all other files",
} as const;

const out = join(dirname(dirname(fileURLToPath(import.meta.url))), ".wrangler");
for (const folder of ["assets", "functions", "images"])
  rmSync(join(out, folder), { recursive: true, force: true });
const shown = await writeStatic(join(out, "assets"));
const images = await writeImageWorker(join(out, "images"));
const [bundle, conversions] = await Promise.all([bundleFunctions(), bundleConversions()]);
mkdirSync(join(out, "functions"), { recursive: true });
writeFileSync(join(out, "functions/worker.js"), bundle);
writeFileSync(join(out, "functions", CONVERSIONS), conversions);
await stop();
const zipped = (code: string) => gzipSync(code).length;
const sizes = { ...shown, images, functions: zipped(bundle), conversions: zipped(conversions) };
const kib = (bytes: number) => `${(bytes / 1024).toFixed(1)} KiB`;
for (const part of Object.keys(LIMITS) as (keyof typeof LIMITS)[]) {
  const fits = sizes[part] <= LIMITS[part];
  console.log(`${NAMES[part]}: ${kib(sizes[part])} of ${kib(LIMITS[part])}${fits ? "" : ": too large"}`);
  if (!fits) process.exitCode = 1;
}

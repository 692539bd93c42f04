/**
 * Writes the files that a deployment uploads: the bundles of the functions and of the image worker, and the static
 * files of the web pages. Wrangler runs this script first. Exits with 1 if a size exceeds its limit.
 */
import { writeAssets } from "./host/assets.ts";

/**
 * Maximum compressed bytes of the functions, of the image worker with its codecs, of the files that the console loads
 * first (`first`), and of all its files (`all`).
 */
const LIMITS = { functions: 400 * 1024, images: 360 * 1024, first: 80 * 1024, all: 150 * 1024 } as const;
const NAMES = {
  functions: "Functions",
  images: "Image worker",
  first: "Console, first page",
  all: "Console, all files",
} as const;

const sizes = await writeAssets();
const kib = (bytes: number) => `${(bytes / 1024).toFixed(1)} KiB`;
for (const part of ["functions", "images", "first", "all"] as const) {
  const fits = sizes[part] <= LIMITS[part];
  console.log(`${NAMES[part]}: ${kib(sizes[part])} of ${kib(LIMITS[part])}${fits ? "" : ": too large"}`);
  if (!fits) process.exitCode = 1;
}

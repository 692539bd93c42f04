/**
 * Writes what a deployment uploads: the bundle of the functions, and the static files of the web pages. Wrangler starts
 * this script first. Exits with 1 if the functions or the console have become too large.
 */
import { writeAssets } from "./host/assets.ts";

/** Maximum compressed bytes: of the functions, of the console's first page (`first`), and of all its pages (`all`). */
const LIMITS = { functions: 440 * 1024, first: 80 * 1024, all: 150 * 1024 } as const;
const NAMES = { functions: "Functions", first: "Console, first page", all: "Console, all files" } as const;

const sizes = await writeAssets();
const kib = (bytes: number) => `${(bytes / 1024).toFixed(1)} KiB`;
for (const part of ["functions", "first", "all"] as const) {
  const fits = sizes[part] <= LIMITS[part];
  console.log(`${NAMES[part]}: ${kib(sizes[part])} of ${kib(LIMITS[part])}${fits ? "" : ": too large"}`);
  if (!fits) process.exitCode = 1;
}

/**
 * Writes the static files of the web pages. wrangler starts this script before it bundles the code. Exits with 1 if the
 * console has become too large.
 */
import { writeAssets } from "./host/assets.ts";

/** Most bytes, compressed with gzip, that a browser loads for the first page of the console, and for all its pages. */
const LIMITS = { first: 80 * 1024, all: 150 * 1024 } as const;

const sizes = await writeAssets();
const kib = (bytes: number) => `${(bytes / 1024).toFixed(1)} KiB`;
for (const part of ["first", "all"] as const) {
  const name = part === "first" ? "first page" : "all files";
  const fits = sizes[part] <= LIMITS[part];
  console.log(`Console, ${name}: ${kib(sizes[part])} of ${kib(LIMITS[part])}${fits ? "" : ": too large"}`);
  if (!fits) process.exitCode = 1;
}

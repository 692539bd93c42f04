/** `npm run check`: format, lint (including import directions), types, the texts of all languages, and completeness of the lock file. */
import { availableParallelism } from "node:os";
import { writeLayers } from "./tools/layers.ts";
import { checkTexts } from "./tools/texts.ts";
import { runTool } from "./tools/tool.ts";

const lock = runTool("../scripts/complete-lock.mjs", ["--check"]);
writeLayers();
const texts = checkTexts();
const lint = runTool("@biomejs/biome/bin/biome", ["check", ...process.argv.slice(2)]);
// Checkers that work at the same time repeat a part of each other's work, so several are faster only on many processors.
const options = ["--noEmit", ...(availableParallelism() > 2 ? [] : ["--checkers", "1"])];
const types = runTool("typescript/bin/tsc", [...options, "-p", "."]);
// Browser code uses another type library, so it has its own type checks.
const browser = ["functions/pages/browser", "functions/console", "shared/site"].map((folder) =>
  runTool("typescript/bin/tsc", [...options, "-p", folder]),
);
process.exit(Math.max(lock, texts, lint, types, ...browser));

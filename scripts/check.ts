/** `npm run check`: format, lint (with the direction of imports), types, and whether the lock file is whole. */
import { runTool } from "./tool.ts";

const lock = runTool("../scripts/complete-lock.mjs", ["--check"]);
const lint = runTool("@biomejs/biome/bin/biome", ["check", ...process.argv.slice(2)]);
const types = runTool("typescript/bin/tsc", ["--noEmit", "-p", "."]);
// What runs in browsers has another library of types.
const pages = runTool("typescript/bin/tsc", ["--noEmit", "-p", "functions/pages/browser"]);
process.exit(Math.max(lock, lint, types, pages));

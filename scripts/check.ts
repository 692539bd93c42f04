/** `npm run check`: format, lint (with the direction of imports) and types. */
import { runTool } from "./tool.ts";

const lint = runTool("@biomejs/biome/bin/biome", ["check", ...process.argv.slice(2)]);
const types = runTool("typescript/bin/tsc", ["--noEmit", "-p", "."]);
process.exit(lint === 0 ? types : lint);

/** `npm run deploy [-- wrangler arguments]` deploys to the Workers runtime with wrangler.toml. */
import { runTool } from "./tools/tool.ts";

const quiet = { WRANGLER_SEND_METRICS: "false", WRANGLER_SEND_ERROR_REPORTS: "false", DO_NOT_TRACK: "1" };
process.exit(runTool("wrangler/bin/wrangler.js", ["deploy", ...process.argv.slice(2)], quiet));

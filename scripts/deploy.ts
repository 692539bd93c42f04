/**
 * `npm run deploy [-- wrangler arguments]` deploys to the Workers runtime with wrangler.toml. If wrangler.toml binds
 * the image worker, deploys the image worker first: Wrangler cannot bind a Worker that does not exist yet.
 */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { runTool } from "./tools/tool.ts";

const quiet = { WRANGLER_SEND_METRICS: "false", WRANGLER_SEND_ERROR_REPORTS: "false", DO_NOT_TRACK: "1" };
const IMAGES = "functions/images/wrangler.toml";

function deploy(args: readonly string[]): void {
  const status = runTool("wrangler/bin/wrangler.js", ["deploy", ...args], quiet);
  if (status !== 0) process.exit(status);
}

/**
 * Returns wrangler's arguments for the image worker: those of the user, but with the image worker's own configuration
 * and folder.
 */
function forImages(args: readonly string[]): string[] {
  const others = args.filter((arg, at) => !isConfig(arg) && !/^(-c|--config)$/.test(args[at - 1] ?? ""));
  const kept = others.map((arg, at) =>
    others[at - 1] === "--outdir" || arg.startsWith("--outdir=") ? `${arg}/images` : arg,
  );
  return [...kept, "--config", IMAGES];
}

const isConfig = (arg: string) => /^(-c|--config)(=|$)/.test(arg);

const args = process.argv.slice(2);
const at = args.findIndex(isConfig);
const config = at < 0 ? "wrangler.toml" : (args[at]?.split("=")[1] ?? args[at + 1] ?? "");
const settings = readFileSync(resolve(fileURLToPath(new URL("..", import.meta.url)), config), "utf8");
if (/^binding\s*=\s*"IMAGES"/m.test(settings)) deploy(forImages(args));
deploy(args);

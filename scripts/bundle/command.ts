/** Bundles the command `orb`. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Writes the command `orb` and all that it needs into one file. */
export async function bundleCommand(outfile: string): Promise<void> {
  await build({
    entryPoints: [join(root, "scripts/cli/orb.ts")],
    outfile,
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    logLevel: "error",
    // yargs lays out a help text before each command. Its packages have three copies of this one. Only the newest
    // measures plain text without compiling large patterns, which take an eighth of the time of a short command.
    alias: { "string-width": join(root, "node_modules/string-width/index.js") },
  });
}

/**
 * `npm pack` runs this to build the client and the command line in `dist`. Dependencies are bundled, so that the npm
 * package has none.
 */
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { bundleCommand } from "../bundle/command.ts";
import { runTool } from "../tools/tool.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const dist = join(root, "dist");

rmSync(dist, { recursive: true, force: true });
mkdirSync(dist, { recursive: true });
/** What sites and applications import, with the folder of its sources. */
const ENTRIES = { client: "shared/client", preview: "shared/site" };

for (const [name, folder] of Object.entries(ENTRIES))
  await build({
    entryPoints: [join(root, folder, "index.ts")],
    outfile: join(dist, `${name}.js`),
    bundle: true,
    format: "esm",
    target: "es2022",
  });
await bundleCommand(join(dist, "orb.js"));
chmodSync(join(dist, "orb.js"), 0o755);
let failed = 0;
for (const [name, folder] of Object.entries(ENTRIES)) {
  const types = join(dist, "types", name);
  failed ||= runTool("typescript/bin/tsc", ["-p", folder, "--outDir", types]);
  // The package contains no `.ts` files, but its type declarations import `./x.ts`. Change these imports to `.js`.
  for (const file of readdirSync(types)) {
    const path = join(types, file);
    writeFileSync(path, readFileSync(path, "utf8").replaceAll(/from "(\.\/[\w-]+)\.ts"/g, 'from "$1.js"'));
  }
}
process.exit(failed);

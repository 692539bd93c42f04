/**
 * `npm run build:package` builds the npm package of the client and the command line in `dist`, and packs it there.
 * Dependencies are bundled, so the package itself has none. `npm pack` in the root folder cannot do this, because the
 * package would have the dependencies of the platform.
 */
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { runTool } from "../tools/tool.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const dist = join(root, "dist");
const { name, version, license } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as Record<
  string,
  string
>;

rmSync(dist, { recursive: true, force: true });
mkdirSync(dist, { recursive: true });
await build({
  entryPoints: [join(root, "shared/client/index.ts")],
  outfile: join(dist, "client.js"),
  bundle: true,
  format: "esm",
  target: "es2022",
});
await build({
  entryPoints: [join(root, "scripts/cli/orb.ts")],
  outfile: join(dist, "orb.js"),
  bundle: true,
  platform: "node",
  format: "esm",
  target: "node20",
});
chmodSync(join(dist, "orb.js"), 0o755);
const types = runTool("typescript/bin/tsc", ["-p", "shared/client", "--outDir", join(dist, "types")]);
// The emitted declarations still import `./x.ts`, but those files are not part of the package. Rewrite the specifiers
// to `.js`.
for (const file of readdirSync(join(dist, "types"))) {
  const path = join(dist, "types", file);
  writeFileSync(path, readFileSync(path, "utf8").replaceAll(/from "(\.\/[\w-]+)\.ts"/g, 'from "$1.js"'));
}
copyFileSync(join(root, "LICENSE"), join(dist, "LICENSE"));
copyFileSync(join(root, "docs/guides/typed-client.md"), join(dist, "README.md"));
const manifest = {
  name,
  version,
  license,
  // npm refuses to publish a private package.
  private: true,
  type: "module",
  description: "Client and command line of the composable application platform",
  engines: { node: ">=20.19" },
  exports: { "./client": { types: "./types/index.d.ts", default: "./client.js" } },
  bin: { orb: "./orb.js" },
};
writeFileSync(join(dist, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
if (types !== 0) process.exit(types);
const packed = spawnSync("npm", ["pack", "--silent"], { cwd: dist, encoding: "utf8" });
if (packed.status === 0) console.log(`Packed dist/${packed.stdout.trim()}`);
else console.error(`npm pack failed: ${packed.stderr.trim()}`);
process.exit(packed.status ?? 1);

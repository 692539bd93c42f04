/**
 * Builds everything that a platform runs and serves, before it starts. Its processes then need no file of the checkout,
 * so an update of the checkout does not mix versions. A program in one file also needs a third less memory than one
 * that Node loads from the sources.
 */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, stop } from "esbuild";
import { bundleConversions, bundleFunctions } from "./bundle.ts";
import { programsIn } from "./layout.ts";
import { writeImageWorker, writeStatic } from "./static.ts";

const scripts = dirname(dirname(fileURLToPath(import.meta.url)));

/** What serves the API: workerd, or the long-lived Node host. */
export type Target = "workerd" | "node";

/** Sources of the programs by name, in scripts/. */
const SHARED = { "platform-streams": "streams.ts", "platform-hooks": "hooks/main.ts" } as const;
const ENTRIES: Readonly<Record<Target, Readonly<Record<string, string>>>> = {
  workerd: SHARED,
  node: { ...SHARED, "platform-host": "host/serve.ts", "platform-images": "images/thread.ts" },
};

async function bundlePrograms(dir: string, entries: Readonly<Record<string, string>>): Promise<void> {
  await build({
    entryPoints: Object.fromEntries(
      Object.entries(entries).map(([name, path]) => [name, join(scripts, path)]),
    ),
    absWorkingDir: dirname(scripts),
    outdir: dir,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    minify: true,
    format: "esm",
    platform: "node",
    target: "node24",
    loader: { ".txt": "text", ".html": "text", ".css": "text", ".svg": "text" },
    // CommonJS packages in the bundle need `require` for the modules of Node, which ES modules lack.
    banner: {
      js: 'import { createRequire as requireFrom } from "node:module"; const require = requireFrom(import.meta.url);',
    },
    logLevel: "silent",
  });
}

/** Writes everything that the targets need into an empty folder. See {@link programsIn} for the paths. */
export async function buildPrograms(dir: string, targets: readonly Target[]): Promise<void> {
  const paths = programsIn(dir);
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  const entries = Object.assign({}, ...targets.map((target) => ENTRIES[target])) as Record<string, string>;
  try {
    await Promise.all([
      bundlePrograms(dir, entries),
      writeStatic(paths.assets),
      writeImageWorker(paths.images),
      ...(targets.includes("workerd")
        ? [
            bundleFunctions().then((code) => writeFileSync(paths.functions, code)),
            bundleConversions().then((code) => writeFileSync(paths.conversions, code)),
          ]
        : []),
    ]);
  } catch (error) {
    rmSync(dir, { recursive: true, force: true });
    throw error;
  } finally {
    // The bundler needs as much memory as a host, so stop it.
    await stop();
  }
}

import { readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, type Plugin, stop } from "esbuild";
import { minify } from "rolldown/experimental";
import { slim } from "./slim.ts";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** Keeps imports of modules that the runtime provides, instead of adding these modules to the bundle. */
const runtimeModules: Plugin = {
  name: "runtime-modules",
  setup(builder) {
    builder.onResolve({ filter: /^(node|cloudflare|workerd):/ }, ({ path }) => ({ path, external: true }));
    builder.onResolve({ filter: /^[a-z_]+(\/[a-z_]+)*$/ }, ({ path }) =>
      isBuiltin(path) ? { path: `node:${path}`, external: true } : undefined,
    );
  },
};

/** Bundles the functions into one module. Deployments, Node hosts and tests run the same module. */
export async function bundleFunctions(entry = join(root, "functions/worker.ts")): Promise<string> {
  const result = await build({
    entryPoints: [entry],
    absWorkingDir: root,
    bundle: true,
    write: false,
    format: "esm",
    target: "es2024",
    platform: "neutral",
    conditions: ["workerd", "worker", "browser"],
    mainFields: ["browser", "module", "main"],
    loader: { ".txt": "text", ".html": "text", ".css": "text", ".svg": "text" },
    plugins: [runtimeModules, ...slim],
    // With this option, esbuild removes unused code. The minifier below does the rest, because its output is smaller.
    minifySyntax: true,
    logLevel: "silent",
  }).finally(stop);
  const output = result.outputFiles[0];
  if (output === undefined) throw new Error("esbuild gave no output");
  // Shorten names, too: a smaller bundle starts faster and takes less memory.
  const small = await minify("worker.js", output.text, {
    module: true,
    compress: { target: "es2024" },
    mangle: true,
  });
  const [fault] = small.errors;
  if (fault !== undefined) throw new Error(`The bundle cannot be minified: ${fault.message}`);
  return small.code;
}

/** Returns the compatibility settings in wrangler.toml, which is their only source. */
export function compatibility(): { compatibilityDate: string; compatibilityFlags: string[] } {
  const text = readFileSync(join(root, "wrangler.toml"), "utf8");
  const date = /^compatibility_date\s*=\s*"([^"]+)"/m.exec(text)?.[1];
  const flags = /^compatibility_flags\s*=\s*(\[[^\]]*\])/m.exec(text)?.[1];
  if (date === undefined || flags === undefined)
    throw new Error("wrangler.toml states no compatibility date and flags");
  return { compatibilityDate: date, compatibilityFlags: JSON.parse(flags) as string[] };
}

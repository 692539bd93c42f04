import { readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, type Plugin } from "esbuild";
import { minify } from "rolldown/experimental";

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

/** Name of the module with the conversions of rich text, which the functions import when a request needs them. */
export const CONVERSIONS = "rich-text.js";

/** Keeps the import of the conversions, which are a module of their own. */
const conversions: Plugin = {
  name: "conversions",
  setup(builder) {
    builder.onResolve({ filter: /\/rich\/index\.ts$/ }, ({ kind }) =>
      kind === "dynamic-import" ? { path: `./${CONVERSIONS}`, external: true } : undefined,
    );
  },
};

/**
 * Bundles the functions into one module, without the conversions of rich text. Deployments, `npm start` and tests run
 * the same module. The caller stops the bundler.
 */
export function bundleFunctions(entry = join(root, "functions/worker.ts")): Promise<string> {
  return bundled(entry, [runtimeModules, conversions]);
}

/** Bundles the conversions of rich text. The caller stops the bundler. */
export function bundleConversions(): Promise<string> {
  return bundled(join(root, "shared/rich/index.ts"), [runtimeModules]);
}

async function bundled(entry: string, plugins: Plugin[]): Promise<string> {
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
    plugins,
    // With this option, esbuild removes unused code. The minifier below does the rest, because its output is smaller.
    minifySyntax: true,
    logLevel: "silent",
  });
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

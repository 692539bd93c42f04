/**
 * esbuild plugin that makes the bundle of `functions/` smaller. It removes the parts of zod that the source files in
 * `functions/` and `shared/` do not use.
 */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Plugin } from "esbuild";
import * as all from "zod";
import { replaced, withoutMembers } from "./members.ts";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** Packages that call methods of zod's schemas. */
const PACKAGES = ["@asteasolutions/zod-to-openapi", "@hono/zod-openapi", "@hono/zod-validator"];

/** Returns the source text of all modules in `functions/` and `shared/`. */
function sourcesInUse(): string {
  return ["functions", "shared"]
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
        .filter((file) => file.endsWith(".ts"))
        .map((file) => readFileSync(join(root, folder, file), "utf8")),
    )
    .join("\n");
}

const namesIn = (text: string, pattern: RegExp) =>
  new Set([...text.matchAll(pattern)].map(([, name = ""]) => name));

/**
 * Returns the members of `z` that the sources use. Members that only comments name are included too, which does no
 * harm.
 */
function membersInUse(sources: string): string[] {
  // Skip `z.input<…>` and `z.output<…>`, because these are types and not members.
  const names = namesIn(sources, /\bz\s*\.(?!(?:in|out)put<)([A-Za-z]\w*)/g);
  // The package `@hono/zod-openapi` needs this class.
  names.add("ZodType");
  return [...names].filter((name) => name in all).sort();
}

/** Removes the conversion to JSON Schema, and the methods that nothing calls, from the source of zod's schemas. */
function reduceSchemas(schemas: string, sources: string): string {
  const packages = PACKAGES.map((name) =>
    readFileSync(join(root, "node_modules", name, "dist/index.mjs"), "utf8"),
  );
  const called = namesIn([sources, ...packages].join("\n"), /\.\s*([A-Za-z_]\w*)/g);
  const own = namesIn(schemas, /\b(?:inst|schema|this)\.([A-Za-z_]\w*)/g);
  const isUnused = (name: string, isMethod: boolean) =>
    isMethod ? !called.has(name) && !own.has(name) : name === "jsonSchema" || name === "processJSONSchema";
  // The bundler keeps all members of a namespace that another module exports. So import the namespace directly.
  const exported = 'import { util } from "../core/index.js";';
  const text = replaced(
    withoutMembers(schemas, isUnused),
    exported,
    'import * as util from "../core/util.js";',
  );
  return replaced(text, "core.util.", "util.");
}

/**
 * zod exports `z` as one object with all its features, and esbuild cannot remove unused ones. This module exports
 * only the features in use.
 */
export const zod: Plugin = {
  name: "zod",
  setup(builder) {
    const sources = sourcesInUse();
    builder.onResolve({ filter: /^zod$/ }, () => ({ path: "zod", namespace: "zod", sideEffects: false }));
    builder.onLoad({ filter: /.*/, namespace: "zod" }, () => {
      const members = membersInUse(sources).map((name) => `${name}: all.${name}`);
      return {
        contents: `import * as all from "./v4/classic/external.js";\nexport const z = { ${members.join(", ")} };`,
        resolveDir: join(root, "node_modules/zod"),
      };
    });
    builder.onLoad({ filter: /[\\/]zod[\\/]v4[\\/]classic[\\/]schemas\.js$/ }, ({ path }) => ({
      contents: reduceSchemas(readFileSync(path, "utf8"), sources),
    }));
  },
};

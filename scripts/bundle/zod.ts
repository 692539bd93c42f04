/** Reduces zod to the parts that the functions use. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Plugin } from "esbuild";
import * as all from "zod";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/**
 * Returns the members of `z` that the sources use. Members that only comments name are included too, which does no
 * harm.
 */
function membersInUse(): string[] {
  // The package `@hono/zod-openapi` needs this class.
  const names = new Set(["ZodType"]);
  for (const folder of ["functions", "shared"]) {
    for (const file of readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })) {
      if (!file.endsWith(".ts")) continue;
      const source = readFileSync(join(root, folder, file), "utf8");
      for (const [, name = ""] of source.matchAll(/\bz\s*\.([A-Za-z]\w*)/g)) names.add(name);
    }
  }
  return [...names].filter((name) => name in all).sort();
}

/**
 * zod exports `z` as one object with all its features, and esbuild cannot remove unused ones. This module exports
 * only the features in use.
 */
export const zod: Plugin = {
  name: "zod",
  setup(builder) {
    builder.onResolve({ filter: /^zod$/ }, () => ({ path: "zod", namespace: "zod", sideEffects: false }));
    builder.onLoad({ filter: /.*/, namespace: "zod" }, () => {
      const members = membersInUse().map((name) => `${name}: all.${name}`);
      return {
        contents: `import * as all from "./v4/classic/external.js";\nexport const z = { ${members.join(", ")} };`,
        resolveDir: join(root, "node_modules/zod"),
      };
    });
  },
};

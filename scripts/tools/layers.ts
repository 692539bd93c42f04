/** The linter's rules for imports, made from the list in `layers.txt`. */
import { readFileSync, writeFileSync } from "node:fs";
import { posix } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** One ban of the linter's rule `noRestrictedImports`: patterns as in a .gitignore file, and what to tell. */
interface Ban {
  group: string[];
  message: string;
}

const NO_BROKER: Ban = {
  group: ["nats", "nats.ws", "@nats-io/*"],
  message: "Only shared/store talks to the broker. Call a verb in shared/.",
};
const NO_NODE: Ban = {
  group: ["node:*"],
  message:
    "Code in shared/ runs on every runtime. Use a web standard API, or take a dependency from the host.",
};
const NO_HTTP: Ban = {
  group: ["hono", "hono/*", "@hono/*"],
  message: "Code in shared/ knows no HTTP. Put HTTP into functions/.",
};
const BROWSER_ONLY: Ban = {
  group: ["node:*", "hono", "hono/*", "@hono/*", "zod", "nats", "nats.ws", "@nats-io/*"],
  message:
    "The console runs in browsers. It may use preact, @preact/signals, wouter-preact, lucide and prosemirror-*.",
};

/** Returns the bans of packages for a folder. */
function packageBans(folder: string): Ban[] {
  const isIn = (parent: string) => folder === parent || folder.startsWith(`${parent}/`);
  if (isIn("functions/console")) return [BROWSER_ONLY];
  if (isIn("functions")) return [NO_BROKER];
  if (isIn("shared/store")) return [NO_NODE, NO_HTTP];
  if (isIn("shared")) return [NO_NODE, NO_HTTP, NO_BROKER];
  return [];
}

/** Returns the folders that each folder may import, as `layers.txt` lists them. */
export function readLayers(): Map<string, string[]> {
  const lines = readFileSync(posix.join(root, "scripts/tools/layers.txt"), "utf8").split("\n");
  return new Map(
    lines
      .filter((line) => line !== "" && !line.startsWith("#"))
      .map((line) => {
        const [folder = "", targets = ""] = line.split(":");
        return [folder, targets.split(" ").filter((target) => target !== "")];
      }),
  );
}

/**
 * Returns whether other folders may import only the `index.ts` of a folder, its surface. Each folder below a folder of
 * `shared/` has one.
 */
export const hasSurface = (folder: string): boolean => /^shared\/[^/]+\//.test(folder);

/** Returns the linter's override for one folder. */
function override(folder: string, targets: readonly string[]) {
  const extensions = folder.startsWith("functions/console")
    ? ["ts", "tsx", "json"]
    : folder.startsWith("functions/pages")
      ? ["ts", "json"]
      : ["ts"];
  const allowed = [folder, ...targets].flatMap((target) => {
    const path = posix.relative(folder, target);
    const relative = path === "" ? "." : path.startsWith("..") ? path : `./${path}`;
    if (target !== folder && hasSurface(target)) return [`!${relative}/index.ts`];
    return extensions.map((extension) => `!${relative}/*.${extension}`);
  });
  const names = targets.length === 0 ? "nothing outside itself" : `only ${targets.join(", ")}`;
  const folders: Ban = {
    group: ["./**", "../**", ...allowed],
    message: `${folder} may import ${names}, and of a folder below shared/*/ only its index.ts. Move the code, pass it in as a dependency, export it there, or edit scripts/tools/layers.txt.`,
  };
  const patterns = [folders, ...packageBans(folder)];
  const noRestrictedImports = { level: "error", options: { patterns } };
  return { includes: [`${folder}/*`], linter: { rules: { style: { noRestrictedImports } } } };
}

/** Writes `biome.layers.json`, which `biome.json` extends. */
export function writeLayers(): void {
  const overrides = [...readLayers()].map(([folder, targets]) => override(folder, targets));
  writeFileSync(posix.join(root, "biome.layers.json"), `${JSON.stringify({ overrides }, null, 2)}\n`);
}

import { readdirSync, readFileSync } from "node:fs";
import { dirname, posix } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const MAX_FILES = 18;
const MAX_LINES = 300;
/** Made by a tool, or copied by users as one piece. */
const WITHOUT_LIMIT = ["scripts/host/pages.generated.ts"];
/** Code of browsers and of other services: each has rules of its own. */
const WITHOUT_LAYER = ["functions/pages/browser", "scripts/examples"];

const sources = ["functions", "shared", "scripts"].flatMap((top) =>
  readdirSync(posix.join(root, top), { recursive: true, encoding: "utf8" })
    .map((path) => posix.join(top, path))
    .filter((path) => /\.(tsx?|mjs)$/.test(path)),
);
const texts = new Map(sources.map((path) => [path, readFileSync(posix.join(root, path), "utf8")]));

/** Returns the specifiers of all static imports, exports and literal `import()` calls in a source. */
function specifiersIn(text: string): string[] {
  const statement = /^(?:import|export)\b(?:[^;"'`]*?\bfrom)?\s*["']([^"'\n]+)["']/gm;
  const call = /\bimport\(\s*["']([^"'\n]+)["']/g;
  return [...text.matchAll(statement), ...text.matchAll(call)].map((match) => match[1] ?? "");
}

const packages = new Map<string, string[]>();
const imports = new Map<string, string[]>();
for (const [path, text] of texts) {
  const all = specifiersIn(text);
  const own = all.filter((one) => one.startsWith(".")).map((one) => posix.join(dirname(path), one));
  imports.set(
    path,
    own.filter((one) => texts.has(one)),
  );
  packages.set(
    path,
    all.filter((one) => !one.startsWith(".")),
  );
}

const folders = new Map<string, Set<string>>();
for (const [path, all] of imports) {
  const targets = folders.get(dirname(path)) ?? new Set();
  folders.set(dirname(path), targets);
  for (const one of all) if (dirname(one) !== dirname(path)) targets.add(dirname(one));
}

/** Returns one path through each cycle that a walk over the graph meets. */
function cyclesIn(graph: ReadonlyMap<string, Iterable<string>>): string[] {
  const finished = new Set<string>();
  const cycles: string[] = [];
  const visit = (node: string, way: readonly string[]) => {
    const start = way.indexOf(node);
    if (start >= 0) cycles.push([...way.slice(start), node].join(" → "));
    if (start >= 0 || finished.has(node)) return;
    for (const next of graph.get(node) ?? []) visit(next, [...way, node]);
    finished.add(node);
  };
  for (const node of graph.keys()) visit(node, []);
  return cycles;
}

interface Layers {
  overrides: {
    includes: string[];
    linter: { rules: { style: { noRestrictedImports: { options: { patterns: { group: string[] }[] } } } } };
  }[];
}

/** The folders that each folder may import, as the linter has them. */
function readLayers(): Map<string, string[]> {
  const { overrides } = JSON.parse(readFileSync(posix.join(root, "biome.layers.json"), "utf8")) as Layers;
  return new Map(
    overrides.map(({ includes: [include = ""], linter }) => {
      const folder = dirname(include);
      const groups = linter.rules.style.noRestrictedImports.options.patterns.flatMap(({ group }) => group);
      const allowed = groups.filter((one) => one.startsWith("!"));
      const targets = allowed.map((one) => posix.join(folder, dirname(one.slice(1))));
      return [folder, targets.filter((target) => target !== folder)];
    }),
  );
}

it("finds imports, so that the other tests of imports do not pass without checking any", () => {
  const found = (path: string) => imports.get(path)?.length ?? 0;
  expect(found("functions/app.ts")).toBeGreaterThan(20);
  expect(found("shared/entry/write/commit.ts")).toBeGreaterThan(4);
});

it("has no import cycle between files", () => {
  expect(cyclesIn(imports)).toEqual([]);
});

it("has no import cycle between folders", () => {
  expect(cyclesIn(folders)).toEqual([]);
});

it("imports only files that exist", () => {
  const missing = [...texts].flatMap(([path, text]) =>
    specifiersIn(text)
      .filter((one) => /^\.{1,2}\/.*\.(tsx?|mjs)$/.test(one) && !texts.has(posix.join(dirname(path), one)))
      .map((one) => `${path}: ${one}`),
  );
  expect(missing).toEqual([]);
});

it("imports only folders that biome.layers.json allows", () => {
  const layers = readLayers();
  const refused = [...folders].flatMap(([folder, targets]) =>
    [...targets]
      .filter((target) => !WITHOUT_LAYER.includes(folder) && layers.get(folder)?.includes(target) !== true)
      .map((target) => `${folder} → ${target}`),
  );
  expect(refused).toEqual([]);
});

it("names every folder in biome.layers.json, and no folder that is gone", () => {
  const named = [...folders.keys()].filter((folder) => !WITHOUT_LAYER.includes(folder));
  expect([...readLayers().keys()].toSorted()).toEqual(named.toSorted());
});

it("allows no folder an import that would close a cycle", () => {
  expect(cyclesIn(readLayers())).toEqual([]);
});

it("imports nats.ws in shared/store only", () => {
  const importers = sources.filter((path) =>
    packages.get(path)?.some((one) => /^(nats|@nats-io)\b/.test(one)),
  );
  const allowed = /^shared\/store\/|^scripts\/(bench|examples)\//;
  expect(importers.filter((path) => !allowed.test(path))).toEqual([]);
});

it("names no stream, bucket or subject in functions/", () => {
  const named = [...imports].filter(
    ([path, all]) =>
      path.startsWith("functions/") &&
      dirname(path) !== "functions" &&
      all.some((one) => /^shared\/store\/(?!(types|errors)\.ts$)/.test(one)),
  );
  expect(named.map(([path]) => path)).toEqual([]);
});

it(`holds at most ${MAX_FILES} source files in a folder`, () => {
  const counts = Map.groupBy(sources, (path) => dirname(path));
  const full = [...counts].filter(([, files]) => files.length > MAX_FILES);
  expect(full.map(([folder, files]) => `${folder}: ${files.length}`)).toEqual([]);
});

it(`holds at most ${MAX_LINES} lines in a source file`, () => {
  const lines = (path: string) => texts.get(path)?.trimEnd().split("\n").length ?? 0;
  const long = sources.filter((path) => !WITHOUT_LIMIT.includes(path) && lines(path) > MAX_LINES);
  expect(long.map((path) => `${path}: ${lines(path)}`)).toEqual([]);
});

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, posix } from "node:path";
import { fileURLToPath } from "node:url";
import { ts } from "@ts-morph/common";
import { expect, it } from "vitest";
import { hasSurface, readLayers } from "../../scripts/tools/layers.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const MAX_FILES = 18;
const MAX_LINES = 500;
const MAX_FUNCTION = 80;
/** Code of browsers and of other services: each has rules of its own. */
const WITHOUT_LAYER = ["functions/pages/browser", "scripts/examples", "scripts/examples/sites/plain"];

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
      .filter((one) => /^\.{1,2}\/.*\.(tsx?|mjs)$/.test(one))
      .filter((one) => !existsSync(posix.join(root, dirname(path), one)))
      .map((one) => `${path}: ${one}`),
  );
  expect(missing).toEqual([]);
});

it("imports only folders that scripts/tools/layers.txt allows", () => {
  const layers = readLayers();
  const refused = [...folders].flatMap(([folder, targets]) =>
    [...targets]
      .filter((target) => !WITHOUT_LAYER.includes(folder) && layers.get(folder)?.includes(target) !== true)
      .map((target) => `${folder} → ${target}`),
  );
  expect(refused).toEqual([]);
});

it("imports the folders below shared/*/ only through their index.ts", () => {
  const past = [...imports].flatMap(([path, all]) =>
    all
      .filter((one) => dirname(one) !== dirname(path) && hasSurface(dirname(one)))
      .filter((one) => posix.basename(one) !== "index.ts")
      .map((one) => `${path}: ${one}`),
  );
  expect(past).toEqual([]);
});

it("allows no folder an import that it does not need", () => {
  const needed = new Set<string>();
  for (const [path, text] of texts)
    for (const one of specifiersIn(text))
      needed.add(`${dirname(path)} → ${dirname(posix.join(dirname(path), one))}`);
  const unused = [...readLayers()]
    .flatMap(([folder, targets]) => targets.map((target) => `${folder} → ${target}`))
    .filter((one) => !needed.has(one));
  expect(unused).toEqual([]);
});

/** Returns the names that the imports and exports of a source take from other files, with their specifiers. */
function namesIn(
  text: string,
  statement: "import|export" | "export",
): { specifier: string; names: string[] }[] {
  const clause = `^(?:${statement})\\s+(?:type\\s+)?\\{([^}]*)\\}\\s*from\\s*["']([^"'\\n]+)["']`;
  return [...text.matchAll(new RegExp(clause, "gm"))].map(([, list = "", specifier = ""]) => ({
    specifier,
    names: list.split(",").flatMap((name) => /(?:type )?(\w+)/.exec(name)?.[1] ?? []),
  }));
}

it("exports from each surface only what other folders import", () => {
  const used = new Set<string>();
  for (const [path, text] of texts)
    for (const { specifier, names } of namesIn(text, "import|export"))
      for (const name of names) used.add(`${posix.join(dirname(path), specifier)} ${name}`);
  const unused = [...texts]
    .filter(([path]) => posix.basename(path) === "index.ts" && hasSurface(dirname(path)))
    .flatMap(([path, text]) =>
      namesIn(text, "export").flatMap(({ names }) => names.map((one) => `${path} ${one}`)),
    )
    .filter((one) => !used.has(one));
  expect(unused).toEqual([]);
});

it("names every folder in scripts/tools/layers.txt, and no folder that is gone", () => {
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

it(`holds at most ${MAX_FILES} source files in a folder, besides its index.ts`, () => {
  const counts = Map.groupBy(
    sources.filter((path) => posix.basename(path) !== "index.ts"),
    (path) => dirname(path),
  );
  const full = [...counts].filter(([, files]) => files.length > MAX_FILES);
  expect(full.map(([folder, files]) => `${folder}: ${files.length}`)).toEqual([]);
});

it(`holds at most ${MAX_LINES} lines in a source file`, () => {
  const lines = (path: string) => texts.get(path)?.trimEnd().split("\n").length ?? 0;
  const long = sources.filter((path) => lines(path) > MAX_LINES);
  expect(long.map((path) => `${path}: ${lines(path)}`)).toEqual([]);
});

/** Returns the length of each longer function in lines, by file and name. */
function longFunctions(): Map<string, number> {
  const found = new Map<string, number>();
  for (const [path, text] of texts) {
    const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
    const lineAt = (position: number) => source.getLineAndCharacterOfPosition(position).line;
    const visit = (node: ts.Node): void => {
      if (ts.isFunctionLike(node) && "body" in node && node.body !== undefined) {
        const lines = lineAt(node.end) - lineAt(node.getStart()) + 1;
        const key = `${path} ${nameOf(node)}`;
        if (lines > MAX_FUNCTION) found.set(key, Math.max(lines, found.get(key) ?? 0));
      }
      ts.forEachChild(node, visit);
    };
    visit(source);
  }
  return found;
}

/** Returns the name of a function, or of the variable or property that holds it. */
function nameOf(node: ts.SignatureDeclaration): string {
  const { parent } = node;
  const holds = ts.isVariableDeclaration(parent) || ts.isPropertyAssignment(parent);
  return (node.name ?? (holds ? parent.name : undefined))?.getText() ?? "(anonymous)";
}

/** Functions that were longer when the limit was set, with the lines that each may have. Add none. */
const ALLOWED = new Map(
  readFileSync(posix.join(root, "test/fixtures/long-functions.txt"), "utf8")
    .trim()
    .split("\n")
    .map((line): [string, number] => {
      const [path, name, lines] = line.split(" ");
      return [`${path} ${name}`, Number(lines)];
    }),
);

const longer = longFunctions();

it(`has no new function of more than ${MAX_FUNCTION} lines, and none that grows`, () => {
  const grown = [...longer].filter(([key, lines]) => lines > (ALLOWED.get(key) ?? MAX_FUNCTION));
  expect(grown.map(([key, lines]) => `${key} ${lines}`)).toEqual([]);
});

it("lists no function that is short enough, or gone", () => {
  expect([...ALLOWED.keys()].filter((key) => !longer.has(key))).toEqual([]);
});

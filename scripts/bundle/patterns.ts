/**
 * Reduces the package re2js to what `shared/definition/fields/pattern.ts` uses. Replaces its largest Unicode tables
 * with code that computes them.
 */
import { readFile } from "node:fs/promises";
import type { Plugin } from "esbuild";

/** Unicode categories that are unions of other categories. */
const UNIONS = {
  C: "Cc Cf Cn Co Cs",
  L: "Ll Lm Lo Lt Lu",
  LC: "Ll Lt Lu",
  M: "Mc Me Mn",
  N: "Nd Nl No",
  P: "Pc Pd Pe Pf Pi Po Ps",
  S: "Sc Sk Sm So",
  Z: "Zl Zp Zs",
} as const;

/**
 * Computes tables from other tables. All values come from the package, because the runtimes know different Unicode
 * versions.
 */
const DERIVED = `
const tableOf = (runs) => new UnicodeRangeTable(new Uint32Array(runs.flatMap(([lo, hi]) => [lo, hi, 1])));
const runsOf = (tables) => {
  const all = [];
  for (const table of tables)
    for (let i = 0; i < table.length; i++) {
      const [lo, hi, stride] = [table.getLo(i), table.getHi(i), table.getStride(i)];
      if (stride === 1) all.push([lo, hi]);
      else for (let at = lo; at <= hi; at += stride) all.push([at, at]);
    }
  all.sort((a, b) => a[0] - b[0]);
  const runs = [];
  for (const [lo, hi] of all) {
    const last = runs.at(-1);
    if (last !== undefined && last[1] === lo - 1) last[1] = hi;
    else runs.push([lo, hi]);
  }
  return runs;
};
const union = (names) => tableOf(runsOf(names.split(" ").map((name) => UnicodeTables.CATEGORIES.get(name))));
const rest = (tables) => {
  const runs = [];
  let next = 0;
  for (const [lo, hi] of [...runsOf(tables), [0x110000, 0x110000]]) {
    if (lo > next) runs.push([next, lo - 1]);
    next = hi + 1;
  }
  return tableOf(runs);
};
const tablesOf = (map, wanted) => Object.keys(map.initializer).filter(wanted).map((name) => map.get(name));
`;

/** Replacement for the package's exports: only what the platform calls. */
const EXPORTS = `
export const RE2JS = {
  compile(pattern) {
    const re2 = RE2.compileImpl(pattern, RE2Flags.PERL, false);
    return { test: (value) => re2.match(value), programSize: () => re2.numberOfInstructions() };
  },
};
`;

const ENGINES = `
  executeEngine(input, pos, anchor) {
    if (this.prefixComplete) return this.matchPrefixComplete(input, pos, anchor, 0);
    const found = this.dfa.match(input, pos, anchor);
    if (found === null) return this.doExecuteNFA(input, pos, anchor, 0);
    return found ? [] : null;
  }
`;

/**
 * Replaces a passage of the package.
 * @param to text before which the passage ends; without it, the passage ends with the file
 * @throws Error if the package has changed
 */
function replace(text: string, from: string, to: string | undefined, by: string): string {
  const start = text.indexOf(from);
  const end = to === undefined ? text.length : text.indexOf(to, start);
  if (start < 0 || end < 0 || text.includes(from, start + 1))
    throw new Error(
      `re2js has changed. Adapt scripts/bundle/patterns.ts, which expects "${from.trim()}" once.`,
    );
  return text.slice(0, start) + by + text.slice(end);
}

/** Replaces the table of a Unicode class with an expression that computes it when a pattern names the class. */
function derive(text: string, name: string, expression: string): string {
  const folds = text.indexOf("\tstatic FOLD_CATEGORIES");
  const from = `\t\t${name}: () => new UnicodeRangeTable(`;
  return replace(text.slice(0, folds), from, "\n", `\t\t${name}: () => ${expression},`) + text.slice(folds);
}

/** Returns the source of the package re2js without the parts that the platform never runs. */
export function reducePatterns(source: string): string {
  let text = source;
  // Remove matching of bytes, capturing groups, matching of several patterns, and replacements.
  text = replace(text, "// src/Set.js", undefined, EXPORTS);
  text = replace(text, "\tmatchWithGroup(", "\n};\n", "");
  text = replace(text, "\tstatic fromUTF8(", "\tstatic fromUTF16(", "");
  // The platform only tests whether a string matches. It needs the DFA, and the NFA for patterns that the DFA cannot
  // match. Omit the other engines, which are faster only for some patterns.
  text = replace(
    text,
    "\tcreateLookbehindState() {",
    "\t/**\n\t* Returns the number of parenthesized",
    ENGINES,
  );
  text = replace(text, "\t\tthis.onepass = OnePass.compile(this.prog);", "\n", "");
  text = replace(text, "\t\tconst prefilter = PrefilterTree.build(re);", "\n", "");
  text = replace(text, "\t\tre2.prefilter = prefilter.type", "\n", "");
  text = replace(text, "// src/Prefilter.js", "// src/Prog.js", "");
  // The package needs this table of printable characters only for debugging.
  text = replace(text, "\tstatic _Print = null;", "\tstatic CATEGORIES", "");
  text = replace(text, "\t\treturn Unicode.is(UnicodeTables.Print, r);", "\n\t}", "\t\treturn false;");
  for (const [name, parts] of Object.entries(UNIONS)) text = derive(text, name, `union("${parts}")`);
  const general = `/^[A-Z][a-z]$/.test(name) && name !== "Cn"`;
  text = derive(text, "Cn", `rest(tablesOf(UnicodeTables.CATEGORIES, (name) => ${general}))`);
  // Characters without a script are "Unknown" if they are unassigned, private or surrogates, and "Common" otherwise.
  text = derive(text, "Unknown", `union("Cn Co Cs")`);
  text = derive(text, "Common", `rest(tablesOf(UnicodeTables.SCRIPTS, (name) => name !== "Common"))`);
  return replace(
    text,
    "var UnicodeTables = class {",
    "\n\tstatic _CASE_ORBIT",
    `${DERIVED}var UnicodeTables = class {`,
  );
}

export const patterns: Plugin = {
  name: "patterns",
  setup(builder) {
    builder.onLoad({ filter: /[\\/]re2js[\\/]build[\\/]index\.js$/ }, async ({ path }) => ({
      contents: reducePatterns(await readFile(path, "utf8")),
    }));
  },
};

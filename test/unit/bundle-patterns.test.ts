import { readFile } from "node:fs/promises";
import { RE2JS } from "re2js";
import { describe, expect, it } from "vitest";
import { reducePatterns } from "../../scripts/bundle/patterns.ts";

interface Table {
  length: number;
  getLo(index: number): number;
  getHi(index: number): number;
  getStride(index: number): number;
}

interface Internals {
  RE2JS: { compile(pattern: string): { test(value: string): boolean; programSize(): number } };
  UnicodeTables: Record<
    "CATEGORIES" | "SCRIPTS",
    { initializer: Record<string, unknown>; get(name: string): Table }
  >;
}

const whole = await readFile(new URL(import.meta.resolve("re2js")), "utf8");

const load = (source: string): Promise<Internals> =>
  import(
    /* @vite-ignore */ `data:text/javascript,${encodeURIComponent(`${source}\nexport { UnicodeTables };`)}`
  );

const original = await load(whole);
const reduced = await load(reducePatterns(whole));

/** The first and the last character of each run of characters in a class. */
function runsOf(table: Table): number[] {
  const runs: number[] = [];
  for (let i = 0; i < table.length; i++) {
    for (let at = table.getLo(i); at <= table.getHi(i); at += table.getStride(i)) {
      const end = table.getStride(i) === 1 ? table.getHi(i) : at;
      if (runs.at(-1) === at - 1) runs[runs.length - 1] = end;
      else runs.push(at, end);
      if (end > at) break;
    }
  }
  return runs;
}

const PATTERNS = [
  "^[a-z0-9]+(-[a-z0-9]+)*$",
  "(?i)straße|ΣΊΣΥΦΟΣ",
  "^\\p{Lu}\\p{Ll}*(?: \\P{L}+)?$",
  "[[:alpha:]]{2,4}\\b",
  "^(?:\\+|00)?[1-9][0-9 ]{6,14}$",
  "(a|ab)(c|bcd)(d*)$",
  "(?s)^.{3}$",
  "(?m)^b$",
  "\\x{1F600}|[^\\x00-\\x7F]{2}",
  "literal",
  "^literal$",
  "",
  "x*",
  "\\Bb\\B",
  "(?i)[k-s]\\p{Greek}",
];
const TEXTS = [
  "",
  "a-b",
  "a--b",
  "STRASSE",
  "Straße",
  "σίσυφος",
  "Émile 42",
  "abc",
  "abcd",
  "abbcdd",
  "+49 30 1234567",
  "a\nb\nc",
  "😀",
  "éé",
  "literal",
  "a literal",
  "K\u03b1",
  "\u212a\u03a9",
  "\ud800",
  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab",
];

describe("the functions' reduced re2js", () => {
  it.each(PATTERNS)("matches the same texts with %j as the whole package", (pattern) => {
    const [a, b] = [RE2JS.compile(pattern), reduced.RE2JS.compile(pattern)];
    expect(TEXTS.filter((text) => b.test(text))).toEqual(TEXTS.filter((text) => a.test(text)));
    expect(b.programSize()).toBe(a.programSize());
  });

  it.each(["(?=a)", "(a)\\1", "(", "a{1001}", "\\p{Letter}", "\\p{Nope}", "[z-a]"])(
    "refuses %j with the same message as the whole package",
    (pattern) => {
      let message = "";
      try {
        RE2JS.compile(pattern);
      } catch (error) {
        message = (error as Error).message;
      }
      expect(message).not.toBe("");
      expect(() => reduced.RE2JS.compile(pattern)).toThrow(message);
    },
  );

  it("knows the same Unicode classes, with the same characters", () => {
    for (const map of ["CATEGORIES", "SCRIPTS"] as const) {
      const names = Object.keys(original.UnicodeTables[map].initializer);
      expect(Object.keys(reduced.UnicodeTables[map].initializer)).toEqual(names);
      for (const name of names)
        expect(runsOf(reduced.UnicodeTables[map].get(name)), name).toEqual(
          runsOf(original.UnicodeTables[map].get(name)),
        );
    }
  });
});

/** What the console says to people about patterns, and which words of a text it marks. */
import { describe, expect, test } from "vitest";
import { patternWords } from "../../functions/console/model/pattern.ts";
import { compareWords } from "../../shared/differences/words.ts";

describe("a simple pattern in words", () => {
  test.each([
    ["^[a-z0-9-]+$", { parts: ["small", "digits", "hyphen"], least: 1, most: undefined }],
    ["^[A-Za-z]{2}$", { parts: ["letters"], least: 2, most: 2 }],
    ["^[A-Z]{2,5}$", { parts: ["capital"], least: 2, most: 5 }],
    ["^\\d{5}$", { parts: ["digits"], least: 5, most: 5 }],
    ["^[\\p{L} .]*$", { parts: ["letters", "space", "dot"], least: 0, most: undefined }],
    ["^[0-9_]{3,}$", { parts: ["digits", "underscore"], least: 3, most: undefined }],
  ])("%s", (pattern, words) => {
    expect(patternWords(pattern)).toEqual(words);
  });

  test.each(["[a-z]+", "^[a-f]+$", "^[^a-z]+$", "^[a-z]+-[0-9]+$", "^(a|b)$", "", "^[a-z]+", "^[]$"])(
    "%s has no words",
    (pattern) => {
      expect(patternWords(pattern)).toBeUndefined();
    },
  );
});

describe("the words that differ", () => {
  const marked = (parts: readonly { text: string; changed: boolean }[]) =>
    parts.filter(({ changed }) => changed).map(({ text }) => text);

  test("one letter in a long text marks one word", () => {
    const text = "The lamp stands on the desk. ".repeat(120);
    const other = `${text.slice(0, 1740)}X${text.slice(1741)}`;
    const { before, after } = compareWords(text, other);
    expect(marked(before)).toHaveLength(1);
    expect(marked(after)).toHaveLength(1);
    expect(marked(before)[0]?.length).toBeLessThan(10);
  });

  test.each([
    ["", "new"],
    ["a b  c", "a  b c\n"],
    ["これはペンです", "これは本です"],
    ["السلام عليكم", "السلام عليكم جميعا"],
    ["👩‍👩‍👧 one", "👩‍👩‍👧 two"],
  ])("%j and %j keep every character", (was, is) => {
    const { before, after } = compareWords(was, is);
    expect(before.map(({ text }) => text).join("")).toBe(was);
    expect(after.map(({ text }) => text).join("")).toBe(is);
  });

  test("texts with nothing in common are marked as a whole", () => {
    const words = (start: number) => Array.from({ length: 5_000 }, (_, at) => `w${start + at}`).join(" ");
    const { before, after } = compareWords(words(0), words(10_000));
    expect([before.length, after.length]).toEqual([1, 1]);
  });
});

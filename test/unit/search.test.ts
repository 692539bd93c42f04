import fc from "fast-check";
import { expect, test } from "vitest";
import { containsText } from "../../shared/texts/search.ts";
import { countOf, snippetOf } from "../../shared/texts/snippets.ts";
import { MOST_WORDS, searchedWords, wordsFor, wordsOf } from "../../shared/texts/words.ts";
import { testSeed } from "../support/random.ts";

const letters = (max: number) => fc.string({ unit: fc.constantFrom("a", "b"), maxLength: max });

test("returns the same as String.includes", () => {
  const parts = fc.tuple(letters(40), letters(80), fc.nat(60));
  fc.assert(
    fc.property(parts, ([piece, rest, times]) => {
      const part = piece.repeat(3);
      const text = `${part.slice(1)}${rest}${part.slice(0, times)}${rest}`;
      for (const one of [part, part.slice(0, times), rest, `${part}c`])
        expect(containsText(text + part, one)).toBe((text + part).includes(one));
      expect(containsText(text, part)).toBe(text.includes(part));
    }),
    { seed: testSeed(), numRuns: 2_000 },
  );
});

test("searches in linear time where String.includes would take half a minute", () => {
  const half = "a".repeat(150_000);
  const text = "a".repeat(1_000_000);
  expect(containsText(text, `${half}b${half}`)).toBe(false);
  expect(containsText(`${text}b${text}`, `${half}b${half}`)).toBe(true);
});

test.each([
  ["Crème Brûlée, l'Été!", "creme brulee l ete"],
  ["CRE\u0300ME cr\u00ADème", "creme"],
  ["Straße Łódź Ærø ıIİ", "strasse lodz aero iii"],
  ["ﬁne ℌ ² ΣΊΣΥΦΟΣ", "fine h 2 σισυφοσ"],
  ["AB-123_x 😀 don't", "ab 123 x don t"],
  ["नमस्ते 안녕하세요", "नमस्ते 안녕하세요"],
  ["東京都のA", "東京 京都 都の の a"],
  ["ガッコウ", "ガッ ッコ コウ ウ"],
  ["a\ud800b", "a b"],
  ["x".repeat(50), "x".repeat(40)],
  ["!?", ""],
])("finds the words of %j", (text, words) => {
  expect([...wordsOf(text)].join(" ")).toBe(words);
});

test("searches for the words of a text as they are in entries", () => {
  expect(searchedWords("Tokyo 東京都 京")).toEqual(["tokyo", "東京", "京都", "京"]);
  const letters = fc.string({ unit: fc.constantFrom(..."aÉß東ガ\u3099 -ั😀\u0301ﬁ"), maxLength: 30 });
  fc.assert(
    fc.property(letters, (text) => {
      const words = wordsOf(text);
      for (const word of searchedWords(text))
        expect([...words].some((one) => one.startsWith(word))).toBe(true);
      for (const one of searchedWords(text.toUpperCase().normalize("NFD")))
        expect([...words].some((other) => other.startsWith(one))).toBe(true);
    }),
    { seed: testSeed() },
  );
  expect(wordsOf(Array.from({ length: MOST_WORDS + 5 }, (_, at) => `w${at}`).join(" ")).size).toBe(
    MOST_WORDS,
  );
});

const shown = (text: string, words: string) =>
  snippetOf(text, wordsFor(words))
    .map(({ text: part, match }) => (match === true ? `[${part}]` : part))
    .join("");

test.each([
  ["The Crème Brûlée of Łódź", "BRULEE lodz", "The Crème [Brûlée] of [Łódź]"],
  ["A cat catalogue", "cat", "A [cat] [catalogue]"],
  ["A cat catalogue", "cat a", "[A] [cat] catalogue"],
  ["Straße\n\n  und Gasse", "strasse", "[Straße] und Gasse"],
  ["東京都の駅", "京都", "東[京都]の駅"],
  ["東京都の駅", "東京都", "[東京][都]の駅"],
  ["cr\u00ADème", "creme", "[cr\u00ADème]"],
  ["nothing here", "other", "nothing here"],
  [`${"x".repeat(100)} dog ${"y".repeat(300)}`, "dog", `…[dog] ${"y".repeat(156)}…`],
  [`${"word ".repeat(30)}😀${"東".repeat(200)}`, "zzz", `${"word ".repeat(30)}😀${"東".repeat(8)}…`],
])("shows %j around the words %j", (text, words, expected) => {
  expect(shown(text, words)).toBe(expected);
});

test("shows whole characters, and marks a word that a search finds", () => {
  const letters = fc.string({ unit: fc.constantFrom(..."aÉß東ガ\u3099 -ั😀\u0301ﬁ"), maxLength: 400 });
  fc.assert(
    fc.property(letters, fc.nat(20), (text, at) => {
      const words = wordsFor([...wordsOf(text)][at] ?? "a");
      const parts = snippetOf(text, words);
      expect(parts.every((part) => part.text.isWellFormed())).toBe(true);
      expect(parts.map((part) => part.text).join("").length).toBeLessThan(900);
      const marked = parts.filter(({ match }) => match === true);
      if (countOf(text, words) === words.length) expect(marked.length).toBeGreaterThan(0);
    }),
    { seed: testSeed() },
  );
});

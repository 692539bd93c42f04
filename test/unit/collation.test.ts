/** Sort keys order texts like the `Intl.Collator` of Node, which has the data of every language. */
import { describe, expect, it } from "vitest";
import { SORTED_LANGUAGES, sortedLanguage, sortKeys } from "../../shared/collation/keys.ts";
import { testRandom } from "../support/random.ts";

const A = "A".charCodeAt(0);
const codes = (length: number): string[] =>
  length === 0
    ? [""]
    : codes(length - 1).flatMap((start) =>
        Array.from({ length: 26 }, (_, at) => start + String.fromCharCode(A + at)),
      );

const english = new Intl.DisplayNames("en", { type: "language", fallback: "none" });
const LANGUAGES = [...codes(2), ...codes(3)]
  .map((code) => code.toLowerCase())
  .filter((code) => english.of(code) !== undefined);

/** Returns the names of regions, languages and currencies in a language, and the words of these names. */
function wordsIn(tag: string): string[] {
  const names = [
    { type: "region" as const, known: codes(2) },
    { type: "language" as const, known: LANGUAGES },
    { type: "currency" as const, known: Intl.supportedValuesOf("currency") },
  ].flatMap(({ type, known }) => {
    const of = new Intl.DisplayNames(tag, { type, fallback: "none" });
    return known.flatMap((code) => of.of(code) ?? []);
  });
  return [...new Set(names.flatMap((name) => [name, ...name.split(" ")]))];
}

const signOf = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

function keysOf(tag: string): (text: string) => string {
  const key = sortKeys(tag);
  if (key === undefined) throw new Error(`${tag} has no sort keys`);
  return key;
}

describe("sort keys", () => {
  it.each(SORTED_LANGUAGES)("order the words of %s like Intl.Collator", (tag) => {
    const random = testRandom();
    const key = keysOf(tag);
    const { compare } = new Intl.Collator(tag);
    const words = wordsIn(tag);
    const letters = [...new Set(words.join("")), ..."abzABZ .,-'19äöüßéøñ"];
    const texts = [
      ...words,
      ...Array.from({ length: 500 }, () =>
        Array.from({ length: 1 + random.below(4) }, () => random.pick(letters)).join(""),
      ),
    ];
    const sorted = texts
      .map((text) => ({ text, key: key(text) }))
      .sort((a, b) => signOf(a.key, b.key) || signOf(a.text, b.text));
    const wrong = sorted.flatMap((one, at) => {
      const other = sorted[at - 1];
      if (other === undefined) return [];
      const order = Math.sign(compare(other.text, one.text));
      return order === signOf(other.key, one.key) ? [] : [`${other.text} | ${one.text} | ${order}`];
    });
    expect(wrong).toEqual([]);
    expect(words.length).toBeGreaterThan(4);
  });

  it.each([
    ["de", ["Strasse", "Straße", "Straßen", "Zebra"]],
    ["sv", ["Zebra", "Ål", "Ärta", "Öl"]],
    ["da", ["Ål", "Aarhus", "Århus"]],
    ["es", ["nube", "ñandú", "ola"]],
    ["cs", ["cukr", "had", "chata", "ikona"]],
    ["hu", ["cukor", "csak", "dal", "gyár"]],
    ["lt", ["iš", "yra", "jis"]],
    ["tr", ["ırmak", "iz", "jale"]],
    ["fr", ["cote", "côte", "coté", "côté"]],
    ["fr-CA", ["cote", "côte", "coté", "côté"]],
  ] as const)("order texts of %s", (tag, texts) => {
    const { compare } = new Intl.Collator(tag);
    const key = keysOf(tag);
    const byKey = [...texts].reverse().sort((a, b) => signOf(key(a), key(b)));
    expect(byKey).toEqual([...texts].sort(compare));
  });

  it("put letters of other scripts after the known ones, and never end early", () => {
    const key = keysOf("de");
    const texts = ["a", "z", "я", "あ", "漢", "\u{20000}"];
    expect([...texts].reverse().sort((a, b) => signOf(key(a), key(b)))).toEqual(texts);
    for (const text of ["", "\ud800", "\u0301", "\u200b", "👩‍👩‍👧", "a".repeat(10_000)])
      expect(key(text)).toBe(key(text.normalize("NFC")));
    expect(key("Zoë")).toBe(key("Zoe\u0308"));
    expect(key(`${"a".repeat(400)}b`)).toBe(key(`${"a".repeat(400)}c`));
  });

  it("are the same as in every earlier version", () => {
    // Indexes store these keys. If one changes, raise TABLES_VERSION.
    const keys = ["Straße 9", "Øl", "chata", "Čapek", "яблоко"].map((text) => keysOf("cs")(text));
    expect(keys).toMatchInlineSnapshot(`
      [
        "bcaObbS$N!#####Ħ!/",
        "^Z!#O!3",
        "VԀOcO",
        "QԀO_SY!!'",
        "©",
      ]
    `);
  });

  it("are those of the language if a tag names a region, and missing for other tags", () => {
    expect([sortedLanguage("de-AT"), sortedLanguage("es-419"), sortedLanguage("fr-CA")]).toEqual([
      "de",
      "es",
      "fr-CA",
    ]);
    for (const tag of ["zh", "ja", "az-Cyrl", "de-u-co-phonebk", "constructor", ""])
      expect(sortKeys(tag), tag).toBeUndefined();
  });
});

/** The languages of the pages for people: choosing one, plural forms, and the check of their texts. */
import { describe, expect, test } from "vitest";
import { languageFor } from "../../functions/texts/languages.ts";
import { filled, formOf, textAt } from "../../functions/texts/translate.ts";
import { checkTexts, textFaults } from "../../scripts/tools/texts.ts";

describe("the language of a page", () => {
  test.each([
    [undefined, undefined, "en"],
    [undefined, "de-AT,de;q=0.9,en;q=0.8", "de"],
    [undefined, "en;q=0.2, de;q=0.7", "de"],
    [undefined, "pt-BR,pt;q=0.9", "en"],
    [undefined, "pt, de;q=0.5", "de"],
    [undefined, "de;q=0, en;q=0.1", "en"],
    [undefined, "DE", "de"],
    [undefined, "*;q=x,,;;", "en"],
    ["de", "en", "de"],
    ["en", "de", "en"],
    ["tlh", "de", "de"],
    ["__proto__", undefined, "en"],
  ])("with the choice %s and the header %s is %s", (chosen, accepted, language) => {
    expect(languageFor(chosen, accepted)).toBe(language);
  });
});

describe("a text", () => {
  test("has the plural form of its language", () => {
    const forms = { zero: "0", one: "1", two: "2", few: "few", many: "many", other: "other" };
    const arabic = [0, 1, 2, 3, 11, 100].map((count) => formOf(forms, new Intl.PluralRules("ar"), count));
    expect(arabic).toEqual(["0", "1", "2", "few", "many", "other"]);
    expect(formOf({ other: "items" }, new Intl.PluralRules("ja"), 1)).toBe("items");
    expect(formOf({ one: "a", other: "b" }, new Intl.PluralRules("fr"), 1_000_000)).toBe("b");
  });

  test("keeps placeholders without a value, and puts values in as they are", () => {
    expect(filled("{a} and {b}: {a}", (name) => (name === "a" ? "{b}" : undefined))).toBe("{b} and {b}: {b}");
  });

  test("is found only under keys of the file", () => {
    expect(textAt({ area: { name: "Name" } }, "area.name")).toBe("Name");
    for (const key of ["area.toString", "constructor.name", "area", ""])
      expect(textAt({ area: { name: "Name" } }, key)).toBeUndefined();
  });
});

describe("the check of the texts", () => {
  const english = {
    home: { title: "Orbs of {name}", count: { one: "{count} orb", other: "{count} orbs" }, left: "Left" },
  };
  const faultsOf = (home: object, language = "de") =>
    textFaults(english, { home: home as (typeof english)["home"] }, language, "de.json");

  test("finds no fault in the files of the project", () => {
    expect(checkTexts()).toBe(0);
  });

  test("accepts complete texts", () => {
    const count = { zero: "0", one: "واحد", two: "اثنان", few: "{count}", many: "{count}", other: "{count}" };
    expect(faultsOf({ title: "{name}", count, left: "x" }, "ar")).toEqual([]);
    expect(faultsOf({ title: "{name}", count: { other: "{count}" }, left: "x" }, "ja")).toEqual([]);
  });

  test("says which text is missing, where to add it and what it means", () => {
    expect(faultsOf({ title: "{name}", left: "x" })).toEqual([
      'de.json: add "home.count" after "home.title", with the translation of {"one":"{count} orb","other":"{count} orbs"}.',
    ]);
  });

  test("finds other placeholders, missing plural forms, texts that English lacks, and another order", () => {
    const count = { one: "{count}", other: "{count}" };
    expect(faultsOf({ title: "{nam}", count, left: "" })).toEqual([
      'de.json: "home.title" must have the placeholders {name}, as in English (has {nam}).',
      'de.json: "home.left" must not be empty.',
    ]);
    expect(faultsOf({ title: "{name}", count, left: "x" }, "ar")).toEqual([
      'de.json: "home.count" must have the plural forms few, many, one, other, two, zero (has one, other).',
    ]);
    expect(faultsOf({ title: "{name}", count: "{count}", left: "x", more: "y" })).toEqual([
      'de.json: "home.count" must be an object with plural forms: one, other.',
      'de.json: remove "home.more", because English does not have it.',
    ]);
    expect(faultsOf({ count, title: "{name}", left: "x" })).toEqual([
      "de.json: put the areas and the texts into the order of en.json.",
    ]);
  });
});

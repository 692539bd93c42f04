/** Numbers as people write them in the language of their browser. */
import { expect, test } from "vitest";
import { amountsIn } from "../../functions/console/fields/parts/amount.ts";

test.each([
  ["en", "1,234.50", "1234.50"],
  ["en", "1234.5", "1234.5"],
  ["en", "-.5", "-0.5"],
  ["en", "1,5", undefined],
  ["en", "1.2.3", undefined],
  ["en", "12,34,567", undefined],
  ["en", "1e3", undefined],
  ["en", "", undefined],
  ["de", "1.234,50", "1234.50"],
  ["de", "1.234", "1234"],
  ["de", "12.50", "12.50"],
  ["de", "12,5", "12.5"],
  ["de-CH", "1’234.50", "1234.50"],
  ["fr", "1\u202f234,5", "1234.5"],
  ["fr", "1 234,5", "1234.5"],
  ["sv", "\u2212 1".replace(" ", ""), "-1"],
  ["ar-EG", "\u0661\u0662\u066b\u0665", "12.5"],
])("reads in %s the text %j as %j", (locale, text, expected) => {
  expect(amountsIn(locale).read(text)).toBe(expected);
});

test("reads what it writes, in each language", () => {
  for (const locale of ["en", "de", "fr", "sv", "de-CH", "pl", "pt-BR", "hi", "ja"])
    for (const text of ["0", "12.50", "-1234567.001", "0.001", "1.234"]) {
      const { read, written } = amountsIn(locale);
      expect(read(written(text)), locale).toBe(text);
    }
  expect(amountsIn("de").written("1e21")).toBe("1e21");
});

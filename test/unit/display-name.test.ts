import { expect, test } from "vitest";
import { nameFlaw, normalName } from "../../functions/realm/display-name.ts";

test.each([
  "Ann",
  "Anna Смирнова",
  "Ελένη",
  "Նարե",
  "José Ñandú",
  "李小龍",
  "ひらがなカタカナ漢字ABC",
  "محمد",
  "नमस्ते",
  "R2-D2",
  "❤️ Ann",
  "1️st",
  "葛\u{e0100}城",
  "!",
])("allows the name %s", (name) => {
  expect(nameFlaw(normalName(name))).toBeUndefined();
});

test.each([
  ["Cyrillic А in Latin", "\u0410dmin"],
  ["Cyrillic о in Latin", "r\u043eot"],
  ["Greek ο in Latin", "r\u03bfot"],
  ["Armenian օ in Latin", "r\u0585ot"],
  ["a mixed word among others", "the \u0410dmin team"],
  ["a Hangul filler", "Ann\u3164"],
  ["only a Hangul filler", "\u3164"],
  ["a grapheme joiner", "A\u034fnn"],
  ["a selector behind a letter", "A\ufe0fnn"],
  ["a supplementary selector", "A\u{e0100}nn"],
  ["a line separator", "Ann\u2028Admin"],
  ["a blank Braille pattern", "\u2800"],
  ["only a combining mark", "\u0301"],
])("refuses a name with %s", (_, name) => {
  expect(nameFlaw(normalName(name))).toMatch(/^must /);
});

test.each([
  ["ａｄｍｉｎ", "admin"],
  ["𝐀𝐝𝐦𝐢𝐧", "Admin"],
  ["  Ann \u00a0\u3000 Lee ", "Ann Lee"],
  ["Jose\u0301", "José"],
])("stores %s as %s", (given, stored) => {
  expect(normalName(given)).toBe(stored);
});

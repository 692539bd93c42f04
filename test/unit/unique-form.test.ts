import { expect, test } from "vitest";
import { uniqueForm } from "../../shared/definition/fields/parts/unique-form.ts";

const same: [string, string, string][] = [
  ["composed and decomposed", "\u00e9", "e\u0301"],
  ["a singleton", "\u212b", "\u00c5"],
  ["marks in another order", "q\u0307\u0323", "q\u0323\u0307"],
  ["Hangul", "\ud55c", "\u1112\u1161\u11ab"],
  ["a zero-width space", "a\u200bb", "ab"],
  ["a zero-width no-break space", "\ufeffab", "ab"],
  ["a joiner and a non-joiner", "a\u200db\u200cc", "abc"],
  ["a soft hyphen", "a\u00adb", "ab"],
  ["a joiner between a letter and its mark", "e\u034f\u0301", "\u00e9"],
  ["a direction mark", "\u200eab\u200f", "ab"],
  ["a variation selector", "\u2764\ufe0f", "\u2764"],
  ["a no-break space", "a\u00a0b", "a b"],
  ["an ideographic space", "a\u3000b", "a b"],
  ["a control", "a\u0001b\u007f\u009f", "ab"],
  ["white space before a control at the end", "ab \u0001", "ab"],
  ["a mark of an annotation", "a\ufff9b", "ab"],
  ["a tab", "a\tb", "a b"],
  ["a line separator", "a\u2028b", "a b"],
  ["white space at the ends", "\t a b \u2003\n", "a b"],
];
test.each(same)("%s: both have the same form", (_name, a, b) => {
  expect(uniqueForm(a)).toBe(uniqueForm(b));
});

const different: [string, string, string][] = [
  ["case", "Lamp", "lamp"],
  ["a superscript", "m\u00b2", "m2"],
  ["a ligature", "\ufb01n", "fin"],
  ["width", "\uff21", "A"],
  ["another script", "\u0430", "a"],
  ["an accent", "e", "\u00e9"],
  ["two spaces", "a  b", "a b"],
];
test.each(different)("%s: the forms differ", (_name, a, b) => {
  expect(uniqueForm(a)).not.toBe(uniqueForm(b));
});

test("is idempotent, and keeps plain text unchanged", () => {
  for (const text of [...same, ...different].flatMap(([, a, b]) => [a, b])) {
    expect(uniqueForm(uniqueForm(text))).toBe(uniqueForm(text));
  }
  for (const text of ["", "a", "a-b_c/1", "two words"]) expect(uniqueForm(text)).toBe(text);
});

import { expect, test } from "vitest";
import { PRINTABLE } from "../../functions/realm/printable.ts";

test("the pattern of names matches the same characters as the Unicode categories, with and without the flag u", () => {
  const unicode = new RegExp(PRINTABLE.source, "u");
  const wrong: string[] = [];
  for (let code = 0; code <= 0x10ffff; code++) {
    const character = String.fromCodePoint(code);
    const expected = /^[^\p{Cc}\p{Cf}\p{Cs}]*$/u.test(character);
    if (PRINTABLE.test(character) !== expected || unicode.test(character) !== expected)
      wrong.push(code.toString(16));
  }
  expect(wrong).toEqual([]);
});

test("the pattern of names takes a surrogate pair as one character", () => {
  for (const text of ["🙂", "a🙂b", "🙂🙂"]) expect(PRINTABLE.test(text)).toBe(true);
  for (const text of ["\ud83d", "\ude42\ud83d", "a\ud83db", "🙂\ude42", "a\u{e0041}"])
    expect(PRINTABLE.test(text)).toBe(false);
});

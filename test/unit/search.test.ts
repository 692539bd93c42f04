import fc from "fast-check";
import { expect, test } from "vitest";
import { containsText } from "../../shared/kernel/search.ts";
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

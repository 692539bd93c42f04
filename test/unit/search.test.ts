import fc from "fast-check";
import { expect, test } from "vitest";
import { holds } from "../../shared/kernel/search.ts";

const letters = (max: number) => fc.string({ unit: fc.constantFrom("a", "b"), maxLength: max });

test("finds what the engine's own search finds", () => {
  const parts = fc.tuple(letters(40), letters(80), fc.nat(60));
  fc.assert(
    fc.property(parts, ([piece, rest, times]) => {
      const part = piece.repeat(3);
      const text = `${part.slice(1)}${rest}${part.slice(0, times)}${rest}`;
      for (const one of [part, part.slice(0, times), rest, `${part}c`])
        expect(holds(text + part, one)).toBe((text + part).includes(one));
      expect(holds(text, part)).toBe(text.includes(part));
    }),
    { numRuns: 2_000 },
  );
});

test("what would take the engine's own search half a minute is found not to be there", () => {
  const half = "a".repeat(150_000);
  const text = "a".repeat(1_000_000);
  expect(holds(text, `${half}b${half}`)).toBe(false);
  expect(holds(`${text}b${text}`, `${half}b${half}`)).toBe(true);
});

/** Exact numbers against a model of scaled integers: order, equality, sums and averages. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { FIELD_TYPES } from "../../shared/definition/fields/index.ts";
import { add, decimalIn, decimalText, divided, rounded, ZERO } from "../../shared/kernel/decimal.ts";
import { testSeed } from "../support/random.ts";

const { decimal } = FIELD_TYPES;
const SCALE = 18;
const field = { name: "v", type: "decimal", scale: SCALE } as const;

/** Integers of all lengths up to 38 digits, near each other often. */
const scaled = fc.oneof(
  fc.bigInt({ min: -(10n ** 38n) + 1n, max: 10n ** 38n - 1n }),
  fc.bigInt({ min: -1_000n, max: 1_000n }),
  fc
    .tuple(fc.nat(37), fc.bigInt({ min: -99n, max: 99n }))
    .map(([zeros, digits]) => (10n ** BigInt(zeros) * digits) % 10n ** 38n),
);
const textOf = (value: bigint) => decimalText({ digits: value, scale: SCALE });
const sign = (value: bigint | number) => (value > 0 ? 1 : value < 0 ? -1 : 0);
const check = <T>(property: fc.IPropertyWithHooks<T>) =>
  fc.assert(property, { seed: testSeed(), numRuns: 2_000 });

test("has the order and the equality of numbers, also as sort keys", () => {
  check(
    fc.property(scaled, scaled, (a, b) => {
      const [one, two] = [textOf(a), textOf(b)];
      expect(sign(decimal.compare(one, two))).toBe(sign(a - b));
      expect(decimal.token(one) === decimal.token(two)).toBe(a === b);
      const [low = "", high = ""] = [one, two].map((text) => decimal.sortKey?.(text));
      expect(low < high ? -1 : low > high ? 1 : 0).toBe(sign(a - b));
    }),
  );
});

test("stores each number in one form, however it is written", () => {
  check(
    fc.property(scaled, fc.nat(5), (value, zeros) => {
      const text = textOf(value);
      const padded = text
        .replace(/^(-?)/, `$1${"0".repeat(zeros)}`)
        .replace(/0*$/, "")
        .replace(/\.$/, "");
      expect(decimal.parse(padded, () => {}, field)).toBe(text);
      expect(decimal.token(decimal.fromText(padded) ?? null)).toBe(decimal.token(text));
    }),
  );
});

test("sums and averages are those of integers, rounded half away from zero", () => {
  check(
    fc.property(fc.array(scaled, { minLength: 1, maxLength: 20 }), (values) => {
      const sum = values.map(textOf).reduce((total, text) => add(total, decimalIn(text) ?? ZERO), ZERO);
      const exact = values.reduce((total, value) => total + value, 0n);
      expect(decimalText(rounded(sum, SCALE))).toBe(textOf(exact));
      const count = BigInt(values.length);
      const twice = 2n * (exact < 0n ? -exact : exact) + count;
      const mean = (twice / (2n * count)) * (exact < 0n ? -1n : 1n);
      expect(decimalText(rounded(divided(sum, values.length), SCALE))).toBe(textOf(mean));
    }),
  );
});

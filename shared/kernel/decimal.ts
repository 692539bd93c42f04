/** Exact sums of decimal numbers. JavaScript numbers are added in binary, where 0.1 + 0.2 is not 0.3. */

/** The number `digits` · 10^-`scale`. */
export interface Decimal {
  digits: bigint;
  scale: number;
}

export const ZERO: Decimal = { digits: 0n, scale: 0 };

/** The text of a number with up to 700 digits. The sum of any double-precision numbers needs fewer. */
const FORM = /^(-?\d{1,700})e(-?\d{1,4})$/;

/** Returns the decimal number with the fewest digits that JavaScript prints for a number. */
export function decimalOf(value: number): Decimal {
  const [mantissa = "0", exponent = "0"] = String(value).split("e");
  const [whole = "0", fraction = ""] = mantissa.split(".");
  const scale = fraction.length - Number(exponent);
  return scaled({ digits: BigInt(whole + fraction), scale }, Math.max(scale, 0));
}

function scaled({ digits, scale }: Decimal, to: number): Decimal {
  return { digits: digits * 10n ** BigInt(to - scale), scale: to };
}

export function add(a: Decimal, b: Decimal): Decimal {
  const scale = Math.max(a.scale, b.scale);
  return { digits: scaled(a, scale).digits + scaled(b, scale).digits, scale };
}

/**
 * Number of digits that a quotient has in addition to the digits of the dividend. They are enough to round to the
 * nearest double-precision number.
 */
const PRECISION = 40;

export function divided({ digits, scale }: Decimal, by: number): Decimal {
  return { digits: (digits * 10n ** BigInt(PRECISION)) / BigInt(by), scale: scale + PRECISION };
}

/** Rounds to the nearest number with `scale` digits after the point, and halves away from zero, as SQL does. */
export function rounded(value: Decimal, scale: number): Decimal {
  if (value.scale <= scale) return scaled(value, scale);
  const unit = 10n ** BigInt(value.scale - scale);
  const half = value.digits < 0n ? -unit / 2n : unit / 2n;
  return { digits: (value.digits + half) / unit, scale };
}

/** Returns the text of a number with all digits after its point, such as `12.50`. */
export function decimalText({ digits, scale }: Decimal): string {
  const text = String(digits < 0n ? -digits : digits).padStart(scale + 1, "0");
  const [whole, fraction] = [text.slice(0, text.length - scale), text.slice(text.length - scale)];
  return `${digits < 0n ? "-" : ""}${whole}${scale === 0 ? "" : `.${fraction}`}`;
}

/** Parses a text such as `12.50`. Returns undefined for any other text. */
export function decimalIn(text: string): Decimal | undefined {
  const [, sign, whole, fraction = ""] = /^(-?)(\d{1,100})(?:\.(\d{1,100}))?$/.exec(text) ?? [];
  return whole === undefined
    ? undefined
    : { digits: BigInt(`${sign}${whole}${fraction}`), scale: fraction.length };
}

/** Returns the nearest JavaScript number, or null if there is none. */
export function numberOf({ digits, scale }: Decimal): number | null {
  const value = Number(`${digits}e${-scale}`);
  return Number.isFinite(value) ? value : null;
}

export function textOf({ digits, scale }: Decimal): string {
  return `${digits}e${-scale}`;
}

/** Parses the result of {@link textOf}. Returns undefined for any other value. */
export function parseDecimal(text: unknown): Decimal | undefined {
  const match = typeof text === "string" ? FORM.exec(text) : null;
  if (match === null) return undefined;
  const scale = -Number(match[2]);
  return scale < 0 || scale > 1_000 ? undefined : { digits: BigInt(match[1] ?? 0), scale };
}

import { decimalOf, decimalText, ZERO } from "../../kernel/decimal.ts";
import type { Report } from "../../kernel/faults.ts";
import type { FieldDefinition } from "../document/index.ts";
import { FIELD_TRAITS } from "../types/index.ts";
import { compareScalars, type FieldType, fromTexts, ifValid, type Json, type Rule } from "./parts/index.ts";

/** Maximum digits of a number, as in SQL Server and BigQuery, and how many of them may be after the point. */
const MAX_DIGITS = 38;
export const MAX_SCALE = 18;
/** A JSON number with more digits may differ from what the client wrote. */
const EXACT_DIGITS = 15;
const FORM = /^(-?)0{0,60}(\d{0,60})(?:\.(\d{0,60}?)0{0,60})?$/;
const WRITTEN = /^-?\d+(\.\d+)?$/;

/** The digits of a number without zeros that say nothing. */
interface Digits {
  negative: boolean;
  whole: string;
  fraction: string;
}

function digitsOf(text: string): Digits | undefined {
  if (text.length > 120 || !WRITTEN.test(text)) return undefined;
  const [found, sign, whole = "", fraction = ""] = FORM.exec(text) ?? [];
  if (found === undefined) return undefined;
  return { negative: sign === "-" && whole + fraction !== "", whole, fraction };
}

function written({ negative, whole, fraction }: Digits, scale: number): string {
  const after = fraction.padEnd(scale, "0");
  return `${negative ? "-" : ""}${whole || "0"}${after === "" ? "" : `.${after}`}`;
}

/** Returns the text of a JSON number if it is surely what the client wrote. */
function textOfNumber(value: number, report: Report): string | undefined {
  const isShort = Math.abs(value) < 10 ** MAX_DIGITS && (value === 0 || Math.abs(value) > 10 ** -MAX_DIGITS);
  const { digits, scale } = isShort ? decimalOf(value) : ZERO;
  if (isShort && String(digits).replace(/^-|0+$/g, "").length <= EXACT_DIGITS)
    return decimalText({ digits, scale });
  report("range", "must be a string, because a JSON number with more than 15 digits can lose some of them");
  return undefined;
}

/**
 * Returns the text by which numbers are sorted: the sign, the count of digits before the point, and the digits. The
 * digits of negative numbers are turned around, and end with a character that is greater than every digit.
 */
function sortKey(text: string): string {
  const digits = digitsOf(text);
  if (digits === undefined) return "";
  const { negative, whole, fraction } = digits;
  const key = `${String(whole.length).padStart(2, "0")}${whole}${fraction}`;
  return negative ? `0${key.replace(/\d/g, (digit) => String(9 - Number(digit)))}~` : `1${key}`;
}

function compare(a: Json, b: Json): number {
  return typeof a === "string" && typeof b === "string" ? compareScalars(sortKey(a), sortKey(b)) : 0;
}

function bounds({ min, max }: FieldDefinition): Rule {
  const [least, most] = [min, max].map((bound) => (bound === undefined ? undefined : String(bound)));
  return (value, report) => {
    if (least !== undefined && compare(value, least) < 0)
      report("too_small", `must be at least ${least} (is ${String(value)})`);
    if (most !== undefined && compare(value, most) > 0)
      report("too_big", `must be at most ${most} (is ${String(value)})`);
  };
}

const parse: FieldType["parse"] = (value, report, field) => {
  const text = typeof value === "number" ? textOfNumber(value, report) : value;
  if (text === undefined) return undefined;
  const digits = typeof text === "string" ? digitsOf(text) : undefined;
  if (digits === undefined) {
    const code = typeof value === "string" ? "format" : "type";
    report(code, 'must be a decimal number as a string, such as "12.50"');
    return undefined;
  }
  const scale = field?.scale ?? MAX_SCALE;
  const { whole, fraction } = digits;
  if (fraction.length > scale)
    report("range", `must have at most ${scale} digits after the point (has ${fraction.length})`);
  else if (whole.length > MAX_DIGITS - scale)
    report("range", `must have at most ${MAX_DIGITS - scale} digits before the point (has ${whole.length})`);
  else return written(digits, field?.scale ?? 0);
  return undefined;
};

/** Unlike a number that a client sends, a stored number may have more than 15 digits: they are known. */
const parseNumber: FieldType["parse"] = (value, report, field) =>
  typeof value === "number" ? parse(decimalText(decimalOf(value)), report, field) : undefined;

/**
 * An exact decimal number with `scale` digits after the point, stored as a text with exactly these digits. Numbers with
 * more digits are refused, not rounded.
 */
export const decimalType: FieldType = {
  name: "decimal",
  ...FIELD_TRAITS.decimal,
  parse,
  madeFrom: {
    integer: { ...ifValid(parseNumber), always: true },
    number: ifValid(parseNumber),
    ...fromTexts(parse),
  },
  fromText(text) {
    const digits = digitsOf(text);
    return digits === undefined ? undefined : written(digits, 0);
  },
  rules: bounds,
  compare,
  token(value) {
    const digits = typeof value === "string" ? digitsOf(value) : undefined;
    return digits === undefined ? null : `d:${written(digits, 0)}`;
  },
  sortKey,
  sumScale: ({ scale = 0 }) => scale,
  jsonSchema: ({ scale = MAX_SCALE, min, max }) => ({
    type: "string",
    format: "decimal",
    pattern: `^-?[0-9]{1,${MAX_DIGITS - scale}}${scale === 0 ? "" : `(\\.[0-9]{1,${scale}})?`}$`,
    ...(min === undefined && max === undefined
      ? {}
      : {
          description: [
            min === undefined ? "" : `At least ${min}.`,
            max === undefined ? "" : `At most ${max}.`,
          ]
            .filter(Boolean)
            .join(" "),
        }),
  }),
};

import type { FieldModel } from "../model/orb.ts";
import { LOCALE, t } from "../texts/t.ts";
import { readAmount, writtenAmount } from "./parts/amount.ts";
import { Choice } from "./parts/choice.tsx";
import type { FieldKind } from "./parts/kind.ts";
import { plainText, TextInput } from "./parts/text-input.tsx";

const isDecimal = (value: unknown): value is `${number}` =>
  typeof value === "string" && /^-?\d+(\.\d+)?$/.test(value);

/** Returns a number in the form of the browser's language, such as `12,500.00`. Formats texts, so no digit is lost. */
function shown({ format, scale }: FieldModel, value: unknown): string {
  if (!isDecimal(value)) return plainText(value);
  // A number of four digits may be a year, but not if it has digits after the point.
  const useGrouping =
    format === "plain" ? false : format === "grouped" || (scale ?? 0) > 0 ? "always" : "min2";
  const minimumFractionDigits = scale ?? 0;
  return new Intl.NumberFormat(LOCALE, {
    minimumFractionDigits,
    maximumFractionDigits: 20,
    useGrouping,
  }).format(value);
}

/** Adds zeros up to the digits of the field, as the platform does. */
function full(text: string, scale = 0): string {
  const [whole = "0", fraction = ""] = text.split(".");
  const digits = fraction.padEnd(scale, "0");
  return digits === "" ? whole : `${whole}.${digits}`;
}

const parse: FieldKind["parse"] = (text, { scale }) => {
  const trimmed = text.trim();
  if (trimmed === "") return { value: null };
  return isDecimal(trimmed) ? { value: full(trimmed, scale) } : { message: t("fields.notNumber") };
};

const parseWritten: FieldKind["parse"] = (text, field) => {
  if (text.trim() === "") return { value: null };
  const read = readAmount(text);
  return read === undefined ? { message: t("fields.notNumber") } : parse(read, field);
};

export const decimalKind: FieldKind = {
  Cell: ({ field, value }) => <span class="number">{shown(field, value)}</span>,
  Input: (props) =>
    props.field.enum === undefined ? (
      <TextInput {...props} parse={parseWritten} print={writtenAmount} inputMode="decimal" />
    ) : (
      <Choice {...props} />
    ),
  filterOps: ["eq", "gte", "lte", "gt", "lt", "ne", "in", "null"],
  parse,
  format: plainText,
  align: "end",
};

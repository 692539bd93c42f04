import type { FieldModel } from "../model/orb.ts";
import { LOCALE, t } from "../texts/t.ts";
import { readAmount, writtenAmount } from "./parts/amount.ts";
import { Choice } from "./parts/choice.tsx";
import type { FieldKind } from "./parts/kind.ts";
import { plainText, TextInput } from "./parts/text-input.tsx";

const form = (useGrouping: Intl.NumberFormatOptions["useGrouping"]) =>
  new Intl.NumberFormat(LOCALE, { maximumFractionDigits: 20, useGrouping });
// Without a format, a number of four digits has no separator: it may be a year.
const FORMS = { grouped: form("always"), plain: form(false), standard: form("min2") };

/** Returns a number in the form of the browser's language, such as `12,500` or `12.500`. */
export const shownNumber = (field: Pick<FieldModel, "format">, value: number): string =>
  FORMS[field.format ?? "standard"].format(value);

/** @param whole whether only whole numbers are valid */
function kindOf(whole: boolean): FieldKind {
  const parse: FieldKind["parse"] = (text) => {
    const trimmed = text.trim();
    if (trimmed === "") return { value: null };
    const value = Number(trimmed);
    if (!Number.isFinite(value)) return { message: t("fields.notNumber") };
    return whole && !Number.isInteger(value) ? { message: t("fields.notWhole") } : { value };
  };
  return {
    Cell: ({ field, value }) => (
      <span class="number">{typeof value === "number" ? shownNumber(field, value) : plainText(value)}</span>
    ),
    Input: (props) =>
      props.field.enum === undefined ? (
        <TextInput
          {...props}
          parse={(text, field) => parse(readAmount(text) ?? text, field)}
          print={writtenAmount}
          inputMode={whole ? "numeric" : "decimal"}
        />
      ) : (
        <Choice {...props} />
      ),
    filterOps: ["eq", "gte", "lte", "gt", "lt", "ne", "in", "null"],
    parse,
    format: plainText,
    align: "end",
  };
}

export const numberKind = kindOf(false);
export const integerKind = kindOf(true);

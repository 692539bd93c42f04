import { LANGUAGE, t } from "../texts/t.ts";
import { Choice } from "./choice.tsx";
import type { FieldKind } from "./kind.ts";
import { plainText, TextInput } from "./text-input.tsx";

const shown = new Intl.NumberFormat(LANGUAGE, { maximumFractionDigits: 20 });

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
    Cell: ({ value }) => (
      <span class="number">{typeof value === "number" ? shown.format(value) : plainText(value)}</span>
    ),
    Input: (props) =>
      props.field.enum === undefined ? (
        <TextInput {...props} parse={parse} inputMode={whole ? "numeric" : "decimal"} />
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

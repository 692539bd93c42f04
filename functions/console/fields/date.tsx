import { LOCALE, t } from "../texts/t.ts";
import type { FieldKind } from "./parts/kind.ts";
import { plainText, TextInput } from "./parts/text-input.tsx";

// A date has no time zone. Format it in UTC, so that every user sees the same day.
const shown = new Intl.DateTimeFormat(LOCALE, { dateStyle: "medium", timeZone: "UTC" });
const DATE = /^\d{4}-\d{2}-\d{2}$/;

const parse: FieldKind["parse"] = (text) =>
  text === "" ? { value: null } : DATE.test(text) ? { value: text } : { message: t("fields.notDate") };

export const dateKind: FieldKind = {
  Cell: ({ value }) => (
    <span>
      {typeof value === "string" && DATE.test(value) ? shown.format(new Date(value)) : plainText(value)}
    </span>
  ),
  Input: (props) => <TextInput {...props} parse={parse} type="date" />,
  filterOps: ["eq", "gte", "lte", "gt", "lt", "null"],
  parse,
  format: plainText,
};

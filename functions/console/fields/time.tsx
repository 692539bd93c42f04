import { LOCALE, t } from "../texts/t.ts";
import type { FieldKind } from "./parts/kind.ts";
import { plainText, TextInput } from "./parts/text-input.tsx";

// A time of day has no time zone. Format it in UTC, so that every user sees the same time.
const toMinute = new Intl.DateTimeFormat(LOCALE, { timeStyle: "short", timeZone: "UTC" });
const toSecond = new Intl.DateTimeFormat(LOCALE, { timeStyle: "medium", timeZone: "UTC" });
const TIME = /^\d{2}:\d{2}(:\d{2})?$/;

function shown(value: unknown): string {
  if (typeof value !== "string" || !TIME.test(value)) return plainText(value);
  return (value.length > 5 ? toSecond : toMinute).format(new Date(`1970-01-01T${value}Z`));
}

const parse: FieldKind["parse"] = (text) =>
  text === "" ? { value: null } : TIME.test(text) ? { value: text } : { message: t("fields.notTimeOfDay") };

export const timeKind: FieldKind = {
  Cell: ({ value }) => <span>{shown(value)}</span>,
  Input: (props) => <TextInput {...props} parse={parse} type="time" />,
  filterOps: ["eq", "gte", "lte", "gt", "lt", "null"],
  parse,
  format: plainText,
};

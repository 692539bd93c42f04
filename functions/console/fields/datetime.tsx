import { t } from "../texts/t.ts";
import { exactTime, Time } from "../ui/time.tsx";
import type { FieldKind } from "./parts/kind.ts";
import { plainText } from "./parts/text-input.tsx";

/** Returns a time in the form that the input expects: in the browser's time zone, without an offset. */
export function localText(moment: unknown): string {
  const at = new Date(typeof moment === "string" ? moment : Number.NaN);
  if (Number.isNaN(at.getTime())) return "";
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

/** The browser's time zone, such as `Europe/Berlin`. */
export const timeZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone;

export const datetimeKind: FieldKind = {
  Cell: ({ value }) => (typeof value === "string" ? <Time at={value} /> : null),
  Input: ({ value, onChange, attributes, disabled }) => (
    <div class="with-note">
      <input
        {...attributes}
        type="datetime-local"
        // With a step of one minute, the input shows no seconds. Use a step of one second only if the value has
        // seconds.
        step={localText(value).endsWith(":00") || value === null ? 60 : 1}
        disabled={disabled}
        value={localText(value)}
        onChange={(event) => {
          const text = event.currentTarget.value;
          onChange(text === "" ? null : new Date(text).toISOString());
        }}
      />
      <span class="note" title={typeof value === "string" ? exactTime(value) : undefined}>
        {timeZone()}
      </span>
    </div>
  ),
  filterOps: ["gte", "lte", "gt", "lt", "eq", "null"],
  parse: (text) => {
    if (text === "") return { value: null };
    const at = new Date(text);
    return Number.isNaN(at.getTime()) ? { message: t("fields.notTime") } : { value: at.toISOString() };
  },
  format: plainText,
};

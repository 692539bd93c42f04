import type { FieldKind } from "./kind.ts";
import { plainText } from "./text-input.tsx";

export const textKind: FieldKind = {
  Cell: ({ value }) => <span class="clip">{plainText(value).slice(0, 200)}</span>,
  Input: ({ value, onChange, attributes, disabled }) => (
    <textarea
      {...attributes}
      rows={6}
      disabled={disabled}
      value={plainText(value)}
      onInput={(event) => onChange(event.currentTarget.value === "" ? null : event.currentTarget.value)}
    />
  ),
  filterOps: ["contains", "startsWith", "eq", "ne", "in", "null"],
  parse: (text) => ({ value: text === "" ? null : text }),
  format: plainText,
};

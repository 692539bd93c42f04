/** Texts: in one line, and in several. */
import { Choice } from "./parts/choice.tsx";
import type { FieldKind } from "./parts/kind.ts";
import { plainText, TextInput } from "./parts/text-input.tsx";

const parse: FieldKind["parse"] = (text) => ({ value: text === "" ? null : text });

export const stringKind: FieldKind = {
  Cell: ({ field, value }) => (
    <span class={field.enum === undefined || value === null ? "clip" : "badge"} dir="auto">
      {plainText(value)}
    </span>
  ),
  Input: (props) =>
    props.field.enum === undefined ? <TextInput {...props} parse={parse} /> : <Choice {...props} />,
  filterOps: ["eq", "contains", "startsWith", "ne", "in", "null"],
  parse,
  format: plainText,
};

export const textKind: FieldKind = {
  Cell: ({ value }) => (
    <span class="clip" dir="auto">
      {plainText(value).slice(0, 200)}
    </span>
  ),
  Input: ({ field, value, onChange, attributes, disabled }) => (
    <textarea
      {...attributes}
      rows={6}
      {...(field.placeholder === undefined ? {} : { placeholder: field.placeholder })}
      disabled={disabled}
      value={plainText(value)}
      onInput={(event) => onChange(event.currentTarget.value === "" ? null : event.currentTarget.value)}
    />
  ),
  filterOps: ["contains", "startsWith", "eq", "ne", "in", "null"],
  parse,
  format: plainText,
};

import { Choice } from "./choice.tsx";
import type { FieldKind } from "./kind.ts";
import { plainText, TextInput } from "./text-input.tsx";

const parse: FieldKind["parse"] = (text) => ({ value: text === "" ? null : text });

export const stringKind: FieldKind = {
  Cell: ({ field, value }) => (
    <span class={field.enum === undefined || value === null ? "clip" : "badge"}>{plainText(value)}</span>
  ),
  Input: (props) =>
    props.field.enum === undefined ? <TextInput {...props} parse={parse} /> : <Choice {...props} />,
  filterOps: ["eq", "contains", "startsWith", "ne", "in", "null"],
  parse,
  format: plainText,
};

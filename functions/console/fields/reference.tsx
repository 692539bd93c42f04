import type { FieldKind } from "./kind.ts";
import { plainText, TextInput } from "./text-input.tsx";

const parse: FieldKind["parse"] = (text) => ({ value: text.trim() === "" ? null : text.trim() });

export const referenceKind: FieldKind = {
  Cell: ({ value }) => <code class="clip">{plainText(value)}</code>,
  Input: (props) => <TextInput {...props} parse={parse} />,
  filterOps: ["eq", "ne", "in", "null"],
  parse,
  format: plainText,
};

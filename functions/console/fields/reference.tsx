import type { FieldKind } from "./kind.ts";
import { ReferencePicker } from "./reference-picker.tsx";
import { plainText } from "./text-input.tsx";

const parse: FieldKind["parse"] = (text) => ({ value: text.trim() === "" ? null : text.trim() });

export const referenceKind: FieldKind = {
  Cell: ({ value, name }) =>
    name === undefined ? (
      <code class="clip hint">{plainText(value)}</code>
    ) : (
      <span class="clip" title={plainText(value)}>
        {name}
      </span>
    ),
  Input: ReferencePicker,
  filterOps: ["eq", "ne", "in", "null"],
  parse,
  format: plainText,
};

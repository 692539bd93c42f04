import { slugOf } from "../../../shared/texts/slug.ts";
import type { FieldKind, InputProps } from "./parts/kind.ts";
import { plainText, TextInput } from "./parts/text-input.tsx";

const parse: FieldKind["parse"] = (text) => ({ value: text.trim() === "" ? null : text.trim() });

/** Shows the slug that the platform will make, while the user types the text of which it is made. */
function SlugInput(props: InputProps) {
  const { field, readField, language } = props;
  const source = typeof field.from !== "string" ? null : readField?.(field.from);
  const most = Math.min(80, Number(field.max ?? 80));
  return <TextInput {...props} parse={parse} placeholder={slugOf(plainText(source), language ?? "", most)} />;
}

export const slugKind: FieldKind = {
  Cell: ({ value }) => <code class="clip">{plainText(value)}</code>,
  Input: SlugInput,
  filterOps: ["eq", "contains", "startsWith", "ne", "in", "null"],
  parse,
  format: plainText,
};

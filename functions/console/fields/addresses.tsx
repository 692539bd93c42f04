import { Choice } from "./parts/choice.tsx";
import type { FieldKind } from "./parts/kind.ts";
import { plainText, TextInput } from "./parts/text-input.tsx";

const parse: FieldKind["parse"] = (text) => ({ value: text.trim() === "" ? null : text.trim() });

export const emailKind: FieldKind = {
  Cell: ({ value }) => (
    <span class="clip" dir="ltr">
      {plainText(value)}
    </span>
  ),
  Input: (props) =>
    props.field.enum === undefined ? (
      <TextInput {...props} parse={parse} inputMode="email" />
    ) : (
      <Choice {...props} />
    ),
  filterOps: ["eq", "contains", "startsWith", "ne", "in", "null"],
  parse,
  format: plainText,
};

/** Values with another scheme than `http` and `https` may be stored from a time when the field had another type. */
const isPage = (value: unknown): value is string => typeof value === "string" && /^https?:\/\//i.test(value);

export const urlKind: FieldKind = {
  Cell: ({ value }) =>
    isPage(value) ? (
      <a class="clip" dir="ltr" href={value} target="_blank" rel="noreferrer noopener">
        {value.replace(/^https?:\/\//i, "")}
      </a>
    ) : (
      <span class="clip">{plainText(value)}</span>
    ),
  Input: (props) =>
    props.field.enum === undefined ? (
      <TextInput {...props} parse={parse} inputMode="url" />
    ) : (
      <Choice {...props} />
    ),
  filterOps: ["eq", "contains", "startsWith", "ne", "in", "null"],
  parse,
  format: plainText,
};

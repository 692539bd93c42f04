import { useState } from "preact/hooks";
import { t } from "../texts/t.ts";
import type { FieldKind, InputProps } from "./kind.ts";

const pretty = (value: unknown) =>
  value === null || value === undefined ? "" : JSON.stringify(value, null, 2);

function JsonInput({ value, onChange, attributes, disabled }: InputProps) {
  const [text, setText] = useState(pretty(value));
  const [fault, setFault] = useState<string>();
  return (
    <>
      <textarea
        {...attributes}
        class="mono"
        rows={8}
        spellcheck={false}
        disabled={disabled}
        value={text}
        onInput={(event) => {
          const written = event.currentTarget.value;
          setText(written);
          const parsed = parseJson(written);
          setFault("message" in parsed ? parsed.message : undefined);
          if ("value" in parsed) onChange(parsed.value);
        }}
      />
      {fault === undefined ? null : <p class="error">{fault}</p>}
    </>
  );
}

function parseJson(text: string): { value: unknown } | { message: string } {
  if (text.trim() === "") return { value: null };
  try {
    return { value: JSON.parse(text) as unknown };
  } catch (error) {
    return { message: t("fields.notJson", { reason: error instanceof Error ? error.message : "" }) };
  }
}

export const jsonKind: FieldKind = {
  Cell: ({ value }) => (
    <code class="clip">{value === null || value === undefined ? "" : JSON.stringify(value)}</code>
  ),
  Input: JsonInput,
  filterOps: ["null"],
  parse: parseJson,
  format: pretty,
};

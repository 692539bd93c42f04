/** The input for values that the user types as one line of text. */
import { useLayoutEffect, useState } from "preact/hooks";
import type { FieldKind, InputProps } from "./kind.ts";

const textOf = (value: unknown) => (value === null || value === undefined ? "" : String(value));

/**
 * Keeps text that cannot be parsed, such as `-` in a number field, and passes it on unchanged. The platform's
 * validation then reports the error.
 */
export function TextInput({
  field,
  value,
  onChange,
  attributes,
  disabled,
  onFault,
  parse,
  type = "text",
  inputMode,
  placeholder,
  print = (text) => text,
}: InputProps & {
  /** Returns the text in which the user edits a value, if that is not the value as a text. */
  print?: (text: string) => string;
  placeholder?: string | undefined;
  parse: FieldKind["parse"];
  type?: string;
  inputMode?: "numeric" | "decimal" | "email" | "url";
}) {
  const shownInstead = placeholder || field.placeholder;
  const [text, setText] = useState(print(textOf(value)));
  useLayoutEffect(() => {
    const parsed = parse(text, field);
    if (!("value" in parsed) || textOf(parsed.value) !== textOf(value)) setText(print(textOf(value)));
    // The effect runs only when the parent sets a different value, so that it does not overwrite what the user types.
  }, [value]);
  return (
    <input
      {...attributes}
      type={type}
      inputMode={inputMode}
      {...(shownInstead === undefined ? {} : { placeholder: shownInstead })}
      autocomplete="off"
      disabled={disabled}
      value={text}
      onInput={(event) => {
        const written = event.currentTarget.value;
        setText(written);
        const parsed = parse(written, field);
        onFault?.("message" in parsed ? parsed.message : undefined);
        onChange("value" in parsed ? parsed.value : written);
      }}
    />
  );
}

/** Shows a value as text. Shows nothing if there is no value. */
export const plainText = (value: unknown): string => textOf(value);

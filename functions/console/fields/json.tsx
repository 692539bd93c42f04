import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { t } from "../texts/t.ts";
import type { FieldKind, InputProps } from "./parts/kind.ts";

const pretty = (value: unknown) =>
  value === null || value === undefined ? "" : JSON.stringify(value, null, 2);

function JsonInput({ value, onChange, attributes, disabled, onFault }: InputProps) {
  const [text, setText] = useState(pretty(value));
  /**
   * The value last parsed from the text. If the property `value` differs, the parent has changed it, so the text is
   * replaced.
   */
  const own = useRef(value);
  const [fault, setFault] = useState<string>();
  const tell = (message: string | undefined) => {
    setFault(message);
    onFault?.(message);
  };
  useLayoutEffect(() => {
    if (value === own.current) return;
    own.current = value;
    setText(pretty(value));
    tell(undefined);
  }, [value]);
  const read = (written: string) => {
    setText(written);
    const parsed = parseJson(written);
    tell("message" in parsed ? parsed.message : undefined);
    if ("message" in parsed) return;
    own.current = parsed.value;
    onChange(parsed.value);
  };
  return (
    <>
      <textarea
        {...attributes}
        dir="ltr"
        class="mono"
        rows={4}
        spellcheck={false}
        disabled={disabled}
        value={text}
        {...(fault === undefined ? {} : { "aria-invalid": "true" })}
        onInput={(event) => read(event.currentTarget.value)}
        onBlur={() => {
          const parsed = parseJson(text);
          if ("value" in parsed) setText(pretty(parsed.value));
        }}
      />
      {fault === undefined ? null : (
        <p class="error" role="status">
          {fault}
        </p>
      )}
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
    <code class="clip">
      {value === null || value === undefined ? "" : JSON.stringify(value).slice(0, 200)}
    </code>
  ),
  Input: JsonInput,
  filterOps: ["null"],
  parse: parseJson,
  format: pretty,
};

/** Text inputs that are parsed into another type: lists and JSON. */
import { useLayoutEffect, useState } from "preact/hooks";
import { t } from "../../texts/t.ts";
import type { InputAttributes } from "../../ui/form.tsx";
import { type Json, type JsonObject, listOf, objectOf, textOf } from "../document/pointer.ts";
import type { Attribute, Owner } from "./attributes.ts";

export interface ControlProps {
  attribute: Attribute;
  owner: Owner;
  value: Json | undefined;
  /** Undefined removes the attribute. */
  set: (value: Json | undefined) => void;
  attributes: InputAttributes;
}

/** Returns the text to show in an input. Values of an unexpected type appear as JSON, so that users can fix them. */
export const shown = (value: Json | undefined): string =>
  value === undefined ? "" : typeof value === "string" ? value : JSON.stringify(value);

/** A text input that does not reformat what the user types, as long as the text parses to the current value. */
export function Typed({
  value,
  print,
  parse,
  set,
  attributes,
  rows,
  mono,
}: Pick<ControlProps, "value" | "set" | "attributes"> & {
  print: (value: Json | undefined) => string;
  parse: (text: string) => { value: Json | undefined } | { fault: string };
  rows: number;
  mono?: boolean;
}) {
  const [text, setText] = useState(print(value));
  const parsed = parse(text);
  useLayoutEffect(() => {
    const now = parse(text);
    if (!("value" in now) || print(now.value) !== print(value)) setText(print(value));
    // Replace the text only when the parent sets a different value.
  }, [print(value)]);
  return (
    <>
      <textarea
        {...attributes}
        rows={Math.min(12, Math.max(rows, text.split("\n").length))}
        class={mono === true ? "mono" : ""}
        spellcheck={false}
        value={text}
        onInput={({ currentTarget }) => {
          setText(currentTarget.value);
          const next = parse(currentTarget.value);
          if ("value" in next) set(next.value);
        }}
      />
      {"fault" in parsed ? <p class="error">{parsed.fault}</p> : null}
    </>
  );
}

export const linesOf = (text: string) =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);

export function Lines({ attribute, ...props }: ControlProps) {
  return (
    <Typed
      {...props}
      rows={2}
      print={(value) => listOf(value).map(shown).join("\n")}
      parse={(text) => {
        const found = linesOf(text);
        return { value: found.length === 0 && attribute.required !== true ? undefined : found };
      }}
    />
  );
}

export function JsonValue({ attribute: _, ...props }: ControlProps) {
  return (
    <Typed
      {...props}
      rows={2}
      mono
      print={(value) => (value === undefined ? "" : JSON.stringify(value, null, 2))}
      parse={(text) => {
        if (text.trim() === "") return { value: undefined };
        try {
          return { value: JSON.parse(text) as Json };
        } catch {
          return { fault: t("json.invalid") };
        }
      }}
    />
  );
}

/** The rule in `{ "convert": … }`. */
export function Conversion({ value, set, ...props }: ControlProps) {
  return (
    <JsonValue
      {...props}
      value={objectOf(value).convert}
      set={(convert) => set(convert === undefined ? undefined : { convert })}
    />
  );
}

/** The fields in `{ "fields": { "title": "metaTitle" } }`: a member and its earlier field in each line. */
export function Moves({ attribute: _, value, set, ...props }: ControlProps) {
  return (
    <Typed
      {...props}
      value={objectOf(value).fields}
      set={(fields) => set(fields === undefined ? undefined : { fields })}
      rows={2}
      print={(fields) =>
        Object.entries(objectOf(fields))
          .map(([member, field]) => `${member}: ${textOf(field)}`)
          .join("\n")
      }
      parse={(text) => {
        const pairs = linesOf(text).map((line) => line.split(/\s*:\s*/, 2));
        if (pairs.some((pair) => pair.length < 2)) return { fault: t("schema.movesForm") };
        const fields: JsonObject = Object.fromEntries(pairs);
        return { value: pairs.length === 0 ? undefined : fields };
      }}
    />
  );
}

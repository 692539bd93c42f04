/** Creates a form from a handler's input schema, and converts the filled form to the input of a call. */
import type { JsonSchema } from "../api/orbs.ts";

export type InputKind = "text" | "number" | "boolean" | "choice" | "json";

export interface InputField {
  name: string;
  kind: InputKind;
  schema: JsonSchema;
  required: boolean;
}

function kindOf({ type, enum: values }: JsonSchema): InputKind {
  if (values?.every((value) => typeof value === "string")) return "choice";
  if (type === "string") return "text";
  if (type === "number" || type === "integer") return "number";
  return type === "boolean" ? "boolean" : "json";
}

/**
 * Returns the inputs for a schema. Returns undefined if the schema is too complex for a form. The user must then
 * write JSON.
 */
export function inputFields(schema: JsonSchema | undefined): readonly InputField[] | undefined {
  if (schema?.type !== "object" || schema.properties === undefined) return undefined;
  return Object.entries(schema.properties).map(([name, property]) => ({
    name,
    kind: kindOf(property),
    schema: property,
    required: schema.required?.includes(name) === true,
  }));
}

/**
 * Parses the text of an input.
 * @throws SyntaxError if the text is invalid
 */
function parse(kind: InputKind, text: string): unknown {
  return kind === "text" || kind === "choice" ? text : JSON.parse(text);
}

/**
 * Returns the input for a call. Omits optional properties whose text is empty.
 * @throws SyntaxError if a number or JSON value is invalid; the message begins with the name of the property
 */
export function inputOf(
  fields: readonly InputField[],
  texts: Readonly<Record<string, string>>,
): Record<string, unknown> {
  const input: Record<string, unknown> = {};
  for (const { name, kind, required } of fields) {
    const text = texts[name] ?? "";
    if (text === "" && !(required && kind === "text")) continue;
    try {
      input[name] = parse(kind, text);
    } catch (error) {
      throw new SyntaxError(`${name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  return input;
}

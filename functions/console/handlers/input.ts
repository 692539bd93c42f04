/** Builds form inputs from a handler's input schema, and the call's input from the form. */
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

/** Returns the inputs of a schema; undefined if its values are no plain objects, so that only JSON can describe them. */
export function inputFields(schema: JsonSchema | undefined): readonly InputField[] | undefined {
  if (schema?.type !== "object" || schema.properties === undefined) return undefined;
  return Object.entries(schema.properties).map(([name, property]) => ({
    name,
    kind: kindOf(property),
    schema: property,
    required: schema.required?.includes(name) === true,
  }));
}

/** Returns the value that a text stands for. Throws SyntaxError if it is not valid. */
function parse(kind: InputKind, text: string): unknown {
  return kind === "text" || kind === "choice" ? text : JSON.parse(text);
}

/**
 * Returns the input of a call. Leaves out empty texts of optional properties.
 * @throws SyntaxError if a number or a JSON text is not valid; the message begins with the name of the property
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

/**
 * Converts the JSON Schemas of handlers to TypeScript types. Schemas that TypeScript cannot express become `unknown`.
 */

import { isObject } from "../../shared/kernel/json.ts";

/** Maximum nesting. Schemas at deeper levels become `unknown`. */
const MAX_DEPTH = 16;

type Schema = Readonly<Record<string, unknown>>;

function isSchema(value: unknown): value is Schema {
  return isObject(value);
}

const PRIMITIVES: Readonly<Record<string, string>> = {
  string: "string",
  number: "number",
  integer: "number",
  boolean: "boolean",
  null: "null",
};

/** Returns a property name as TypeScript source, quoted if necessary. */
export function propertyName(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
}

/** Returns the source of a union type, without duplicate members. */
export function unionOf(types: readonly string[]): string {
  const distinct = [...new Set(types)];
  if (distinct.length === 0) return "never";
  if (distinct.includes("unknown")) return "unknown";
  return distinct.join(" | ");
}

function objectOf(schema: Schema, root: Schema, depth: number): string {
  const properties = isSchema(schema.properties) ? Object.entries(schema.properties) : [];
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  const members = properties.map(
    ([name, of]) => `${propertyName(name)}${required.has(name) ? "" : "?"}: ${convert(of, root, depth)}`,
  );
  if (members.length === 0) {
    const { additionalProperties: rest } = schema;
    if (rest === false) return "Record<string, never>";
    return `Record<string, ${isSchema(rest) ? convert(rest, root, depth) : "unknown"}>`;
  }
  return `{ ${members.join("; ")} }`;
}

function arrayOf(schema: Schema, root: Schema, depth: number): string {
  const tuple = Array.isArray(schema.prefixItems) ? schema.prefixItems : undefined;
  if (tuple !== undefined)
    return `[${tuple.map((item) => `${convert(item, root, depth)}?`).join(", ")}, ...unknown[]]`;
  return `Array<${schema.items === undefined ? "unknown" : convert(schema.items, root, depth)}>`;
}

function referenced(schema: Schema, root: Schema, depth: number): string {
  const [, group = "", name = ""] = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(String(schema.$ref)) ?? [];
  const definitions = root[group];
  const target = isSchema(definitions) ? definitions[name] : schema.$ref === "#" ? root : undefined;
  return target === undefined ? "unknown" : convert(target, root, depth);
}

function convert(schema: unknown, root: Schema, above: number): string {
  const depth = above + 1;
  if (!isSchema(schema) || depth > MAX_DEPTH) return "unknown";
  if (schema.$ref !== undefined) return referenced(schema, root, depth);
  if ("const" in schema) return JSON.stringify(schema.const);
  if (Array.isArray(schema.enum)) return unionOf(schema.enum.map((value) => JSON.stringify(value)));
  for (const keyword of ["anyOf", "oneOf"]) {
    const forms = schema[keyword];
    if (Array.isArray(forms)) return unionOf(forms.map((form) => convert(form, root, depth)));
  }
  const { type } = schema;
  const types = Array.isArray(type)
    ? type
    : [type ?? (schema.properties === undefined ? undefined : "object")];
  return unionOf(
    types.map((each) => {
      if (each === "object") return objectOf(schema, root, depth);
      if (each === "array") return arrayOf(schema, root, depth);
      return PRIMITIVES[String(each)] ?? "unknown";
    }),
  );
}

/** Returns the TypeScript type of a JSON Schema. Returns `unknown` if there is no schema. */
export function typeOfSchema(schema: unknown): string {
  return isSchema(schema) ? convert(schema, schema, 0) : "unknown";
}

/** Entry values as JSON Schema (OpenAPI 3.0), for the description of an orb's routes. */
import type { CompiledField, CompiledSchema } from "./compile.ts";
import type { JsonSchema } from "./fields/index.ts";
import { MASK } from "./mask.ts";
import { MAX_ITEMS } from "./validate.ts";

/** `map`: as entries are kept and written; `resolved`: one language and market, as the runtime answers. */
export type ValuesForm = "map" | "resolved";

/** The values of a schema's entries. */
export function valuesSchema(schema: CompiledSchema, form: ValuesForm): JsonSchema {
  const properties: { [name: string]: JsonSchema } = {};
  for (const field of schema.fields.values()) properties[field.name] = fieldValueSchema(schema, field, form);
  const required = [...schema.fields.values()]
    .filter((field) => field.required && field.definition.default === undefined)
    .map((field) => field.name);
  return {
    type: "object",
    properties,
    ...(required.length > 0 ? { required } : {}),
    additionalProperties: false,
  };
}

function fieldValueSchema(schema: CompiledSchema, field: CompiledField, form: ValuesForm): JsonSchema {
  const { definition } = field;
  const value = field.type.jsonSchema(definition);
  if (definition.enum !== undefined) value.enum = [...definition.enum];
  let result: JsonSchema = field.list ? { type: "array", items: value, maxItems: MAX_ITEMS } : value;
  if (form === "map") {
    if (field.translatable) result = mapSchema(result, schema.languages);
    if (field.marketSpecific) result = mapSchema(result, schema.markets);
  }
  const notes = [
    definition.description ?? definition.label,
    field.sensitive ? `Sensitive: answers show ${MASK}; sent back it means unchanged.` : undefined,
    field.unique ? "Unique." : undefined,
    field.target === undefined ? undefined : `Entry of ${definition.ref}.`,
  ].filter((note) => note !== undefined);
  return {
    ...result,
    nullable: !field.required,
    ...(notes.length > 0 ? { description: notes.join(" ") } : {}),
  };
}

function mapSchema(value: JsonSchema, keys: readonly string[]): JsonSchema {
  return {
    type: "object",
    properties: Object.fromEntries(keys.map((key) => [key, value])),
    additionalProperties: false,
  };
}

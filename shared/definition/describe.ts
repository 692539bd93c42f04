import type { CompiledField, CompiledSchema } from "./compile.ts";
import { MASK } from "./document/mask.ts";
import type { Json, JsonSchema } from "./fields/index.ts";
import { MAX_ITEMS } from "./validate.ts";

/** Whether to describe the values of requests (`input`) or of responses (`answer`). */
export type ValuesForm = "input" | "answer";

/** Maximum bytes of an OpenAPI description that lists every language and market. */
const MOST_LISTED = 2 * 1024 * 1024;

/**
 * Returns whether the OpenAPI document can list every language and market. With 100 languages and 200 markets, it could
 * take 200 MB.
 */
export function listsNames(schemas: Iterable<CompiledSchema>): boolean {
  let bytes = 0;
  for (const { fields, languages, markets } of schemas) {
    for (const field of fields.values()) {
      if (!field.translatable && !field.marketSpecific) continue;
      const each = JSON.stringify(oneValue(field, "input")).length;
      bytes +=
        each * (field.translatable ? languages.length : 1) * (field.marketSpecific ? markets.length : 1);
    }
  }
  return bytes <= MOST_LISTED;
}

/**
 * Returns the JSON Schema of an entry's values.
 * @param complete whether all required fields must be present
 * @param listed whether to list languages and markets; otherwise any key is valid
 */
export function valuesSchema(
  schema: CompiledSchema,
  form: ValuesForm,
  complete: boolean,
  listed = true,
): JsonSchema {
  const properties: { [name: string]: JsonSchema } = {};
  for (const field of schema.fields.values())
    properties[field.name] = fieldSchema(schema, field, form, listed);
  const required = [...schema.fields.values()].filter(isNeeded).map((field) => field.name);
  return {
    type: "object",
    properties,
    ...(complete && required.length > 0 ? { required } : {}),
    additionalProperties: false,
  };
}

function isNeeded(field: CompiledField): boolean {
  return field.required && field.definition.default === undefined;
}

function fieldSchema(
  schema: CompiledSchema,
  field: CompiledField,
  form: ValuesForm,
  listed: boolean,
): JsonSchema {
  const { definition } = field;
  const notes = [
    definition.description ?? definition.label,
    field.sensitive ? `Sensitive: responses show ${MASK}. Send it back to keep the value.` : undefined,
    field.unique ? "Unique." : undefined,
    field.target === undefined ? undefined : `Entry of ${definition.ref}.`,
    field.translatable ? "By language." : undefined,
    field.marketSpecific ? "By market." : undefined,
    definition.access?.read === undefined ? undefined : `Only for ${definition.access.read.join(", ")}.`,
    definition.access?.write === undefined ? undefined : `Set by ${definition.access.write.join(", ")}.`,
  ].filter((note) => note !== undefined);
  const { default: value } = definition;
  return {
    ...kept(schema, field, form, listed),
    ...(notes.length > 0 ? { description: notes.join(" ") } : {}),
    ...(value === undefined || form === "answer" ? {} : { default: value as Json }),
  };
}

function kept(schema: CompiledSchema, field: CompiledField, form: ValuesForm, listed: boolean): JsonSchema {
  const single = oneValue(field, form);
  const languages = listed ? schema.languages : undefined;
  const markets = listed ? schema.markets : undefined;
  let map = single;
  if (field.translatable) map = mapOf(map, languages);
  if (field.marketSpecific) map = mapOf(map, markets);
  // With ?locale or ?market, requests and responses contain the value itself.
  const forms: JsonSchema[] = map === single ? [single] : [single, map];
  if (field.translatable && field.marketSpecific) {
    forms.push(mapOf(single, languages), mapOf(single, markets));
  }
  return anyOf(forms, true);
}

function oneValue(field: CompiledField, form: ValuesForm): JsonSchema {
  const { definition } = field;
  const text: JsonSchema = { type: "string", example: MASK };
  // Responses show a mask instead of a sensitive value of any type.
  if (field.sensitive && form === "answer") return text;
  const value = portable(field.type.jsonSchema(definition));
  if (definition.enum !== undefined) value.enum = [...definition.enum];
  const complete: JsonSchema = field.list ? { type: "array", items: value, maxItems: MAX_ITEMS } : value;
  return field.sensitive ? anyOf([complete, { type: "string", enum: [MASK] }], false) : complete;
}

/** Patterns use RE2 syntax. One that is no valid JavaScript pattern goes into the description text. */
function portable({ pattern, ...value }: JsonSchema): JsonSchema {
  if (typeof pattern !== "string") return value;
  try {
    new RegExp(pattern, "u");
    return { ...value, pattern };
  } catch {
    return { ...value, description: `Matches the RE2 pattern ${pattern}` };
  }
}

/** Combines alternatives. In OpenAPI 3.0, `nullable` needs a `type`, and `enum` must list null. */
function anyOf(forms: JsonSchema[], nullable: boolean): JsonSchema {
  const each = nullable ? forms.map(orNull) : forms;
  const [only] = each;
  return each.length === 1 && only !== undefined ? only : { anyOf: each };
}

function orNull(schema: JsonSchema): JsonSchema {
  if (Array.isArray(schema.anyOf)) return { anyOf: (schema.anyOf as JsonSchema[]).map(orNull) };
  const { enum: allowed } = schema;
  if (schema.type === undefined) return schema; // anything, null too
  return {
    ...schema,
    nullable: true,
    ...(Array.isArray(allowed) && !allowed.includes(null) ? { enum: [...allowed, null] } : {}),
  };
}

function mapOf(value: JsonSchema, keys: readonly string[] | undefined): JsonSchema {
  if (keys === undefined) return { type: "object", additionalProperties: orNull(value) };
  return {
    type: "object",
    properties: Object.fromEntries(keys.map((key) => [key, orNull(value)])),
    additionalProperties: false,
  };
}

const EXAMPLES: Record<string, Json> = {
  string: "Example",
  text: "An example of a longer text.",
  number: 49.5,
  integer: 3,
  boolean: true,
  date: "2026-01-31",
  datetime: "2026-01-31T12:00:00.000Z",
  json: { any: "value" },
};

/** Maximum length of a generated example text. */
const MADE_UP = 1_000;

function textOf(length: Json | undefined): string | undefined {
  return typeof length === "number" && length <= MADE_UP ? "x".repeat(length) : undefined;
}

/** Returns an example value, or undefined if none can be generated, as for patterns and references. */
function exampleOf(field: CompiledField): Json | undefined {
  const { definition } = field;
  const first = definition.enum?.[0];
  const { default: standard } = definition;
  if (standard !== undefined) return standard as Json;
  const candidates: (Json | undefined)[] = [
    first,
    EXAMPLES[definition.type],
    definition.min,
    definition.max,
    // For other types, min and max limit the value, not its length.
    ...(field.type.bounds === "length" ? [textOf(definition.min), textOf(definition.max)] : []),
  ];
  for (const candidate of candidates) {
    if (candidate === undefined || definition.type === "reference") continue;
    if (definition.enum !== undefined && candidate !== first) continue;
    let faults = 0;
    const report = () => {
      faults++;
    };
    const value = field.type.parse(candidate, report);
    if (value !== undefined) field.rules(value, report);
    if (value !== undefined && faults === 0) return field.list ? [value] : value;
  }
  return undefined;
}

/** Returns example values of an entry, or undefined if a required field has no example. */
export function exampleValues(schema: CompiledSchema): { [name: string]: Json } | undefined {
  const values: { [name: string]: Json } = {};
  for (const field of schema.fields.values()) {
    const single = exampleOf(field);
    if (single === undefined) {
      if (isNeeded(field)) return undefined;
      continue;
    }
    let value: Json = single;
    const [language] = schema.languages;
    const [market] = schema.markets;
    if (field.translatable && language !== undefined) value = { [language]: value };
    if (field.marketSpecific && market !== undefined) value = { [market]: value };
    values[field.name] = value;
  }
  return values;
}

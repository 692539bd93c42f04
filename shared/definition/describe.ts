/** Describes the values of entries in OpenAPI 3.0, as precisely as OpenAPI allows. */
import type { CompiledField, CompiledSchema } from "./compile.ts";
import { MASK } from "./document/mask.ts";
import type { Json, JsonSchema } from "./fields/index.ts";
import { isPortable } from "./portable.ts";
import { MAX_ITEMS } from "./validate.ts";

export interface ValuesForm {
  /**
   * Purpose of the described values. `new`: to create an entry. `change`: to change an entry. `answer`: in a
   * response. `partial`: in a response that may lack required values.
   */
  use: "new" | "change" | "answer" | "partial";
  /** `one`: values in one language and market. `all`: maps with the values in all languages and markets. */
  locales: "one" | "all";
  /** Whether maps list every language and market by name. Otherwise the schema of a map allows any key. */
  named: boolean;
  /** Whether the response may contain sensitive values instead of masks. */
  revealed?: boolean;
}

/** Maximum bytes of an OpenAPI description that lists every language and market. */
const MOST_LISTED = 2 * 1024 * 1024;

const MASKED: JsonSchema = { type: "string", enum: [MASK] };

/**
 * Returns whether the OpenAPI document can list every language and market. With 100 languages and 200 markets, it could
 * take 200 MB.
 */
export function listsNames(schemas: Iterable<CompiledSchema>): boolean {
  let bytes = 0;
  for (const { fields, languages, markets } of schemas) {
    for (const field of fields.values()) {
      if (!isLocalized(field)) continue;
      const each = JSON.stringify(valueSchema(field).schema).length;
      bytes +=
        each * (field.translatable ? languages.length : 1) * (field.marketSpecific ? markets.length : 1);
    }
  }
  return bytes <= MOST_LISTED;
}

const isLocalized = (field: CompiledField) => field.translatable || field.marketSpecific;

/** Returns whether the form of an entry's values depends on the language and market of a request. */
export function isLocalizedSchema({ translatable, marketSpecific }: CompiledSchema): boolean {
  return translatable.length > 0 || marketSpecific.length > 0;
}

/** Returns the JSON Schema of an entry's values. */
export function valuesSchema(schema: CompiledSchema, form: ValuesForm): JsonSchema {
  const fields = [...schema.fields.values()];
  const required = fields.filter((field) => isRequired(field, form)).map(({ name }) => name);
  return {
    type: "object",
    properties: Object.fromEntries(fields.map((field) => [field.name, fieldSchema(schema, field, form)])),
    ...(required.length > 0 ? { required } : {}),
    additionalProperties: false,
  };
}

function isRequired({ required, definition, access }: CompiledField, { use }: ValuesForm): boolean {
  if (!required) return false;
  return (
    (use === "new" && definition.default === undefined) || (use === "answer" && access.read === undefined)
  );
}

/**
 * Returns whether the schema must exclude null and empty values. A request that changes an entry may contain them, to
 * clear a value in one language.
 */
const isFilled = ({ required }: CompiledField, { use }: ValuesForm) =>
  required && (use === "new" || use === "answer");

function fieldSchema(schema: CompiledSchema, field: CompiledField, form: ValuesForm): JsonSchema {
  const { definition } = field;
  const { schema: value, note } = shownValue(field, form);
  const isMap = form.locales === "all" && isLocalized(field);
  const filled = isFilled(field, form);
  const notes = [
    definition.description ?? definition.label,
    note,
    field.sensitive ? `Sensitive: responses show ${MASK}. Send it back to keep the value.` : undefined,
    field.unique ? "Unique." : undefined,
    field.target === undefined ? undefined : `Entry of ${definition.ref}.`,
    isMap && field.marketSpecific ? "By market." : undefined,
    isMap && field.translatable ? "By language." : undefined,
    definition.access?.read === undefined ? undefined : `Only for ${definition.access.read.join(", ")}.`,
    definition.access?.write === undefined ? undefined : `Set by ${definition.access.write.join(", ")}.`,
  ].filter((text) => text !== undefined);
  const { default: standard } = definition;
  const isInput = form.use === "new" || form.use === "change";
  const whole = isMap ? mapSchema(schema, field, form, value) : filled ? notEmpty(value) : value;
  return {
    ...(filled ? whole : orNull(whole)),
    ...(notes.length > 0 ? { description: notes.join(" ") } : {}),
    ...(standard === undefined || !isInput || isMap ? {} : { default: standard as Json }),
  };
}

/** Returns the JSON Schema of a value that is a map by market, by language, or by both. */
function mapSchema(
  schema: CompiledSchema,
  field: CompiledField,
  form: ValuesForm,
  value: JsonSchema,
): JsonSchema {
  const markets = field.marketSpecific ? schema.markets : undefined;
  const languages = field.translatable ? schema.languages : undefined;
  const filled = isFilled(field, form);
  const byLanguage = (strict: boolean) =>
    languages === undefined
      ? value
      : mapOf(value, languages, form.named, strict ? notEmpty(value) : undefined);
  const inner = byLanguage(false);
  const strict = languages === undefined ? notEmpty(value) : byLanguage(true);
  const map =
    markets === undefined
      ? filled
        ? strict
        : inner
      : mapOf(inner, markets, form.named, filled ? strict : undefined);
  // If a sensitive value is stored in none of the application's current languages and markets, responses contain a
  // single mask instead of a map.
  return field.sensitive && form.use !== "new" ? { anyOf: [map, MASKED] } : map;
}

/** @param first schema of the value under the map's first key; if given, the map must have that key */
function mapOf(
  value: JsonSchema,
  keys: readonly string[],
  named: boolean,
  first: JsonSchema | undefined,
): JsonSchema {
  const [main = ""] = keys;
  const listed = named ? keys.map((key): [string, JsonSchema] => [key, orNull(value)]) : [];
  const properties = { ...Object.fromEntries(listed), ...(first === undefined ? {} : { [main]: first }) };
  return {
    type: "object",
    ...(Object.keys(properties).length > 0 ? { properties } : {}),
    ...(first === undefined ? {} : { required: [main] }),
    additionalProperties: named ? false : orNull(value),
  };
}

interface ValueSchema {
  schema: JsonSchema;
  /** Text that describes rules that JSON Schema cannot express. */
  note: string | undefined;
}

function shownValue(field: CompiledField, { use, revealed = false }: ValuesForm): ValueSchema {
  if (!field.sensitive || use === "new") return valueSchema(field);
  if (use !== "change" && !revealed) return { schema: MASKED, note: undefined };
  const { schema, note } = valueSchema(field);
  return { schema: { anyOf: [schema, MASKED] }, note };
}

/** Describes a field's value in one language and market. */
function valueSchema({ type, definition, list }: CompiledField): ValueSchema {
  const { description, pattern, ...rules } = type.jsonSchema(definition);
  const { maxLength: _, ...others } = rules;
  const rest = definition.enum === undefined ? rules : others;
  const portable = typeof pattern === "string" && isPortable(pattern);
  const single: JsonSchema = {
    ...rest,
    ...(portable ? { pattern } : {}),
    ...(definition.enum === undefined ? {} : { enum: [...definition.enum] }),
  };
  const notes = [
    type.name === "reference" ? undefined : description,
    pattern === undefined || portable ? undefined : `Matches the RE2 pattern ${String(pattern)}`,
  ].filter((text) => text !== undefined);
  return {
    schema: list ? { type: "array", items: single, maxItems: MAX_ITEMS } : single,
    note: notes.length === 0 ? undefined : notes.join(" "),
  };
}

/** Excludes the empty text and the empty list, which count as no value. */
function notEmpty(schema: JsonSchema): JsonSchema {
  if (Array.isArray(schema.anyOf)) return { ...schema, anyOf: (schema.anyOf as JsonSchema[]).map(notEmpty) };
  if (schema.type === "array") return { ...schema, minItems: 1 };
  const isText = schema.type === "string" && schema.maxLength !== undefined && schema.enum === undefined;
  return isText ? { ...schema, minLength: Math.max(1, Number(schema.minLength ?? 0)) } : schema;
}

/** Allows null. In OpenAPI 3.0, `nullable` needs a `type`, and `enum` must list null. */
function orNull(schema: JsonSchema): JsonSchema {
  if (Array.isArray(schema.anyOf)) return { ...schema, anyOf: (schema.anyOf as JsonSchema[]).map(orNull) };
  const { enum: allowed } = schema;
  if (schema.type === undefined) return schema; // A schema without a type also allows null.
  return {
    ...schema,
    nullable: true,
    ...(Array.isArray(allowed) && !allowed.includes(null) ? { enum: [...allowed, null] } : {}),
  };
}

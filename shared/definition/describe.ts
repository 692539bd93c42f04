/** Describes the values of entries in OpenAPI 3.0, as precisely as OpenAPI allows. */
import type { CompiledField, CompiledSchema } from "./compile.ts";
import { MASK, refsOf, sourceOf } from "./document/index.ts";
import type { Json, JsonSchema } from "./fields/index.ts";
import { inLanguage } from "./languages.ts";
import { isPortable } from "./portable.ts";
import { ITEM_KEY, MAX_ITEMS } from "./validate.ts";
import { allFields, KEY, TYPE } from "./walk.ts";

export interface ValuesForm {
  /**
   * Purpose of the described values. `new`: to create an entry. `change`: to change an entry. `answer`: in a
   * response. `partial`: in a response that may lack required values. `patch`: to change parts of an entry, also single
   * items of lists by their keys.
   */
  use: "new" | "change" | "patch" | "answer" | "partial";
  /** `one`: values in one language and market. `all`: maps with the values in all languages and markets. */
  locales: "one" | "all";
  /** Whether maps list every language and market by name. Otherwise the schema of a map allows any key. */
  named: boolean;
  /** Whether the response may contain sensitive values instead of masks. */
  revealed?: boolean;
  /**
   * Adds a schema to the document, and returns a reference to it. Blocks then have a discriminator, which needs
   * references. Without it, their schemas are described in place.
   */
  share?: (name: string, schema: JsonSchema) => { $ref: string };
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
  for (const schema of schemas) {
    const { languages, markets } = schema;
    for (const field of allFields(schema)) {
      if (!isLocalized(field)) continue;
      const form: ValuesForm = { use: "answer", locales: "one", named: false };
      const each = JSON.stringify(valueSchema(schema, field, form).schema).length;
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

const isInput = ({ use }: ValuesForm) => use === "new" || use === "change" || use === "patch";

function isRequired(field: CompiledField, form: ValuesForm): boolean {
  const { required, always, definition, narrowedInside } = field;
  const { use } = form;
  if (always) return isInput(form) ? definition.default === undefined : true;
  if (!required || definition.showIf !== undefined) return false;
  return (
    (use === "new" && definition.default === undefined && sourceOf(definition) === undefined) ||
    // An answer omits an object if the caller may read none of its values.
    (use === "answer" && definition.access?.read === undefined && !narrowedInside)
  );
}

/**
 * Returns whether the schema must exclude null and empty values. A request that changes an entry may contain them, to
 * clear a value in one language.
 */
const isFilled = ({ required, definition }: CompiledField, { use }: ValuesForm) =>
  required &&
  definition.showIf === undefined &&
  ((use === "new" && sourceOf(definition) === undefined) || use === "answer");

function fieldSchema(schema: CompiledSchema, field: CompiledField, form: ValuesForm): JsonSchema {
  const { definition } = field;
  const { message } = definition;
  const { schema: value, note } = shownValue(schema, field, form);
  const isMap = form.locales === "all" && isLocalized(field);
  const filled = isFilled(field, form);
  const notes = [
    definition.description ?? definition.label,
    note,
    message === undefined
      ? undefined
      : `Pattern: ${typeof message === "string" ? message : inLanguage(message, schema.languages)}.`,
    field.sensitive ? `Sensitive: responses show ${MASK}. Send it back to keep the value.` : undefined,
    field.unique ? "Unique." : undefined,
    field.targets.length === 0 ? undefined : `Entry of ${refsOf(definition).join(" or ")}.`,
    field.definition.type === "richText" ? richTextNote(form) : undefined,
    isMap && field.marketSpecific ? "By market." : undefined,
    isMap && field.translatable ? "By language." : undefined,
    definition.access?.read === undefined ? undefined : `Only for ${definition.access.read.join(", ")}.`,
    definition.access?.write === undefined ? undefined : `Set by ${definition.access.write.join(", ")}.`,
  ].filter((text) => text !== undefined);
  const { default: standard } = definition;
  const whole = isMap ? mapSchema(schema, field, form, value) : filled ? notEmpty(value) : value;
  return {
    ...(filled || (field.always && !isInput(form)) ? whole : orNull(whole)),
    ...(notes.length > 0 ? { description: notes.join(" ") } : {}),
    ...(standard === undefined || !isInput(form) || isMap ? {} : { default: standard as Json }),
  };
}

const richTextNote = (form: ValuesForm) =>
  isInput(form)
    ? "Portable Text, or Markdown or HTML that the platform converts to it."
    : "Portable Text. With the parameter richText, a text.";

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

function shownValue(of: CompiledSchema, field: CompiledField, form: ValuesForm): ValueSchema {
  const { use, revealed = false } = form;
  if (!field.sensitive || use === "new") return valueSchema(of, field, form);
  if (use !== "change" && use !== "patch" && !revealed) return { schema: MASKED, note: undefined };
  const { schema, note } = valueSchema(of, field, form);
  return { schema: { anyOf: [schema, MASKED] }, note };
}

/** Describes the value of a field of objects in one language and market. */
function objectsSchema(of: CompiledSchema, field: CompiledField, form: ValuesForm): JsonSchema {
  const shapes = [...(field.shapes ?? [])].map(
    ([component, fields]) =>
      [component, objectSchema(of, field, form, component, [...fields.values()])] as const,
  );
  const [[, only] = ["", {}]] = shapes;
  const item: JsonSchema = shapes.length > 1 ? oneOfBlocks(field, form, shapes) : only;
  if (!field.list) return item;
  const list: JsonSchema = { type: "array", items: item, maxItems: MAX_ITEMS };
  const others = isInput(form) && field.definition.type === "richText" ? MARKUP : [];
  if (form.use !== "patch") return others.length === 0 ? list : { anyOf: [list, ...others] };
  return {
    anyOf: [
      list,
      ...others,
      {
        type: "object",
        description:
          "Changes of single items by their keys. null removes an item. `_after` moves or adds it: behind the item with that key, or to the beginning if null.",
        additionalProperties: { type: "object", nullable: true, additionalProperties: true },
      },
    ],
  };
}

function oneOfBlocks(
  { name, repeated }: CompiledField,
  { share }: ValuesForm,
  shapes: readonly (readonly [component: string, schema: JsonSchema])[],
): JsonSchema {
  // The same field can be in several components of a field around it. Its schemas are then described in place.
  if (share === undefined || repeated) return { oneOf: shapes.map(([, schema]) => schema) };
  const refs = shapes.map(
    ([component, schema]) => [component, share(`${name}.${component}`, schema)] as const,
  );
  return {
    oneOf: refs.map(([, ref]) => ref),
    discriminator: {
      propertyName: TYPE,
      mapping: Object.fromEntries(refs.map(([component, { $ref }]) => [component, $ref])),
    },
  };
}
/** Rich text in the markup languages that the platform converts. */
const MARKUP = ["markdown", "html"].map(
  (name): JsonSchema => ({
    type: "object",
    properties: { [name]: { type: "string" } },
    required: [name],
    additionalProperties: false,
  }),
);

function objectSchema(
  of: CompiledSchema,
  { list, blocks }: CompiledField,
  form: ValuesForm,
  component: string,
  fields: readonly CompiledField[],
): JsonSchema {
  const own: { [name: string]: JsonSchema } = {
    ...(blocks ? { [TYPE]: { type: "string", enum: [component] } } : {}),
    ...(list ? { [KEY]: { type: "string", pattern: ITEM_KEY.source } } : {}),
  };
  const required = [
    ...Object.keys(own).filter((name) => name !== KEY || !isInput(form)),
    ...fields.filter((field) => isRequired(field, form)).map(({ key }) => key),
  ];
  return {
    type: "object",
    properties: {
      ...own,
      ...Object.fromEntries(fields.map((field) => [field.key, fieldSchema(of, field, form)])),
    },
    ...(required.length > 0 ? { required } : {}),
    additionalProperties: false,
  };
}

/** Describes a field's value in one language and market. */
function valueSchema(of: CompiledSchema, field: CompiledField, form: ValuesForm): ValueSchema {
  const { type, definition, list } = field;
  if (field.shapes !== undefined) return { schema: objectsSchema(of, field, form), note: undefined };
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

/**
 * Converts JSON Schema (draft 4 to 2020-12) to OpenAPI 3.0. Omits keywords that OpenAPI cannot express, so the result
 * may accept more values.
 */
import type { Json, JsonSchema } from "../../shared/definition/fields/index.ts";
import { isPortable } from "../../shared/definition/portable.ts";
import { definitionOf } from "../../shared/handlers/schema/index.ts";
import { isObject } from "../../shared/kernel/json.ts";

const isText = (value: unknown) => typeof value === "string";
const isFlag = (value: unknown) => typeof value === "boolean";
const isCount = (value: unknown) => Number.isInteger(value) && Number(value) >= 0;
const isAny = () => true;
const isFull = (value: unknown) => Array.isArray(value) && value.length > 0;

/** Keywords with the same meaning in JSON Schema and OpenAPI. Each has a function that checks the keyword's value. */
const SAME: { [keyword: string]: (value: unknown) => boolean } = {
  title: isText,
  description: isText,
  default: isAny,
  enum: isFull,
  required: isFull,
  minProperties: isCount,
  maxProperties: isCount,
  minItems: isCount,
  maxItems: isCount,
  uniqueItems: isFlag,
  minLength: isCount,
  maxLength: isCount,
  multipleOf: (value) => Number.isFinite(value) && Number(value) > 0,
  format: isText,
  readOnly: isFlag,
  writeOnly: isFlag,
  deprecated: isFlag,
};
const TYPES: readonly unknown[] = ["array", "boolean", "integer", "null", "number", "object", "string"];

type Loose = { [keyword: string]: unknown };

export interface Converted {
  schema: JsonSchema;
  schemas: { [name: string]: JsonSchema };
}

/**
 * Converts a JSON Schema.
 * @param name component name of the schema, and prefix for the names of its inner definitions
 */
export function toOpenApi(source: unknown, name: string): Converted {
  const schemas: { [name: string]: JsonSchema } = {};
  const names = new Map<string, string>();
  const definitions: [name: string, source: unknown][] = [];
  for (const keyword of ["$defs", "definitions"]) {
    const group = isObject(source) ? source[keyword] : undefined;
    for (const [key, value] of Object.entries(isObject(group) ? group : {})) {
      const own = freeName(schemas, `${name}.${key.replace(/[^A-Za-z0-9_-]+/g, "_")}`);
      schemas[own] = {};
      names.set(`${keyword}/${key}`, own);
      definitions.push([own, value]);
    }
  }
  const refer = (ref: string): JsonSchema => {
    const definition = definitionOf(ref);
    const target = definition === undefined ? name : names.get(definition?.join("/") ?? "");
    return target === undefined ? {} : { $ref: `#/components/schemas/${target}` };
  };
  const convert = (from: unknown): JsonSchema => {
    if (from === false) return { not: {} };
    if (!isObject(from)) return {};
    if (typeof from.$ref === "string") return refer(from.$ref);
    return node(from, convert);
  };
  for (const [own, value] of definitions) schemas[own] = convert(value);
  return { schema: convert(source), schemas };
}

function node(from: Loose, convert: (from: unknown) => JsonSchema): JsonSchema {
  const out: JsonSchema = {};
  for (const [keyword, fits] of Object.entries(SAME)) {
    if (from[keyword] !== undefined && fits(from[keyword])) out[keyword] = from[keyword] as Json;
  }
  if ("const" in from) out.enum = [from.const as Json];
  if (Array.isArray(out.required)) out.required = [...new Set(out.required)];
  if (typeof from.pattern === "string" && isPortable(from.pattern)) out.pattern = from.pattern;
  if (Array.isArray(from.examples) && from.examples[0] !== undefined) out.example = from.examples[0] as Json;
  bounds(from, out);
  if (isObject(from.properties)) {
    out.properties = Object.fromEntries(
      Object.entries(from.properties).map(([key, value]) => [key, convert(value)] as const),
    );
  }
  const { additionalProperties, items, prefixItems } = from;
  if (typeof additionalProperties === "boolean") out.additionalProperties = additionalProperties;
  else if (additionalProperties !== undefined) out.additionalProperties = convert(additionalProperties);
  if (isObject(items) && prefixItems === undefined) out.items = convert(items);
  const listed = (keyword: "allOf" | "anyOf" | "oneOf") => [from[keyword] ?? []].flat().map(convert);
  const [all, any, one] = [listed("allOf"), listed("anyOf"), listed("oneOf")];
  // Conversion can make schemas accept more values, so two alternatives may match. `oneOf` would then reject the
  // value, so use `anyOf`.
  if (any.length > 0 && one.length > 0) all.push({ anyOf: one });
  const choice = any.length > 0 ? any : one;
  if (choice.length > 0) out.anyOf = choice;
  if (all.length > 0) out.allOf = all;
  // Conversion can make a schema accept more values, so its negation would wrongly reject some values. Omit `not` in
  // that case.
  if (isObject(from.not)) {
    const { type, enum: values, ...further } = from.not;
    const sayable = isTypes(type) && (values === undefined || isFull(values));
    if (sayable && Object.keys(further).length === 0) out.not = convert(from.not);
  }
  return typed(from.type, out);
}

/** Replaces Infinity with undefined. `JSON.parse` returns Infinity for numbers such as 1e999. */
const finite = (value: unknown) => (value === Infinity || value === -Infinity ? undefined : value);

const isTypes = (type: unknown) => [type ?? []].flat().every((name) => TYPES.includes(name));

function bounds(from: Loose, out: JsonSchema): void {
  for (const [plain, exclusive] of [
    ["minimum", "exclusiveMinimum"],
    ["maximum", "exclusiveMaximum"],
  ] as const) {
    const bound = finite(from[plain]);
    const strict = finite(from[exclusive]);
    if (typeof bound === "number") out[plain] = bound;
    if (strict === true && typeof bound === "number") out[exclusive] = true;
    if (typeof strict !== "number") continue;
    const tighter = typeof bound !== "number" || (plain === "minimum" ? strict >= bound : strict <= bound);
    if (!tighter) continue;
    out[plain] = strict;
    out[exclusive] = true;
  }
}

const NUMBERS: readonly string[] = ["number", "integer"];
/** For each keyword, the JSON types whose values it restricts. Validators ignore the keyword for all other values. */
const SPOKEN_OF: ReadonlyMap<string, readonly string[]> = new Map([
  ...["properties", "additionalProperties", "required", "minProperties", "maxProperties"].map(
    (keyword) => [keyword, ["object"]] as const,
  ),
  ...["items", "minItems", "maxItems", "uniqueItems"].map((keyword) => [keyword, ["array"]] as const),
  ...["minLength", "maxLength", "pattern"].map((keyword) => [keyword, ["string"]] as const),
  ...["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"].map(
    (keyword) => [keyword, NUMBERS] as const,
  ),
]);

/**
 * Describes a value that may have several types. Each inner schema appears only once, because a copy per type would
 * double the size with each level.
 */
function oneOfTypes(types: readonly string[], nullable: boolean, out: JsonSchema): JsonSchema {
  const { description, default: standard, example, anyOf, allOf, not, ...rules } = out;
  const all = [...((allOf ?? []) as Json[]), ...(anyOf === undefined ? [] : [{ anyOf }])];
  const shared = { description, default: standard, example, not, ...(all.length > 0 ? { allOf: all } : {}) };
  return {
    ...(Object.fromEntries(Object.entries(shared).filter(([, value]) => value !== undefined)) as JsonSchema),
    anyOf: types.map((name) => {
      const its = Object.entries(rules).filter(([keyword]) => SPOKEN_OF.get(keyword)?.includes(name) ?? true);
      return complete({ ...Object.fromEntries(its), type: name, ...(nullable ? { nullable } : {}) });
    }),
  };
}

/** Converts the keyword `type`, because OpenAPI 3.0 has neither lists of types nor the type `null`. */
function typed(type: unknown, out: JsonSchema): JsonSchema {
  const types = isTypes(type) ? [...new Set([type ?? []].flat() as string[])] : [];
  const nullable = types.includes("null");
  const [first, ...others] = types.filter((name) => name !== "null");
  if (first === undefined) return nullable ? { ...out, type: "string", nullable: true, enum: [null] } : out;
  if (others.length > 0) return oneOfTypes([first, ...others], nullable, out);
  return complete({ ...out, type: first, ...(nullable ? { nullable } : {}) });
}

/**
 * Adds keywords that OpenAPI 3.0 or its code generators require. Some generators treat an object without `properties`
 * as always empty.
 */
function complete(schema: JsonSchema): JsonSchema {
  if (schema.type === "array" && schema.items === undefined) return { ...schema, items: {} };
  const isOpen = schema.type === "object" && schema.additionalProperties === undefined;
  return isOpen && schema.properties === undefined ? { ...schema, additionalProperties: true } : schema;
}

const isSchema = (node: Json | undefined): node is JsonSchema => isObject(node);

/** Returns whether a schema has only these members. */
const hasOnly = (schema: JsonSchema, ...members: string[]) =>
  Object.keys(schema).every((member) => members.includes(member));

const COMBINED = ["$ref", "allOf", "anyOf", "oneOf"];

/**
 * In OpenAPI 3.0, `nullable` has no effect without `type`: a schema without `type` allows null anyway. Generators of
 * clients make types of it that do not compile.
 */
function withoutVainNull(schema: JsonSchema): JsonSchema {
  const { nullable, ...rest } = schema;
  const isVain =
    nullable === true && schema.type === undefined && COMBINED.every((name) => !(name in schema));
  return isVain ? rest : schema;
}

/** Replaces a choice that ends with null, which is written as a schema without a type, by a choice of nullable types. */
function withoutNullChoice(schema: JsonSchema): JsonSchema {
  const { anyOf } = schema;
  if (!Array.isArray(anyOf)) return schema;
  const choices = anyOf as JsonSchema[];
  const others = choices.filter((choice) => !(choice.nullable === true && hasOnly(choice, "nullable")));
  if (others.length === choices.length || others.some(({ type }) => type === undefined)) return schema;
  return { ...schema, anyOf: others.map((choice) => ({ ...choice, nullable: true })) };
}

/**
 * Replaces an `allOf` of one reference and a schema without a type, which many generators of clients refuse. The
 * reference keeps its own description.
 */
function withoutBarePart(schema: JsonSchema): JsonSchema {
  const { allOf, ...rest } = schema;
  if (!Array.isArray(allOf) || allOf.length !== 2) return schema;
  const [base, bare] = allOf as [JsonSchema, JsonSchema];
  if (base.$ref === undefined || !hasOnly(bare, "description", "nullable", "example")) return schema;
  if (bare.nullable === true) return { ...rest, type: "object", nullable: true, allOf: [base] };
  return hasOnly(schema, "allOf") ? base : schema;
}

/**
 * Rewrites schemas, at any depth, that are valid but that generators of clients do not understand.
 * @param node a part of an OpenAPI document that a program generated
 */
export function exactSchemas(node: Json): Json {
  if (Array.isArray(node)) return node.map(exactSchemas);
  if (!isSchema(node)) return node;
  // Choices and combinations come first, because they depend on members that the next step removes.
  const schema = withoutVainNull(withoutNullChoice(withoutBarePart(node)));
  return Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, exactSchemas(value)]));
}

/** Returns a name that is not taken yet and that OpenAPI allows for a component. */
export function freeName(taken: object, wanted: string): string {
  const base = wanted.replace(/[^A-Za-z0-9._-]+/g, "_");
  let name = base;
  for (let i = 2; Object.hasOwn(taken, name); i++) name = `${base}.${i}`;
  return name;
}

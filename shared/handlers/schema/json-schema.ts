/**
 * Validates input and output of handlers with JSON Schema. The platform does not trust the schemas of services: it
 * accepts only known keywords and local references, and matches patterns in linear time.
 */
import type { Schema, SchemaDraft } from "@cfworker/json-schema";
import { compilePattern, PATTERN_LIMIT } from "../../definition/fields/parts/index.ts";
import { BoundedMap } from "../../kernel/bounded-map.ts";
import type { Fault } from "../../kernel/errors.ts";
import { escapeSegment } from "../../kernel/faults.ts";
import { isObject } from "../../kernel/json.ts";
import { compileSchema } from "./compile.ts";
import { BadReference } from "./reference.ts";
import { Run, TooMuchWork } from "./run.ts";

export type JsonSchema = boolean | { [keyword: string]: unknown };

/** Maximum bytes of a schema. */
const SCHEMA_LIMIT = 64 * 1024;
const DEPTH_LIMIT = 32;
/**
 * Maximum size of all patterns in a schema together, in instructions of their compiled form. Compiling a thousand
 * instructions takes a millisecond.
 */
const PATTERNS_LIMIT = 50_000;

interface Building {
  faults: Fault[];
  patterns: number;
}

const ONE = [
  "not",
  "if",
  "then",
  "else",
  "additionalProperties",
  "unevaluatedProperties",
  "propertyNames",
  "additionalItems",
  "unevaluatedItems",
  "contains",
];
const LISTS = ["anyOf", "allOf", "oneOf", "prefixItems"];
const MAPS = ["properties", "dependentSchemas", "$defs", "definitions"];
const NUMBERS = [
  "minProperties",
  "maxProperties",
  "minContains",
  "maxContains",
  "minItems",
  "maxItems",
  "minimum",
  "maximum",
  "multipleOf",
  "minLength",
  "maxLength",
];

const isText = (value: unknown) => typeof value === "string";
const isNumber = (value: unknown) => typeof value === "number";
const isFlag = (value: unknown) => typeof value === "boolean";
const isBound = (value: unknown) => isNumber(value) || isFlag(value);

/** Checks the values of keywords, because the compiler would throw on invalid ones. */
const VALUES: { [keyword: string]: (value: unknown) => boolean } = {
  type: (value) => [value].flat().every(isText),
  enum: Array.isArray,
  required: (value) => Array.isArray(value) && value.every(isText),
  dependentRequired: (value) => isObject(value) && Object.values(value).every(Array.isArray),
  uniqueItems: isFlag,
  exclusiveMinimum: isBound,
  exclusiveMaximum: isBound,
  format: isText,
  ...Object.fromEntries(NUMBERS.map((keyword) => [keyword, isNumber])),
};
const REFUSED = [
  "$id",
  "$anchor",
  "$dynamicRef",
  "$dynamicAnchor",
  "$recursiveRef",
  "patternProperties",
  "dependencies",
];
const LOCAL = /^#(\/(\$defs|definitions)\/[^/]+)?$/;

const DRAFTS: readonly (readonly [RegExp, SchemaDraft])[] = [
  [/draft-0?4/, "4"],
  [/draft-0?[67]/, "7"],
  [/2019-09/, "2019-09"],
];

/** Validates a value and returns its errors, with paths as JSON Pointers. */
export type Check = (value: unknown) => Fault[];

const compiledByText = new BoundedMap<string, Check | Fault[]>(200);

/** Compiles a JSON Schema into a function, or returns the errors of the schema. */
export function compileJsonSchema(schema: unknown): Check | Fault[] {
  const text = JSON.stringify(schema) ?? "undefined";
  const known = compiledByText.get(text);
  if (known !== undefined) return known;
  const result = compile(schema, text);
  compiledByText.set(text, result);
  return result;
}

function compile(schema: unknown, text: string): Check | Fault[] {
  if (text.length > SCHEMA_LIMIT) {
    return [{ path: "", code: "too_long", message: `must be at most ${SCHEMA_LIMIT / 1024} KiB` }];
  }
  const building: Building = { faults: [], patterns: 0 };
  if (!isSchema(schema, "", 0, building)) return building.faults;
  const plain: Schema = typeof schema === "boolean" ? (schema ? {} : { not: {} }) : schema;
  try {
    return checkOf(compileSchema(plain, draftOf(schema)));
  } catch (error) {
    if (!(error instanceof BadReference)) throw error;
    return [{ path: "", code: "reference", message: "has a $ref that leads nowhere or only back to itself" }];
  }
}

function checkOf(fits: (value: unknown, run: Run) => boolean): Check {
  return (value) => {
    const run = new Run();
    try {
      if (fits(value, run)) return [];
      return run.faults();
    } catch (error) {
      if (error instanceof TooMuchWork) {
        return [
          { path: "", code: "too_complex", message: "is too complex to validate. Send a smaller value." },
        ];
      }
      // A RangeError means that the value was nested too deeply for the stack.
      if (!(error instanceof RangeError)) throw error;
      return [
        { path: "", code: "too_deep", message: "is nested too deep to validate. Send a flatter value." },
      ];
    }
  };
}

function draftOf(schema: unknown): SchemaDraft {
  const named = isObject(schema) && typeof schema.$schema === "string" ? schema.$schema : "";
  return DRAFTS.find(([pattern]) => pattern.test(named))?.[1] ?? "2020-12";
}

function isSchema(
  schema: unknown,
  path: string,
  depth: number,
  building: Building,
): schema is Schema | boolean {
  const fault = (at: string, code: string, message: string) =>
    building.faults.push({ path: path + at, code, message });
  if (typeof schema === "boolean") return true;
  if (!isObject(schema)) {
    fault("", "type", "must be an object, true or false");
    return false;
  }
  if (depth > DEPTH_LIMIT) {
    fault("", "too_deep", `must be nested at most ${DEPTH_LIMIT} levels deep`);
    return false;
  }
  const inner = (value: unknown, at: string) => isSchema(value, path + at, depth + 1, building);
  const given = (keywords: readonly string[]) =>
    keywords.filter((keyword) => schema[keyword] !== undefined).map((key) => [key, schema[key]] as const);
  for (const [keyword] of given(REFUSED)) {
    if (keyword === "$id" && depth === 0) continue;
    fault(`/${keyword}`, "not_supported", "is not a supported keyword in schemas of handlers");
  }
  for (const [keyword, value] of given(Object.keys(VALUES))) {
    if (VALUES[keyword]?.(value) === false) fault(`/${keyword}`, "type", "has a value of the wrong type");
  }
  const isTuple = Array.isArray(schema.items);
  for (const [keyword, value] of given(isTuple ? ONE : [...ONE, "items"])) inner(value, `/${keyword}`);
  for (const [keyword, value] of given(isTuple ? ["items", ...LISTS] : LISTS)) {
    if (Array.isArray(value)) for (const [i, item] of value.entries()) inner(item, `/${keyword}/${i}`);
    else fault(`/${keyword}`, "type", "must be a list of schemas");
  }
  for (const [keyword, value] of given(MAPS)) {
    if (!isObject(value)) fault(`/${keyword}`, "type", "must be an object of schemas");
    else for (const [name, item] of Object.entries(value)) inner(item, `/${keyword}/${escapeSegment(name)}`);
  }
  const { $ref, pattern } = schema;
  if ($ref !== undefined && !(typeof $ref === "string" && LOCAL.test($ref)))
    fault("/$ref", "remote_reference", "must refer to the same schema: use # or #/$defs/<name>");
  if (pattern !== undefined) checkPattern(pattern, building, fault);
  return building.faults.length === 0;
}

function checkPattern(
  pattern: unknown,
  building: Building,
  fault: (at: string, code: string, message: string) => void,
): void {
  if (typeof pattern !== "string") {
    fault("/pattern", "type", "must be a string");
    return;
  }
  if (building.patterns > PATTERNS_LIMIT) {
    if (building.faults.at(-1)?.code !== "too_complex")
      fault(
        "/pattern",
        "too_complex",
        "makes the patterns of this schema too complex in total. Simplify them.",
      );
    return;
  }
  const compiled = compilePattern(pattern);
  building.patterns += typeof compiled === "string" ? PATTERN_LIMIT : compiled.programSize();
  if (typeof compiled === "string") fault("/pattern", "unsafe_pattern", compiled);
}

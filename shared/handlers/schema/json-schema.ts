/**
 * Validates input and output of handlers with JSON Schema.
 *
 * Schemas come from the services that register handlers, so the platform does not trust them: it accepts only known
 * keywords and local references, and runs patterns in a linear-time engine.
 */
import type { Schema, SchemaDraft } from "@cfworker/json-schema";
import { compilePattern, PATTERN_LIMIT } from "../../definition/fields/pattern.ts";
import type { Fault } from "../../kernel/errors.ts";
import { escapeSegment } from "../../kernel/faults.ts";
import { isObject } from "../../kernel/json.ts";
import { compileSchema } from "./compile.ts";
import { BadReference } from "./reference.ts";
import { Run, TooMuchWork } from "./run.ts";

/** A schema as its author wrote it. */
export type JsonSchema = boolean | { [keyword: string]: unknown };

/** Maximum size of a schema in bytes of JSON, and its maximum nesting. */
const SCHEMA_LIMIT = 64 * 1024;
const DEPTH_LIMIT = 32;
/** Maximum total size of its compiled patterns in instructions. Compiling a thousand takes a millisecond or more. */
const PATTERNS_LIMIT = 50_000;

/** State while a schema is checked. */
interface Building {
  faults: Fault[];
  /** Total size of its compiled patterns so far. */
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
] as const;
const LISTS = ["anyOf", "allOf", "oneOf", "prefixItems"] as const;
const MAPS = ["properties", "dependentSchemas", "$defs", "definitions"] as const;
const VALUES = [
  "type",
  "const",
  "enum",
  "required",
  "minProperties",
  "maxProperties",
  "dependentRequired",
  "minContains",
  "maxContains",
  "minItems",
  "maxItems",
  "uniqueItems",
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "multipleOf",
  "minLength",
  "maxLength",
  "format",
] as const;
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

/** Validates a value. @returns its faults, with JSON Pointers into the value */
export type Check = (value: unknown) => Fault[];

const KEPT = 200;
const compiledByText = new Map<string, Check | Fault[]>();

/**
 * Compiles a schema, or returns its faults with JSON Pointers into the schema. Caches results.
 */
export function compileJsonSchema(schema: unknown): Check | Fault[] {
  const text = JSON.stringify(schema) ?? "undefined";
  const known = compiledByText.get(text);
  if (known !== undefined) return known;
  const result = compile(schema, text);
  if (compiledByText.size >= KEPT) {
    const oldest = compiledByText.keys().next();
    if (!oldest.done) compiledByText.delete(oldest.value);
  }
  compiledByText.set(text, result);
  return result;
}

function compile(schema: unknown, text: string): Check | Fault[] {
  if (text.length > SCHEMA_LIMIT) {
    return [{ path: "", code: "too_long", message: `must be at most ${SCHEMA_LIMIT / 1024} KiB` }];
  }
  const building: Building = { faults: [], patterns: 0 };
  const root = rebuild(schema, "", 0, building);
  if (building.faults.length > 0) return building.faults;
  const plain: Schema = typeof root === "boolean" ? (root ? {} : { not: {} }) : root;
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
      // The recursion was too deep for the stack.
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

/** Copies the known keywords of a schema, without annotations. */
function rebuild(schema: unknown, path: string, depth: number, building: Building): Schema | boolean {
  const fault = (at: string, code: string, message: string) =>
    building.faults.push({ path: path + at, code, message });
  if (typeof schema === "boolean") return schema;
  if (!isObject(schema)) {
    fault("", "type", "must be an object, true or false");
    return {};
  }
  if (depth > DEPTH_LIMIT) {
    fault("", "too_deep", `must be nested at most ${DEPTH_LIMIT} levels deep`);
    return {};
  }
  const inner = (value: unknown, at: string) => rebuild(value, path + at, depth + 1, building);
  const out: Schema = {};
  for (const keyword of REFUSED) {
    if (keyword === "$id" && depth === 0) continue;
    if (schema[keyword] !== undefined) {
      fault(`/${keyword}`, "not_supported", "is not a supported keyword in schemas of handlers");
    }
  }
  for (const keyword of VALUES) {
    if (schema[keyword] !== undefined) Object.assign(out, { [keyword]: schema[keyword] });
  }
  valueFaults(schema, fault);
  for (const keyword of ONE) {
    if (schema[keyword] !== undefined) {
      Object.assign(out, { [keyword]: inner(schema[keyword], `/${keyword}`) });
    }
  }
  const { items } = schema;
  if (Array.isArray(items)) out.items = items.map((item, i) => inner(item, `/items/${i}`));
  else if (items !== undefined) out.items = inner(items, "/items") as Schema;
  for (const keyword of LISTS) {
    const list = schema[keyword];
    if (list === undefined) continue;
    if (Array.isArray(list)) {
      out[keyword] = list.map((item, i) => inner(item, `/${keyword}/${i}`)) as Schema[];
    } else fault(`/${keyword}`, "type", "must be a list of schemas");
  }
  for (const keyword of MAPS) {
    const map = schema[keyword];
    if (map === undefined) continue;
    if (isObject(map)) {
      const entries = Object.entries(map).map(
        ([name, item]) => [name, inner(item, `/${keyword}/${escapeSegment(name)}`)] as const,
      );
      out[keyword] = Object.fromEntries(entries);
    } else fault(`/${keyword}`, "type", "must be an object of schemas");
  }
  if (schema.$ref !== undefined) {
    if (typeof schema.$ref === "string" && LOCAL.test(schema.$ref)) out.$ref = schema.$ref;
    else fault("/$ref", "remote_reference", "must refer to the same schema: use # or #/$defs/<name>");
  }
  if (schema.pattern !== undefined) addPattern(out, schema.pattern, building, fault);
  return out;
}

const NUMBERS = /^(min|max|exclusive|multipleOf)/;

/** Keywords whose values need a check, because an invalid value would make the validator throw. */
function valueFaults(
  schema: Record<string, unknown>,
  fault: (at: string, code: string, message: string) => void,
): void {
  for (const keyword of VALUES) {
    const value = schema[keyword];
    if (value === undefined || keyword === "const") continue;
    const sound = NUMBERS.test(keyword)
      ? typeof value === "number" || (keyword.startsWith("exclusive") && typeof value === "boolean")
      : keyword === "type"
        ? [value].flat().every((name) => typeof name === "string")
        : keyword === "enum"
          ? Array.isArray(value)
          : keyword === "required"
            ? Array.isArray(value) && value.every((name) => typeof name === "string")
            : keyword === "uniqueItems"
              ? typeof value === "boolean"
              : keyword === "dependentRequired"
                ? isObject(value) && Object.values(value).every(Array.isArray)
                : typeof value === "string";
    if (!sound) fault(`/${keyword}`, "type", "has a value of the wrong type");
  }
}

/** Rejects patterns that the linear-time engine does not support. */
function addPattern(
  out: Schema,
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
  else out.pattern = pattern;
}

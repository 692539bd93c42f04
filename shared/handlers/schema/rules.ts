/** Compiles the JSON Schema keywords that contain no other schemas. */
import type { Schema } from "@cfworker/json-schema";
import { compilePattern, MAX_MATCHED } from "../../definition/fields/parts/index.ts";
import { article } from "../../kernel/faults.ts";
import { isObject } from "../../kernel/json.ts";
import type { Run } from "./run.ts";
import { equalItems, formatOf, identity, isMultiple, lengthOf, type Members, namesOf } from "./values.ts";

/** Maximum characters of the list of allowed values in an error message. */
const MAX_LISTED = 200;

/**
 * Properties and items of a value that keywords have already evaluated. Undefined if the schema has no `unevaluated…`
 * keyword, which would need them.
 */
export type EvaluatedKeys = Set<string | number> | undefined;

export type Rule<T> = (value: T, run: Run, seen: EvaluatedKeys) => boolean;

export interface Node {
  readonly any: Rule<unknown>[];
  readonly text: Rule<string>[];
  readonly number: Rule<number>[];
  readonly array: Rule<readonly unknown[]>[];
  readonly object: Rule<Members>[];
  /** Schemas that apply to the same value, as in `allOf`. */
  readonly same: Node[];
}

export const emptyNode = (): Node => ({ any: [], text: [], number: [], array: [], object: [], same: [] });

export function validate(node: Node, value: unknown, run: Run, seen: EvaluatedKeys): boolean {
  run.spend(1);
  const own: EvaluatedKeys = seen === undefined ? undefined : new Set();
  let valid = all(node.any, value, run, own);
  if (typeof value === "string") valid = all(node.text, value, run, own) && valid;
  else if (typeof value === "number")
    valid = isWritable(value, run) && all(node.number, value, run, own) && valid;
  else if (Array.isArray(value)) valid = all(node.array, value, run, own) && valid;
  else if (isObject(value)) valid = all(node.object, value, run, own) && valid;
  if (valid) addEvaluated(seen, own, run);
  return valid;
}

/** Rejects infinite numbers. JSON.parse returns Infinity for 1e999, but JSON.stringify would write null. */
function isWritable(value: number, run: Run): boolean {
  return Number.isFinite(value) || run.fault("range", "must be exact in double precision");
}

/** Applies all rules, even after one has failed, so that the caller gets all errors in one response. */
function all<T>(rules: readonly Rule<T>[], value: T, run: Run, seen: EvaluatedKeys): boolean {
  let valid = true;
  for (const rule of rules) if (!rule(value, run, seen)) valid = false;
  return valid;
}

export function addEvaluated(
  seen: EvaluatedKeys,
  more: ReadonlySet<string | number> | undefined,
  run: Run,
): void {
  if (seen === undefined || more === undefined) return;
  run.spend(more.size);
  for (const name of more) seen.add(name);
}

export function addRules(node: Node, schema: Schema): void {
  addValues(node, schema);
  addTexts(node, schema);
  addNumbers(node, schema);
  addSizes(node, schema);
  addRequired(node, schema);
}

function isOfType(name: string, value: unknown): boolean {
  if (name === "integer") return Number.isInteger(value);
  if (name === "array") return Array.isArray(value);
  if (name === "null") return value === null;
  return name === "object" ? isObject(value) : typeof value === name;
}

function addValues(node: Node, schema: Schema): void {
  const { type, enum: allowed } = schema;
  if (type !== undefined) {
    const types = [type].flat();
    const message = `must be ${types.map(article).join(" or ")}`;
    node.any.push((value, run) => types.some((name) => isOfType(name, value)) || run.fault("type", message));
  }
  if (Object.hasOwn(schema, "const")) addAllowed(node, [schema.const], "must be");
  if (allowed !== undefined) addAllowed(node, allowed, "must be one of");
}

function addAllowed(node: Node, values: readonly unknown[], words: string): void {
  const known = new Set(values.map((value) => identity(value)));
  const text = values.map((value) => JSON.stringify(value)).join(", ");
  const message = text.length > MAX_LISTED ? "must be one of the allowed values" : `${words} ${text}`;
  node.any.push((value, run) => known.has(identity(value, run)) || run.fault("enum", message));
}

function addTexts(node: Node, { minLength, maxLength, format, pattern }: Schema): void {
  const inWords = (limit: string) => `must be ${limit} characters long`;
  addLimits(node.text, lengthOf, minLength, maxLength, ["too_short", "too_long"], inWords);
  const hasFormat = format === undefined ? undefined : formatOf(format);
  if (hasFormat !== undefined) {
    node.text.push((text, run) => {
      run.spend(20 + text.length / 2);
      return hasFormat(text) || run.fault("format", `must be a valid ${format}`);
    });
  }
  if (pattern !== undefined) {
    node.text.push(
      (text, run) =>
        matches(pattern, text, run) || run.fault("pattern", "must match the pattern of its schema"),
    );
  }
}

function matches(pattern: string, text: string, run: Run): boolean {
  if (text.length > MAX_MATCHED) return false;
  const compiled = compilePattern(pattern);
  if (typeof compiled === "string") return false;
  // The time per character grows with the number of instructions in the compiled pattern. So count both.
  run.spend(20 + text.length * (1 + compiled.programSize() / 10));
  return compiled.test(text);
}

/** In draft 4, exclusiveMinimum and exclusiveMaximum are booleans. */
function addNumbers(node: Node, schema: Schema): void {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema;
  const add = (code: string, message: string, holds: (value: number) => boolean) =>
    node.number.push((value, run) => holds(value) || run.fault(code, message));
  const above = exclusiveMinimum === true ? minimum : exclusiveMinimum;
  const below = exclusiveMaximum === true ? maximum : exclusiveMaximum;
  if (minimum !== undefined) add("too_small", `must be at least ${minimum}`, (n) => n >= minimum);
  if (maximum !== undefined) add("too_big", `must be at most ${maximum}`, (n) => n <= maximum);
  if (typeof above === "number") add("too_small", `must be greater than ${above}`, (n) => n > above);
  if (typeof below === "number") add("too_big", `must be less than ${below}`, (n) => n < below);
  if (multipleOf !== undefined) {
    node.number.push((value, run) => {
      run.spend(20);
      return isMultiple(value, multipleOf) || run.fault("schema", `must be a multiple of ${multipleOf}`);
    });
  }
}

function addLimits<T>(
  rules: Rule<T>[],
  sizeOf: (value: T, run: Run) => number,
  least: number | undefined,
  most: number | undefined,
  [low, high]: readonly [low: string, high: string],
  inWords: (limit: string) => string,
): void {
  const add = (code: string, limit: string, holds: (size: number) => boolean) =>
    rules.push((value, run) => holds(sizeOf(value, run)) || run.fault(code, inWords(limit)));
  if (least !== undefined) add(low, `at least ${least}`, (size) => size >= least);
  if (most !== undefined) add(high, `at most ${most}`, (size) => size <= most);
}

function addSizes(node: Node, schema: Schema): void {
  const { minItems, maxItems, uniqueItems, minProperties, maxProperties } = schema;
  const codes = ["too_few", "too_many"] as const;
  const items = (limit: string) => `must have ${limit} items`;
  const properties = (limit: string) => `must have ${limit} properties`;
  const countOf = (value: Members, run: Run) => namesOf(value, run).length;
  addLimits(node.array, (value) => value.length, minItems, maxItems, codes, items);
  addLimits(node.object, countOf, minProperties, maxProperties, codes, properties);
  if (uniqueItems !== true) return;
  node.array.push((items, run) => {
    const equal = equalItems(items, run);
    return (
      equal === undefined ||
      run.fault("duplicate", `must have unique items (items ${equal[0]} and ${equal[1]} are equal)`)
    );
  });
}

function addRequired(node: Node, { required, dependentRequired }: Schema): void {
  const add = (names: readonly string[], when?: string) =>
    node.object.push((value, run) => {
      if (when !== undefined && !Object.hasOwn(value, when)) return true;
      run.spend(names.length);
      let valid = true;
      for (const name of names) {
        if (!Object.hasOwn(value, name)) valid = run.fault("required", "is required", name);
      }
      return valid;
    });
  if (required !== undefined) add(required);
  for (const [when, names] of Object.entries(dependentRequired ?? {})) add(names, when);
}

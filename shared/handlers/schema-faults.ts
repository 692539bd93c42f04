/** Turns what the JSON Schema validator found into faults with a JSON Pointer and a stable code. */
import type { Schema } from "@cfworker/json-schema";
import type { Fault } from "../errors.ts";
import { article, escapeSegment } from "../orb/faults.ts";

/** Most faults of one input that are told. */
const MAX_FAULTS = 50;
/** Formats with this in front are patterns, which our own engine runs. */
export const RE2 = "re2:";

/** What only says that something inside did not fit. */
const CONTAINERS = new Set([
  "properties",
  "items",
  "prefixItems",
  "additionalProperties",
  "additionalItems",
  "unevaluatedProperties",
  "unevaluatedItems",
  "allOf",
  "$ref",
  "if",
  "then",
  "else",
]);

const CODES: Record<string, string> = {
  type: "type",
  required: "required",
  dependentRequired: "required",
  false: "unknown_property",
  enum: "enum",
  const: "enum",
  minimum: "too_small",
  exclusiveMinimum: "too_small",
  maximum: "too_big",
  exclusiveMaximum: "too_big",
  minLength: "too_short",
  maxLength: "too_long",
  minItems: "too_few",
  minProperties: "too_few",
  minContains: "too_few",
  maxItems: "too_many",
  maxProperties: "too_many",
  maxContains: "too_many",
  uniqueItems: "duplicate",
};

/** One fault as the validator tells it. */
export interface Unit {
  keyword: string;
  keywordLocation: string;
  instanceLocation: string;
  error: string;
}

/** What the validator found, as faults of ours. @param root the schema as the validator had it */
export function faultsOf(root: Schema, value: unknown, units: readonly Unit[]): Fault[] {
  const faults = new Map<string, Fault>();
  for (const unit of units) {
    if (CONTAINERS.has(unit.keyword) || faults.size >= MAX_FAULTS) continue;
    const path = unit.instanceLocation.replace(/^#/, "");
    const node = at(root, unit.keywordLocation.split("/").slice(1, -1));
    const add = (where: string, code: string, message: string) =>
      faults.set(`${where} ${code}`, { path: where, code, message });
    if (unit.keyword === "required" && isObject(node) && Array.isArray(node.required)) {
      const have = instanceAt(value, path);
      for (const name of node.required as string[]) {
        if (!isObject(have) || !Object.hasOwn(have, name)) {
          add(`${path}/${escapeSegment(name)}`, "required", "This property is required.");
        }
      }
    } else if (unit.keyword === "format") {
      const name = isObject(node) ? String(node.format) : "";
      const pattern = name.startsWith(RE2);
      add(
        path,
        pattern ? "pattern" : "format",
        pattern ? "This does not match the pattern." : `This is no ${name}.`,
      );
    } else if (unit.keyword === "false") add(path, "unknown_property", "This property is not known.");
    else if (unit.keyword === "type" && isObject(node)) {
      add(path, "type", `This must be ${[node.type].flat().map(String).map(article).join(" or ")}.`);
    } else add(path, CODES[unit.keyword] ?? "schema", unit.error.replaceAll("Instance", "This"));
  }
  if (faults.size === 0) return [{ path: "", code: "schema", message: "This does not fit its schema." }];
  return [...faults.values()];
}

function unescaped(segment: string): string {
  return decodeURIComponent(segment).replaceAll("~1", "/").replaceAll("~0", "~");
}

function at(root: Schema, segments: readonly string[]): unknown {
  let node: unknown = root;
  for (const segment of segments) {
    if (!isObject(node) && !Array.isArray(node)) return undefined;
    if (segment === "$ref") {
      const target = String(Reflect.get(node, "$ref")).split("/").slice(1);
      node = at(root, target);
    } else node = Reflect.get(node, unescaped(segment));
  }
  return node;
}

function instanceAt(value: unknown, path: string): unknown {
  let node = value;
  for (const segment of path.split("/").slice(1)) {
    if (typeof node !== "object" || node === null) return undefined;
    node = Reflect.get(node, unescaped(segment));
  }
  return node;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

import { article, clip, type Faults } from "../../kernel/faults.ts";
import { type FieldDefinition, fieldSchema, LIMITS } from "../document/document.ts";
import { REF } from "../document/ids.ts";
import { FIELD_TYPES, type FieldType, type Json } from "../fields/index.ts";
import { compilePattern } from "../fields/pattern.ts";
import { type LooseDocument, type LooseField, type LooseModule, ownProperty } from "./loose.ts";

/** Maximum number of fields with a pattern, because compiling patterns takes time. */
const MAX_PATTERNS = 200;

export function checkFields(document: LooseDocument, faults: Faults): void {
  let count = 0;
  let patterns = 0;
  for (const module of document.modules) {
    for (const schema of module.schemas) {
      count += schema.fields.length;
      // With too many fields, checking each one would take too long. Report only that there are too many.
      if (count > LIMITS.totalFields || schema.fields.length > LIMITS.fields) continue;
      for (const field of schema.fields) {
        if (ownProperty(field.raw, "pattern") !== undefined && ++patterns > MAX_PATTERNS) {
          faults.add(
            `${field.path}/pattern`,
            "too_many",
            `must not be the pattern of more than ${MAX_PATTERNS} fields of a document`,
          );
          continue;
        }
        checkField(document, module, field, faults);
      }
    }
  }
}

function checkField(document: LooseDocument, module: LooseModule, field: LooseField, faults: Faults): void {
  const has = (attribute: string) => ownProperty(field.raw, attribute) === true;
  if (has("translatable") && module.type === "CONFIG") {
    faults.add(
      `${field.path}/translatable`,
      "not_applicable",
      "must not be true in a CONFIG module. Use a CONTENT module.",
    );
  }
  if (has("marketSpecific") && document.markets.length === 0) {
    faults.add(
      `${field.path}/marketSpecific`,
      "not_applicable",
      "must not be true in an orb without markets. Add markets to the document.",
    );
  }
  checkRef(document, field, faults);
  checkFile(document, module, field, faults);
  if (field.type === undefined) return;
  const type = FIELD_TYPES[field.type];
  checkApplicable(type, field, faults);
  const bounds = checkBounds(type, field, faults);
  checkPattern(type, field, faults);
  const allowed = checkEnum(type, field, bounds, faults);
  checkDefault(type, field, bounds, allowed, faults);
}

function checkRef(document: LooseDocument, field: LooseField, faults: Faults): void {
  const ref = ownProperty(field.raw, "ref");
  const path = `${field.path}/ref`;
  if (field.type === "reference" && ref === undefined)
    faults.add(
      path,
      "required",
      "is required for a field of type reference, in the form orbId/moduleId/schemaId",
    );
  if (typeof ref !== "string") return;
  if (field.type !== undefined && field.type !== "reference") {
    faults.add(path, "not_applicable", "must only be set on a field of type reference");
  }
  if (!REF.test(ref)) return;
  const [orbId, moduleId, schemaId] = ref.split("/");
  if (orbId !== document.id) return;
  const target = document.modules.find((module) => module.id === moduleId);
  if (target === undefined)
    faults.add(
      path,
      "unknown_reference",
      `names the module "${clip(moduleId ?? "")}", which this orb does not have`,
    );
  else if (!target.schemas.some((schema) => schema.id === schemaId)) {
    faults.add(
      path,
      "unknown_reference",
      `names the schema "${clip(schemaId ?? "")}", which module "${clip(moduleId ?? "")}" does not have`,
    );
  }
}

const FILE_ATTRIBUTES = ["accept", "maxSize", "public", "variants"] as const;

function checkFile(document: LooseDocument, module: LooseModule, field: LooseField, faults: Faults): void {
  if (field.type === undefined) return;
  if (field.type === "file") {
    if (document.modules.some(({ id }) => id === "files")) {
      const message = "must not be file in an orb with a module files, which has the same route. Rename it.";
      faults.add(`${field.path}/type`, "reserved", message);
    }
    if (module.type === undefined || module.type === "CONTENT" || module.type === "CONFIG") return;
    const message = "must not be file in this module. Use a CONTENT or a CONFIG module.";
    faults.add(`${field.path}/type`, "not_applicable", message);
    return;
  }
  for (const attribute of FILE_ATTRIBUTES) {
    const value = ownProperty(field.raw, attribute);
    if (value === undefined || value === false) continue;
    const message = "must only be set on a field of type file";
    faults.add(`${field.path}/${attribute}`, "not_applicable", message);
  }
}

function checkApplicable(type: FieldType, field: LooseField, faults: Faults): void {
  const refuse = (attribute: string, message: string) => {
    const value = ownProperty(field.raw, attribute);
    if (value !== undefined && value !== false)
      faults.add(`${field.path}/${attribute}`, "not_applicable", message);
  };
  const named = `${article(type.name)} field`;
  if (type.bounds === "none") {
    refuse("min", `must not be set on ${named}`);
    refuse("max", `must not be set on ${named}`);
  }
  if (!type.pattern) refuse("pattern", `must not be set on ${named}`);
  if (!type.enumerable) refuse("enum", `must not be set on ${named}`);
  if (!type.unique) refuse("unique", `must not be true on ${named}`);
  if (!type.default) refuse("default", `must not be set on ${named}`);
  if (!type.sensitive) refuse("sensitive", `must not be true on ${named}`);
  if (!type.orderable) refuse("index", `must not be set on ${named}`);
  if (!type.searchable) refuse("search", `must not be true on ${named}`);
  if (ownProperty(field.raw, "list") === true) refuse("unique", "must not be true for a list");
  for (const attribute of ["list", "translatable", "marketSpecific", "sensitive"] as const) {
    if (ownProperty(field.raw, attribute) !== true) continue;
    refuse("index", `must not be set together with ${attribute}`);
  }
  if (ownProperty(field.raw, "sensitive") === true) {
    refuse("search", "must not be true for a sensitive field");
    refuse("default", "must not be set on a sensitive field, because the document would reveal it");
    refuse("enum", "must not be set on a sensitive field, because the document would reveal it");
  }
}

function checkBounds(type: FieldType, field: LooseField, faults: Faults): FieldDefinition {
  const result: FieldDefinition = { name: field.name ?? "", type: type.name };
  if (type.bounds === "none") return result;
  const parsed: { min?: Json; max?: Json } = {};
  for (const side of ["min", "max"] as const) {
    const value = ownProperty(field.raw, side);
    if (value === undefined || (typeof value !== "number" && typeof value !== "string")) continue;
    const path = `${field.path}/${side}`;
    if (type.bounds === "length") {
      if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) {
        parsed[side] = value;
        result[side] = value;
      } else
        faults.add(
          path,
          "bounds",
          `must be a whole number of at least 0, because it is the length of ${article(type.name)}`,
        );
      continue;
    }
    const normal = type.parse(value, (_code, message) => faults.add(path, "bounds", message));
    if (normal === undefined) continue;
    parsed[side] = normal;
    result[side] = value;
  }
  if (parsed.min !== undefined && parsed.max !== undefined) {
    const compare =
      type.bounds === "length"
        ? Number(parsed.min) - Number(parsed.max)
        : type.compare(parsed.min, parsed.max);
    if (compare > 0) faults.add(`${field.path}/min`, "bounds", "must not be greater than max");
  }
  return result;
}

function checkPattern(type: FieldType, field: LooseField, faults: Faults): void {
  const pattern = ownProperty(field.raw, "pattern");
  if (typeof pattern !== "string" || !type.pattern) return;
  const compiled = compilePattern(pattern);
  if (typeof compiled === "string") faults.add(`${field.path}/pattern`, "unsafe_pattern", compiled);
}

function checkEnum(
  type: FieldType,
  field: LooseField,
  bounds: FieldDefinition,
  faults: Faults,
): Json[] | undefined {
  const values = ownProperty(field.raw, "enum");
  if (!Array.isArray(values) || !type.enumerable || values.length > LIMITS.enum) return undefined;
  const allowed: Json[] = [];
  const tokens = new Set<string>();
  for (const [index, value] of values.entries()) {
    const normal = checkValue(type, field, bounds, value, `${field.path}/enum/${index}`, faults);
    if (normal === undefined) continue;
    const token = type.token(normal) ?? "";
    if (tokens.has(token)) faults.add(`${field.path}/enum/${index}`, "duplicate", "is listed twice");
    tokens.add(token);
    allowed.push(normal);
  }
  return allowed.length === values.length ? allowed : undefined;
}

function checkDefault(
  type: FieldType,
  field: LooseField,
  bounds: FieldDefinition,
  allowed: Json[] | undefined,
  faults: Faults,
): void {
  const value = ownProperty(field.raw, "default");
  if (value === undefined || !type.default) return;
  const path = `${field.path}/default`;
  const list = ownProperty(field.raw, "list") === true;
  if (list && !Array.isArray(value)) {
    faults.add(path, "type", "must be a list, because the field is a list");
    return;
  }
  const single =
    list && Array.isArray(value)
      ? value.map((item: unknown, index) => ({ path: `${path}/${index}`, item }))
      : [{ path, item: value }];
  for (const { path: place, item } of single) {
    if (item === null) {
      faults.add(place, "type", "must not be null. Leave out the default instead.");
      continue;
    }
    const normal = checkValue(type, field, bounds, item, place, faults);
    if (normal === undefined || allowed === undefined) continue;
    if (!allowed.some((one) => type.token(one) === type.token(normal))) {
      faults.add(place, "enum", "must be one of the values in enum");
    }
  }
}

function checkValue(
  type: FieldType,
  field: LooseField,
  bounds: FieldDefinition,
  value: unknown,
  path: string,
  faults: Faults,
): Json | undefined {
  let sound = true;
  const report = (code: string, message: string, sub = "") => {
    sound = false;
    faults.add(path + sub, code, message);
  };
  const normal = type.parse(value, report);
  if (normal === undefined) return undefined;
  const pattern = fieldSchema.shape.pattern.safeParse(ownProperty(field.raw, "pattern"));
  const usable =
    pattern.success && pattern.data !== undefined && typeof compilePattern(pattern.data) !== "string";
  type.rules(usable && type.pattern ? { ...bounds, pattern: pattern.data } : bounds)(normal, report);
  return sound ? normal : undefined;
}

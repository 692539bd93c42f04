import { SORTED_LANGUAGES, sortedLanguage } from "../../collation/keys.ts";
import { article, clip, type Faults, joinNames } from "../../kernel/faults.ts";
import { isObject } from "../../kernel/json.ts";
import { checkReads, checkRule } from "../../logic/check.ts";
import {
  canonicalLanguage,
  FIELD_NAME,
  type FieldDefinition,
  fieldSchema,
  LIMITS,
  REF,
  readsOf,
  targetKey,
  targetsOf,
  untoldReads,
} from "../document/index.ts";
import { FIELD_TYPES, type FieldType, type Json } from "../fields/index.ts";
import { compilePattern } from "../fields/parts/index.ts";
import { takesRule } from "../types/index.ts";
import { checkMoves, checkSteps, fromOf } from "./check-sources.ts";
import { type LooseDocument, type LooseField, type LooseModule, ownProperty } from "./loose.ts";

/** Maximum number of fields with a pattern, because compiling patterns takes time. */
export const MAX_PATTERNS = 200;

/** Maximum number of fields with a rule, because each write may evaluate them. */
const MAX_RULES = 200;

export function checkFields(document: LooseDocument, faults: Faults): void {
  let count = 0;
  let patterns = 0;
  let rules = 0;
  const countRules = (field: LooseField) => {
    if (ownProperty(field.raw, "showIf") !== undefined && ++rules > MAX_RULES)
      faults.add(
        `${field.path}/showIf`,
        "too_many",
        `must not be the rule of more than ${MAX_RULES} fields of a document`,
      );
    field.fields.forEach(countRules);
  };
  for (const { fields } of document.components) fields.forEach(countRules);
  for (const module of document.modules) {
    for (const schema of module.schemas) {
      count += schema.fields.length;
      // With too many fields, checking each one would take too long. Report only that there are too many.
      if (count > LIMITS.totalFields || schema.fields.length > LIMITS.fields) continue;
      for (const field of schema.fields) {
        countRules(field);
        if (conversionOf(field) !== undefined && ++rules > MAX_RULES)
          faults.add(
            `${field.path}/from`,
            "too_many",
            `must not be the rule of more than ${MAX_RULES} fields of a document`,
          );
        if (ownProperty(field.raw, "pattern") !== undefined && ++patterns > MAX_PATTERNS) {
          faults.add(
            `${field.path}/pattern`,
            "too_many",
            `must not be the pattern of more than ${MAX_PATTERNS} fields of a document`,
          );
          continue;
        }
        checkField(document, module, field, faults);
        checkFrom(field, schema.fields, faults);
        checkMoves(document, field, schema.fields, faults);
        checkSteps(field, schema.fields, faults);
      }
    }
  }
}

export function checkField(
  document: LooseDocument,
  module: Pick<LooseModule, "type">,
  field: LooseField,
  faults: Faults,
): void {
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
  if (ownProperty(field.raw, "required") === "allLanguages" && !has("translatable"))
    faults.add(
      `${field.path}/required`,
      "not_applicable",
      "must be true or false for a field that is not translatable",
    );
  checkRef(document, field, faults);
  for (const { path, value } of field.links) checkTarget(document, path, value, faults);
  checkFile(document, module, field, faults);
  if (field.type === undefined) return;
  const type = FIELD_TYPES[field.type];
  checkApplicable(type, field, faults);
  checkCollation(type, field, faults);
  const bounds = checkBounds(type, field, faults);
  checkPattern(type, field, faults);
  checkScale(type, field, faults);
  checkShown(type, field, faults);
  checkConversion(field, faults);
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
  if (ref === undefined) return;
  if (field.type !== undefined && field.type !== "reference") {
    faults.add(path, "not_applicable", "must only be set on a field of type reference");
  }
  const refs = Array.isArray(ref) ? ref : [ref];
  const known = new Set<string>();
  for (const [at, one] of refs.slice(0, LIMITS.targets).entries()) {
    const place = Array.isArray(ref) ? `${path}/${at}` : path;
    if (typeof one !== "string" || !REF.test(one)) continue;
    const [target] = targetsOf({ ref: one });
    const key = target === undefined ? one : targetKey(target);
    if (known.has(key)) faults.add(place, "duplicate", "is listed twice");
    known.add(key);
    checkTarget(document, place, one, faults);
  }
}

/** Checks that a schema of this document exists. */
function checkTarget(document: LooseDocument, path: string, ref: string, faults: Faults): void {
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

const FILE_ATTRIBUTES = ["accept", "maxSize", "public", "altRequired", "variants"] as const;

function checkFile(
  document: LooseDocument,
  module: Pick<LooseModule, "type">,
  field: LooseField,
  faults: Faults,
): void {
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

function checkCollation(type: FieldType, field: LooseField, faults: Faults): void {
  const collation = ownProperty(field.raw, "collation");
  if (collation === undefined) return;
  const path = `${field.path}/collation`;
  const refuse = (message: string) => faults.add(path, "not_applicable", message);
  if (type.name !== "string") refuse("must only be set on a field of type string");
  for (const attribute of ["list", "sensitive"] as const)
    if (ownProperty(field.raw, attribute) === true) refuse(`must not be set together with ${attribute}`);
  if (typeof collation !== "string" || canonicalLanguage(collation) !== collation) return;
  if (sortedLanguage(collation) !== undefined) return;
  const message = `must be a language whose order is known, also with a region: ${SORTED_LANGUAGES.join(", ")}`;
  faults.add(path, "unknown_collation", message);
}

function checkBounds(type: FieldType, field: LooseField, faults: Faults): FieldDefinition {
  const result: FieldDefinition = { name: field.name ?? "", type: type.name };
  const scale = fieldSchema.shape.scale.safeParse(ownProperty(field.raw, "scale"));
  if (scale.success && scale.data !== undefined) result.scale = scale.data;
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
    const normal = type.parse(value, (_code, message) => faults.add(path, "bounds", message), result);
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

const conversionOf = (field: LooseField) => fromOf(field, "convert");

/** A field of a schema itself. Rules can make only such fields of others. */
const OF_SCHEMA = /^\/modules\/\d+\/schemas\/\d+\/fields\/\d+$/;

/** Checks the rule that converts the values which are stored before a change of type. */
function checkConversion(field: LooseField, faults: Faults): void {
  const conversion = conversionOf(field);
  if (conversion === undefined || field.type === undefined) return;
  const sensitive = ownProperty(field.raw, "sensitive") === true;
  if (!takesRule({ type: field.type, sensitive })) {
    const message = `must not have a rule on ${sensitive ? "a sensitive" : article(field.type)} field`;
    faults.add(`${field.path}/from`, "not_applicable", message);
  }
  const rule = ownProperty(conversion, "convert");
  const path = `${field.path}/from/convert`;
  const known = OF_SCHEMA.test(field.path) && readsOf(rule).length > 0 ? "values" : "value";
  const untold = known === "values" ? untoldReads(rule) : [];
  if (untold.length > 0) {
    const message = `must read each field as {"var": "values.<field>"}, and not by ${joinNames(untold)} in another way`;
    faults.add(path, "not_applicable", message);
  }
  for (const fault of [...checkRule(rule, path), ...checkReads(rule, path, [known])])
    faults.add(fault.path, fault.code, fault.message);
}

/** Checks the field of which a slug is made: the slug must not reveal it to others, or lack a language. */
function checkFrom(field: LooseField, fields: readonly LooseField[], faults: Faults): void {
  const from = ownProperty(field.raw, "from");
  if (from === undefined || isObject(from) || field.type === undefined) return;
  const refuse = (message: string, code = "not_applicable") =>
    faults.add(`${field.path}/from`, code, message);
  if (field.type !== "slug") refuse("must only be set on a field of type slug");
  else if (ownProperty(field.raw, "list") === true) refuse("must not be set together with list");
  else if (typeof from === "string" && FIELD_NAME.test(from)) {
    const source = fields.find(({ name }) => name === from);
    if (source === undefined)
      refuse(`names the field "${clip(from)}", which this schema does not have`, "unknown_reference");
    else if (source === field) refuse("must name another field", "unknown_reference");
    else checkSource(field, source, refuse);
  }
}

function checkSource(field: LooseField, source: LooseField, refuse: (message: string) => void): void {
  const { kind } = FIELD_TYPES[source.type ?? "string"];
  const is = ({ raw }: LooseField, attribute: string) => ownProperty(raw, attribute) === true;
  if (kind === "flag" || kind === "other") refuse("must name a field with texts, numbers or times");
  for (const attribute of ["list", "sensitive"])
    if (is(source, attribute)) refuse(`must not name a field with ${attribute}`);
  for (const attribute of ["translatable", "marketSpecific"])
    if (is(field, attribute) && !is(source, attribute))
      refuse(`must name a field with ${attribute}, because the slug is ${attribute} too`);
  const readers = ({ raw }: LooseField) => {
    const access = ownProperty(raw, "access");
    return JSON.stringify((isObject(access) ? ownProperty(access, "read") : undefined) ?? null);
  };
  if (readers(source) !== "null" && readers(source) !== readers(field))
    refuse("must not name a field with other readers, because the slug would reveal it");
}

function checkScale(type: FieldType, field: LooseField, faults: Faults): void {
  const isSet = ownProperty(field.raw, "scale") !== undefined;
  const path = `${field.path}/scale`;
  if (type.sumScale === undefined && isSet)
    faults.add(path, "not_applicable", "must only be set on a field of type decimal");
  if (type.sumScale !== undefined && !isSet)
    faults.add(path, "required", "is required for a field of type decimal: the digits after the point");
}

/** Checks the attributes that decide how people see the field. */
function checkShown(type: FieldType, field: LooseField, faults: Faults): void {
  const [message, format] = ["message", "format"].map((attribute) => ownProperty(field.raw, attribute));
  if (message !== undefined && ownProperty(field.raw, "pattern") === undefined) {
    const text = "must only be set together with a pattern";
    faults.add(`${field.path}/message`, "not_applicable", text);
  }
  const placeholder = ownProperty(field.raw, "placeholder");
  if (placeholder !== undefined && type.kind !== "text" && type.kind !== "number")
    faults.add(
      `${field.path}/placeholder`,
      "not_applicable",
      "must only be set on a field with texts or numbers",
    );
  const rule = ownProperty(field.raw, "showIf");
  if (rule !== undefined)
    for (const fault of checkRule(rule, `${field.path}/showIf`))
      faults.add(fault.path, fault.code, fault.message);
  if (format !== undefined && type.kind !== "number") {
    const text = "must only be set on a field of type number, integer or decimal";
    faults.add(`${field.path}/format`, "not_applicable", text);
  }
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
    const token = equalityOf(type, normal);
    if (tokens.has(token)) faults.add(`${field.path}/enum/${index}`, "duplicate", "is listed twice");
    tokens.add(token);
    allowed.push(normal);
  }
  return allowed.length === values.length ? allowed : undefined;
}

const equalityOf = (type: FieldType, value: Json) => (type.equality ?? type.token)(value) ?? "";

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
    if (!allowed.some((one) => equalityOf(type, one) === equalityOf(type, normal))) {
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
  const normal = type.parse(value, report, bounds);
  if (normal === undefined) return undefined;
  // Clients read the values of a document without parsing them. Datetimes in other forms were allowed before.
  if (type.cell !== "json" && type.name !== "datetime" && normal !== value)
    report("format", `must be written as it is stored: ${JSON.stringify(normal)}`);
  const pattern = fieldSchema.shape.pattern.safeParse(ownProperty(field.raw, "pattern"));
  const usable =
    pattern.success && pattern.data !== undefined && typeof compilePattern(pattern.data) !== "string";
  type.rules(usable && type.pattern ? { ...bounds, pattern: pattern.data } : bounds)(normal, report);
  return sound ? normal : undefined;
}

/** Describes the fields of Directus as the orb document does. */

import type { Names } from "../../model/names.ts";
import { member, numberIn, objectsIn, textIn, textsIn } from "../../model/read-json.ts";
import { rulesFrom, type Tell } from "../../model/rules.ts";
import type { FieldDefinition, Loss } from "../../model/source.ts";
import { HTML, HTML_FORMATS, IMAGE } from "../html.ts";
import type { Way } from "./relations.ts";

type Item = Record<string, unknown>;

/** A field of Directus, and what became of it. */
export interface Field {
  source: Item;
  id: string;
  /** How values are converted: a type of Directus, or the name of an editor of texts. */
  form: string;
  way: Way | undefined;
  definition: FieldDefinition;
  /** The fields of the items of a repeater. */
  inner: readonly Field[];
}

const TYPES: Readonly<Record<string, string>> = {
  string: "string",
  text: "text",
  uuid: "string",
  integer: "integer",
  bigInteger: "decimal",
  float: "number",
  decimal: "decimal",
  boolean: "boolean",
  date: "date",
  time: "time",
  dateTime: "datetime",
  timestamp: "datetime",
  json: "json",
  csv: "string",
  point: "point",
  html: "richText",
  markdown: "richText",
  blocks: "richText",
  repeater: "object",
  choices: "string",
};
const EDITORS: Readonly<Record<string, string>> = {
  "input-rich-text-html": "html",
  "input-rich-text-md": "markdown",
  "input-block-editor": "blocks",
};
const CHOOSERS = new Set(["select-dropdown", "select-radio"]);
const MULTIPLE = new Set(["select-multiple-dropdown", "select-multiple-checkbox", "tags"]);
/** Length of a column for which nobody chose one. */
const USUAL_LENGTH = 255;
const MAX_ENUM = 500;

export const specialsOf = (field: Item): string[] => textsIn(field, "meta", "special");

/** Returns whether Directus never shows the values of a field. */
export const isSecret = (field: Item): boolean =>
  field.type === "hash" || specialsOf(field).some((one) => one === "hash" || one === "conceal");

/** Returns how the values of a field are converted. */
export function formOf(field: Item): string {
  const type = textIn(field, "type") ?? "";
  const view = textIn(field, "meta", "interface") ?? "";
  if (type.startsWith("geometry")) return type.endsWith(".Point") ? "point" : "json";
  const editor = EDITORS[view];
  if (editor !== undefined && (type === "json") === (editor === "blocks")) return editor;
  if (type === "csv") return "csv";
  if (type !== "json") return type;
  if (MULTIPLE.has(view)) return "choices";
  if (view === "list" && objectsIn(field, "meta", "options", "fields").length > 0) return "repeater";
  return view === "map" && textIn(field, "meta", "options", "geometryType") === "Point" ? "point" : "json";
}

/** @param at the field, for messages */
export function valueField(field: Item, at: string, names: Names, losses: Loss[]): Field {
  const id = textIn(field, "field") ?? "";
  const form = formOf(field);
  const type = TYPES[form];
  const tell = (why: string, became: string) => losses.push({ kind: "model", at, why, became });
  if (type === undefined) tell(`there is no type ${form}`, "a field of type json");
  if (form === "dateTime") tell("its times have no time zone", "times in UTC");
  const inner = form === "repeater" ? innerFields(field, at, names, losses) : [];
  const definition = {
    ...{ name: names.of(id), type: type ?? "json", ...shapeOf(field, form), ...lookOf(field) },
    ...rulesOf(field, form, tell),
    ...(inner.length === 0 ? {} : { fields: inner.map((one) => one.definition) }),
  };
  return { source: field, id, form, way: undefined, definition, inner };
}

function innerFields(field: Item, at: string, names: Names, losses: Loss[]): Field[] {
  const own = names.within(`${at}, field`);
  const found = objectsIn(field, "meta", "options", "fields").map((one) => {
    const id = textIn(one, "field") ?? textIn(one, "name") ?? "";
    const made = valueField({ ...one, field: id }, `${at}, ${id}`, own, losses);
    const { required: _, unique: __, enum: ___, pattern: ____, ...definition } = made.definition;
    return { ...made, definition };
  });
  if (objectsIn(field, "meta", "options", "fields").some((one) => member(one, "meta", "required") === true))
    losses.push({
      ...{ kind: "model", at, why: "Directus checks items of such lists in its forms alone" },
      became: "fields that need not have a value",
    });
  return found;
}

/** Returns what makes a list, a formatted text or a number of the type. */
function shapeOf(field: Item, form: string): Omit<FieldDefinition, "name" | "type"> {
  if (form === "csv" || form === "choices" || form === "repeater") return { list: true };
  if (form === "html" || form === "markdown" || form === "blocks")
    return { ...HTML_FORMATS, components: [IMAGE, HTML] };
  if (form === "bigInteger") return { scale: 0 };
  if (form === "decimal") return { scale: Math.min(18, numberIn(field, "schema", "numeric_scale") ?? 5) };
  return {};
}

function lookOf(field: Item): Record<string, unknown> {
  const note = textIn(field, "meta", "note") ?? "";
  return {
    ...(note === "" ? {} : { description: note.slice(0, 5_000) }),
    ...(textIn(field, "meta", "width")?.startsWith("half") === true ? { width: "half" } : {}),
  };
}

function rulesOf(field: Item, form: string, tell: Tell): Record<string, unknown> {
  const given = member(field, "schema", "default_value");
  const isRequired =
    member(field, "meta", "required") === true ||
    (member(field, "schema", "is_nullable") === false && (given === null || given === undefined));
  const length = numberIn(field, "schema", "max_length");
  const isLimited =
    form === "string" && length !== undefined && length > 0 && length !== USUAL_LENGTH && length <= 10_000;
  const rules = rulesFrom(
    {
      isRequired: isRequired && form !== "boolean",
      isUnique: member(field, "schema", "is_unique") === true,
      mayBeUnique: !NEVER_UNIQUE.includes(form),
      given: form === "uuid" ? undefined : given,
      usual: defaultOf(form, given),
      max: isLimited ? length : undefined,
    },
    tell,
  );
  return { ...rules, ...choicesOf(field, form), ...validationOf(field, form, tell) };
}

const NEVER_UNIQUE = ["json", "text", "html", "markdown", "blocks", "repeater", "csv", "choices"];

function defaultOf(form: string, value: unknown): unknown {
  if (form === "boolean" && value !== null && value !== undefined) return value === true || value === 1;
  if ((form === "string" || form === "text") && typeof value === "string")
    return value === "" ? undefined : value;
  return (form === "integer" || form === "float") && typeof value === "number" ? value : undefined;
}

function choicesOf(field: Item, form: string): { enum?: (string | number)[] } {
  const view = textIn(field, "meta", "interface") ?? "";
  const options = member(field, "meta", "options");
  const isOpen = member(options, "allowOther") === true || member(options, "allowCustom") !== undefined;
  if ((!CHOOSERS.has(view) && !MULTIPLE.has(view)) || view === "tags" || isOpen) return {};
  const isNumber = form === "integer" || form === "float";
  const values = objectsIn(options, "choices").flatMap((choice) => valuesIn(choice, isNumber));
  return values.length === 0 || values.length > MAX_ENUM ? {} : { enum: [...new Set(values)] };
}

/** Choices may be in groups. */
function valuesIn(choice: unknown, isNumber: boolean, depth = 0): (string | number)[] {
  const value = member(choice, "value");
  const own = typeof value === (isNumber ? "number" : "string") ? [value].filter((one) => one !== "") : [];
  const inner =
    depth < 8 ? objectsIn(choice, "children").flatMap((one) => valuesIn(one, isNumber, depth + 1)) : [];
  return [...own, ...inner].filter((one) => typeof one === "string" || typeof one === "number");
}

/** Returns a pattern and its message. Other conditions are told. */
function validationOf(field: Item, form: string, tell: Tell): Record<string, unknown> {
  const validation = member(field, "meta", "validation");
  if (validation === null || validation === undefined) return {};
  const id = textIn(field, "field") ?? "";
  const conditions = objectsIn(validation, "_and");
  const only = conditions.length === 1 ? conditions[0] : validation;
  const pattern = textIn(only, id, "_regex");
  const [least, most] = [numberIn(only, id, "_gte"), numberIn(only, id, "_lte")];
  const isText = form === "string" || form === "text";
  if (pattern !== undefined && isText && Object.keys(Object(member(only, id))).length === 1) {
    const message = textIn(field, "meta", "validation_message") ?? "";
    return {
      pattern: pattern.replace(/^\/(.*)\/$/s, "$1"),
      ...(message === "" ? {} : { message: message.slice(0, 500) }),
    };
  }
  if ((least !== undefined || most !== undefined) && (form === "integer" || form === "float"))
    return { ...(least === undefined ? {} : { min: least }), ...(most === undefined ? {} : { max: most }) };
  tell(
    `there is no counterpart of ${JSON.stringify(validation).slice(0, 200)}`,
    "the field without this rule",
  );
  return {};
}

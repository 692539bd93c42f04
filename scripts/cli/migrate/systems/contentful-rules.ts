/** Translates the rules of Contentful's fields into attributes. */
import { numberIn, objectsIn, textIn } from "../model/read-json.ts";
import type { FieldDefinition, Loss } from "../model/source.ts";

/** Rules that say to which entries a field may refer, or that concern rich text. They are read elsewhere. */
const ELSEWHERE = new Set(["linkContentType", "message", "nodes", "enabledMarks", "enabledNodeTypes"]);
const TEXTS = new Set(["Symbol", "Text"]);
const NUMBERS = new Set(["Integer", "Number"]);
/** What RE2 does not know: looking around, and referring back. */
const NOT_RE2 = /\(\?(?:[=!]|<[=!])|\\[1-9]/;
const LONGEST_PATTERN = 500;
const MOST_VALUES = 500;

/** @param at the field, for messages */
export function validationsOf(
  field: Readonly<Record<string, unknown>>,
  at: string,
  losses: Loss[],
): Partial<FieldDefinition> {
  const isList = field.type === "Array";
  const kind = textIn(isList ? field.items : field, "type") ?? "";
  const own = objectsIn(field, "validations");
  const rules = isList ? objectsIn(field, "items", "validations") : own;
  const attributes: Record<string, unknown> = {};
  const left = (name: string) =>
    losses.push({
      kind: "model",
      at,
      why: `there is no counterpart of the rule ${name}`,
      became: "left out",
    });
  for (const rule of rules)
    for (const name of Object.keys(rule)) {
      const found = ELSEWHERE.has(name) ? {} : attributesOf(name, rule, kind, isList);
      if (found === undefined) left(name);
      else Object.assign(attributes, found);
    }
  if (isList)
    for (const name of own.flatMap((rule) => Object.keys(rule)).filter((one) => !ELSEWHERE.has(one)))
      left(name);
  return attributes;
}

function attributesOf(
  name: string,
  rule: Readonly<Record<string, unknown>>,
  kind: string,
  isList: boolean,
): Partial<FieldDefinition> | undefined {
  const isText = TEXTS.has(kind);
  if (name === "unique")
    return kind === "Symbol" && !isList && rule.unique === true ? { unique: true } : undefined;
  if (name === "size" && isText) return boundsOf(rule.size);
  if (name === "range" && NUMBERS.has(kind)) return boundsOf(rule.range);
  if (name === "in" && (isText || NUMBERS.has(kind))) return enumOf(rule.in);
  if (name !== "regexp" || !isText) return undefined;
  const pattern = textIn(rule, "regexp", "pattern") ?? "";
  const flags = textIn(rule, "regexp", "flags") ?? "";
  if (pattern.length > LONGEST_PATTERN || NOT_RE2.test(pattern) || /[^ims]/.test(flags)) return undefined;
  const message = textIn(rule, "message");
  return {
    pattern: flags === "" ? pattern : `(?${flags})${pattern}`,
    ...(message === undefined ? {} : { message }),
  };
}

function boundsOf(range: unknown): Partial<FieldDefinition> {
  const [min, max] = [numberIn(range, "min"), numberIn(range, "max")];
  return { ...(min === undefined ? {} : { min }), ...(max === undefined ? {} : { max }) };
}

function enumOf(values: unknown): Partial<FieldDefinition> | undefined {
  if (!Array.isArray(values) || values.length === 0 || values.length > MOST_VALUES) return undefined;
  const known = values.filter(
    (one): one is string | number => typeof one === "string" || typeof one === "number",
  );
  return known.length === values.length ? { enum: [...new Set(known)] } : undefined;
}

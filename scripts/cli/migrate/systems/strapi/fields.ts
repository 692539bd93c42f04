/** Describes the attributes of Strapi as the orb document does. */

import type { Names } from "../../model/names.ts";
import { member, numberIn, textIn, textsIn } from "../../model/read-json.ts";
import { rulesFrom, type Tell } from "../../model/rules.ts";
import type { FieldDefinition, Loss } from "../../model/source.ts";
import { HTML, HTML_FORMATS, IMAGE } from "../html.ts";

type Item = Record<string, unknown>;

/** An attribute of Strapi, and what became of it. */
export interface Field {
  id: string;
  source: Item;
  /** Type of the attribute. */
  type: string;
  /** Unique id of the content type that a relation leads to. */
  target: string | undefined;
  isLocalized: boolean;
  definition: FieldDefinition;
}

export interface FieldContext {
  losses: Loss[];
  /** Returns the schema of a content type, and the id of a component; undefined if it is not carried. */
  schemaOf(uid: string): string | undefined;
  componentOf(uid: string): string | undefined;
}

/** Content type of the files. */
export const FILE = "plugin::upload.file";
const TYPES: Readonly<Record<string, string>> = {
  string: "string",
  text: "text",
  richtext: "richText",
  blocks: "richText",
  email: "email",
  uid: "slug",
  integer: "integer",
  biginteger: "decimal",
  float: "number",
  decimal: "decimal",
  boolean: "boolean",
  date: "date",
  time: "time",
  datetime: "datetime",
  timestamp: "datetime",
  enumeration: "string",
  json: "json",
  media: "reference",
  relation: "reference",
  component: "object",
  dynamiczone: "blocks",
};
/** Digits after the point that a decimal of Strapi has in its database. Values with more get more. */
const SCALE = 2;
const TO_SEVERAL = new Set(["oneToMany", "manyToMany", "morphToMany"]);

export const isList = (attribute: Item): boolean =>
  attribute.multiple === true ||
  attribute.repeatable === true ||
  TO_SEVERAL.has(textIn(attribute, "relation") ?? "");

/**
 * Describes an attribute.
 * @param at the attribute, for messages
 * @param isInside whether a component has it: Strapi checks the rules there only when an entry is published
 * @returns undefined if it is not carried
 */
export function fieldOf(
  id: string,
  source: Item,
  at: string,
  names: Names,
  context: FieldContext,
  isInside = false,
): Field | undefined {
  const tell = (why: string, became: string) => void context.losses.push({ kind: "model", at, why, became });
  const type = textIn(source, "type") ?? "";
  if (type === "password" || source.private === true) {
    tell(
      type === "password"
        ? "Strapi does not show it"
        : "the API of Strapi does not show private attributes. Turn this off while you migrate",
      "left out",
    );
    return undefined;
  }
  const kind = Object.hasOwn(TYPES, type) ? TYPES[type] : undefined;
  if (kind === undefined) tell(`there is no type ${type || "without a name"}`, "a field of type json");
  const shape = shapeOf(source, type, tell, context);
  if (shape === undefined) return undefined;
  const isLocalized = member(source, "pluginOptions", "i18n", "localized") === true && !isInside;
  const definition: FieldDefinition = {
    ...{ name: names.of(id), type: kind ?? "json" },
    ...(isList(source) ? { list: true } : {}),
    ...(isLocalized ? { translatable: true } : {}),
    ...shape,
    ...(isInside ? {} : rulesOf(source, type, tell)),
  };
  if (isInside && ["required", "unique", "regex", "min", "max"].some((rule) => Boolean(source[rule])))
    tell("rules inside components hold only for what is published in Strapi", "a field without them");
  if (source.conditions !== undefined)
    tell("conditions of Strapi's forms have no counterpart", "a field that is always shown");
  const target = type === "media" ? FILE : textIn(source, "target");
  return { id, source, type, target, isLocalized, definition };
}

/** Returns what a type needs; undefined if what it refers to is not carried. */
function shapeOf(
  source: Item,
  type: string,
  tell: Tell,
  { schemaOf, componentOf }: FieldContext,
): Omit<FieldDefinition, "name" | "type"> | undefined {
  switch (type) {
    case "richtext":
    case "blocks":
      return { ...HTML_FORMATS, components: [IMAGE, HTML] };
    case "biginteger":
      return { scale: 0 };
    case "decimal":
      return { scale: SCALE };
    case "enumeration": {
      const values = textsIn(source, "enum");
      return values.length > 0 && values.length <= 500 ? { enum: values } : {};
    }
    case "media":
    case "relation": {
      const uid = type === "media" ? FILE : (textIn(source, "target") ?? "");
      const ref = schemaOf(uid);
      if (ref !== undefined) return { ref };
      tell(`${uid || "a relation to several content types"} is not carried`, "left out");
      return undefined;
    }
    case "component": {
      const component = componentOf(textIn(source, "component") ?? "");
      return component === undefined ? undefined : { component };
    }
    case "dynamiczone": {
      const components = textsIn(source, "components").flatMap((uid) => componentOf(uid) ?? []);
      return components.length === 0 ? undefined : { components };
    }
    default:
      return {};
  }
}

function rulesOf(source: Item, type: string, tell: Tell): Record<string, unknown> {
  const isText = type === "string" || type === "text" || type === "email";
  const isNumber = type === "integer" || type === "float";
  const [min, max] = isText
    ? [numberIn(source, "minLength"), numberIn(source, "maxLength")]
    : isNumber
      ? [numberIn(source, "min"), numberIn(source, "max")]
      : [undefined, undefined];
  if (["component", "dynamiczone"].includes(type) && (source.min !== undefined || source.max !== undefined))
    tell("lists have no least or greatest number of items", "the field without this rule");
  const pattern = isText ? textIn(source, "regex") : undefined;
  const isUid = type === "uid";
  const rules = rulesFrom(
    {
      isRequired: source.required === true && type !== "boolean",
      isUnique: source.unique === true || isUid,
      mayBeUnique: isUid || ["string", "email", ...NUMBERS].includes(type),
      given: source.default,
      usual: defaultOf(type, source.default),
      ...{ min, max },
    },
    tell,
  );
  return { ...rules, ...(pattern === undefined || pattern === "" ? {} : { pattern }) };
}

const NUMBERS = ["integer", "biginteger", "float", "decimal"];

function defaultOf(type: string, value: unknown): unknown {
  if (type === "boolean" && typeof value === "boolean") return value;
  if ((type === "integer" || type === "float") && typeof value === "number") return value;
  const isText = ["string", "text", "email", "enumeration"].includes(type);
  return isText && typeof value === "string" && value !== "" ? value : undefined;
}

/** Describes the fields of Payload as the orb document does. */

import { Names } from "../../model/names.ts";
import { numberIn, objectsIn, textIn, textsIn } from "../../model/read-json.ts";
import { rulesFrom, type Tell } from "../../model/rules.ts";
import type { FieldDefinition, Loss } from "../../model/source.ts";
import { HTML, HTML_FORMATS, IMAGE } from "../html.ts";

type Item = Record<string, unknown>;

/** A field of Payload, and what became of it. */
export interface Field {
  id: string;
  source: Item;
  type: string;
  isLocalized: boolean;
  /** Whether its values are in one language, because the field or one around it is localized. */
  isInLanguage: boolean;
  definition: FieldDefinition;
  /** The fields of groups, named tabs and arrays. */
  inner: readonly Field[];
  /** The components of blocks, also of those in rich text, by the slugs of their blocks. */
  blocks: ReadonlyMap<string, Component>;
}

/** A block of Payload, and the component that it became. */
export interface Component {
  slug: string;
  id: string;
  fields: Field[];
}

export interface FieldContext {
  losses: Loss[];
  /** Returns the schema of a collection; undefined if it is not carried. */
  schemaOf(slug: string): string | undefined;
  /** Returns the component of a block, which is a block itself or the slug of one. */
  componentOf(block: unknown, isLocalized: boolean): Component | undefined;
  /** Schemas to which links of rich text can refer. */
  links: readonly string[];
}

/** Where fields are. */
interface Place {
  at: string;
  names: Names;
  /** Whether a field around them is localized: then Payload ignores it for the fields. */
  isLocalized: boolean;
}

const TYPES: Readonly<Record<string, string>> = {
  text: "string",
  textarea: "text",
  code: "text",
  email: "email",
  number: "number",
  checkbox: "boolean",
  date: "datetime",
  select: "string",
  radio: "string",
  json: "json",
  point: "point",
  relationship: "reference",
  upload: "reference",
  richText: "richText",
  group: "object",
  tab: "object",
  array: "object",
  blocks: "blocks",
};
/** Maximum values of an enum. */
const MOST_OPTIONS = 500;

/** Describes a list of fields. Those of rows, unnamed tabs and the like belong to the list itself. */
export function fieldsOf(list: readonly Item[], place: Place, context: FieldContext): Field[] {
  return list.flatMap((source): Field[] => {
    const [type, id] = [textIn(source, "type") ?? "", textIn(source, "name")];
    if (type === "tabs")
      return objectsIn(source, "tabs").flatMap((tab) => fieldsOf([{ ...tab, type: "tab" }], place, context));
    if (id === undefined) return fieldsOf(objectsIn(source, "fields"), place, context);
    const field = fieldOf(id, source, type, place, context);
    return field === undefined ? [] : [field];
  });
}

function fieldOf(
  id: string,
  source: Item,
  type: string,
  { at, names, isLocalized: isWithin }: Place,
  context: FieldContext,
): Field | undefined {
  const place = `${at}, field ${id}`;
  const tell = (why: string, became: string) =>
    void context.losses.push({ kind: "model", at: place, why, became });
  // The id of a document or an item is its key.
  if (type === "ui" || id === "id") return undefined;
  const missing = missingOf(source, type);
  if (missing !== undefined) {
    tell(missing, "left out");
    return undefined;
  }
  const kind = Object.hasOwn(TYPES, type) ? TYPES[type] : undefined;
  if (kind === undefined) tell(`there is no type ${type || "without a name"}`, "a field of type json");
  const isLocalized = source.localized === true && !isWithin;
  const inside = { at: place, names: new Names("field", `${place}, field`, context.losses) };
  const inner = ["group", "tab", "array"].includes(type)
    ? fieldsOf(objectsIn(source, "fields"), { ...inside, isLocalized: isLocalized || isWithin }, context)
    : [];
  const blocks = new Map<string, Component>();
  const listed = [...objectsIn(source, "blocks"), ...textsIn(source, "blockReferences")];
  for (const block of type === "blocks" ? listed : []) {
    const component = context.componentOf(block, isLocalized || isWithin);
    if (component !== undefined) blocks.set(component.slug, component);
  }
  if (kind === "object" && inner.length === 0) return undefined;
  const shape = shapeOf(source, type, blocks, tell, context);
  if (shape === undefined) return undefined;
  const isList = source.hasMany === true || type === "array";
  const isRestricted = textIn(source, "access", "read") !== undefined;
  if (isRestricted) tell("code says who may read it", "a field that admins read");
  const definition: FieldDefinition = {
    ...{ name: names.of(id), type: kind ?? "json" },
    ...(isRestricted ? { access: { read: ["admin"] } } : {}),
    ...(isList ? { list: true } : {}),
    ...(isLocalized ? { translatable: true } : {}),
    ...(inner.length === 0 ? {} : { fields: inner.map((one) => one.definition) }),
    ...shape,
    ...rulesOf(source, type, tell),
    ...textsOf(source, id),
  };
  return { id, source, type, isLocalized, isInLanguage: isLocalized || isWithin, definition, inner, blocks };
}

/** Returns why a field is not carried. */
function missingOf(source: Item, type: string): string | undefined {
  if (source.hidden === true) return "it is hidden from the API of Payload";
  if (source.virtual !== undefined && source.virtual !== false) return "Payload computes it";
  return type === "join" ? "it shows the references of the other collection, which are carried" : undefined;
}

/** Returns what a type needs; undefined if what it refers to is not carried. */
function shapeOf(
  source: Item,
  type: string,
  blocks: ReadonlyMap<string, Component>,
  tell: Tell,
  { schemaOf, links }: FieldContext,
): Record<string, unknown> | undefined {
  switch (type) {
    case "date":
      return textIn(source, "admin", "date", "pickerAppearance") === "dayOnly" ? { type: "date" } : {};
    case "select":
    case "radio": {
      const values = (Array.isArray(source.options) ? source.options : []).flatMap((one: unknown) =>
        typeof one === "string" ? [one] : (textIn(one, "value") ?? []),
      );
      return values.length > 0 && values.length <= MOST_OPTIONS ? { enum: values } : {};
    }
    case "relationship":
    case "upload": {
      const slugs = [source.relationTo].flat().map(String);
      const refs = slugs.flatMap((slug) => schemaOf(slug) ?? []);
      if (refs.length > 0) return { ref: Array.isArray(source.relationTo) ? refs : refs[0] };
      tell(`${slugs.join(", ")} is not carried`, "left out");
      return undefined;
    }
    case "richText":
      return { ...HTML_FORMATS, components: [IMAGE, HTML], ...(links.length === 0 ? {} : { links }) };
    case "blocks":
      return blocks.size === 0 ? undefined : { components: [...blocks.values()].map(({ id }) => id) };
    default:
      return {};
  }
}

function rulesOf(source: Item, type: string, tell: Tell): Record<string, unknown> {
  const isText = ["text", "textarea", "code", "email"].includes(type);
  const [min, max] = isText
    ? [numberIn(source, "minLength"), numberIn(source, "maxLength")]
    : type === "number"
      ? [numberIn(source, "min"), numberIn(source, "max")]
      : [undefined, undefined];
  if (["minRows", "maxRows"].some((rule) => source[rule] !== undefined))
    tell("lists have no least or greatest number of items", "the field without this rule");
  const { defaultValue } = source;
  return rulesFrom(
    {
      isRequired: source.required === true && type !== "checkbox",
      isUnique: source.unique === true,
      mayBeUnique: ["text", "email", "number"].includes(type) && source.hasMany !== true,
      given: defaultValue === false ? undefined : defaultValue,
      usual: defaultOf(source, type),
      ...{ min, max },
    },
    tell,
  );
}

function defaultOf({ defaultValue: value, hasMany }: Item, type: string): unknown {
  if (hasMany === true) return undefined;
  if (type === "checkbox" && typeof value === "boolean") return value;
  if (type === "number" && typeof value === "number") return value;
  const isText = ["text", "textarea", "code", "email", "select", "radio"].includes(type);
  return isText && typeof value === "string" && value !== "" ? value : undefined;
}

/** Returns the label and the description, if they are texts in one language. */
function textsOf(source: Item, id: string): Record<string, string> {
  const [label, description] = [textIn(source, "label"), textIn(source, "admin", "description")];
  const isOwn = label !== undefined && label.toLowerCase().replaceAll(/\W/g, "") !== id.toLowerCase();
  return {
    ...(isOwn && label.trim() !== "" ? { label: label.slice(0, 200) } : {}),
    ...(description === undefined || description === "" ? {} : { description: description.slice(0, 5_000) }),
  };
}

/**
 * Renames fields of components that are allowed in one place, as those of one name must have one type there.
 * @param taken fields of other components in that place, with their types
 */
export function agreeOnTypes(
  components: readonly Component[],
  taken: Readonly<Record<string, string>>,
  losses: Loss[],
): void {
  const types = new Map(Object.entries(taken));
  for (const { slug, fields } of components)
    for (const field of fields) {
      const { name, list } = field.definition;
      const type = `${field.definition.type}${list === true ? "_list" : ""}`;
      const known = types.get(name) ?? type;
      const own = known === type ? name : `${name.slice(0, 40)}_${type}`;
      types.set(own, type);
      if (own === name) continue;
      field.definition = { ...field.definition, name: own };
      losses.push({
        ...{ kind: "model", at: `block ${slug}, field ${field.id}`, became: own },
        why: `blocks of one place differ in the type of ${name}`,
      });
    }
}

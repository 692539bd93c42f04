/** Converts values of Payload to those of the orb. */
import { isObject } from "../../../../../shared/kernel/json.ts";
import { Linked } from "../../model/source.ts";
import { isEmpty } from "../../model/values.ts";
import type { Tell } from "../portable.ts";
import type { Field } from "./fields.ts";
import { fromLexical } from "./text.ts";

type Item = Readonly<Record<string, unknown>>;

export interface ValueContext {
  /** Returns the schema of a collection; undefined if it is not carried. */
  schemaOf(slug: string): string | undefined;
  /** Languages of the orb by the codes of Payload. */
  languages: ReadonlyMap<string, string>;
  /** Collection of the images in rich text. */
  images: string | undefined;
}

/** Returns the values of a document, or of an object inside it. @param tell called with the place in it */
export function valuesOf(
  fields: readonly Field[],
  item: Item,
  context: ValueContext,
  tell: (place: string) => Tell,
): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const field of fields) {
    const value = valueIn(field, item[field.id], context, (place) => tell(`${field.id}${place}`));
    if (value !== undefined) values[field.definition.name] = value;
  }
  return values;
}

function valueIn(
  field: Field,
  value: unknown,
  context: ValueContext,
  tell: (place: string) => Tell,
): unknown {
  const { languages } = context;
  if (!field.isLocalized || languages.size === 0) return inLanguage(field, value, context, tell(""));
  if (!isObject(value)) return undefined;
  const places = [...languages].flatMap(([code, language]) => {
    const own = inLanguage(field, value[code], context, tell(`.${language}`));
    return own === undefined ? [] : [[language, own] as const];
  });
  return places.length === 0 ? undefined : Object.fromEntries(places);
}

function inLanguage(field: Field, value: unknown, context: ValueContext, tell: Tell): unknown {
  if (isEmpty(value)) return undefined;
  const convert = (one: unknown) => single(field, one, context, tell);
  const isList = field.definition.list === true || field.type === "blocks";
  if (!isList || !Array.isArray(value)) return convert(value);
  const items = value.map(convert).filter((one) => one !== undefined);
  return items.length === 0 ? undefined : items;
}

function single(field: Field, value: unknown, context: ValueContext, tell: Tell): unknown {
  switch (field.type) {
    case "date":
      return field.definition.type === "date" ? String(value).slice(0, 10) : value;
    case "point":
      return Array.isArray(value) ? { lat: value[1], lon: value[0] } : undefined;
    case "relationship":
    case "upload":
      return linkOf(field, value, context, tell);
    case "richText": {
      const text = fromLexical(value, textContext(field, context, tell));
      if (text === undefined) tell({ why: "it is not from the editor Lexical", became: "left out" });
      return text;
    }
    case "group":
    case "tab":
      return inner(field.inner, value, context, tell);
    case "array": {
      const values = inner(field.inner, value, context, tell) ?? {};
      return { ...keyOf(value), ...values };
    }
    case "blocks": {
      const slug = isObject(value) ? String(value.blockType) : "";
      const component = field.blocks.get(slug);
      if (component === undefined) {
        tell({ why: `there is no block ${slug}`, became: "left out" });
        return undefined;
      }
      return { _type: component.id, ...keyOf(value), ...inner(component.fields, value, context, tell) };
    }
    default:
      return value;
  }
}

/** Returns the key of an item: its id, which Payload keeps. */
function keyOf(value: unknown): { _key?: string } {
  const id = isObject(value) ? value.id : undefined;
  return typeof id === "string" && /^[a-z0-9][\w-]{0,63}$/i.test(id) ? { _key: id } : {};
}

function inner(
  fields: readonly Field[],
  value: unknown,
  context: ValueContext,
  tell: Tell,
): Record<string, unknown> | undefined {
  if (!isObject(value)) return undefined;
  const values = valuesOf(
    fields,
    value,
    context,
    (place) =>
      ({ why, became }) =>
        tell({ why: `${place}: ${why}`, became }),
  );
  return Object.keys(values).length === 0 ? undefined : values;
}

function linkOf(field: Field, value: unknown, { schemaOf }: ValueContext, tell: Tell): Linked | undefined {
  const { relationTo } = field.source;
  const isSeveral = Array.isArray(relationTo);
  const slug = isSeveral ? (isObject(value) ? String(value.relationTo) : "") : String(relationTo);
  const id = idOf(isSeveral && isObject(value) ? value.value : value);
  const schema = schemaOf(slug);
  if (id !== undefined && schema !== undefined) {
    const { ref } = field.definition;
    return new Linked(schema, id, Array.isArray(ref) ? "several" : "one");
  }
  tell({
    why: `it refers to ${slug || "something without an id"}, which is not carried`,
    became: "left out",
  });
  return undefined;
}

/** Returns the id of a document. With a depth, Payload shows the document itself. */
export function idOf(value: unknown): string | undefined {
  const id = isObject(value) ? value.id : value;
  return typeof id === "string" || typeof id === "number" ? String(id) : undefined;
}

function textContext({ blocks }: Field, context: ValueContext, tell: Tell) {
  const { images, schemaOf } = context;
  return {
    tell,
    linkTo(slug: string, value: unknown, form: "one" | "link") {
      const [id, schema] = [idOf(value), schemaOf(slug)];
      if (id === undefined || schema === undefined || (form === "one" && slug !== images)) return undefined;
      return new Linked(schema, id, form);
    },
    blockOf(fields: Item) {
      const component = blocks.get(String(fields.blockType));
      if (component === undefined) return undefined;
      return { type: component.id, values: inner(component.fields, fields, context, tell) ?? {} };
    },
  };
}

/** Converts values of Strapi to those of the orb. */
import { isObject } from "../../../../../shared/kernel/json.ts";
import { textIn } from "../../model/read-json.ts";
import { Linked } from "../../model/source.ts";
import { isEmpty } from "../../model/values.ts";
import { fromMarkdownOf } from "../markdown.ts";
import type { Tell } from "../portable.ts";
import type { Field } from "./fields.ts";
import type { Model } from "./model.ts";
import { fromBlocksOf } from "./text.ts";

export interface ValueContext {
  model: Model;
  /** Returns the entry of a file by its address. */
  fileAt(address: string): Linked | undefined;
}

/** Returns the value of a field in a language. */
export function convertedOf(field: Field, value: unknown, context: ValueContext, tell: Tell): unknown {
  if (isEmpty(value)) return undefined;
  switch (field.type) {
    case "richtext":
      return fromMarkdownOf(String(value), { tell, imageAt: context.fileAt });
    case "blocks":
      return fromBlocksOf(value, { tell, fileAt: context.fileAt });
    case "biginteger":
    case "decimal":
      return String(value);
    case "time":
      return String(value).replace(/^(\d\d:\d\d)(?::00(?:\.0+)?|(:\d\d)\.\d+)$/, "$1$2");
    case "media":
    case "relation":
      return links(field, value, context, tell);
    case "component":
      return field.definition.list === true
        ? parts(value, (item) => inner(textIn(field.source, "component") ?? "", item, context, tell), false)
        : inner(textIn(field.source, "component") ?? "", value, context, tell);
    case "dynamiczone":
      return parts(value, (item) => zone(item, context, tell), true);
    default:
      return value;
  }
}

function links(field: Field, value: unknown, { model }: ValueContext, tell: Tell): unknown {
  const schema = model.schemaOf(field.target ?? "");
  if (schema === undefined) return undefined;
  const link = (one: unknown): Linked | undefined => {
    const id = idOf(one);
    if (id !== undefined) return new Linked(schema, id, "one");
    tell({ why: "it refers to something without an id", became: "left out" });
    return undefined;
  };
  if (field.definition.list !== true) return link(Array.isArray(value) ? value[0] : value);
  return Array.isArray(value) ? value.map(link).filter((one) => one !== undefined) : [link(value)];
}

/** Returns the id of a document, which all its languages have. */
export function idOf(item: unknown): string | undefined {
  const id = isObject(item) ? (item.documentId ?? item.id) : item;
  return typeof id === "string" || typeof id === "number" ? String(id) : undefined;
}

/** Returns the items of a list with keys. */
function parts(
  value: unknown,
  convert: (item: unknown) => Record<string, unknown> | undefined,
  isZone: boolean,
): unknown[] {
  const items = (Array.isArray(value) ? value : []).map(convert).filter((one) => one !== undefined);
  return items.map((item, at) => ({ _key: `${isZone ? "z" : "i"}${at}`, ...item }));
}

function zone(item: unknown, context: ValueContext, tell: Tell): Record<string, unknown> | undefined {
  const uid = textIn(item, "__component") ?? "";
  const component = context.model.component(uid);
  if (component !== undefined) return { _type: component.id, ...inner(uid, item, context, tell) };
  tell({ why: `there is no component ${uid}`, became: "left out" });
  return undefined;
}

function inner(
  uid: string,
  item: unknown,
  context: ValueContext,
  tell: Tell,
): Record<string, unknown> | undefined {
  const component = context.model.component(uid);
  if (component === undefined || !isObject(item)) return undefined;
  const values = component.fields.map((field) => {
    const tellInside: Tell = ({ why, became }) => tell({ why: `${field.id}: ${why}`, became });
    return [field.definition.name, convertedOf(field, item[field.id], context, tellInside)] as const;
  });
  return Object.fromEntries(values.filter(([, value]) => value !== undefined));
}

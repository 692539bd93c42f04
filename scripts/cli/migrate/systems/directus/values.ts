/** Converts values of Directus to those of the orb. */
import { isObject } from "../../../../../shared/kernel/json.ts";
import { member, textIn } from "../../model/read-json.ts";
import { Linked, type Loss } from "../../model/source.ts";
import { isEmpty } from "../../model/values.ts";
import { fromHtmlOf } from "../html.ts";
import { fromMarkdownOf } from "../markdown.ts";
import { htmlOfBlocks } from "./editor-js.ts";
import type { Field } from "./fields.ts";

export interface ValueContext {
  /** Returns the schema of a collection; undefined if the collection is not carried. */
  schemaOf(collection: string): string | undefined;
  /** Schema of the files. */
  files: string | undefined;
  /** Maximum items of a list that Directus sends. */
  listLimit: number | undefined;
}

export type Tell = (loss: Pick<Loss, "why" | "became">) => void;

const ZONE = /(?:[zZ]|[+-]\d{2}:?\d{2})$/;
const ASSET = /\/assets\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})/i;

/** Returns the value of a field that does not refer to items. */
export function convertedOf(field: Field, value: unknown, context: ValueContext, tell: Tell): unknown {
  if (isEmpty(value)) return undefined;
  switch (field.form) {
    case "html":
      return fromHtmlOf(String(value), { tell, imageAt: imageIn(context) });
    case "markdown":
      return fromMarkdownOf(String(value), { tell, imageAt: imageIn(context) });
    case "blocks":
      return fromHtmlOf(htmlOfBlocks(value, tell), { tell, imageAt: imageIn(context) });
    case "csv":
    case "choices":
      return Array.isArray(value) ? value : [value];
    case "bigInteger":
    case "decimal":
      return String(value);
    case "time":
      return String(value).replace(/^(\d\d:\d\d):00(?:\.0+)?$/, "$1");
    case "dateTime":
      return utcOf(value);
    case "point":
      return pointOf(value, tell);
    case "repeater":
      return itemsOf(field, value, context, tell);
    default:
      return value;
  }
}

/** Returns a time of Directus that has no time zone as a time in UTC. */
export const utcOf = (value: unknown): unknown =>
  typeof value === "string" && value.length > 10 && !ZONE.test(value) ? `${value}Z` : value;

function imageIn({ files }: ValueContext) {
  return (address: string): Linked | undefined => {
    const id = ASSET.exec(address)?.[1];
    return id === undefined || files === undefined ? undefined : new Linked(files, id, "one");
  };
}

function pointOf(value: unknown, tell: Tell): unknown {
  const place = member(value, "coordinates");
  const [lon, lat]: unknown[] = Array.isArray(place) ? place : [];
  if (member(value, "type") === "Point" && typeof lat === "number" && typeof lon === "number")
    return { lat, lon };
  tell({ why: `${JSON.stringify(value).slice(0, 100)} is not a point`, became: "left out" });
  return undefined;
}

function itemsOf({ inner }: Field, value: unknown, context: ValueContext, tell: Tell): unknown {
  const items = Array.isArray(value) ? value : [value];
  return items.filter(isObject).map((item, at) => {
    const others = Object.keys(item).filter((name) => !inner.some(({ id }) => id === name));
    if (others.length > 0)
      tell({
        why: `item ${at + 1} has ${others.join(", ")}, which the list has no fields for`,
        became: "left out",
      });
    const values = inner.map((one) => [one.definition.name, convertedOf(one, item[one.id], context, tell)]);
    return { _key: `i${at}`, ...Object.fromEntries(values.filter(([, one]) => one !== undefined)) };
  });
}

/** Returns the value of a field that refers to items. @param item has the value, and the names of collections */
export function linksOf(field: Field, item: unknown, context: ValueContext, tell: Tell): unknown {
  const { way, id, definition } = field;
  const value = member(item, id);
  if (way === undefined || isEmpty(value)) return undefined;
  const form = Array.isArray(definition.ref) ? "several" : "one";
  const link = (collection: string, key: unknown): Linked | undefined => {
    const target = typeof key === "string" || typeof key === "number" ? String(key) : undefined;
    const schema = context.schemaOf(collection);
    if (schema !== undefined && target !== undefined) return new Linked(schema, target, form);
    if (!isEmpty(key))
      tell({ why: `the collection ${collection || "without a name"} is not carried`, became: "left out" });
    return undefined;
  };
  if (way.kind === "one") return link(way.target, value);
  if (way.kind === "any") return link(textIn(item, way.collectionField) ?? "", value);
  if (!Array.isArray(value)) return undefined;
  if (value.length === context.listLimit)
    tell({ why: `Directus sends at most ${value.length} items of a list`, became: "the first of them" });
  const links = value.map((one: unknown) => {
    if (way.kind === "back") return link(way.from, one);
    if (way.kind === "many") return link(way.target, member(one, way.field));
    return way.kind === "manyAny"
      ? link(textIn(one, way.collectionField) ?? "", member(one, way.field))
      : undefined;
  });
  return links.filter((one) => one !== undefined);
}

/** Leaves the masks of sensitive values out of rows, because a mask says nothing about a value. */
import { isObject } from "../kernel/json.ts";
import { MASK, type RowField } from "./columns.ts";
import { type Part, readJsonText } from "./json-text.ts";

export interface Unmasked {
  /** The text without masks. Undefined if it is nothing but masks. */
  text: string | undefined;
  /** Names of the sensitive fields with a mask, such as `seo.pin`. */
  masked: readonly string[];
}

/**
 * Removes the masks of sensitive fields from a JSON text, at any depth, and changes nothing else.
 * @param inItems whether to remove masks from the items of lists. Keep them in a row that changes an entry: the row
 *   replaces the whole list, and a mask keeps the stored value of the item.
 */
export function withoutMasks(field: RowField, text: string, inItems: boolean): Unmasked {
  const masked = new Set<string>();
  const cleaned = cleanedValue(field, text, { name: field.name, inItems, masked });
  return { text: cleaned, masked: [...masked] };
}

interface Place {
  name: string;
  inItems: boolean;
  masked: Set<string>;
}

function cleanedValue(field: RowField, text: string, place: Place): string | undefined {
  if (!text.includes(MASK)) return text;
  if (field.sensitive === true) {
    if (!onlyMasks(text)) return text;
    place.masked.add(place.name);
    return undefined;
  }
  const shapes = [field.fields ?? [], ...(field.blocks ?? []).map(({ fields }) => fields)];
  const read = readJsonText(text);
  if (shapes.every((fields) => fields.length === 0) || typeof read === "string") return text;
  const parts = read.parts ?? [];
  if (read.kind === "list") {
    if (!place.inItems) return text;
    return `[${parts.map((part) => cleanedValue(field, part.text, place) ?? "{}").join(",")}]`;
  }
  const inner = new Map(fieldsOf(field, parts).map((one) => [one.name, one]));
  // The members of a map of languages or markets have no fields of their own.
  const isMap = parts.every(({ name }) => !inner.has(name) && !name.startsWith("_"));
  const kept = parts.flatMap(({ name, text: value }) => {
    const own = isMap ? field : inner.get(name);
    const below = isMap ? place : { ...place, name: `${place.name}.${name}` };
    const cleaned = own === undefined ? value : cleanedValue(own, value, below);
    return cleaned === undefined ? [] : [`${JSON.stringify(name)}:${cleaned}`];
  });
  return `{${kept.join(",")}}`;
}

/** Returns the fields that an object of a field has, which may be a block. */
function fieldsOf({ fields, blocks }: RowField, parts: readonly Part[]): readonly RowField[] {
  const type = parts.find(({ name }) => name === "_type")?.text;
  const found = blocks?.find(({ component }) => JSON.stringify(component) === type);
  return found?.fields ?? fields ?? [];
}

/** Returns whether a value of a sensitive field, or every value of its languages and markets, is a mask. */
function onlyMasks(text: string): boolean {
  const every = (value: unknown): boolean =>
    isObject(value) ? Object.values(value).every(every) : value === MASK;
  return every(JSON.parse(text));
}

/** Takes the texts of some languages from one revision of an entry into another one. */
import type { CompiledField, CompiledSchema } from "../../definition/compile.ts";
import { itemWith, keyOf, membersOf, shapeOf, TYPE } from "../../definition/walk.ts";
import { isObject } from "../../kernel/json.ts";
import { isSealed, type StoredValue } from "../model/index.ts";

type Values = Readonly<Record<string, StoredValue>>;
type Fields = ReadonlyMap<string, CompiledField>;

/** Returns the texts of a field by language. @param other those of the other revision */
type Texts = (own: unknown, other: unknown) => unknown;

const isMap = (value: unknown): value is Readonly<Record<string, unknown>> =>
  isObject(value) && !isSealed(value);
const memberOf = (map: unknown, key: string): unknown =>
  isMap(map) && Object.hasOwn(map, key) ? map[key] : undefined;

function filtered(map: unknown, isKept: (language: string) => boolean): [string, unknown][] {
  return isMap(map) ? Object.entries(map).filter(([language]) => isKept(language)) : [];
}

function mapOf(entries: readonly (readonly [string, unknown])[]): unknown {
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

/**
 * Returns values with the texts of some languages as another revision has them. Everything else stays: values without a
 * language, texts in other languages, and the items of lists. Items are found by their keys.
 */
export function withTextsOf(
  schema: CompiledSchema,
  values: Values,
  other: Values,
  languages: ReadonlySet<string>,
): Record<string, StoredValue> {
  const texts: Texts = (own, theirs) =>
    mapOf([
      ...filtered(own, (language) => !languages.has(language)),
      ...filtered(theirs, (language) => languages.has(language)),
    ]);
  return inMembers(texts, schema.fields, values, other) as Record<string, StoredValue>;
}

/** Returns values without the texts of other languages. */
export function onlyTextsOf(
  schema: CompiledSchema,
  values: Values,
  languages: ReadonlySet<string>,
): Record<string, StoredValue> {
  const texts: Texts = (own) => mapOf(filtered(own, (language) => languages.has(language)));
  return inMembers(texts, schema.fields, values, values) as Record<string, StoredValue>;
}

function inMembers(texts: Texts, fields: Fields, own: Values, other: unknown): Record<string, unknown> {
  const made: Record<string, unknown> = { ...own };
  for (const [name, field] of fields) {
    const value = inMarkets(texts, field, memberOf(own, name), memberOf(other, name));
    if (value === undefined) delete made[name];
    else made[name] = value;
  }
  return made;
}

function inMarkets(texts: Texts, field: CompiledField, own: unknown, other: unknown): unknown {
  if (!field.marketSpecific) return inLanguages(texts, field, own, other);
  const markets = new Set([own, other].flatMap((map) => (isMap(map) ? Object.keys(map) : [])));
  return mapOf(
    [...markets].flatMap((market) => {
      const value = inLanguages(texts, field, memberOf(own, market), memberOf(other, market));
      return value === undefined ? [] : [[market, value] as const];
    }),
  );
}

function inLanguages(texts: Texts, field: CompiledField, own: unknown, other: unknown): unknown {
  if (field.translatable) return texts(own, other);
  if (field.shapes === undefined) return own;
  const inObject = (object: unknown, theirs: unknown): unknown => {
    const fields = isMap(object) ? membersOf(field, object) : undefined;
    if (!isMap(object) || fields === undefined) return object;
    const isSame = isMap(theirs) && shapeOf(field, theirs) === shapeOf(field, object);
    return inMembers(texts, fields, object, isSame ? theirs : {});
  };
  if (field.list) {
    if (!Array.isArray(own)) return own;
    return own.map((item: unknown) => {
      const theirs = itemWith(other, keyOf(item));
      return theirs === undefined ? item : inObject(item, theirs);
    });
  }
  if (isMap(own) || !isMap(other)) return inObject(own, other);
  // The other revision has an object, and this one none: only its texts come in.
  const kind = Object.hasOwn(other, TYPE) ? { [TYPE]: other[TYPE] } : {};
  const made = inObject(kind, other);
  return isMap(made) && Object.keys(made).length > Object.keys(kind).length ? made : own;
}

/** Takes the values of entries from the shape of the live definition to that of an earlier revision, and back. */
import type { CompiledField, CompiledSchema } from "../../definition/compile.ts";
import { currentPointer } from "../../definition/document/index.ts";
import { remembered } from "../../definition/names/index.ts";
import { allFields, leavesOf, replaceLeaves, type Values } from "../../definition/walk.ts";
import { equal, isObject } from "../../kernel/json.ts";
import {
  ofFields,
  storedInput,
  withMarks,
  withNames,
  withPointers,
  withStoredNames,
} from "../model/index.ts";
import { counterpartOf, oldView, type SchemaPair } from "./fields.ts";

export type EntryValues = Readonly<Record<string, unknown>>;

/** @param of the values of which these are a part */
const between = (
  from: CompiledSchema,
  to: CompiledSchema,
  values: EntryValues,
  of: EntryValues,
  isMarked: (name: string) => boolean = () => false,
): Record<string, unknown> => {
  // No id: no shape has both an object and the reference to the entry that it became.
  const stored = withStoredNames(from, {
    id: "",
    module: from.module,
    schema: from.id,
    values: remembered({ ...values }, of),
  });
  return withNames(to, { ...stored, values: withMarks(to, stored.values, isMarked) }).values;
};

/**
 * Returns values in the shape of the earlier revision. Of a value that has more than that shape can hold, a part is left:
 * the first item, the value of the default language, the items of a type that it knows. A value that it cannot hold at
 * all is missing.
 * @param pair.now the live schema, reduced to the fields that the caller may read
 * @param values values of these fields, masked
 * @param of all values of the entry. A value that was written in an earlier shape is what it was then
 */
export function toOld(
  pair: SchemaPair,
  whole: CompiledSchema,
  values: EntryValues,
  of: EntryValues = values,
): Record<string, unknown> {
  const view = oldView(pair);
  const named = between(whole, pair.old, ofFields(pair.now, { ...values }), of);
  return compact(fitting({ ...pair, old: view }, storedInput(view, named)));
}

/** Returns what the earlier revision shows of stored values. @param readable the fields that the caller may read */
export function shownAsOld(
  { old, now }: SchemaPair,
  readable: CompiledSchema,
  stored: EntryValues,
): Record<string, unknown> {
  const known = storedInput(readable, ofFields(readable, { ...stored }));
  return toOld({ old, now: readable }, now, known, stored);
}

/**
 * Returns values in the shape of the live definition. A value that it cannot hold is missing.
 * @param isKept returns whether no rule makes the values of a new field: those of stored entries stay as they are
 */
export function toNow(
  { old, now }: SchemaPair,
  values: EntryValues,
  isKept: (name: string) => boolean,
): Record<string, unknown> {
  const named = between(old, now, values, values, isKept);
  const known = Object.entries(named).filter(([name]) => now.fields.has(name));
  return remembered({ ...withPointers(now, Object.fromEntries(known)) }, named);
}

interface Narrower {
  field: CompiledField;
  now: CompiledField;
}

const narrower = new WeakMap<CompiledSchema, readonly Narrower[]>();

/** Returns the fields of a view whose type may not hold all values that the live field has. */
function narrowerIn(pair: SchemaPair): readonly Narrower[] {
  const known = narrower.get(pair.old);
  if (known !== undefined) return known;
  const found = allFields(pair.old).flatMap((field) => {
    const now = counterpartOf(pair, field);
    if (now === undefined || field.isPart || field.sensitive || field.shapes !== undefined) return [];
    const { definition, polymorphic } = field;
    const { type, scale } = now.definition;
    const isSame = definition.type === type && definition.scale === scale && polymorphic === now.polymorphic;
    return isSame ? [] : [{ field, now }];
  });
  narrower.set(pair.old, found);
  return found;
}

/** Leaves out values that are none of the types of the earlier revision. */
function fitting(pair: SchemaPair, values: EntryValues): EntryValues {
  const places = narrowerIn(pair).flatMap(({ field, now }) =>
    leavesOf(field, values as Values).flatMap(({ value, trail }) => {
      const fits = fitted(field, now, value);
      return equal(fits, value) ? [] : [{ trail, value: fits }];
    }),
  );
  return places.length === 0 ? values : replaceLeaves(values, places);
}

function fitted(field: CompiledField, now: CompiledField, value: unknown): unknown {
  if (field.list)
    return Array.isArray(value) ? value.flatMap((one) => fitOne(field, now, one) ?? []) : undefined;
  return fitOne(field, now, value);
}

function fitOne(field: CompiledField, now: CompiledField, value: unknown): unknown {
  const plain = field.polymorphic ? value : idAlone(now, value);
  return field.type.parse(plain, () => undefined, field.definition) ?? undefined;
}

/** Returns the id of a reference that an id alone stands for. */
function idAlone({ targets, polymorphic }: CompiledField, value: unknown): unknown {
  if (!polymorphic || !isObject(value)) return value;
  return equal(currentPointer(targets, value.id), value) ? value.id : undefined;
}

/** Returns values without members that are undefined, at all depths. */
export function compact(values: EntryValues): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, compactValue(value)]],
    ),
  );
}

function compactValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(compactValue);
  return isObject(value) ? compact(value) : value;
}

/** Values of fields with an ordered index, in the form in which the index compares them. */
import type { CompiledField } from "../../definition/compile.ts";

/** Null means that the entry has no value. */
export type OrderedValue = string | number | null;

/**
 * Sorting compares only this many characters of a text. Cursors and indexes contain the compared values, so these must
 * be short.
 */
export const SORTED_CHARACTERS = 200;

export function sortedText(text: string): string {
  return text.length > SORTED_CHARACTERS ? text.slice(0, SORTED_CHARACTERS) : text;
}

/** Returns the value under which an ordered index lists an entry. */
export function orderedValue(field: CompiledField, values: Readonly<Record<string, unknown>>): OrderedValue {
  const value = Object.hasOwn(values, field.name) ? values[field.name] : undefined;
  if (typeof value === "string") return sortedText(value);
  return typeof value === "number" ? value : null;
}

/**
 * A change of an ordered index (the entries sorted by one field): an entry got some values, and perhaps lost others.
 */
export interface OrderedChange {
  id: string;
  adds: OrderedValue[];
  /**
   * Values that the entry's next revision no longer has. The change is written before that revision, and writing the
   * revision may then fail. So readers check whether the revision was stored.
   */
  drops: OrderedValue[];
}

/** Stored body of a change. */
type StoredChange = [id: string, adds: OrderedValue[], drops?: OrderedValue[]];

export function changeBody({ id, adds, drops }: OrderedChange): string {
  const body: StoredChange = drops.length === 0 ? [id, adds] : [id, adds, drops];
  return JSON.stringify(body);
}

export function changeIn([id, adds, drops = []]: StoredChange): OrderedChange {
  return { id, adds, drops };
}

/** Values of fields with an ordered index, in the form in which the index compares them. */
import type { CompiledField } from "../../definition/compile.ts";
import type { Values } from "../../definition/validate.ts";
import { leavesOf } from "../../definition/walk.ts";
import { comparable } from "../../texts/words.ts";

/** Null means that the entry has no value. */
export type OrderedValue = string | number | null;

/**
 * Sorting compares only this many characters of a text. Cursors and indexes contain the compared values, so these must
 * be short.
 */
export const SORTED_CHARACTERS = 200;

/**
 * Returns the text by which lists are sorted: the beginning of the sort key in the field's language, or of the text in
 * the form in which texts are compared. All orders use this function: in memory, in indexes, ranges and cursors.
 */
export function sortedText(text: string, sortKey: CompiledField["sortKey"]): string {
  if (sortKey !== undefined) return sortKey(text).slice(0, SORTED_CHARACTERS);
  const beginning = text.length > 2 * SORTED_CHARACTERS ? text.slice(0, 2 * SORTED_CHARACTERS) : text;
  const form = comparable(beginning);
  return form.length > SORTED_CHARACTERS ? form.slice(0, SORTED_CHARACTERS) : form;
}

/** Returns the value under which an ordered index lists an entry. */
export function orderedValue(field: CompiledField, values: Readonly<Record<string, unknown>>): OrderedValue {
  const value = leavesOf(field, values as Values)[0]?.value;
  if (value !== undefined && field.type.indexText !== undefined) return field.type.indexText(value) ?? null;
  if (typeof value === "string") return sortedText(value, field.sortKey);
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

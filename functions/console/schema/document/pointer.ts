/** Reads and changes JSON values by JSON Pointer. Changes are immutable: they share unchanged parts. */

import { pointer, unescapeSegment } from "../../../../shared/kernel/faults.ts";
import { isObject as isAnyObject } from "../../../../shared/kernel/json.ts";

export type Json = string | number | boolean | null | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}

/** Returns the decoded segments of a pointer. */
export const segmentsOf = (path: string): string[] => path.split("/").slice(1).map(unescapeSegment);

export const below = (path: string, ...keys: readonly (string | number)[]): string => path + pointer(keys);

export const isObject = (value: unknown): value is JsonObject => isAnyObject(value);

export const isList = (value: unknown): value is readonly Json[] => Array.isArray(value);

export const objectOf = (value: unknown): JsonObject => (isObject(value) ? value : {});

export const listOf = (value: unknown): readonly Json[] => (isList(value) ? value : []);

export const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

/** Returns the JSON Pointer to the object that contains an item's list. The form of this object shows the list. */
export function outer(path: string): string {
  const list = path.replace(/\/\d+$/, "");
  return list === "/modules" || list.includes("/", 1) ? list.replace(/\/[^/]+$/, "") : list;
}

function child(value: Json | undefined, key: string): Json | undefined {
  if (isList(value)) return value[Number(key)];
  return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

export const valueAt = (root: Json, path: string): Json | undefined =>
  segmentsOf(path).reduce<Json | undefined>(child, root);

function changed(value: Json | undefined, keys: readonly string[], next: Json | undefined): Json | undefined {
  const [key, ...rest] = keys;
  if (key === undefined) return next;
  const inner = changed(child(value, key), rest, next);
  if (isList(value)) {
    return inner === undefined
      ? value.filter((_, index) => index !== Number(key))
      : value.map((item, index) => (index === Number(key) ? inner : item));
  }
  const { [key]: _, ...others } = objectOf(value);
  if (inner === undefined) return others;
  return isObject(value) && Object.hasOwn(value, key)
    ? { ...value, [key]: inner }
    : { ...others, [key]: inner };
}

/** Sets a value; undefined removes it. Creates missing parent objects, and removes empty ones. */
export function withValue(root: JsonObject, path: string, next: Json | undefined): JsonObject {
  const made = objectOf(changed(root, segmentsOf(path), next));
  const parent = path.slice(0, path.lastIndexOf("/"));
  const left = valueAt(made, parent);
  const isEmpty = parent !== "" && next === undefined && isObject(left) && Object.keys(left).length === 0;
  return isEmpty && isObject(valueAt(made, parent)) && !/\/\d+$/.test(parent)
    ? withValue(made, parent, undefined)
    : made;
}

/** Inserts an item into a list. Creates the list if it is missing. */
export function withItem(root: JsonObject, path: string, index: number, item: Json): JsonObject {
  return withValue(root, path, listOf(valueAt(root, path)).toSpliced(index, 0, item));
}

export function withoutItem(root: JsonObject, path: string, index: number): JsonObject {
  return withValue(root, path, listOf(valueAt(root, path)).toSpliced(index, 1));
}

export function withMoved(root: JsonObject, path: string, from: number, to: number): JsonObject {
  const list = listOf(valueAt(root, path));
  const item = list[from];
  if (item === undefined || to < 0 || to >= list.length) return root;
  return withValue(root, path, list.toSpliced(from, 1).toSpliced(to, 0, item));
}

/** Returns whether two values are equal. Ignores the order of an object's properties. */
export function same(a: Json | undefined, b: Json | undefined): boolean {
  if (a === b) return true;
  if (isList(a)) return isList(b) && a.length === b.length && a.every((item, index) => same(item, b[index]));
  if (!isObject(a) || !isObject(b)) return false;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && same(a[key], b[key]))
  );
}

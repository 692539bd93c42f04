/**
 * Applies a JSON Merge Patch to fields of objects. In addition to RFC 7386, a patch may change single items of a list of
 * objects: it then has an object instead of the list, with the changes of each item by the item's key. So two clients
 * can change two items at the same time.
 *
 * - `{"<key>": {"city": "Oslo"}}` changes an item.
 * - `{"<key>": null}` removes an item.
 * - `_after` in a change moves the item behind the item with that key, or to the beginning if it is null. With `_after`,
 *   the key may be new: this adds an item.
 */
import type { CompiledField, CompiledSchema } from "../../definition/compile.ts";
import { canonicalLanguage } from "../../definition/document/index.ts";
import { isMarkup } from "../../definition/rich-text.ts";
import { itemWith, KEY, keyOf, membersOf, TYPE } from "../../definition/walk.ts";
import type { Fault } from "../../kernel/errors.ts";
import { pointer } from "../../kernel/faults.ts";
import { isObject, mergePatch } from "../../kernel/json.ts";

/** Member of a change that tells where to put the item. */
const AFTER = "_after";

interface Patching {
  schema: CompiledSchema;
  /** The language and the market that the patch is for. */
  place: { locale?: string | undefined; market?: string | undefined };
  faults: Fault[];
}

/**
 * How the result is used. `whole`: it replaces the stored value. `part`: it is merged with the stored value, because the
 * patch is for one language or market of values inside the objects. It then contains only what changes, and an item with
 * only its key for each item that stays.
 */
type Use = "whole" | "part";

/** Returns what a patch makes of a field of objects. @param patch not null */
export function patchedField(
  patching: Patching,
  field: CompiledField,
  before: unknown,
  patch: unknown,
  trail: readonly string[] = [field.key],
): unknown {
  const { schema, place } = patching;
  const isPart = (place.locale ?? place.market) !== undefined;
  if (!field.translatable && !field.marketSpecific)
    return patchedValue(
      patching,
      field,
      before,
      patch,
      trail,
      isPart && field.localizedInside ? "part" : "whole",
    );
  if (isPart) {
    const keys = [
      ...(field.marketSpecific ? [place.market ?? schema.markets[0] ?? ""] : []),
      ...(field.translatable ? [canonicalLanguage(place.locale ?? "") ?? schema.languages[0] ?? ""] : []),
    ];
    const stored = keys.reduce<unknown>((map, key) => memberOf(map, key), before);
    return patchedValue(patching, field, stored, patch, trail, "whole");
  }
  const levels = Number(field.marketSpecific) + Number(field.translatable);
  return patchedMap(patching, field, before, patch, trail, levels);
}

/** Patches a map by market or language. */
function patchedMap(
  patching: Patching,
  field: CompiledField,
  before: unknown,
  patch: unknown,
  trail: readonly string[],
  levels: number,
): unknown {
  if (levels === 0) return patchedValue(patching, field, before, patch, trail, "whole");
  if (!isObject(patch)) return patch;
  const changed = Object.entries(patch).map(([key, value]): [string, unknown] => [
    key,
    value === null
      ? null
      : patchedMap(patching, field, memberOf(before, key), value, [...trail, key], levels - 1),
  ]);
  return Object.fromEntries([...(isObject(before) ? Object.entries(before) : []), ...changed]);
}

function patchedValue(
  patching: Patching,
  field: CompiledField,
  before: unknown,
  patch: unknown,
  trail: readonly string[],
  use: Use,
): unknown {
  if (!isObject(patch) || isMarkup(field, patch)) return patch;
  if (field.list) return patchedItems(patching, field, before, patch, trail, use);
  return patchedObject(patching, field, before, patch, trail, use);
}

function patchedObject(
  patching: Patching,
  field: CompiledField,
  before: unknown,
  patch: Readonly<Record<string, unknown>>,
  trail: readonly string[],
  use: Use,
): Record<string, unknown> {
  const stored = isObject(before) ? before : {};
  const fields = membersOf(field, { ...stored, ...patch });
  const changed = Object.entries(patch).map(([name, value]): [string, unknown] => {
    const inner = fields?.get(name);
    // A null stays: validation clears the value, also if the field has a default.
    if (value === null || inner === undefined) return [name, value];
    const old = memberOf(stored, name);
    if (use === "part" && inner.localizedInside)
      return [name, patchedValue(patching, inner, old, value, [...trail, name], "part")];
    if (use === "part" && (inner.translatable || inner.marketSpecific)) {
      const isObjects = inner.shapes !== undefined;
      return [name, isObjects ? patchedField(patching, inner, old, value, [...trail, name]) : value];
    }
    if (inner.shapes === undefined) return [name, mergedValue(inner, old, value)];
    const levels = Number(inner.marketSpecific) + Number(inner.translatable);
    return [name, patchedMap(patching, inner, old, value, [...trail, name], levels)];
  });
  return Object.fromEntries([...(use === "part" ? [] : Object.entries(stored)), ...changed]);
}

/**
 * Merges a patch into the value of a field without objects. A reference to one of several schemas is replaced as a whole:
 * with another schema, the old id would be wrong.
 */
export function mergedValue(field: CompiledField, before: unknown, patch: unknown): unknown {
  const levels = Number(field.marketSpecific) + Number(field.translatable);
  return field.polymorphic ? mergedTo(levels, before, patch) : mergePatch(before, patch);
}

function mergedTo(levels: number, before: unknown, patch: unknown): unknown {
  if (levels === 0 || !isObject(patch)) return patch;
  const changed = Object.entries(patch).map(([key, value]) => [
    key,
    mergedTo(levels - 1, memberOf(before, key), value),
  ]);
  return { ...(isObject(before) ? before : {}), ...Object.fromEntries(changed) };
}

/** Applies changes of single items to a list of objects. */
function patchedItems(
  patching: Patching,
  field: CompiledField,
  before: unknown,
  changes: Readonly<Record<string, unknown>>,
  trail: readonly string[],
  use: Use,
): unknown[] {
  const stored: readonly unknown[] = Array.isArray(before) ? before : [];
  const kept = (item: unknown) =>
    use === "whole" || !isObject(item)
      ? item
      : { [KEY]: item[KEY], ...(item[TYPE] === undefined ? {} : { [TYPE]: item[TYPE] }) };
  let items = stored.map(kept);
  for (const [key, change] of Object.entries(changes)) {
    const old = itemWith(stored, key);
    if (change === null) {
      items = items.filter((item) => keyOf(item) !== key);
      continue;
    }
    const path = [...trail, key];
    if (!isObject(change)) {
      const message = "must be an object with the changes of the item, or null to remove it";
      fault(path, "type", message, patching);
      continue;
    }
    const { [AFTER]: after, ...members } = change;
    if (old === undefined && (after === undefined || Object.keys(members).length === 0)) {
      const message = `is not the key of an item of ${field.name}. To add an item, send its values and ${AFTER}: the key of the item before it, or null.`;
      fault(path, "unknown_item", message, patching);
      continue;
    }
    if (after !== undefined && after !== null && typeof after !== "string") {
      const message = "must be the key of an item, or null for the beginning";
      fault([...path, AFTER], "type", message, patching);
      continue;
    }
    const next = { ...changedItem(patching, field, old, members, path, use), [KEY]: key };
    if (after === undefined) items = items.map((item) => (keyOf(item) === key ? next : item));
    else
      items = placed(
        items.filter((item) => keyOf(item) !== key),
        next,
        after,
      );
  }
  return items;
}

function changedItem(
  patching: Patching,
  field: CompiledField,
  old: unknown,
  members: Readonly<Record<string, unknown>>,
  path: readonly string[],
  use: Use,
): Record<string, unknown> {
  const type = isObject(old) ? old[TYPE] : undefined;
  // A block of another component has other fields, so it replaces the stored one.
  const isOther = field.blocks && members[TYPE] !== undefined && members[TYPE] !== type;
  const item = patchedObject(patching, field, isOther ? undefined : old, members, path, use);
  return type === undefined || isOther ? item : { [TYPE]: type, ...item };
}

/** Puts an item behind another one. If another client has removed that one, puts the item at the end. */
function placed(items: readonly unknown[], item: unknown, after: string | null): unknown[] {
  const at = after === null ? -1 : items.findIndex((one) => keyOf(one) === after);
  if (after !== null && at < 0) return [...items, item];
  return items.toSpliced(at + 1, 0, item);
}

function memberOf(map: unknown, key: string): unknown {
  return isObject(map) && Object.hasOwn(map, key) ? map[key] : undefined;
}

function fault(trail: readonly string[], code: string, message: string, { faults }: Patching): void {
  faults.push({ path: `/values${pointer(trail)}`, code, message });
}

/** Checks which fields a request sets. Fields that the caller may not read or may not set keep their stored values. */
import type { CompiledField, CompiledSchema } from "../../definition/compile.ts";
import { MASK } from "../../definition/document/index.ts";
import { unknownField } from "../../definition/validate.ts";
import type { Fault } from "../../kernel/errors.ts";
import { escapeSegment } from "../../kernel/faults.ts";
import { isObject } from "../../kernel/json.ts";
import { ofFields, readableIn, type StoredValue, storedInput } from "../model/index.ts";
import { type Localization, mergeValues } from "./input.ts";
import { admittedMembers, type Hold, heldValue, holdLive, holdSent, type MemberWrite } from "./members.ts";
import { mergedValue, patchedField } from "./patched.ts";
import { type Rights, rightsIn, type Sender, WRITE_ONLY } from "./rights.ts";

export interface Admitted {
  /** All values of the entry, ready for validation. */
  given: unknown;
  faults: Fault[];
}

/**
 * Returns the values to validate for a write.
 *
 * - A field that the caller may neither read nor set is rejected as unknown.
 * - A field that the caller may read but not set is accepted only with its stored value.
 * - A field that the caller may set but not read must be replaced as a whole. A partial change could reveal the stored
 *   rest.
 * - If the request omits any of these fields, the field keeps its stored value.
 * - The same holds for the members of objects, at all depths. An item of a list must stay if it has, or may have, a value
 *   that the caller may not set.
 *
 * @param stored values of the newest revision; undefined for a new entry
 */
export function admitted(
  schema: CompiledSchema,
  sender: Sender,
  sent: unknown,
  stored: Readonly<Record<string, StoredValue>> | undefined,
  place: Localization,
): Admitted {
  const input = () => storedInput(schema, stored ?? {});
  if (!schema.narrowed.any || !isObject(sent)) {
    return { given: mergeValues(schema, sent, input, place), faults: [] };
  }
  const write = { ...memberWrite(schema, sender), asksKeys: true };
  const { rightsOf, faults } = write;
  const isKnown = (field: CompiledField | undefined) => {
    const right = field && rightsOf(field);
    return right?.read === true || right?.write === true;
  };
  const known = [...schema.fields.values()].filter(isKnown).map(({ name }) => name);
  const holdsPart = (field: CompiledField, value: unknown) => isPart(field, place) || holdsMask(value);
  const placed = (place.locale ?? place.market) !== undefined;
  const admissible = Object.entries(sent).flatMap(([name, value]): [string, unknown][] => {
    const field = schema.fields.get(name);
    const path = `/values/${escapeSegment(name)}`;
    if (field === undefined || !isKnown(field)) faults.push(unknownField(schema, path, known));
    else if (!rightsOf(field).read && holdsPart(field, value))
      faults.push({ path, code: "write_only", message: WRITE_ONLY });
    else return [[name, admittedMembers(write, field, value, { trail: [name], placed, holdsPart })]];
    return [];
  });
  const before = input();
  const given = mergeValues(schema, Object.fromEntries(admissible), () => before, place);
  const values = isObject(given) ? given : {};
  return {
    given: heldIn(write, holdSent(write), values, before, { isStored: stored !== undefined }),
    faults,
  };
}

const EVERYTHING: Rights = { read: true, write: true };

function memberWrite(schema: CompiledSchema, sender: Sender): MemberWrite {
  const rights = new Map<CompiledField, Rights>();
  return {
    schema,
    faults: [],
    rightsOf(field) {
      const known = rights.get(field) ?? rightsIn(field, sender);
      rights.set(field, known);
      return known;
    },
  };
}

/** Returns whether a request sets only one language or market of a field. */
function isPart(field: CompiledField | undefined, { locale, market }: Localization): boolean {
  return (field?.translatable === true || field?.marketSpecific === true) && (locale ?? market) !== undefined;
}

/** Returns whether a value contains a mask, which stands for a stored value. */
export function holdsMask(value: unknown): boolean {
  if (value === MASK) return true;
  return typeof value === "object" && value !== null && Object.values(value).some(holdsMask);
}

/**
 * Applies a JSON Merge Patch to the stored values and returns the result. Replaces two kinds of values as a whole:
 * values that the caller may not read, and values in one language or market.
 * @param patch values by field name; null clears a field
 * @param faults takes the errors of changes of single items in lists
 */
export function merged(
  schema: CompiledSchema,
  sender: Sender,
  patch: unknown,
  stored: Readonly<Record<string, StoredValue>>,
  place: Localization,
  faults: Fault[] = [],
): unknown {
  if (!isObject(patch)) return patch;
  const input = storedInput(schema, stored);
  const before = schema.narrowed.read
    ? ofFields(readableIn(schema, sender.caller, sender.createdBy), input)
    : input;
  const rightsTo = (name: string): Rights => {
    const field = schema.fields.get(name);
    if (field === undefined) return { read: false, write: false };
    return schema.narrowed.any ? rightsIn(field, sender) : EVERYTHING;
  };
  // Only a write of the whole entry could lose the values of fields that the request omits, so keep them. A write for
  // one language or market keeps all other values anyway.
  const isWhole = place.locale === undefined && place.market === undefined;
  const kept = isWhole
    ? Object.entries(before).filter(([name]) => {
        const { read, write } = rightsTo(name);
        return read && write;
      })
    : [];
  const changed = Object.entries(patch).map(([name, value]): [string, unknown] => {
    const field = schema.fields.get(name);
    if (value === null || !rightsTo(name).read) return [name, value];
    if (field?.shapes !== undefined)
      return [name, patchedField({ schema, place, faults }, field, before[name], value)];
    return [
      name,
      isPart(field, place) ? value : field === undefined ? value : mergedValue(field, before[name], value),
    ];
  });
  return Object.fromEntries([...kept, ...changed]);
}

/**
 * Returns the given values, except for fields that the caller may not read or may not set. Those fields keep their
 * stored values, also in objects.
 * @param faults takes the errors of items that must not be removed
 */
export function keepingHidden(
  schema: CompiledSchema,
  sender: Sender,
  values: Readonly<Record<string, StoredValue>>,
  stored: Readonly<Record<string, StoredValue>>,
  faults: Fault[],
): Record<string, StoredValue> {
  if (!schema.narrowed.any) return values;
  const write = { ...memberWrite(schema, sender), faults };
  return heldIn(write, ({ before }) => before, values, stored);
}

/**
 * Returns the values of a draft. Members of objects that the caller may not read, or may not set and does not name, are
 * as in the published revision, because a publication concerns only what the request names.
 * @param sent the values that the request sends
 */
export function withLiveMembers(
  schema: CompiledSchema,
  sender: Sender,
  draft: Readonly<Record<string, StoredValue>>,
  live: Readonly<Record<string, StoredValue>>,
  sent: Readonly<Record<string, unknown>>,
): Record<string, StoredValue> {
  if (!schema.narrowed.any) return draft;
  const write = memberWrite(schema, sender);
  return heldIn(write, holdLive(write), draft, live, { sent });
}

function heldIn(
  write: MemberWrite,
  hold: Hold,
  values: Readonly<Record<string, StoredValue>>,
  stored: Readonly<Record<string, StoredValue>>,
  { isStored = true, sent = {} }: { isStored?: boolean; sent?: Readonly<Record<string, unknown>> } = {},
): Record<string, StoredValue> {
  const result = { ...values };
  for (const [name, field] of write.schema.fields) {
    const each = { given: values[name], before: stored[name], named: sent[name] };
    const value = heldValue(write, hold, { field, ...each, isStored, trail: [name] });
    if (value === undefined) delete result[name];
    else result[name] = value;
  }
  return result;
}

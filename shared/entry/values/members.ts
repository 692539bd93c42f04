/**
 * Applies the access rules of fields inside objects to a write. A member that the caller may not read or may not set
 * keeps its stored value. Items of lists are found by their keys, so a moved item keeps its members, and a copy of an
 * item has none of them.
 */
import type { CompiledField, CompiledSchema } from "../../definition/compile.ts";
import { storedForm } from "../../definition/validate.ts";
import { itemWith, KEY, keyOf, membersOf, objectsIn, TYPE, withNested } from "../../definition/walk.ts";
import type { Fault } from "../../kernel/errors.ts";
import { joinNames, pointer } from "../../kernel/faults.ts";
import { equal, isObject } from "../../kernel/json.ts";
import { levelsOf, membersOnly, shownMembers } from "../model/index.ts";
import { READ_ONLY, type Rights, WRITE_ONLY } from "./rights.ts";

type Members = Readonly<Record<string, unknown>>;

/** The write that the rules are applied to. */
export interface MemberWrite {
  schema: CompiledSchema;
  rightsOf(field: CompiledField): Rights;
  faults: Fault[];
  /** Whether to ask a client for the keys of items. Values that do not come from a client have all keys. */
  asksKeys?: boolean;
}

/** A field of the entry, or of an object in it. */
export interface Member {
  field: CompiledField;
  /** The value that the write gives to the field. Undefined if the write does not name the field. */
  given: unknown;
  /** The stored value. */
  before: unknown;
  /** Whether the entry, or the item of a list that has the field, was stored before. */
  isStored: boolean;
  /** The part of the request for this field, if `given` comes from elsewhere. Undefined if there is none. */
  named?: unknown;
  trail: readonly string[];
}

/** Returns the value of a member that the caller may not read or may not set. */
export type Hold = (member: Member) => unknown;

const fault = ({ faults }: MemberWrite, trail: readonly string[], code: string, message: string) =>
  faults.push({ path: `/values${pointer(trail)}`, code, message });

const memberOf = (map: unknown, key: string): unknown =>
  isObject(map) && Object.hasOwn(map, key) ? map[key] : undefined;

const isNone = (value: unknown): value is null | undefined => value === undefined || value === null;

/**
 * Returns the value that a request sends for a field, without members that the caller may not send. Reports those.
 * @param holdsPart whether the value of a field in the request is only a part of it, or stands for the stored one
 * @param placed whether the values in the request are those of one language or market
 */
export function admittedMembers(
  write: MemberWrite,
  field: CompiledField,
  sent: unknown,
  {
    trail,
    ...how
  }: {
    trail: readonly string[];
    placed: boolean;
    holdsPart(field: CompiledField, value: unknown): boolean;
  },
): unknown {
  const inObject = (object: Members, at: readonly string[]): Members => {
    const fields = membersOf(field, object);
    if (fields === undefined) return object;
    const known = [...fields].flatMap(([name, inner]) => {
      const { read, write: sets } = write.rightsOf(inner);
      return read || sets ? [name] : [];
    });
    const left = Object.entries(object).flatMap(([name, value]): [string, unknown][] => {
      if (name === KEY || name === TYPE) return [[name, value]];
      const inner = fields.get(name);
      const path = [...at, name];
      if (inner === undefined || !known.includes(name)) {
        const message = `is not a field of ${field.name}. Its fields are ${joinNames(known)}.`;
        fault(write, path, "unknown_property", message);
        return [];
      }
      if (!write.rightsOf(inner).read && how.holdsPart(inner, value)) {
        fault(write, path, "write_only", WRITE_ONLY);
        return [];
      }
      return [[name, admittedMembers(write, inner, value, { ...how, trail: path })]];
    });
    return Object.fromEntries(left);
  };
  const inValue = (value: unknown, at: readonly string[], levels: number): unknown => {
    if (levels > 0)
      return isObject(value)
        ? Object.fromEntries(
            Object.entries(value).map(([key, one]) => [key, inValue(one, [...at, key], levels - 1)]),
          )
        : value;
    if (!field.list) return isObject(value) ? inObject(value, at) : value;
    if (!Array.isArray(value)) return value;
    return value.map((item: unknown, index) =>
      isObject(item) ? inObject(item, [...at, String(index)]) : item,
    );
  };
  return field.narrowedInside ? inValue(sent, trail, how.placed ? 0 : levelsOf(field)) : sent;
}

/** Returns the rule for values that a client sends. Reports a change of a member that the caller may not set. */
export function holdSent(write: MemberWrite): Hold {
  const hold: Hold = (member) => {
    const { field, given, before, isStored, trail } = member;
    const { read, write: sets } = write.rightsOf(field);
    if (sets) {
      // The values of a write for one language or market are the stored ones where the request names nothing.
      if (given === undefined || given === before) return before;
      if (!isStored || !keepsItems(write, field)) return insideHeld(write, hold, member);
      const message = "must keep its items, because they may have values that your role may not set";
      fault(write, trail, "read_only", message);
      return before;
    }
    const shown = (value: unknown) => membersOnly(field, value, (one) => write.rightsOf(one).read) ?? null;
    if (read && given !== undefined && !equal(shown(given), shown(before)))
      fault(write, trail, "read_only", READ_ONLY);
    return before;
  };
  return hold;
}

/**
 * Returns the rule for the published revision, if a request replaces all values. `given` is the draft, `before` the
 * published revision. A member that the caller may not read, or may not set and does not name, stays as published. The
 * items of lists that are not published have all of their values.
 */
export function holdLive(write: MemberWrite): Hold {
  const readable: Hold = (member) => {
    if (!member.isStored) return member.given;
    return write.rightsOf(member.field).read ? insideHeld(write, readable, member) : member.before;
  };
  return (member) => (member.isStored && member.named === undefined ? member.before : readable(member));
}

/**
 * Returns the value of a field after a write, in which `hold` decides the values of the members that the caller may not
 * read or may not set. Reports items that the write must not remove.
 */
export function heldValue(write: MemberWrite, hold: Hold, member: Member): unknown {
  const { read, write: sets } = write.rightsOf(member.field);
  return read && sets ? insideHeld(write, hold, member) : hold(member);
}

/** Returns the value of a field, in which the members of its objects are held. */
function insideHeld(write: MemberWrite, hold: Hold, member: Member): unknown {
  const { field } = member;
  const inObject = (object: Members, stored: unknown, named: unknown, at: readonly string[]): Members => {
    const result: Record<string, unknown> = { ...object };
    for (const [name, inner] of membersOf(field, object) ?? []) {
      const value = heldValue(write, hold, {
        field: inner,
        given: memberOf(object, name),
        before: memberOf(stored, name),
        isStored: isObject(stored) || (!field.list && member.isStored),
        named: memberOf(named, name),
        trail: [...at, name],
      });
      if (value !== undefined) result[name] = value;
      else delete result[name];
    }
    return result;
  };
  const inList = (
    items: readonly unknown[],
    stored: readonly unknown[],
    named: unknown,
    at: readonly string[],
  ): unknown[] => {
    const keyed = withStoredKeys(write, field, items, stored, at);
    const sent = Array.isArray(named) ? withStoredKeys(write, field, named, items, at) : [];
    const left = new Map(stored.map((item) => [keyOf(item), item]));
    const result = keyed.map((item, index) => {
      if (!isObject(item)) return item;
      const key = keyOf(item);
      const other = key === undefined ? undefined : left.get(key);
      const own = isObject(other) && other[TYPE] === item[TYPE] ? other : undefined;
      if (own !== undefined) left.delete(key);
      const inSent = key === undefined ? undefined : itemWith(sent, key);
      return inObject(item, own, inSent, [...at, String(index)]);
    });
    for (const item of left.values()) refuseRemoval(write, field, item, at);
    return result;
  };
  const inValue = (
    [value, stored, named]: readonly unknown[],
    at: readonly string[],
    levels: number,
  ): unknown => {
    if (levels > 0) {
      if (!isNone(value) && !isObject(value)) return value;
      const keys = new Set([value, stored].flatMap((map) => (isObject(map) ? Object.keys(map) : [])));
      const all = [...keys].map((key): [string, unknown] => [
        key,
        inValue(
          [value, stored, named].map((map) => memberOf(map, key)),
          [...at, key],
          levels - 1,
        ),
      ]);
      const left = all.filter(([, one]) => one !== undefined);
      return left.length === 0 ? value : Object.fromEntries(left);
    }
    if (field.list) {
      // A text in a markup language becomes a list later. The caller of the conversion looks at the list.
      if (!isNone(value) && !Array.isArray(value)) return value;
      const items = inList(value ?? [], Array.isArray(stored) ? stored : [], named, at);
      return isNone(value) ? value : items;
    }
    if (!isNone(value) && !isObject(value)) return value;
    const object = inObject(value ?? {}, stored, named, at);
    return isNone(value) && Object.keys(object).length === 0 ? value : object;
  };
  const { given, before, named, trail } = member;
  return field.narrowedInside ? inValue([given, before, named], trail, levelsOf(field)) : given;
}

/**
 * Gives stored keys to items that a client sent without keys: to those that are the same, as the client sees them, as
 * the stored item in the same position. Asks for the key if the item may be a new version of a stored item with values
 * that the client does not see, because they would be lost.
 */
function withStoredKeys(
  write: MemberWrite,
  field: CompiledField,
  items: readonly unknown[],
  stored: readonly unknown[],
  trail: readonly string[],
): readonly unknown[] {
  const taken = new Set(items.map(keyOf));
  if (!taken.has(undefined)) return items;
  const isRead = (one: CompiledField) => write.rightsOf(one).read;
  return items.map((item, index) => {
    const own = stored[index];
    const key = keyOf(own);
    if (!isObject(item) || !isObject(own)) return item;
    if (keyOf(item) !== undefined || key === undefined || taken.has(key)) return item;
    if (equal(shownMembers(field, own, isRead), { ...item, [KEY]: key })) return { ...item, [KEY]: key };
    const members = [...(membersOf(field, own)?.values() ?? [])].flatMap(withNested);
    if (write.asksKeys && isRead(field) && item[TYPE] === own[TYPE] && !members.every(isRead)) {
      const message = `is required, because the item in this position may have values that your role may not see. To keep them, send the item's ${KEY}. To replace the item, send a new one.`;
      fault(write, [...trail, String(index), KEY], "required", message);
    }
    return item;
  });
}

/**
 * Returns whether a list at or in a field, which the caller may not read, must stay in a stored entry, because its items
 * may have members that the caller may not set. Does not depend on the items, so an error does not reveal them.
 */
const keepsItems = (write: MemberWrite, field: CompiledField): boolean =>
  withNested(field).some((one) => one.list && hasFixed(write, one));

const hasFixed = ({ rightsOf }: MemberWrite, field: CompiledField): boolean =>
  withNested(field).some((one) => !rightsOf(one).write);

/**
 * Reports that an item must stay if the caller could change a member by removing the item and adding it again. A member
 * that the caller may read and that has the value of new items may go.
 */
function refuseRemoval(
  write: MemberWrite,
  field: CompiledField,
  item: unknown,
  trail: readonly string[],
): void {
  if (!isObject(item) || !isHeld(write, field, item)) return;
  const message = `must keep the item with ${KEY} "${keyOf(item)}", because the item may have values that your role may not set`;
  fault(write, trail, "read_only", message);
}

/** Returns whether an item must stay. Depends only on values that the caller may read, so an error reveals no others. */
function isHeld(write: MemberWrite, field: CompiledField, object: Members): boolean {
  const isRead = (one: CompiledField) => write.rightsOf(one).read;
  return [...(membersOf(field, object) ?? [])].some(([name, inner]) => {
    if (!isRead(inner)) return hasFixed(write, inner);
    const value = memberOf(object, name);
    if (!write.rightsOf(inner).write && !isAsAdded(write.schema, inner, membersOnly(inner, value, isRead)))
      return true;
    if (!inner.narrowedInside) return false;
    const objects = valuesIn(levelsOf(inner), value).flatMap((one) => objectsIn(inner, one));
    // The caller does not see an object of which all members are hidden, so judge each object as if it were stored.
    return [...(inner.list ? [] : [{}]), ...objects.map((one) => one.object)].some((one) =>
      isHeld(write, inner, one),
    );
  });
}

/** Returns whether a member of an item has the value that it would have in a new item. */
function isAsAdded(schema: CompiledSchema, field: CompiledField, value: unknown): boolean {
  // The next write stores the default.
  if (value === undefined) return true;
  const added = storedForm(schema, field, undefined);
  // An earlier definition may have stored the default in another form.
  const stored = storedForm(schema, field, value) ?? value;
  return isBlank(stored) ? isBlank(added) : equal(stored, added);
}

const isBlank = (value: unknown): boolean => isNone(value) || (Array.isArray(value) && value.length === 0);

const valuesIn = (levels: number, value: unknown): unknown[] =>
  levels === 0
    ? [value]
    : isObject(value)
      ? Object.values(value).flatMap((one) => valuesIn(levels - 1, one))
      : [];

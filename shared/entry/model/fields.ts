/**
 * Determines which fields of an entry a caller may see. Fields that the caller may not read are treated as if the
 * definition did not contain them. So every response, filter and error leaves them out.
 */
import { isOwn, may, mayField, type Principal } from "../../access/authorize.ts";
import {
  type CompiledField,
  type CompiledOrb,
  type CompiledSchema,
  withoutFields,
} from "../../definition/compile.ts";
import type { FieldAccess, ReferenceTarget } from "../../definition/document/index.ts";
import { remembered } from "../../definition/names/index.ts";
import { KEY, leavesOf, membersOf, objectsIn, TYPE, type Values, withNested } from "../../definition/walk.ts";
import { AppError, type Fault } from "../../kernel/errors.ts";
import { unescapeSegment } from "../../kernel/faults.ts";
import { isObject } from "../../kernel/json.ts";
import type { StoredValue } from "./snapshot.ts";

/**
 * Views of each schema (the schema reduced to some of its fields), by the fields that they omit. A schema has few views,
 * because they depend only on the caller's role and on whether the caller created the entry.
 */
const views = new WeakMap<CompiledSchema, Map<string, CompiledSchema>>();

function viewWithout(schema: CompiledSchema, omitted: readonly CompiledField[]): CompiledSchema {
  if (omitted.length === 0) return schema;
  const known = views.get(schema) ?? new Map<string, CompiledSchema>();
  views.set(schema, known);
  const key = omitted.map((field) => schema.narrowed.readers.indexOf(field)).join();
  const view = known.get(key) ?? withoutFields(schema, new Set(omitted));
  known.set(key, view);
  return view;
}

/**
 * Returns what an ETag must include. Callers who see different fields need different ETags. Empty for callers who see
 * all fields.
 */
export function viewKey({ omitted }: CompiledSchema): readonly string[] {
  return omitted.length === 0 ? [] : [omitted.join()];
}

/**
 * Returns the schema reduced to the fields that a caller may read, at all depths. The caller must be allowed to read the
 * entry.
 * @param own whether the caller created the entry
 */
export function readableBy(schema: CompiledSchema, caller: Principal, own: boolean): CompiledSchema {
  if (!schema.narrowed.read) return schema;
  const isHidden = ({ access }: CompiledField) => !mayField(caller, "read", { access, own });
  return viewWithout(schema, schema.narrowed.readers.filter(isHidden));
}

/**
 * Returns the schema reduced to the fields that a caller may read in every listed entry. Filters and sort orders may
 * use only these fields, because filtering by a field reveals its values, even in entries of other users.
 */
export function comparableBy(schema: CompiledSchema, caller: Principal): CompiledSchema {
  if (!schema.narrowed.read) return schema;
  const onlyOwn = !may(caller, "read", { access: schema.access, own: false });
  return readableBy(schema, caller, onlyOwn);
}

/**
 * Returns the schema that a reference points to. Undefined if that schema is in another application or was removed.
 */
export function targetSchema(
  orb: CompiledOrb,
  target: ReferenceTarget | undefined,
): CompiledSchema | undefined {
  return target?.orb === orb.id ? orb.schemaNamed(target.module, target.schema) : undefined;
}

/** Returns a function that returns the schema that a reference points to, reduced by {@link comparableBy}. */
export function comparableTargets(orb: CompiledOrb, caller: Principal) {
  return (target: ReferenceTarget): CompiledSchema | undefined => {
    const schema = targetSchema(orb, target);
    return schema === undefined ? undefined : comparableBy(schema, caller);
  };
}

/**
 * Returns the schema reduced to the fields that a caller may read in an entry.
 * @param createdBy account that created the entry
 */
export function readableIn(schema: CompiledSchema, caller: Principal, createdBy: string): CompiledSchema {
  return readableBy(schema, caller, isOwn(caller.actor, createdBy));
}

/**
 * Returns the schema reduced to the fields that a caller may read or set in an entry.
 * @param createdBy account that created the entry
 */
export function permittedIn(schema: CompiledSchema, caller: Principal, createdBy: string): CompiledSchema {
  if (!schema.narrowed.read) return schema;
  const own = isOwn(caller.actor, createdBy);
  const isUnknown = ({ access }: CompiledField) =>
    !mayField(caller, "read", { access, own }) && !mayField(caller, "write", { access, own });
  return viewWithout(schema, schema.narrowed.readers.filter(isUnknown));
}

/** Returns only the values whose fields are in the schema, at all depths. @param values the stored values of an entry */
export function ofFields(
  { fields }: CompiledSchema,
  values: Readonly<Record<string, StoredValue>>,
): Record<string, StoredValue> {
  const shown: Record<string, StoredValue> = {};
  for (const [name, value] of Object.entries(values)) {
    const field = fields.get(name);
    const left = field === undefined ? undefined : membersOnly(field, value, () => true);
    if (left !== undefined) shown[name] = left;
  }
  return remembered(shown, values);
}

/**
 * Returns a stored value of a field without some members of its objects. Omits values that have the form of an earlier
 * definition, because it is unknown which members they have. An object without any value left counts as no value.
 * @param isShown whether to keep the member that has a field
 */
export function membersOnly(
  field: CompiledField,
  value: StoredValue,
  isShown: (inner: CompiledField) => boolean,
): StoredValue {
  if (!field.narrowedInside || value === null || value === undefined) return value;
  return mapLevels(levelsOf(field), value, (inner) => objectsOnly(field, inner, isShown));
}

/** Returns a value of {@link membersOnly} in one language and market. */
function objectsOnly(
  field: CompiledField,
  value: unknown,
  isShown: (inner: CompiledField) => boolean,
): unknown {
  const objects = objectsIn(field, value);
  if (field.list)
    return Array.isArray(value)
      ? objects.flatMap(({ object }) => shownMembers(field, object, isShown) ?? [])
      : undefined;
  const [only] = objects;
  const left = only === undefined ? {} : (shownMembers(field, only.object, isShown) ?? {});
  return Object.keys(left).length === 0 ? undefined : left;
}

/** Returns how many maps, by market and language, contain the values of a field. */
export const levelsOf = ({ marketSpecific, translatable }: CompiledField) =>
  Number(marketSpecific) + Number(translatable);

function mapLevels(levels: number, value: unknown, change: (value: unknown) => unknown): unknown {
  if (levels === 0) return change(value);
  if (!isObject(value)) return undefined;
  const left = Object.entries(value).flatMap(([key, one]) => {
    const inner = one === null ? null : mapLevels(levels - 1, one, change);
    return inner === undefined ? [] : [[key, inner]];
  });
  return left.length === 0 ? undefined : Object.fromEntries(left);
}

/** Returns an object without the members that are not shown. Undefined if its component is unknown. */
export function shownMembers(
  field: CompiledField,
  object: Readonly<Record<string, unknown>>,
  isShown: (inner: CompiledField) => boolean,
): Record<string, unknown> | undefined {
  const fields = membersOf(field, object);
  if (fields === undefined) return undefined;
  const left = Object.entries(object).flatMap(([name, value]) => {
    if (name === KEY || name === TYPE) return [[name, value]];
    const inner = fields.get(name);
    if (inner === undefined || !isShown(inner)) return [];
    const kept = membersOnly(inner, value, isShown);
    return kept === undefined ? [] : [[name, kept]];
  });
  return Object.fromEntries(left);
}

/**
 * Returns the values in groups of fields that the same callers may read. A member of objects that fewer callers may read
 * than the objects is not in the group of the objects.
 */
export function groupedByReaders(
  { fields }: CompiledSchema,
  values: Readonly<Values>,
): ReadonlyMap<string, unknown[]> {
  const groups = new Map<string, unknown[]>();
  const add = (field: CompiledField) => {
    const readers = readersOf(field.access);
    const isSame = (inner: CompiledField) => readersOf(inner.access) === readers;
    const own = leavesOf(field, values).map(({ value }) =>
      field.narrowedInside ? objectsOnly(field, value, isSame) : value,
    );
    groups.set(readers, [...(groups.get(readers) ?? []), { [field.name]: own }]);
  };
  for (const root of fields.values()) {
    add(root);
    if (!root.narrowedInside) continue;
    for (const inner of withNested(root))
      if (inner.parent !== undefined && readersOf(inner.access) !== readersOf(inner.parent.access))
        add(inner);
  }
  return groups;
}

function readersOf({ read, within }: FieldAccess): string {
  const outside = within === undefined ? "" : readersOf(within);
  return read === undefined ? outside : JSON.stringify([read, outside]);
}

const HIDDEN: Fault = {
  path: "/values",
  code: "hidden_field",
  message:
    "has a value that your role may not see and that is no longer valid. Ask an account that may see it to correct the entry.",
};

/** Codes of faults that only concern what a request names. */
const SENT: ReadonlySet<string> = new Set(["unknown_property", "write_only"]);

/**
 * Returns an error without faults (messages about wrong values) of fields that the caller may not see. One general
 * fault replaces them.
 * @param mayRead whether the caller may read a field
 * @param sent what the request sends. Its own faults stay, also in fields that the caller may set and not read.
 */
export function concealed(
  error: unknown,
  schema: CompiledSchema,
  mayRead: (field: CompiledField) => boolean,
  sent: readonly unknown[],
): unknown {
  if (!(error instanceof AppError) || error.errors === undefined) return error;
  const isHidden = ({ path, code }: Fault) => {
    if (SENT.has(code)) return false;
    const [, root, ...way] = path.split("/").map(unescapeSegment);
    const field = schema.fields.get(way[0] ?? "");
    if (root !== "values" || field === undefined || mayReadAt(schema, way, mayRead)) return false;
    // The request may send one language of a value, so that the value has no map of languages.
    const place = mayRead(field) ? way : way.slice(0, 1);
    return !sent.some((values) => isSent(values, place));
  };
  if (!error.errors.some(isHidden)) return error;
  const errors = [...error.errors.filter((fault) => !isHidden(fault)), HIDDEN];
  const { kind, code, detail, data, retryAfter, cause } = error;
  return new AppError(kind, code, detail, { errors, data, retryAfter, cause });
}

/** Returns whether the caller may read the field that a path leads to. True if the path leads to no field. */
export function mayReadAt(
  { fields }: Pick<CompiledSchema, "fields">,
  way: readonly string[],
  mayRead: (field: CompiledField) => boolean,
): boolean {
  const [name = "", ...rest] = way;
  const root = fields.get(name);
  return root === undefined || readableBelow(root, rest, mayRead);
}

function readableBelow(
  field: CompiledField,
  way: readonly string[],
  mayRead: (field: CompiledField) => boolean,
): boolean {
  if (!mayRead(field)) return false;
  if (!field.narrowedInside) return true;
  const [name, ...rest] = way.slice(levelsOf(field) + Number(field.list));
  // The components of blocks may have members of the same name. The path does not tell which component it is.
  const inner = [...(field.shapes?.values() ?? [])].flatMap((members) => members.get(name ?? "") ?? []);
  return inner.every((one) => readableBelow(one, rest, mayRead));
}

/** Returns whether a request sends a value at a path. */
function isSent(values: unknown, way: readonly string[]): boolean {
  const [step, ...rest] = way;
  if (step === undefined) return true;
  if (typeof values !== "object" || values === null || !Object.hasOwn(values, step)) return false;
  return isSent(Reflect.get(values, step), rest);
}

/**
 * What a saved view shows, and how it is stored: fields by the first stored name, which no rename and no change of type
 * changes. So a view follows renames at once, without being written again.
 */
import { mayField, type Principal } from "../access/authorize.ts";
import type { CompiledField, CompiledSchema } from "../definition/compile.ts";
import { ENTRY_PROPERTIES } from "../definition/document/index.ts";
import type { Fault } from "../kernel/errors.ts";
import { clip } from "../kernel/faults.ts";

export const LAYOUTS = ["cards", "board", "calendar", "map"] as const;

/** The parts of a view that name fields. */
export const PARTS = ["filters", "sort", "layout", "columns"] as const;
export type Part = (typeof PARTS)[number];

/** What a view names, by names or as it is stored. */
interface Shows<Field> {
  filters: { field: Field; op: string; value: string }[];
  sort?: { field: Field; descending: boolean }[] | undefined;
  /** Another layout than the table. Cards have no field. */
  layout?: { kind: (typeof LAYOUTS)[number]; field?: Field | undefined } | undefined;
  columns?: Field[] | undefined;
  /** Whether an entry must meet only one of the filters. */
  any?: boolean | undefined;
  search?: string | undefined;
  /** Language that entries must lack. */
  missing?: string | undefined;
  status?: string | undefined;
  /** Whether other entries must refer to an entry, or none. */
  used?: boolean | undefined;
  locale?: string | undefined;
  market?: string | undefined;
}

/** What a view shows, with the current names of fields. */
export type ListView = Shows<string>;

/** A property that every entry has, or a field: the identities on the way to it, and its name when the view was saved. */
type StoredField = string | { path: string[]; name: string };
export type StoredList = Shows<StoredField>;

/** A field that a view names and does not show. */
export interface GoneField {
  /** Its name when the view was saved. */
  field: string;
  part: Part;
  /** `forbidden`: the caller may not read the field. */
  why: "removed" | "forbidden";
}

const PROPERTIES: ReadonlySet<string> = new Set([...ENTRY_PROPERTIES, "status"]);

const pathOf = ({ parent, identity }: CompiledField): string[] =>
  parent === undefined ? [identity] : [...pathOf(parent), identity];

const withDefined = <T extends object>(members: T): T =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as T;

/** Replaces the fields of a view. Leaves out the parts whose field becomes undefined. */
function withFields<From, To>(
  { filters, sort, layout, columns, ...others }: Shows<From>,
  made: (field: From, part: Part, pointer: string) => To | undefined,
): Shows<To> {
  const kept = filters.flatMap(({ field, ...rest }, at) => {
    const found = made(field, "filters", `/filters/${at}/field`);
    return found === undefined ? [] : [{ field: found, ...rest }];
  });
  const sorted = sort?.flatMap(({ field, descending }) => {
    const found = made(field, "sort", "/sort");
    return found === undefined ? [] : [{ field: found, descending }];
  });
  const laid = layout?.field === undefined ? undefined : made(layout.field, "layout", "/layout/field");
  const isLaid = layout !== undefined && (layout.field === undefined || laid !== undefined);
  const named = columns?.flatMap((field, at) => made(field, "columns", `/columns/${at}`) ?? []);
  return withDefined({
    ...others,
    filters: kept,
    sort: sorted?.length === 0 ? undefined : sorted,
    layout: isLaid ? withDefined({ kind: layout.kind, field: laid }) : undefined,
    // Without any column that is left, a view has the default ones.
    columns: named?.length === 0 ? undefined : named,
  });
}

/** Returns the fields of a schema at all depths, by their current names. */
function* fieldsOf({ fields, nested }: CompiledSchema): Generator<CompiledField> {
  yield* fields.values();
  for (const some of nested.values()) yield* some;
}

/** Returns whether a part of a view may name a field. Only columns may name sensitive ones. */
const mayName = ({ sensitive }: CompiledField, part: Part): boolean => !sensitive || part === "columns";

/** Returns a view as it is stored. Adds a fault for each name that is no field. */
export function storedList(schema: CompiledSchema, list: ListView, faults: Fault[]): StoredList {
  return withFields<string, StoredField>(list, (name, part, pointer) => {
    const field = schema.fields.get(name) ?? schema.nested.get(name)?.[0];
    if (field !== undefined && !mayName(field, part)) {
      // The value of the filter would be stored, and others would see it.
      const message = "must not be a sensitive field, because lists cannot be filtered or sorted by it";
      faults.push({ path: `/list${pointer}`, code: "sensitive_field", message });
      return undefined;
    }
    if (field !== undefined) return { path: pathOf(field), name };
    if (PROPERTIES.has(name)) return name;
    const message = `must be a field of the schema or a property of every entry (is ${clip(name)})`;
    faults.push({ path: `/list${pointer}`, code: "unknown_field", message });
    return undefined;
  });
}

/** Returns a stored view with the current names, without the fields that are gone or that the caller may not read. */
export function namedList(
  schema: CompiledSchema,
  stored: StoredList,
  principal: Principal,
): { list: ListView; gone: GoneField[] } {
  const gone: GoneField[] = [];
  const byPath = new Map<string, CompiledField>();
  for (const field of fieldsOf(schema)) byPath.set(pathOf(field).join("."), field);
  const readsAll = principal.actor.kind === "platform";
  const list = withFields<StoredField, string>(stored, (field, part) => {
    if (typeof field === "string") return field;
    const found = byPath.get(field.path.join("."));
    if (found === undefined) gone.push({ field: field.name, part, why: "removed" });
    // A field can have become sensitive.
    else if (!mayName(found, part)) gone.push({ field: found.name, part, why: "forbidden" });
    else if (readsAll || mayField(principal, "read", { access: found.access, own: true })) return found.name;
    else gone.push({ field: found.name, part, why: "forbidden" });
    return undefined;
  });
  return { list, gone };
}

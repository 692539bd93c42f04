/** Checks which fields a request sets. Fields that the caller may not read or may not set keep their stored values. */
import { isOwn, mayField, type Principal } from "../../access/authorize.ts";
import type { CompiledField, CompiledSchema } from "../../definition/compile.ts";
import { MASK } from "../../definition/document/mask.ts";
import { unknownField } from "../../definition/validate.ts";
import type { Fault } from "../../kernel/errors.ts";
import { escapeSegment } from "../../kernel/faults.ts";
import { equal, isObject, mergePatch } from "../../kernel/json.ts";
import { storedInput } from "../model/known.ts";
import type { StoredValue } from "../model/snapshot.ts";
import { type Localization, mergeValues } from "./input.ts";

export interface Sender {
  caller: Principal;
  /** Account that created the entry. For a new entry, this is the caller. */
  createdBy: string;
}

export interface Admitted {
  /** All values of the entry, ready for validation. */
  given: unknown;
  faults: Fault[];
}

interface Rights {
  read: boolean;
  write: boolean;
}

function rightsIn({ access }: CompiledField, { caller, createdBy }: Sender): Rights {
  const own = isOwn(caller.actor, createdBy);
  return {
    read: mayField(caller, "read", { access, own }),
    write: mayField(caller, "write", { access, own }),
  };
}

/**
 * Returns the values to validate for a write.
 *
 * - A field that the caller may neither read nor set is rejected as unknown.
 * - A field that the caller may read but not set is accepted only with its stored value.
 * - A field that the caller may set but not read must be replaced as a whole. A partial change could reveal the stored
 *   rest.
 * - If the request omits any of these fields, the field keeps its stored value.
 *
 * @param stored values of the newest revision; empty for a new entry
 */
export function admitted(
  schema: CompiledSchema,
  sender: Sender,
  sent: unknown,
  stored: Readonly<Record<string, StoredValue>>,
  place: Localization,
): Admitted {
  if (!schema.narrowed.any || !isObject(sent)) {
    return { given: mergeValues(schema, sent, stored, place), faults: [] };
  }
  const rights = new Map([...schema.fields.values()].map((field) => [field.name, rightsIn(field, sender)]));
  const known = [...rights].flatMap(([name, { read, write }]) => (read || write ? [name] : []));
  const faults: Fault[] = [];
  const admissible = Object.entries(sent).filter(([name, value]) => {
    const right = rights.get(name);
    const path = `/values/${escapeSegment(name)}`;
    if (right === undefined || (!right.read && !right.write)) faults.push(unknownField(schema, path, known));
    else if (!right.read && (isPart(schema.fields.get(name), place) || holdsMask(value))) {
      faults.push({ path, code: "write_only", message: WRITE_ONLY });
    } else return true;
    return false;
  });
  const given = mergeValues(schema, Object.fromEntries(admissible), stored, place);
  const before = storedInput(schema, stored);
  const complete: Record<string, unknown> = isObject(given) ? { ...given } : {};
  for (const [name, right] of rights) {
    if (right.read && right.write) continue;
    const sends = admissible.some(([one]) => one === name);
    if (sends && right.write) continue;
    if (sends && !equal(complete[name] ?? null, before[name] ?? null)) {
      faults.push({ path: `/values/${name}`, code: "read_only", message: READ_ONLY });
    }
    if (before[name] === undefined) delete complete[name];
    else complete[name] = before[name];
  }
  return { given: complete, faults };
}

const READ_ONLY = "must keep its value, because your role may not set this field. Remove it from the body.";
const WRITE_ONLY =
  "must be sent as a whole, without locale, market and masks, because your role may not read this field.";

/** Returns whether a request sets only one language or market of a field. */
function isPart(field: CompiledField | undefined, { locale, market }: Localization): boolean {
  return (field?.translatable === true || field?.marketSpecific === true) && (locale ?? market) !== undefined;
}

function holdsMask(value: unknown): boolean {
  if (value === MASK) return true;
  return isObject(value) && Object.values(value).some(holdsMask);
}

/**
 * Applies a JSON Merge Patch to the stored values and returns the result. Replaces two kinds of values as a whole:
 * values that the caller may not read, and values in one language or market.
 * @param patch values by field name; null clears a field
 */
export function merged(
  schema: CompiledSchema,
  sender: Sender,
  patch: unknown,
  stored: Readonly<Record<string, StoredValue>>,
  place: Localization,
): unknown {
  if (!isObject(patch)) return patch;
  const before = storedInput(schema, stored);
  const rightsTo = (name: string): Rights => {
    const field = schema.fields.get(name);
    return field === undefined ? { read: false, write: false } : rightsIn(field, sender);
  };
  // Only a write of the whole entry could lose the values of fields that the request omits, so keep them. A write for
  // one language or market keeps all other values anyway.
  const isWhole = place.locale === undefined && place.market === undefined;
  const kept = Object.entries(before).filter(([name]) => {
    const { read, write } = rightsTo(name);
    return isWhole && read && write;
  });
  const changed = Object.entries(patch).map(([name, value]): [string, unknown] => {
    const merges = value !== null && rightsTo(name).read && !isPart(schema.fields.get(name), place);
    return [name, merges ? mergePatch(before[name], value) : value];
  });
  return Object.fromEntries([...kept, ...changed]);
}

/**
 * Returns the given values, except for fields that the caller may not read or may not set. Those fields keep their
 * stored values.
 */
export function keepingHidden(
  schema: CompiledSchema,
  sender: Sender,
  values: Readonly<Record<string, StoredValue>>,
  stored: Readonly<Record<string, StoredValue>>,
): Record<string, StoredValue> {
  if (!schema.narrowed.any) return values;
  const free = (name: string) => {
    const field = schema.fields.get(name);
    if (field === undefined) return true;
    const { read, write } = rightsIn(field, sender);
    return read && write;
  };
  const kept = Object.entries(stored).filter(([name]) => !free(name));
  return Object.fromEntries([...Object.entries(values).filter(([name]) => free(name)), ...kept]);
}

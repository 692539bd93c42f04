/**
 * Applies a write in the shape of an earlier revision to the values of an entry. The result has the live shape. It keeps
 * everything that the earlier shape does not show.
 */
import type { CompiledField, CompiledSchema } from "../../definition/compile.ts";
import { remembered } from "../../definition/names/index.ts";
import { isMarkup } from "../../definition/rich-text.ts";
import { unknownField, validateValues } from "../../definition/validate.ts";
import { allFields, leavesOf, rootOf, TYPE, type Values, withNested } from "../../definition/walk.ts";
import { AppError, type Fault, invalid } from "../../kernel/errors.ts";
import { escapeSegment, Faults, pointer, unescapeSegment } from "../../kernel/faults.ts";
import { equal, isObject } from "../../kernel/json.ts";
import { levelsOf, ofFields, permittedIn, readableIn, storedInput } from "../model/index.ts";
import {
  holdsMask,
  type Localization,
  mergedValue,
  mergeValues,
  patchedField,
  rightsIn,
  type Sender,
  WRITE_ONLY,
} from "../values/index.ts";
import { counterpartOf, isSameField, oldByNow, oldView, type SchemaPair } from "./fields.ts";
import { isSame, type Loss, type Overlay, overlay } from "./overlay.ts";
import { asOldFault, type Positions } from "./paths.ts";
import { type EntryValues, toNow, toOld } from "./values.ts";

/** An error whose faults have the names of the earlier revision already. */
export class ShapeRefusal extends AppError {
  static invalid(errors: Fault[]): ShapeRefusal {
    return ShapeRefusal.of(invalid(errors), errors);
  }

  /** Returns an error with faults that have the names of the earlier revision. */
  static of({ kind, code, detail, data, retryAfter, cause }: AppError, errors: Fault[]): ShapeRefusal {
    return new ShapeRefusal(kind, code, detail, { errors, data, retryAfter, cause });
  }

  override withFaults(errors: Fault[]): ShapeRefusal {
    return ShapeRefusal.of(this, errors);
  }

  static #conflict(detail: string, errors: Fault[]): ShapeRefusal {
    const { kind, code } = new AppError("conflict", "shape_conflict", detail);
    return new ShapeRefusal(kind, code, detail, { errors });
  }

  /** Masks that may stand for several values. */
  static masks(errors: Fault[]): ShapeRefusal {
    const detail =
      "The entry is live and has a newer draft. Publish it without masks, or without the header Orb-Definition, in the current shape.";
    return ShapeRefusal.#conflict(detail, errors);
  }

  /** What the write would lose. */
  static loss(revision: number, errors: Fault[]): ShapeRefusal {
    const detail = `The definition of revision ${revision} cannot express this write without a loss. See errors for each value. Send it without the header Orb-Definition, in the current shape.`;
    return ShapeRefusal.#conflict(detail, errors);
  }
}

export interface ShapedInput extends Localization {
  sender: Sender;
  /** The values in the request. */
  sent: unknown;
  /** Whether they are a JSON Merge Patch. */
  merge: boolean;
  /** The stored values that the write changes. Undefined for a new entry. */
  base: EntryValues | undefined;
}

export interface Shaped {
  /** All values that the caller may read, and those that the request sets. */
  values: unknown;
  /** Those that are not as they were. */
  changed: Record<string, unknown>;
  positions: Positions;
}

/** A write whose request has been read. */
interface Writing extends ShapedInput {
  revision: number;
  pair: SchemaPair;
  /** The schema of the earlier revision, with the fields that the caller may read or set. */
  known: CompiledSchema;
  /** What the earlier revision shows of the stored values to the caller. */
  before: EntryValues;
  readable: ReadonlySet<string>;
}

const NOWHERE: Positions = new Map();

/** @throws ShapeRefusal invalid, or conflict `shape_conflict` if the write would lose something */
export function shapedValues(pair: SchemaPair, revision: number, input: ShapedInput): Shaped {
  const { sent, sender, base } = input;
  if (!isObject(sent)) return { values: sent, changed: {}, positions: NOWHERE };
  const { caller, createdBy } = sender;
  const readable = readableIn(pair.now, caller, createdBy);
  const view = oldView({ ...pair, now: readable });
  const known = oldView({ ...pair, now: permittedIn(pair.now, caller, createdBy) });
  const stored = base === undefined ? {} : storedInput(readable, ofFields(readable, { ...base }));
  const before = toOld({ ...pair, now: readable }, pair.now, stored, base ?? {});
  const writing = { ...input, revision, pair, known, before, readable: new Set(view.fields.keys()) };
  const admitted = admittedNames(writing, sent);
  if (base !== undefined) refuseUnread(writing, admitted);
  const after = changed(writing, requested(writing, admitted));
  // A new entry has what the rules of new fields make of it, as if it had been written before them.
  const isKept = (name: string) => {
    const field = pair.now.fields.get(name);
    return base !== undefined || field === undefined || !rightsIn(field, sender).write;
  };
  const made = toNow(pair, after, isKept);
  refuseLost(writing, after, made);
  if (base === undefined) return { values: made, changed: made, positions: NOWHERE };
  const { value, losses, positions } = overlay(stored, toNow(pair, before, isKept), made, overlayOf(writing));
  if (losses.length > 0) throw refusedFor(writing, losses);
  const values = remembered(isObject(value) ? { ...value } : {}, base, made);
  refuseLost(writing, after, values);
  const differing = Object.entries(values).filter(([name, one]) => !equal(one, stored[name]));
  return { values, changed: Object.fromEntries(differing), positions };
}

function overlayOf({ pair, sender }: Writing): Overlay {
  const fields = oldByNow(pair);
  // A single field became a member of these.
  const around = new Set(
    [...fields].flatMap(([now, old]) => (old.parent === undefined ? (now.parent ?? []) : [])),
  );
  const isSingle = (field: CompiledField) => fields.get(field)?.list === false || around.has(field);
  return {
    schema: pair.now,
    isPicked: (field) => field.list && field.definition.type === "object" && isSingle(field),
    isFixed: (field) => pair.now.narrowed.any && !rightsIn(field, sender).write,
  };
}

function refusedFor({ pair, revision }: Writing, losses: readonly Loss[]): ShapeRefusal {
  const faults = new Faults();
  const message = `must keep its value, because the stored value has more than revision ${revision} shows`;
  for (const { trail, kind } of losses) {
    const path = `/values${pointer(trail)}`;
    const fault =
      kind === "hidden_part"
        ? { path, code: "hidden_part", message }
        : {
            path,
            code: "required",
            message: `is required, because the item may have values that revision ${revision} does not show. To keep them, send the item's _key.`,
          };
    // The positions of losses are those of the request.
    const told = asOldFault(pair, NOWHERE, revision, fault);
    faults.add(told.path, told.code, told.message);
  }
  return ShapeRefusal.loss(revision, faults.list());
}

/**
 * Refuses values of fields that the caller may set and not read, if these fields have another shape now. What the stored
 * value has beyond the earlier shape would be lost, and an answer that depends on it would tell the caller about it.
 */
function refuseUnread({ pair, known, sender, revision }: Writing, sent: EntryValues): void {
  if (!pair.now.narrowed.read) return;
  const faults = allFields(known).flatMap((field): Fault[] => {
    const now = counterpartOf(pair, field);
    if (now === undefined || rightsIn(now, sender).read || !isConverted(pair, field)) return [];
    const { name } = rootOf(field);
    if (!Object.hasOwn(sent, name)) return [];
    if (field.parent !== undefined && !mentions(sent[name], field.key)) return [];
    const message = `cannot be set, because your role may not read this field and its type or place has changed since revision ${revision}`;
    return [{ path: `/values/${escapeSegment(field.name)}`, code: "hidden_part", message }];
  });
  if (faults.length > 0) throw ShapeRefusal.loss(revision, faults);
}

/** Returns whether an object in a value has a member of this name. */
const mentions = (value: unknown, name: string): boolean =>
  typeof value === "object" &&
  value !== null &&
  ((isObject(value) && Object.hasOwn(value, name)) ||
    Object.values(value).some((one) => mentions(one, name)));

/** Returns the values of a request, without nulls for fields that no longer exist. */
function admittedNames(writing: Writing, sent: EntryValues): EntryValues {
  const { pair, known, readable, locale, market } = writing;
  const faults: Fault[] = [];
  const left = Object.entries(sent).filter(([name, value]) => {
    const field = known.fields.get(name);
    const path = `/values/${escapeSegment(name)}`;
    if (field === undefined) {
      const removed = pair.old.fields.get(name);
      const isGone = removed !== undefined && withNested(removed).every((one) => !counterpartOf(pair, one));
      if (value !== null || !isGone) faults.push(unknownField(known, path, [...known.fields.keys()]));
      return false;
    }
    const isPart = (locale ?? market) !== undefined && (field.translatable || field.marketSpecific);
    if (!readable.has(name) && (isPart || holdsMask(value)))
      faults.push({ path, code: "write_only", message: WRITE_ONLY });
    return true;
  });
  if (faults.length > 0) throw ShapeRefusal.invalid(faults);
  return Object.fromEntries(left);
}

/** Returns all values that the entry would have in the shape of the earlier revision. */
function requested(writing: Writing, sent: EntryValues): EntryValues {
  const { known, before, merge, locale, market, readable } = writing;
  const place = { locale, market };
  const isPlaced = (locale ?? market) !== undefined;
  const faults: Fault[] = [];
  const patched = Object.entries(sent).map(([name, value]): [string, unknown] => {
    const field = known.fields.get(name);
    if (!merge || value === null || field === undefined || !readable.has(name)) return [name, value];
    if (field.shapes !== undefined)
      return [name, patchedField({ schema: known, place, faults }, field, before[name], value)];
    const isPart = isPlaced && (field.translatable || field.marketSpecific);
    return [name, isPart ? value : mergedValue(field, before[name], value)];
  });
  if (faults.length > 0) throw ShapeRefusal.invalid(faults);
  const named = Object.fromEntries(patched);
  if (isPlaced) {
    const all = mergeValues(known, named, () => before, place);
    return isObject(all) ? all : named;
  }
  return merge ? { ...before, ...named } : named;
}

/**
 * Returns the values that the earlier revision would show after the write. What the write does not change stays exactly
 * as it is. Values that must be converted are checked, because a conversion takes only valid ones.
 */
function changed(writing: Writing, after: EntryValues): EntryValues {
  const { known, before, pair } = writing;
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  const differing = names.filter((name) => !equal(before[name], after[name]) || after[name] === null);
  const converted = differing.filter((name) => isConverted(pair, pair.old.fields.get(name)));
  const fields = new Map(
    converted.flatMap((name) => {
      const field = known.fields.get(name);
      return field === undefined ? [] : [[name, withoutRules(field)] as const];
    }),
  );
  const given = Object.fromEntries(converted.map((name) => [name, after[name]]));
  const { faults, values } = validateValues({ ...known, fields }, given, { existing: before as Values });
  const wrong = faults.filter((fault) => isStructural(fault, given, known));
  if (wrong.length > 0) throw ShapeRefusal.invalid(wrong);
  // Validation leaves out what it reports. The live definition must see these values too.
  const reported = new Set(faults.map(({ path }) => unescapeSegment(path.split("/")[2] ?? "")));
  const result: Record<string, unknown> = { ...before };
  for (const name of differing) {
    const field = fields.get(name);
    const isPlain = field !== undefined && field.shapes === undefined;
    const checked = field !== undefined && reported.has(name) ? parsed(field, after[name]) : values[name];
    const value = isPlain && after[name] !== null ? checked : after[name];
    if (value === undefined) delete result[name];
    else result[name] = value;
  }
  return result;
}

/** Returns a field without rules that only the live definition decides on. */
const withoutRules = (field: CompiledField): CompiledField =>
  field.shapes === undefined ? { ...field, allowed: undefined, required: false } : field;

/** Returns a value of a plain field in the form in which it is stored. Values that are not valid stay as they are. */
function parsed(field: CompiledField, value: unknown, levels = levelsOf(field)): unknown {
  if (levels > 0 && isObject(value))
    return Object.fromEntries(
      Object.entries(value).map(([key, one]) => [key, parsed(field, one, levels - 1)]),
    );
  const one = (item: unknown) => field.type.parse(item, () => undefined, field.definition) ?? item;
  return field.list && Array.isArray(value) ? value.map(one) : one(value);
}

/** Returns whether the values of a field must be converted, or belong to another place. */
function isConverted(pair: SchemaPair, field: CompiledField | undefined): boolean {
  if (field === undefined) return false;
  const now = counterpartOf(pair, field);
  const isMoved = (now?.parent === undefined) !== (field.parent === undefined);
  return now === undefined || isMoved || !isSameField(field, now);
}

/** Returns whether a value has not the form that a conversion takes. The live definition decides on everything else. */
function isStructural({ path, code }: Fault, given: EntryValues, known: CompiledSchema): boolean {
  if (path.endsWith(`/${TYPE}`)) return true;
  const [name = "", ...way] = path.split("/").slice(2).map(unescapeSegment);
  const field = known.fields.get(name);
  if (code === "enum") return false;
  if (code === "required") return field?.shapes === undefined;
  if (code !== "type") return true;
  const value = way.reduce<unknown>(
    (found, key) => (typeof found === "object" && found !== null ? Reflect.get(found, key) : undefined),
    given[name],
  );
  return field === undefined || !isMarkup(field, value);
}

/** Throws if the live definition cannot hold a value of the request, so that the caller would not read it again. */
function refuseLost(writing: Writing, after: EntryValues, made: EntryValues): void {
  const { pair, revision, before, sender } = writing;
  const back = toOld(pair, pair.now, made);
  const faults = new Faults();
  for (const trail of removedPlaces(writing, after)) {
    const message = "is a language or a market that the orb no longer has, so it would be lost";
    faults.add(`/values${pointer(trail)}`, "not_convertible", message);
  }
  for (const name of new Set([...Object.keys(after), ...Object.keys(before)])) {
    const field = pair.old.fields.get(name);
    if (isSame(before[name], after[name]) || !isConverted(pair, field)) continue;
    const isPlain = field?.shapes === undefined && field?.list !== true;
    const isRemoved = (after[name] ?? null) === null;
    const isOther = isPlain && !isRemoved && !isSame(after[name], back[name]);
    // The live definition keeps such a value for the earlier shape only, and cannot remove it.
    const now = field && counterpartOf(pair, field);
    const maySet = now !== undefined && rightsIn(now, sender).write;
    const isLeft = isPlain && isRemoved && maySet && isSame(before[name], back[name]);
    const trail = isOther || isLeft ? [name] : lostIn(after[name], back[name], [name]);
    const message = "has no counterpart in the current definition, so it would be lost";
    if (trail !== undefined) faults.add(`/values${pointer(trail)}`, "not_convertible", message);
  }
  if (faults.any) throw ShapeRefusal.loss(revision, faults.list());
}

/** Returns the ways to values in languages and markets that the orb has had, and no longer has. */
function removedPlaces({ pair, before, known }: Writing, after: EntryValues): string[][] {
  const { old, now } = pair;
  const isRemoved = (key: string | undefined, had: readonly string[], has: readonly string[]) =>
    key !== undefined && had.includes(key) && !has.includes(key);
  if (equal(old.languages, now.languages) && equal(old.markets, now.markets)) return [];
  const fields = allFields(known).filter(
    (field) => !equal(before[rootOf(field).name], after[rootOf(field).name]),
  );
  return fields.flatMap((field) =>
    leavesOf(field, after as Values).flatMap(({ language, market, trail }) =>
      (field.translatable && isRemoved(language, old.languages, now.languages)) ||
      (field.marketSpecific && isRemoved(market, old.markets, now.markets))
        ? [trail]
        : [],
    ),
  );
}

/** Returns the way to the first value that has no counterpart. */
function lostIn(value: unknown, back: unknown, trail: readonly string[]): readonly string[] | undefined {
  if (isSame(value, undefined)) return undefined;
  if (isSame(back, undefined)) return trail;
  if (Array.isArray(value)) {
    if (!Array.isArray(back) || back.length < value.length) return trail;
    return first(value, (one: unknown, at) => lostIn(one, back[at], [...trail, String(at)]));
  }
  if (!isObject(value) || !isObject(back)) return undefined;
  return first(Object.entries(value), ([key, one]) => lostIn(one, back[key], [...trail, key]));
}

function first<T, R>(items: readonly T[], find: (item: T, at: number) => R | undefined): R | undefined {
  for (const [at, item] of items.entries()) {
    const found = find(item, at);
    if (found !== undefined) return found;
  }
  return undefined;
}

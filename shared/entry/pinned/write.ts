/**
 * Applies a write in the shape of an earlier revision to the values of an entry. The result has the live shape. It keeps
 * everything that the earlier shape does not show.
 */
import type { CompiledField, CompiledSchema } from "../../definition/compile.ts";
import { isMarkup } from "../../definition/rich-text.ts";
import { unknownField, validateValues } from "../../definition/validate.ts";
import { TYPE, type Values, withNested } from "../../definition/walk.ts";
import { AppError, type Fault, invalid } from "../../kernel/errors.ts";
import { escapeSegment, pointer, unescapeSegment } from "../../kernel/faults.ts";
import { isObject } from "../../kernel/json.ts";
import { ofFields, readableIn } from "../model/fields.ts";
import { storedInput } from "../model/known.ts";
import { holdsMask } from "../values/admitted.ts";
import { type Localization, mergeValues } from "../values/input.ts";
import { mergedValue, patchedField } from "../values/patched.ts";
import { rightsIn, type Sender, WRITE_ONLY } from "../values/rights.ts";
import { counterpartOf, isSameField, oldView, type SchemaPair } from "./fields.ts";
import { isSame, overlay } from "./overlay.ts";
import { asOldFault, type Positions } from "./paths.ts";
import { type EntryValues, toNow, toOld } from "./values.ts";

/** An error whose faults have the names of the earlier revision already. */
export class ShapeRefusal extends AppError {
  static invalid(errors: Fault[]): ShapeRefusal {
    const { kind, code, detail } = invalid(errors);
    return new ShapeRefusal(kind, code, detail, { errors });
  }

  /** What the write would lose. */
  static loss(revision: number, errors: Fault[]): ShapeRefusal {
    const detail = `The definition of revision ${revision} cannot express this write without a loss. See errors for each value. Send it without the header Orb-Definition, in the current shape.`;
    return new ShapeRefusal("conflict", "shape_conflict", detail, { errors });
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
  const known = withSettable(pair, view, sender);
  const stored = base === undefined ? {} : storedInput(readable, ofFields(readable, { ...base }));
  const before = toOld({ ...pair, now: readable }, pair.now, stored);
  const writing = { ...input, revision, pair, known, before, readable: new Set(view.fields.keys()) };
  const after = changed(writing, requested(writing, admittedNames(writing, sent)));
  const made = toNow(pair, after);
  refuseLost(writing, after, made);
  if (base === undefined) return { values: made, changed: made, positions: NOWHERE };
  const { value, losses, positions } = overlay(stored, toNow(pair, before), made);
  if (losses.length === 0) {
    refuseLost(writing, after, isObject(value) ? value : {});
    const all = Object.entries(isObject(value) ? value : {});
    const differing = all.filter(([name, one]) => !isSame(one, stored[name]));
    return { values: value, changed: Object.fromEntries(differing), positions };
  }
  const message = `must keep its value, because the stored value has more than revision ${revision} shows`;
  const faults = losses.map(({ trail, kind }): Fault => {
    const path = `/values${pointer(trail)}`;
    return kind === "hidden_part"
      ? { path, code: "hidden_part", message }
      : {
          path,
          code: "required",
          message: `is required, because the item may have values that revision ${revision} does not show. To keep them, send the item's _key.`,
        };
  });
  throw ShapeRefusal.loss(
    revision,
    // The positions of losses are those of the request.
    faults.map((fault) => asOldFault(pair, NOWHERE, revision, fault)),
  );
}

/** Adds the fields that the caller may set and not read. Their values must be sent as a whole. */
function withSettable(pair: SchemaPair, view: CompiledSchema, sender: Sender): CompiledSchema {
  const settable = [...pair.old.fields].filter(([name, field]) => {
    const now = view.fields.has(name) ? undefined : counterpartOf(pair, field);
    return now !== undefined && rightsIn(now, sender).write;
  });
  return { ...view, fields: new Map([...view.fields, ...settable]) };
}

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
    if (!readable.has(name) && ((locale ?? market) !== undefined || holdsMask(value)))
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
  const differing = names.filter((name) => !isSame(before[name], after[name]) || after[name] === null);
  const converted = differing.filter((name) => isConverted(pair, known.fields.get(name)));
  const fields = new Map(
    converted.flatMap((name) => {
      const field = known.fields.get(name);
      return field === undefined ? [] : [[name, field] as const];
    }),
  );
  const given = Object.fromEntries(converted.map((name) => [name, after[name]]));
  const { faults, values } = validateValues({ ...known, fields }, given, { existing: before as Values });
  const wrong = faults.filter((fault) => isStructural(fault, given, known));
  if (wrong.length > 0) throw ShapeRefusal.invalid(wrong);
  const result: Record<string, unknown> = { ...before };
  for (const name of differing) {
    const field = fields.get(name);
    const isPlain = field !== undefined && field.shapes === undefined;
    const value = isPlain && after[name] !== null ? values[name] : after[name];
    if (value === undefined) delete result[name];
    else result[name] = value;
  }
  return result;
}

function isConverted(pair: SchemaPair, field: CompiledField | undefined): boolean {
  const now = field === undefined ? undefined : counterpartOf(pair, field);
  return field !== undefined && (now === undefined || !isSameField(field, now));
}

/** Returns whether a value has not the form that a conversion takes. The live definition decides on everything else. */
function isStructural({ path, code }: Fault, given: EntryValues, known: CompiledSchema): boolean {
  if (path.endsWith(`/${TYPE}`)) return true;
  if (code === "required" || code === "enum") return false;
  if (code !== "type") return true;
  const [name = "", ...way] = path.split("/").slice(2).map(unescapeSegment);
  const field = known.fields.get(name);
  const value = way.reduce<unknown>(
    (found, key) => (typeof found === "object" && found !== null ? Reflect.get(found, key) : undefined),
    given[name],
  );
  return field === undefined || !isMarkup(field, value);
}

/** Throws if the live definition cannot hold a value of the request, so that the caller would not read it again. */
function refuseLost({ pair, revision, before }: Writing, after: EntryValues, made: EntryValues): void {
  const back = toOld(pair, pair.now, made);
  const faults = Object.keys(after).flatMap((name): Fault[] => {
    const field = pair.old.fields.get(name);
    if (isSame(before[name], after[name]) || !isConverted(pair, field)) return [];
    const isPlain = field?.shapes === undefined && field?.list !== true;
    const isOther = isPlain && after[name] !== null && !isSame(after[name], back[name]);
    const trail = isOther ? [name] : lostIn(after[name], back[name], [name]);
    const message = "has no counterpart in the current definition, so it would be lost";
    return trail === undefined
      ? []
      : [{ path: `/values${pointer(trail)}`, code: "not_convertible", message }];
  });
  if (faults.length > 0) throw ShapeRefusal.loss(revision, faults);
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

/**
 * A change of type that loses nothing gives a field another stored name, and rewrites no entry. The values under each
 * stored name of a field are its form. A value of another form is converted when it is read: first back to the form
 * that both forms were made from, then on to the current one, so that it stays what readers saw at each change.
 */
import { joinNames } from "../../kernel/faults.ts";
import { equal, isObject } from "../../kernel/json.ts";
import { readsOf } from "../document/index.ts";
import { FIELD_TYPES, type Json } from "../fields/index.ts";
import { takesRule } from "../types/index.ts";
import { byRule, type ConversionBudget, conversionBudget, type Ruling, shown } from "./ruled.ts";
import type { Meaning, OnLoss, Step } from "./step.ts";

/** The values of a field under one of its stored names. */
export interface Form extends Meaning {
  stored: string;
  /** Stored name of the form from which this one was made. The first form of a field has none. */
  from?: string | undefined;
  /** Where a value without languages or markets belongs, if this form has them and the other one has not, or reversed. */
  language?: string | undefined;
  market?: string | undefined;
  /** The JsonLogic rule that made this form of the one in `from`. Without it, the conversion of the types did. */
  convert?: unknown;
  /** The rule that leads back to the form in `from`. */
  back?: unknown;
}

/** Returns what a form keeps if attributes of its field change. */
export function originOf({ stored, from, language, market, convert, back }: Form) {
  return {
    stored,
    from,
    language,
    market,
    ...(convert === undefined ? {} : { convert }),
    ...(back === undefined ? {} : { back }),
  };
}

/** Attributes that make a form another one. A change of the others keeps all values as they are. */
const SHAPE = ["type", "list", "translatable", "marketSpecific", "sensitive"] as const;

export function meaningOf(field: Meaning): Meaning {
  const { type, list, translatable, marketSpecific, sensitive, scale, styles } = field;
  return {
    type,
    ...(list === true ? { list } : {}),
    ...(translatable === true ? { translatable } : {}),
    ...(marketSpecific === true ? { marketSpecific } : {}),
    ...(sensitive === true ? { sensitive } : {}),
    ...(scale === undefined ? {} : { scale }),
    ...(styles === undefined ? {} : { styles }),
  };
}

/** Returns whether the stored values of one field are values of the other, with the same index keys. */
export function isSameShape(before: Meaning, after: Meaning): boolean {
  return SHAPE.every(
    (attribute) =>
      (before[attribute] || false) === (after[attribute] || false) ||
      (attribute === "type" && FIELD_TYPES[after.type].widens === before.type),
  );
}

/**
 * Returns whether a field can change so, if no entry loses a value.
 * @param rule the rule that the document gives for the conversion
 */
export function isConvertible(before: Meaning, after: Meaning, rule?: unknown): boolean {
  if ((before.sensitive === true) !== (after.sensitive === true)) return false;
  if (rule !== undefined) return takesRule(before) && takesRule(after);
  const isSameType = before.type === after.type;
  // Encrypted values can move to another language or market, but not change.
  if (before.sensitive === true) return isSameType && (before.list === true) === (after.list === true);
  return isSameType || FIELD_TYPES[after.type].madeFrom?.[before.type] !== undefined;
}

/** Returns whether a change of a field can lose no value at all, so that entries need no check. */
export function isLossless(before: Meaning, after: Meaning): boolean {
  const widens = (["list", "translatable", "marketSpecific"] as const).every(
    (attribute) => before[attribute] !== true || after[attribute] === true,
  );
  const isSameType = before.type === after.type;
  return widens && (isSameType || FIELD_TYPES[after.type].madeFrom?.[before.type]?.always === true);
}

/** How values of an earlier form of a field become values of its current one. */
export interface Conversion {
  /**
   * Converts a stored value. Returns undefined if it has no counterpart.
   * @param budget what rules may spend. Default: that of a field with one value
   */
  convert(value: unknown, onLoss?: OnLoss, budget?: ConversionBudget): unknown;
  /** Whether rules of the document take part, so that their results must be validated. */
  ruled: boolean;
}

/**
 * Returns how to convert values from a form of a field to its current one.
 * @param picks whether a value that has more than the current form can hold becomes a part of it, instead of nothing:
 *   the first item of a list, or the value in the language and market that values without any belong to
 */
export function conversionTo(
  current: string,
  from: string,
  forms: readonly Form[],
  picks = false,
): Conversion {
  const steps = stepsTo(current, from, forms).map((step) => (picks ? { ...step, picks } : step));
  return {
    convert(value, onLoss = () => {}, budget = conversionBudget()) {
      let result = value;
      for (const step of steps) {
        if (result === undefined) return undefined;
        result = taken({ step, rule: step.rule, onLoss, budget }, result);
      }
      return result;
    },
    ruled: steps.some(({ rule, inverse }) => rule !== undefined || inverse !== undefined),
  };
}

/** Takes a value from one form to the other. */
function taken(ruling: Ruling, value: unknown): unknown {
  const { step, rule, onLoss } = ruling;
  const { inverse, from, to } = step;
  // A rule that reads several fields makes the value of the whole entry (`made.ts`).
  if (rule !== undefined && readsOf(rule).length > 0) return value === null ? null : undefined;
  if (rule !== undefined) return byRule(ruling, value);
  if (readsOf(inverse).length > 0) {
    if (value === null) return null;
    onLoss(backless(to, value));
    return undefined;
  }
  const made = inMarkets(step, value, onLoss);
  if (inverse === undefined || made === undefined || made === null) return made;
  const back = { ...step, from: to, to: from };
  const again = byRule({ ...ruling, step: back, rule: inverse, onLoss: () => {} }, made);
  if (again !== undefined && equal(again, value)) return made;
  onLoss(backless(to, value));
  return undefined;
}

const backless = ({ type }: Meaning, value: unknown): string =>
  `cannot be converted back to ${type}: ${shown(value)}. Give the field a rule, as "from": { "convert": … }`;

function stepsTo(current: string, from: string, forms: readonly Form[]): Step[] {
  const known = new Map(forms.map((form) => [form.stored, form]));
  const lineOf = (stored: string | undefined): Form[] => {
    const form = stored === undefined ? undefined : known.get(stored);
    return form === undefined ? [] : [form, ...lineOf(form.from)];
  };
  const [up, down] = [lineOf(from), lineOf(current)];
  const shared = up.find((form) => down.includes(form));
  // All forms of a field descend from the first one.
  const made = (line: readonly Form[]) =>
    line
      .slice(0, shared === undefined ? 0 : line.indexOf(shared))
      .map((form, at) => ({ form, origin: line[at + 1] ?? form }));
  const place = ({ language, market }: Form) => ({ language, market });
  return [
    ...made(up).map(({ form, origin }) => ({
      from: form,
      to: origin,
      ...place(form),
      rule: form.back,
      inverse: form.convert,
    })),
    ...made(down)
      .reverse()
      .map(({ form, origin }) => ({ from: origin, to: form, ...place(form), rule: form.convert })),
  ];
}

type Level = (step: Step, value: unknown, onLoss: OnLoss) => unknown;

/** Converts one level of a value: the maps of markets or of languages. */
const level =
  (attribute: "marketSpecific" | "translatable", below: Level): Level =>
  (step, value, onLoss) => {
    if (value === null) return null;
    const [was, is] = [step.from[attribute] === true, step.to[attribute] === true];
    if (!was && !is) return below(step, value, onLoss);
    const key = (attribute === "translatable" ? step.language : step.market) ?? "";
    if (!was) {
      const converted = below(step, value, onLoss);
      return converted === undefined ? undefined : { [key]: converted };
    }
    if (!isObject(value)) return undefined;
    if (is) return mapOf(value, (one) => below(step, one, onLoss));
    const others =
      step.picks === true
        ? []
        : Object.keys(value).filter((one) => one !== key && (value[one] ?? null) !== null);
    if (others.length === 0) return below(step, Object.hasOwn(value, key) ? value[key] : null, onLoss);
    onLoss(
      `has values in other ${attribute === "translatable" ? "languages" : "markets"}: ${joinNames(others)}`,
    );
    return undefined;
  };

/** Returns undefined if a value of the map has no counterpart. */
function mapOf(map: Readonly<Record<string, unknown>>, change: (value: unknown) => unknown): unknown {
  const all = Object.entries(map).map(([key, value]) => [key, change(value)] as const);
  return all.some(([, value]) => value === undefined) ? undefined : Object.fromEntries(all);
}

/** Key of the item that was a single object. */
const FIRST_KEY = "first";

const inList: Level = (step, value, onLoss) => {
  if (value === null) return null;
  const [was, is] = [step.from.list === true, step.to.list === true];
  if (!was) {
    const item = typed(step, value, onLoss);
    if (!is || item === undefined) return item;
    return [isObject(item) && step.to.type === "object" ? { ...item, _key: FIRST_KEY } : item];
  }
  if (!Array.isArray(value)) return undefined;
  if (!is && value.length > 1 && step.picks !== true) {
    onLoss(`has ${value.length} values`);
    return undefined;
  }
  const items = (is ? value : value.slice(0, 1)).map((item: unknown) => typed(step, item, onLoss));
  if (items.includes(undefined)) return undefined;
  if (is) return items;
  const [only = null] = items;
  return step.to.type === "object" ? withoutKeys(only, false) : only;
};

const inLanguages = level("translatable", inList);
const inMarkets = level("marketSpecific", inLanguages);

/** Converts a single value to another type. */
function typed({ from, to }: Step, value: unknown, onLoss: OnLoss): unknown {
  if (from.type === to.type) return value;
  const conversion = FIELD_TYPES[to.type].madeFrom?.[from.type];
  const made = conversion?.convert(value as Json, to);
  if (conversion === undefined || made === undefined) {
    onLoss(`cannot become ${to.type}: ${shown(value)}`);
    return undefined;
  }
  if (conversion.always) return made;
  const back = FIELD_TYPES[from.type].madeFrom?.[to.type]?.convert(made, from);
  if (back !== undefined && isSame(from, value as Json, back)) return made;
  onLoss(`would lose something as ${to.type}: ${shown(value)}`);
  return undefined;
}

function isSame({ type }: Meaning, value: Json, other: Json): boolean {
  const token = FIELD_TYPES[type].token(value);
  if (token !== null) return token === FIELD_TYPES[type].token(other);
  return equal(withoutKeys(value), withoutKeys(other));
}

/** Returns a value without the keys of list items, which a conversion chooses. @param deep also in what it contains */
function withoutKeys(value: unknown, deep = true): unknown {
  if (Array.isArray(value)) return deep ? value.map((one: unknown) => withoutKeys(one)) : value;
  if (!isObject(value)) return value;
  const own = Object.entries(value).filter(([name]) => name !== "_key");
  return Object.fromEntries(own.map(([name, one]) => [name, deep ? withoutKeys(one) : one]));
}

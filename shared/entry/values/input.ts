import type { CompiledField, CompiledSchema } from "../../definition/compile.ts";
import { canonicalLanguage, MASK } from "../../definition/document/index.ts";
import { normaliseInstant } from "../../definition/fields/parts/index.ts";
import { itemWith, keyOf, membersOf, TYPE } from "../../definition/walk.ts";
import { AppError, type Fault } from "../../kernel/errors.ts";
import { joinNames, MOMENT_FORM } from "../../kernel/faults.ts";
import { isObject } from "../../kernel/json.ts";
import { isSealed, type StoredValue } from "../model/index.ts";

export interface Localization {
  locale?: string | undefined;
  market?: string | undefined;
}

function unknownPlace(parameter: keyof Localization, message: string): AppError {
  return new AppError("malformed", "invalid_parameter", `The ${parameter} ${message}.`, {
    errors: [{ path: `/${parameter}`, code: "invalid_value", message }],
  });
}

function resolvePlace(
  schema: CompiledSchema,
  place: Localization,
): { language: string; market: string | undefined } {
  const tag = place.locale === undefined ? schema.languages[0] : canonicalLanguage(place.locale);
  if (tag === undefined || !schema.languages.includes(tag)) {
    throw unknownPlace("locale", `must be a language of the orb: ${joinNames(schema.languages)}`);
  }
  const market = place.market ?? schema.markets[0];
  if (place.market !== undefined && !schema.markets.includes(place.market)) {
    throw unknownPlace("market", `must be a market of the orb: ${joinNames(schema.markets)}`);
  }
  return { language: tag, market };
}

function trailOf(field: CompiledField, language: string, market: string | undefined): string[] {
  return [
    ...(field.marketSpecific && market !== undefined ? [market] : []),
    ...(field.translatable ? [language] : []),
  ];
}

function put(map: unknown, trail: readonly string[], value: unknown): unknown {
  const [key, ...rest] = trail;
  if (key === undefined) return value;
  const base = isObject(map) && !isSealed(map) ? map : {};
  return { ...base, [key]: put(Object.hasOwn(base, key) ? base[key] : undefined, rest, value) };
}

/**
 * Returns the value of a field after a write for one language and market. If only values inside its objects have
 * languages, the objects keep their other languages and the members that the write omits.
 */
function putIn(
  field: CompiledField,
  before: unknown,
  value: unknown,
  language: string,
  market: string | undefined,
): unknown {
  const isOwn = field.translatable || field.marketSpecific;
  if (isOwn || !field.localizedInside) return put(before, trailOf(field, language, market), value);
  const inObject = (object: Readonly<Record<string, unknown>>, stored: unknown): unknown => {
    const fields = membersOf(field, object);
    const base = isObject(stored) && stored[TYPE] === object[TYPE] ? stored : {};
    const members = Object.entries(object).flatMap(([name, one]): [string, unknown][] => {
      const inner = fields?.get(name);
      const old = Object.hasOwn(base, name) ? base[name] : undefined;
      if (one === undefined) return [];
      return [[name, inner === undefined ? one : putIn(inner, old, one, language, market)]];
    });
    return Object.fromEntries([...Object.entries(base), ...members]);
  };
  if (!field.list) return isObject(value) ? inObject(value, before) : value;
  if (!Array.isArray(value)) return value;
  return value.map((item: unknown) =>
    isObject(item) ? inObject(item, itemWith(before, keyOf(item))) : item,
  );
}

/**
 * Returns the complete values to validate. If the request is for one language or market, each given value replaces only
 * the stored value in that language or market.
 * @param stored returns the values of the newest revision, with masks for sensitive ones. The result contains the same
 *   objects and lists where the request names nothing in them.
 */
export function mergeValues(
  schema: CompiledSchema,
  given: unknown,
  stored: () => Readonly<Record<string, StoredValue>>,
  place: Localization,
): unknown {
  if (place.locale === undefined && place.market === undefined) return given;
  const { language, market } = resolvePlace(schema, place);
  if (!isObject(given)) return given;
  const merged: Record<string, unknown> = { ...stored() };
  for (const [name, value] of Object.entries(given)) {
    if (name === "__proto__") continue;
    const field = schema.fields.get(name);
    merged[name] = field === undefined ? value : putIn(field, merged[name], value, language, market);
  }
  if (!Object.hasOwn(given, "__proto__")) return merged;
  // Assigning a member `__proto__` would not create it. Define it, so that validation can report the unknown field.
  Object.defineProperty(merged, "__proto__", { value: MASK, enumerable: true });
  return merged;
}

/** From when to when an entry is visible: ISO 8601 in UTC, or null for no limit. */
export interface Window {
  validFrom: string | null;
  validTo: string | null;
}

export function readWindow(
  given: { validFrom?: unknown; validTo?: unknown },
  before: Window,
): { window: Window; faults: Fault[] } {
  const faults: Fault[] = [];
  const read = (name: "validFrom" | "validTo"): string | null => {
    const value = given[name];
    if (value === undefined) return before[name];
    if (value === null) return null;
    const instant = typeof value === "string" ? normaliseInstant(value) : undefined;
    if (instant !== undefined) return instant;
    faults.push({
      path: `/${name}`,
      code: typeof value === "string" ? "format" : "type",
      message: MOMENT_FORM,
    });
    return null;
  };
  const window = { validFrom: read("validFrom"), validTo: read("validTo") };
  if (
    faults.length === 0 &&
    window.validFrom !== null &&
    window.validTo !== null &&
    window.validTo <= window.validFrom
  ) {
    faults.push({ path: "/validTo", code: "range", message: "must be later than validFrom" });
  }
  return { window, faults };
}

export function windowFaults(window: Window, now: number): Fault[] {
  if (window.validTo === null || Date.parse(window.validTo) > now) return [];
  return [{ path: "/validTo", code: "window_closed", message: "must be in the future to publish the entry" }];
}

import type { CompiledField, CompiledSchema } from "../../definition/compile.ts";
import { canonicalLanguage, MARKET } from "../../definition/document/index.ts";
import type { Json } from "../../definition/fields/index.ts";
import { lookUpLanguage, parseAcceptLanguage } from "../../definition/languages.ts";
import type { Values } from "../../definition/validate.ts";
import {
  KEY,
  leavesWith,
  mapObjects,
  membersOf,
  plainLeaves,
  type ReadField,
  rootOf,
  TYPE,
} from "../../definition/walk.ts";
import { isObject } from "../../kernel/json.ts";
import { knownLocales, withPointers } from "./known.ts";
import { isSealed } from "./masking.ts";
import { type RichTextForm, withForm } from "./rich.ts";

/** Languages and markets that a response uses, in order of preference. */
export interface Choice {
  /** Preferred languages first. The last one is the application's default language. */
  languages: readonly string[];
  /**
   * Preferred markets first. The last one is the application's default market. Empty if the application has no markets.
   */
  markets: readonly string[];
  allLocales: boolean;
  /** Whether the choice depends on `Accept-Language`, so that the response needs a `Vary` header. */
  negotiated: boolean;
  /** Set if values of other languages and markets must not stand in for missing ones. */
  fallback?: string | undefined;
  /** How to show rich text. Default: as Portable Text. */
  richText?: RichTextForm | undefined;
}

/** The application's languages and markets, defaults first. */
interface Offer {
  languages: readonly string[];
  markets: readonly string[];
}

export interface LocaleRequest {
  /** `?locale=`: a language tag, or `*`. */
  locale?: string | undefined;
  market?: string | undefined;
  /** `?fallback=none`: only values of the language and the market that are asked for. */
  fallback?: string | undefined;
  acceptLanguage?: string | undefined;
}

export function isLocale(text: string): boolean {
  return text === "*" || canonicalLanguage(text) !== undefined;
}

export function isMarket(text: string): boolean {
  return MARKET.test(text);
}

/** Chooses the only language and the only market of a response without fallback; none if the orb lacks it. */
function chooseOne(offer: Offer, wish: LocaleRequest): Choice {
  const { locale, market } = wish;
  const choice = choose(offer, { ...wish, fallback: undefined });
  const tag = locale === undefined ? choice.languages[0] : canonicalLanguage(locale);
  const only = market ?? offer.markets[0];
  return {
    ...choice,
    fallback: wish.fallback,
    languages: offer.languages.filter((language) => language === tag),
    markets: offer.markets.filter((one) => one === only),
  };
}

/** Chooses the language and market of a response. Falls back to the application's defaults, unless the wish forbids it. */
export function choose(offer: Offer, wish: LocaleRequest): Choice {
  if (wish.fallback !== undefined) return chooseOne(offer, wish);
  const explicit = wish.locale !== undefined && wish.locale !== "*" ? [wish.locale] : undefined;
  const negotiated = explicit === undefined && wish.locale !== "*" && offer.languages.length > 1;
  const ranges = explicit ?? (negotiated ? parseAcceptLanguage(wish.acceptLanguage ?? "") : []);
  const languages: string[] = [];
  const add = (language: string | undefined) => {
    if (language !== undefined && !languages.includes(language)) languages.push(language);
  };
  for (const range of ranges) {
    if (range === "*") add(offer.languages[0]);
    else lookUpLanguage(range, offer.languages).forEach(add);
  }
  add(offer.languages[0]);
  const { market } = wish;
  const markets = market !== undefined && offer.markets.includes(market) ? [market] : [];
  const [first] = offer.markets;
  if (first !== undefined && first !== market) markets.push(first);
  return { languages, markets, allLocales: wish.locale === "*", negotiated };
}

function isMap(value: unknown): value is Record<string, unknown> {
  return isObject(value) && !isSealed(value);
}

function member(map: unknown, key: string): unknown {
  return isMap(map) && Object.hasOwn(map, key) ? map[key] : undefined;
}

export interface Resolved {
  value: unknown;
  language: string | undefined;
}

/** The language and the market that a value comes from, if it is not the one that was asked for. */
export interface Source {
  language?: string;
  market?: string;
}

/** Returns where the value of a field comes from. Undefined if it is the value that was asked for, or if there is none. */
export function fallbackOf(field: CompiledField, stored: unknown, choice: Choice): Source | undefined {
  if (choice.allLocales || (!field.translatable && !field.marketSpecific)) return undefined;
  const { value, language, market } = find(field, stored, choice);
  if (value === null) return undefined;
  const isOther = language !== undefined && language !== choice.languages[0];
  const isElsewhere = market !== undefined && market !== choice.markets[0];
  if (!isOther && !isElsewhere) return undefined;
  return { ...(isOther ? { language } : {}), ...(isElsewhere ? { market } : {}) };
}

/** Returns whether a field has a value in some language, and none in this one. */
export function lacksLanguage(
  field: CompiledField,
  values: Readonly<Record<string, unknown>>,
  language: string,
): boolean {
  return mapsOf(field, values).some((stored) => lacksIn(field, stored, language));
}

function lacksIn(field: CompiledField, stored: unknown, language: string): boolean {
  const maps = field.marketSpecific ? Object.values(isMap(stored) ? stored : {}) : [stored];
  return maps.some((map) => {
    const value = member(map, language) ?? null;
    return value === null && isMap(map) && Object.values(map).some((other) => (other ?? null) !== null);
  });
}

interface Found extends Resolved {
  market: string | undefined;
}

/** Finds the value of a field in the preferred market and language, and where it comes from. */
function find(field: CompiledField, stored: unknown, choice: Choice): Found {
  if (!field.marketSpecific) return inLanguages(field, stored, choice, undefined);
  for (const market of choice.markets) {
    const found = inLanguages(field, member(stored, market), choice, market);
    if (found.value !== null) return found;
  }
  return { value: null, language: undefined, market: undefined };
}

function inLanguages(
  field: CompiledField,
  stored: unknown,
  { languages }: Choice,
  market: string | undefined,
): Found {
  if (!field.translatable) return { value: stored ?? null, language: undefined, market };
  for (const language of languages) {
    const value = member(stored, language);
    if (value !== undefined && value !== null) return { value, language, market };
  }
  return { value: null, language: undefined, market };
}

/**
 * Returns the value of a field in the preferred market and language, or null. The market takes precedence, because a
 * price of another market is worse than text in another language.
 */
export function resolveField(field: CompiledField, stored: unknown, choice: Choice): Resolved {
  return find(field, stored, choice);
}

export interface Presentation {
  choice: Choice;
  /** Names of the fields to show. Default: all. */
  fields?: ReadonlySet<string> | undefined;
}

export function presentField(
  field: CompiledField,
  stored: unknown,
  choice: Choice,
  languages?: Set<string>,
): unknown {
  if (choice.allLocales) return stored;
  const isLocalized = field.translatable || field.marketSpecific;
  if (!isLocalized && field.shapes === undefined) return stored;
  const { value, language } = isLocalized
    ? resolveField(field, stored, choice)
    : { value: stored, language: undefined };
  if (language !== undefined) languages?.add(language);
  if (field.shapes === undefined) return value;
  return mapObjects(field, value, (object) => {
    const shown: Record<string, unknown> = {};
    for (const name of [TYPE, KEY]) if (Object.hasOwn(object, name)) shown[name] = object[name];
    for (const inner of membersOf(field, object)?.values() ?? []) {
      const own = Object.hasOwn(object, inner.key) ? object[inner.key] : undefined;
      if (own !== undefined) shown[inner.key] = presentField(inner, own, choice, languages);
    }
    return shown;
  });
}

/** Returns the values of a field in the preferred market and language. A field inside a list may have several. */
export function presentLeaves(
  field: CompiledField,
  values: Readonly<Record<string, unknown>>,
  choice: Choice,
): Json[] {
  const read: ReadField = (one, stored) => {
    if (!one.translatable && !one.marketSpecific) return [{ value: stored }];
    const { value } = resolveField(one, stored, choice);
    return value === null || value === undefined ? [] : [{ value: value as Json }];
  };
  return leavesWith(read, field, values).map(({ value }) => value);
}

const localized = new WeakMap<CompiledSchema, readonly CompiledField[]>();

/** Returns the fields of a schema, at all depths, that have a value for each language or market. */
function localizedIn(schema: CompiledSchema): readonly CompiledField[] {
  const known = localized.get(schema) ?? [...new Set([...schema.translatable, ...schema.marketSpecific])];
  localized.set(schema, known);
  return known;
}

/**
 * Returns where the values of an entry come from: pairs of a field's name and its source. Contains only values that are
 * not the ones that were asked for.
 */
export function fallbacksIn(
  schema: CompiledSchema,
  values: Readonly<Values>,
  { choice, fields }: Presentation,
): [string, Source][] {
  const sources: [string, Source][] = [];
  const hasOthers = choice.languages.length > 1 || choice.markets.length > 1;
  if (choice.allLocales || !hasOthers) return sources;
  for (const field of localizedIn(schema)) {
    if (fields !== undefined && !fields.has(rootOf(field).name)) continue;
    for (const stored of mapsOf(field, values)) {
      const source = fallbackOf(field, stored, choice);
      if (source === undefined) continue;
      sources.push([field.name, source]);
      break;
    }
  }
  return sources;
}

/** Returns the stored values of a field with all their languages and markets: one for each object that has the field. */
export function mapsOf(field: CompiledField, values: Readonly<Record<string, unknown>>): unknown[] {
  if (!field.translatable && !field.marketSpecific) return [];
  if (field.parent !== undefined) return plainLeaves(field, values).map(({ value }) => value);
  const stored = Object.hasOwn(values, field.name) ? (values[field.name] ?? null) : null;
  return stored === null ? [] : [stored];
}

/** Returns an entry's values for a response. Adds the languages of these values to the set `languages`. */
export function presentValues(
  schema: CompiledSchema,
  given: Readonly<Record<string, unknown>>,
  { choice, fields }: Presentation,
  languages: Set<string>,
): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  const values = withPointers(schema, given);
  for (const [name, field] of schema.fields) {
    if (fields !== undefined && !fields.has(name)) continue;
    const stored = Object.hasOwn(values, name) ? values[name] : undefined;
    const known = choice.allLocales ? knownLocales(schema, field, stored) : stored;
    if (known !== undefined) out[name] = presentField(field, known, choice, languages);
  }
  const { richText, allLocales } = choice;
  return richText === undefined ? out : withForm(schema, out, richText, allLocales);
}

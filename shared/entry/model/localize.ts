import type { CompiledField, CompiledSchema } from "../../definition/compile.ts";
import { canonicalLanguage, MARKET } from "../../definition/document/ids.ts";
import { isObject } from "../../kernel/json.ts";
import { knownLocales } from "./known.ts";
import { isSealed } from "./masking.ts";

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
  acceptLanguage?: string | undefined;
}

export function isLocale(text: string): boolean {
  return text === "*" || canonicalLanguage(text) !== undefined;
}

export function isMarket(text: string): boolean {
  return MARKET.test(text);
}

/** Maximum characters and language ranges of an `Accept-Language` header. Anything beyond is ignored. */
const MAX_HEADER = 1000;
const MAX_RANGES = 32;

/** Returns the language ranges of an `Accept-Language` header (RFC 9110, 12.5.4), highest quality first. */
export function parseAcceptLanguage(header: string): string[] {
  const ranges: { tag: string; quality: number }[] = [];
  for (const part of header.slice(0, MAX_HEADER).split(",").slice(0, MAX_RANGES)) {
    const [tag = "", ...parameters] = part.split(";").map((piece) => piece.trim());
    if (tag === "") continue;
    const q = parameters.find((parameter) => /^q=/i.test(parameter));
    const quality = q === undefined ? 1 : Number(q.slice(2));
    if (Number.isFinite(quality) && quality > 0) ranges.push({ tag, quality });
  }
  return ranges.sort((a, b) => b.quality - a.quality).map(({ tag }) => tag);
}

/**
 * Finds an offered language for a requested one (RFC 4647 lookup): `de-AT` matches `de`. If nothing matches, `de` also
 * finds `de-CH`.
 */
function lookUp(range: string, offered: readonly string[]): string[] {
  const wanted = canonicalLanguage(range)?.toLowerCase();
  if (wanted === undefined) return [];
  const found: string[] = [];
  const parts = wanted.split("-");
  for (let length = parts.length; length > 0; length--) {
    const tag = parts.slice(0, length).join("-");
    const match = offered.find((language) => language.toLowerCase() === tag);
    if (match !== undefined) found.push(match);
  }
  if (found.length > 0) return found;
  const narrower = offered.find((language) => language.toLowerCase().startsWith(`${wanted}-`));
  return narrower === undefined ? [] : [narrower];
}

/** Chooses the language and market of a response. Falls back to the application's defaults. */
export function choose(offer: Offer, wish: LocaleRequest): Choice {
  const explicit = wish.locale !== undefined && wish.locale !== "*" ? [wish.locale] : undefined;
  const negotiated = explicit === undefined && wish.locale !== "*" && offer.languages.length > 1;
  const ranges = explicit ?? (negotiated ? parseAcceptLanguage(wish.acceptLanguage ?? "") : []);
  const languages: string[] = [];
  const add = (language: string | undefined) => {
    if (language !== undefined && !languages.includes(language)) languages.push(language);
  };
  for (const range of ranges) {
    if (range === "*") add(offer.languages[0]);
    else lookUp(range, offer.languages).forEach(add);
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

/**
 * Returns the value of a field in the preferred market and language, or null. The market takes precedence, because a
 * price of another market is worse than text in another language.
 */
export function resolveField(field: CompiledField, stored: unknown, choice: Choice): Resolved {
  const markets = field.marketSpecific ? choice.markets : [undefined];
  for (const market of markets) {
    const inMarket = market === undefined ? stored : member(stored, market);
    if (inMarket === undefined || inMarket === null) continue;
    if (!field.translatable) return { value: inMarket, language: undefined };
    for (const language of choice.languages) {
      const value = member(inMarket, language);
      if (value !== undefined && value !== null) return { value, language };
    }
  }
  return { value: null, language: undefined };
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
  if (choice.allLocales || (!field.translatable && !field.marketSpecific)) return stored;
  const { value, language } = resolveField(field, stored, choice);
  if (language !== undefined) languages?.add(language);
  return value;
}

/** Returns an entry's values for a response. Adds the languages of these values to the set `languages`. */
export function presentValues(
  schema: CompiledSchema,
  values: Readonly<Record<string, unknown>>,
  { choice, fields }: Presentation,
  languages: Set<string>,
): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const [name, field] of schema.fields) {
    if (fields !== undefined && !fields.has(name)) continue;
    const stored = Object.hasOwn(values, name) ? values[name] : undefined;
    const known = choice.allLocales ? knownLocales(schema, field, stored) : stored;
    if (known !== undefined) out[name] = presentField(field, known, choice, languages);
  }
  return out;
}

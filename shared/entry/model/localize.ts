/** Which language and market an answer speaks, and the one value that a field has there. */
import type { CompiledField } from "../../definition/compile.ts";
import { canonicalLanguage, MARKET } from "../../definition/document/ids.ts";
import { isObject } from "../../kernel/json.ts";
import { isSealed } from "./masking.ts";

/** The languages and markets of an answer, in the order in which values are looked for. */
export interface Choice {
  /** Ends with the orb's default language. */
  languages: readonly string[];
  /** Ends with the orb's default market; empty where the orb has no markets. */
  markets: readonly string[];
  /** `?locale=*`: maps are answered whole. */
  whole: boolean;
  /** Whether `Accept-Language` decided, so that caches must tell answers apart by it. */
  negotiated: boolean;
}

/** What the orb offers. */
interface Offer {
  languages: readonly string[];
  markets: readonly string[];
}

/** What the caller asks for. Both parameters have passed {@link isLocale} and {@link isMarket}. */
export interface Wish {
  /** `?locale=`: a language tag, or `*`. */
  locale?: string | undefined;
  /** `?market=`. */
  market?: string | undefined;
  acceptLanguage?: string | undefined;
}

/** Whether a text can be the value of `?locale=`. */
export function isLocale(text: string): boolean {
  return text === "*" || canonicalLanguage(text) !== undefined;
}

/** Whether a text can be the value of `?market=`. */
export function isMarket(text: string): boolean {
  return MARKET.test(text);
}

/** Longest `Accept-Language` that is looked at, in characters and in ranges. */
const MAX_HEADER = 1000;
const MAX_RANGES = 32;

/** Language ranges of an `Accept-Language` header (RFC 9110, 12.5.4), most wanted first. */
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
 * The offered languages that a range means, best first (RFC 4647 lookup: `de-AT` also means `de`); when there is none,
 * the first offered one that is more specific (`de` means `de-CH`).
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

/**
 * Decides language and market. A language or market that the orb does not have falls back to its defaults, and
 * `Content-Language` tells which language was answered.
 */
export function choose(offer: Offer, wish: Wish): Choice {
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
  return { languages, markets, whole: wish.locale === "*", negotiated };
}

function isMap(value: unknown): value is Record<string, unknown> {
  return isObject(value) && !isSealed(value);
}

function member(map: unknown, key: string): unknown {
  return isMap(map) && Object.hasOwn(map, key) ? map[key] : undefined;
}

/** A resolved value, and the language it was found in, for translatable fields. */
export interface Resolved {
  value: unknown;
  language: string | undefined;
}

/**
 * The one value of a field. The market counts before the language: a price of another market is worse than a text in
 * another language.
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

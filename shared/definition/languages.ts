/** Chooses a language for a reader: for the values of an entry, and for the texts of a document. */
import { canonicalLanguage } from "./document/index.ts";

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
 * Finds offered languages for a requested one, best first (RFC 4647 lookup): `de-AT` matches `de`. If nothing matches,
 * `de` also finds `de-CH`.
 */
export function lookUpLanguage(range: string, offered: readonly string[]): string[] {
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
 * Chooses from a text for each language.
 * @param wished language ranges, preferred first
 */
export function inLanguage(texts: Readonly<Record<string, string>>, wished: readonly string[]): string {
  const offered = Object.keys(texts);
  const [best = offered[0] ?? ""] = wished.flatMap((range) => lookUpLanguage(range, offered));
  return texts[best] ?? "";
}

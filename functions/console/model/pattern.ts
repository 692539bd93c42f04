/** Describes simple patterns in words, for people who do not read regular expressions. */

/** Parts of a character class, and the keys of their names, in the order in which they are named. */
const PARTS = [
  ["a-z", "small"],
  ["A-Z", "capital"],
  ["0-9", "digits"],
  ["\\d", "digits"],
  ["\\p{L}", "letters"],
  ["\\-", "hyphen"],
  ["\\.", "dot"],
  ["\\/", "slash"],
  ["\\s", "space"],
  ["_", "underscore"],
  [".", "dot"],
  ["/", "slash"],
  [" ", "space"],
  ["@", "at"],
  ["+", "plus"],
  ["#", "hash"],
  [":", "colon"],
  ["-", "hyphen"],
] as const;

export type PatternPart = (typeof PARTS)[number][1] | "letters";

/** The characters that a pattern allows, and how many of them. */
export interface PatternWords {
  parts: readonly PatternPart[];
  least: number;
  /** Undefined if there is no maximum. */
  most: number | undefined;
}

const FORM = /^\^(?:\[((?:\\.|\\p\{L\}|[^\]\\^])+)\]|(\\d))(\+|\*|\{(\d+)(,(\d*))?\})\$$/;

/** Returns what a pattern such as `^[a-z0-9-]+$` allows; undefined if the pattern is less simple. */
export function patternWords(pattern: string): PatternWords | undefined {
  const match = FORM.exec(pattern);
  if (match === null) return undefined;
  const [, inside = "\\d", , count = "", first, range, last] = match;
  const found = new Set<PatternPart>();
  let rest = inside;
  while (rest !== "") {
    const part = PARTS.find(([text]) => rest.startsWith(text));
    if (part === undefined) return undefined;
    found.add(part[1]);
    rest = rest.slice(part[0].length);
  }
  const both = found.has("small") && found.has("capital");
  const parts = both
    ? (["letters", ...[...found].filter((one) => one !== "small" && one !== "capital")] as const)
    : [...found];
  const least = first === undefined ? (count === "+" ? 1 : 0) : Number(first);
  const most =
    first === undefined ? undefined : range === undefined ? least : last ? Number(last) : undefined;
  return { parts: [...new Set(parts)], least, most };
}

/** Splits texts into words, for the full-text search. */

/** Maximum number of different words of one value. A search cannot find any further words. */
export const MOST_WORDS = 2_000;
/** Maximum characters of a word that are compared. Two longer words with the same beginning count as equal. */
const WORD_LENGTH = 40;

/** Accents, vowel points of Hebrew and Arabic, soft hyphens and zero-width characters. A search ignores them. */
export const MARK =
  "\\u0300-\\u036f\\u0483-\\u0487\\u0591-\\u05c7\\u0610-\\u061a\\u064b-\\u065f\\u0670\\u00ad\\u200b-\\u200d";
const MARKS = new RegExp(`[${MARK}]+`, "g");
/** Letters that a search treats like other letters, although Unicode does not decompose them. */
const LETTERS: Readonly<Record<string, string>> = {
  ß: "ss",
  æ: "ae",
  œ: "oe",
  ø: "o",
  đ: "d",
  ð: "d",
  ł: "l",
  ı: "i",
  þ: "th",
  ς: "σ",
};
const LETTER = /[ßæœøđðłıþς]/g;
const ASCII = /^[ -~\s]*$/;

/** Scripts that are written without spaces between words. */
export const DENSE =
  "[\\p{sc=Han}\\p{sc=Hira}\\p{sc=Kana}\\p{sc=Thai}\\p{sc=Laoo}\\p{sc=Khmr}\\p{sc=Mymr}ー]";
const PARTS = new RegExp(
  `(${DENSE}[${DENSE.slice(1, -1)}\\p{M}]*)|(?:(?!${DENSE})[\\p{L}\\p{N}\\p{M}])+`,
  "gu",
);

/**
 * Returns a string without the differences that a search ignores: upper case, accents, and variants such as full-width
 * letters.
 */
export function folded(text: string): string {
  if (ASCII.test(text)) return text.toLowerCase();
  return text
    .normalize("NFKD")
    .toLowerCase()
    .normalize("NFKD")
    .replace(MARKS, "")
    .replace(LETTER, (letter) => LETTERS[letter] ?? letter)
    .normalize("NFC");
}

/** Printable ASCII, which is the same in every Unicode form. */
const PLAIN = /^[ -~]*$/;

/**
 * Returns the form in which texts are compared: Unicode Normalization Form C. Texts that differ only in composed and
 * decomposed characters (`é`, `e` with a combining accent) are equal.
 */
export function comparable(text: string): string {
  return PLAIN.test(text) ? text : text.normalize("NFC");
}

/** Returns the form in which `contains` and `startsWith` compare texts. They also ignore case. */
export function caseless(text: string): string {
  return comparable(text.toLowerCase());
}

function cut(word: string): string {
  return word.length <= WORD_LENGTH ? word : [...word].slice(0, WORD_LENGTH).join("");
}

/**
 * Returns all pairs of neighbouring characters. `Intl.Segmenter` finds real words, but its result depends on the
 * version of the runtime.
 */
function pairsIn(run: string): string[] {
  const letters = [...run];
  return letters.slice(1).map((letter, at) => `${letters[at] ?? ""}${letter}`);
}

function* partsOf(text: string): Generator<{ part: string; dense: boolean }> {
  for (const [part, dense] of folded(text).matchAll(PARTS)) yield { part, dense: dense !== undefined };
}

/**
 * Returns the different words of a value, in lower case and without accents. In scripts without spaces, each pair of
 * neighbouring characters counts as a word, and so does the last character.
 */
export function wordsOf(text: string): Set<string> {
  const words = new Set<string>();
  for (const { part, dense } of partsOf(text)) {
    const some = dense ? [...pairsIn(part), [...part].at(-1) ?? ""] : [cut(part)];
    for (const word of some) {
      if (words.size >= MOST_WORDS) return words;
      words.add(word);
    }
  }
  return words;
}

/** Returns the words that a search asks for, in order. */
export function searchedWords(text: string): string[] {
  return [...partsOf(text)].flatMap(({ part, dense }) => {
    if (!dense) return [cut(part)];
    const pairs = pairsIn(part);
    return pairs.length === 0 ? [part] : pairs;
  });
}

/** Returns the different words of a search. The last one stays last: it may be the beginning of a word. */
export function wordsFor(text: string): string[] {
  const words = searchedWords(text);
  return [...new Set(words.slice(0, -1)), ...words.slice(-1)];
}

/** Short pieces of texts around the words that a search has found. */
import { DENSE, MARK, wordsOf } from "./words.ts";

/** A piece of a text. `match`: it is one of the words that were searched for. */
export interface SnippetPart {
  text: string;
  match?: true;
}

/** Characters before the first match, and in all. */
const BEFORE = 40;
const LENGTH = 160;

/** A run of one kind of script, with the characters inside that a search ignores. */
const TOKENS = new RegExp(
  `(${DENSE}[${DENSE.slice(1, -1)}\\p{M}]*)|(?:(?!${DENSE})[\\p{L}\\p{N}\\p{M}${MARK}])+`,
  "gu",
);

interface Span {
  from: number;
  to: number;
}

/** Returns how many of the searched words a text contains. */
export function countOf(text: string, words: readonly string[]): number {
  const found = wordsOf(text);
  return words.filter((word, at) => has(found, word, at === words.length - 1)).length;
}

function has(found: ReadonlySet<string>, word: string, isLast: boolean): boolean {
  return found.has(word) || (isLast && [...found].some((one) => one.startsWith(word)));
}

/** Returns where searched words are in a run of letters. In scripts without spaces, words are parts of a run. */
function within(run: string, at: number, isDense: boolean, words: readonly string[]): Span[] {
  if (countOf(run, words) === 0) return [];
  const parts = words.flatMap((word): Span[] => {
    const from = isDense ? run.indexOf(word) : -1;
    return from < 0 ? [] : [{ from: at + from, to: at + from + word.length }];
  });
  // A word in another Unicode form than the text cannot be located within the run.
  return parts.length > 0 ? parts : [{ from: at, to: at + run.length }];
}

/** Yields the places of the searched words in a text, in order. Those in one run may overlap. */
function* matchesIn(text: string, words: readonly string[]): Generator<Span> {
  for (const found of text.matchAll(TOKENS)) {
    const [run, dense] = found;
    const spans = within(run, found.index, dense !== undefined, words);
    yield* spans.sort((a, b) => a.from - b.from);
  }
}

/** Returns a position that does not lie between the halves of a character. */
function whole(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code <= 0xdfff ? at - 1 : at;
}

/** Returns the start of a snippet: at the beginning of a word, if there is one near. */
function startBefore(text: string, match: number): number {
  if (match <= BEFORE) return 0;
  const from = match - BEFORE;
  const space = text.slice(from, match).search(/\s/);
  return space < 0 ? whole(text, from) : from + space + 1;
}

const spaced = (text: string) => text.replace(/\s+/g, " ");

/**
 * Returns a piece of a text around the first of the searched words, with all of them in the piece marked. Without any of
 * them, the beginning of the text.
 * @param words as `wordsFor` returns them
 */
export function snippetOf(text: string, words: readonly string[]): SnippetPart[] {
  const parts: SnippetPart[] = [];
  let start: number | undefined;
  let at = 0;
  const add = (from: number, to: number, match: boolean) => {
    const piece = spaced(text.slice(from, to));
    if (piece !== "") parts.push(match ? { text: piece, match } : { text: piece });
  };
  for (const { from, to } of matchesIn(text, words)) {
    start ??= at = startBefore(text, from);
    if (from >= start + LENGTH) break;
    const begin = Math.max(at, from);
    if (to <= begin) continue;
    add(at, begin, false);
    add(begin, to, true);
    at = to;
  }
  const end = whole(text, Math.min(text.length, Math.max(at, (start ?? 0) + LENGTH)));
  add(at, end, false);
  if ((start ?? 0) > 0) parts.unshift({ text: "…" });
  if (end < text.length) parts.push({ text: "…" });
  return parts;
}

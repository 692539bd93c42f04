/** Finds the entries that contain a word. */
import { retry } from "../../kernel/retry.ts";
import type { Consistency, Store } from "../../store/types.ts";
import { openLog, pairsAdded, tooFast, WHILE_COMPACTED } from "./open.ts";
import { countBefore, type OrderedField, type Pair } from "./pages.ts";
import { pageReader } from "./read-pages.ts";
import { type Run, splitIds, termsIn, type WordRoot, wordRoots } from "./word-runs.ts";

export interface OpenedWords {
  root: WordRoot;
  /** Postings (of a word and an entry id) in the log that are not in the pages yet. */
  added: Pair[];
  /** Number of changes in the log that the pages do not include. */
  logged: number;
}

/** Reads the state of a word index. Returns undefined if the log of changes is too long to read. */
export async function openWords(store: Store, index: OrderedField): Promise<OpenedWords | undefined> {
  const opened = await openLog(store, index, wordRoots);
  if (opened === undefined) return undefined;
  const { root, changes } = opened;
  return { root, added: changes.flatMap(pairsAdded), logged: changes.length };
}

/** Reads pages of a word index by their names. */
export const readWordPages = pageReader(termsIn);

/** The words from `from` up to, but not including, `to`. */
export interface TermRange {
  from: string;
  to: string;
}

function pagesIn(run: Run, { from, to }: TermRange): Run {
  const isBefore = (end: string) => (place: Run[number]) => String(place.first.value) < end;
  return run.slice(Math.max(0, countBefore(run, isBefore(from)) - 1), countBefore(run, isBefore(to)));
}

/**
 * Returns a lower bound for the number of postings in a range of words. Does not count the first and the last page of
 * each run (sorted list), because only a part of them may be in the range.
 */
export function postingsBetween({ root: { runs } }: OpenedWords, range: TermRange): number {
  return runs.reduce((sum, run) => {
    const inner = pagesIn(run, range).slice(1, -1);
    return sum + inner.reduce((all, { pairs }) => all + pairs, 0);
  }, 0);
}

/**
 * Calls a function for each word in a range of words, with the ids of the entries that contain it. The words come in no
 * particular order.
 */
async function eachTerm(
  store: Store,
  index: OrderedField,
  { root, added }: OpenedWords,
  range: TermRange,
  each: (term: string, ids: readonly string[]) => void,
  consistency: Consistency,
): Promise<void> {
  const within = (term: string) => term >= range.from && term < range.to;
  const places = root.runs.flatMap((run) => pagesIn(run, range));
  const names = places.map(({ name }) => name);
  const pages = await readWordPages(store, index, names, consistency);
  for (const { value, id } of added) if (within(String(value))) each(String(value), [id]);
  const lost = new Map<string, Set<string>>();
  for (const name of names) {
    for (const [term, ids, gone] of pages.get(name) ?? []) {
      if (!within(term)) continue;
      const missing = lost.get(term);
      const all = splitIds(ids);
      each(term, missing === undefined ? all : all.filter((id) => !missing.has(id)));
      // Older runs (lists of postings) may still list the entries in `gone` under this word.
      if (gone !== undefined) lost.set(term, new Set([...(missing ?? []), ...splitIds(gone)]));
    }
  }
}

/**
 * Calls a function for each word in a range of words, with the ids of the entries that contain it. The words come in no
 * particular order, and an id may be repeated.
 */
export async function eachTermIn(
  store: Store,
  index: OrderedField,
  opened: OpenedWords,
  range: TermRange,
  each: (term: string, ids: readonly string[]) => void,
): Promise<void> {
  await retry(WHILE_COMPACTED, async (attempt) => {
    const state = attempt === 0 ? opened : await openWords(store, index);
    if (state === undefined) throw tooFast();
    await eachTerm(store, index, state, range, each, attempt === 0 ? "stale" : "leader");
  });
}

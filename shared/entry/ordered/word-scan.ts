/** Finds the entries that contain a word. */
import { BoundedMap } from "../../kernel/bounded-map.ts";
import { unavailable } from "../../kernel/errors.ts";
import { streams, subjects } from "../../store/subjects.ts";
import type { Consistency, Store } from "../../store/types.ts";
import { openLog, pairsAdded } from "./open.ts";
import { countBefore, type OrderedField, type Pair } from "./pages.ts";
import { PageGone, readMessages } from "./scan.ts";
import { type Run, type StoredTerm, splitIds, termsIn, type WordRoot, wordRoots } from "./word-runs.ts";

/** Maximum index pages per read. */
const PAGES_AT_ONCE = 4;
const ATTEMPTS = 8;

/** Cache of pages. Pages never change, and their names are never reused. */
const known = new BoundedMap<string, StoredTerm[]>(64);

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

/**
 * Reads pages of a word index by their names.
 * @throws PageGone if a compaction has replaced one of the pages
 */
export async function readWordPages(
  store: Store,
  index: OrderedField,
  names: readonly string[],
  consistency: Consistency,
): Promise<Map<string, StoredTerm[]>> {
  const subjectOf = (name: string) => subjects.orderedPage(index, index.field, name);
  const found = new Map<string, StoredTerm[]>();
  const missing = names.filter((name) => {
    const page = known.get(subjectOf(name));
    if (page !== undefined) found.set(name, page);
    return page === undefined;
  });
  const parts = Array.from({ length: Math.ceil(missing.length / PAGES_AT_ONCE) }, (_, part) =>
    missing.slice(part * PAGES_AT_ONCE, (part + 1) * PAGES_AT_ONCE),
  );
  const stream = streams.orb(index.orb);
  const read = await Promise.all(
    parts.map((part) => readMessages(store, stream, part.map(subjectOf), consistency)),
  );
  for (const [at, part] of parts.entries()) {
    for (const name of part) {
      const message = read[at]?.get(subjectOf(name));
      if (message === undefined || message.size === 0) throw new PageGone();
      const terms = termsIn(message);
      known.set(subjectOf(name), terms);
      found.set(name, terms);
    }
  }
  return found;
}

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
  let state: OpenedWords | undefined = opened;
  for (let attempt = 0; attempt < ATTEMPTS && state !== undefined; attempt++) {
    try {
      await eachTerm(store, index, state, range, each, attempt === 0 ? "stale" : "leader");
      return;
    } catch (error) {
      if (!(error instanceof PageGone)) throw error;
      state = await openWords(store, index);
    }
  }
  throw unavailable("a word index changes too fast");
}

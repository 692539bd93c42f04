/**
 * The word index of a schema finds entries by the words of their texts. It consists of postings: pairs of a word (term)
 * and an entry id. Writes append postings to a log, like that of an ordered index. Compactions turn the log into runs
 * (sorted lists of postings, split into pages), and merge runs of similar size. A single sorted list would be too slow:
 * the words of one text are spread over the whole list, so each write would replace almost all pages.
 *
 * A posting may be outdated, because the entry may no longer contain the word. So readers compare each posting with the
 * entry.
 */
import type { StoredMessage } from "../../store/types.ts";
import { RootParser } from "./open.ts";
import type { PagePlace, Pair } from "./pages.ts";

/** A sorted list of postings, split into pages that do not overlap. */
export type Run = PagePlace[];

export interface WordRoot {
  /** Sequence of the last change in the log that the runs include. 0 if there is no root yet. */
  upTo: number;
  /** Number of changes in the log that the pages already include. */
  dead: number;
  /** The sorted lists of terms, the newest first. Each compaction adds a list, and merges combine several of them. */
  runs: Run[];
  /** The unfinished merge, if any. */
  merge: Merge | undefined;
}

/**
 * An unfinished merge of several runs (sorted lists) into one. The run at position `at` contains the result so far. The
 * next `inputs` runs are being merged into that run.
 */
export interface Merge {
  at: number;
  inputs: number;
  /**
   * The last posting that the merge has processed. Pages of the merged runs may still contain this posting and those
   * before it.
   */
  done: Pair;
}

interface StoredWordRoot {
  v: 1;
  upTo: number;
  dead: number;
  runs: [name: string, postings: number, term: string, id: string][][];
  merge?: [at: number, inputs: number, term: string, id: string];
}

/**
 * A term as pages store it: a word, the ids of its entries, and the ids of entries that have lost the word. Spaces
 * separate ids.
 */
export type StoredTerm = [term: string, ids: string, gone?: string];

interface StoredWordPage {
  v: 1;
  terms: StoredTerm[];
}

const EMPTY: WordRoot = { upTo: 0, dead: 0, runs: [], merge: undefined };
/** Maximum parsed roots (lists of pages) in memory. The root of a large index lists thousands of pages. */
const KEPT_ROOTS = 50;

export const wordRoots = new RootParser<WordRoot>(EMPTY, wordRootOf, KEPT_ROOTS);

function wordRootOf(message: StoredMessage): WordRoot {
  const { upTo, dead, runs, merge } = message.json<StoredWordRoot>();
  const [at = 0, inputs = 0, value = "", id = ""] = merge ?? [];
  return {
    upTo,
    dead,
    runs: runs.map((run) =>
      run.map(([name, pairs, term, first]) => ({ name, pairs, first: { value: term, id: first } })),
    ),
    merge: merge === undefined ? undefined : { at, inputs, done: { value, id } },
  };
}

export function wordRootBody({ upTo, dead, runs, merge }: WordRoot): string {
  const stored: StoredWordRoot = {
    v: 1,
    upTo,
    dead,
    runs: runs.map((run) =>
      run.map(({ name, pairs, first }) => [name, pairs, String(first.value), first.id]),
    ),
    ...(merge === undefined
      ? {}
      : { merge: [merge.at, merge.inputs, String(merge.done.value), merge.done.id] }),
  };
  return JSON.stringify(stored);
}

export function wordPageBody(terms: StoredTerm[]): string {
  const stored: StoredWordPage = { v: 1, terms };
  return JSON.stringify(stored);
}

export function termsIn(message: StoredMessage): StoredTerm[] {
  return message.json<StoredWordPage>().terms;
}

export function splitIds(ids: string): string[] {
  return ids === "" ? [] : ids.split(" ");
}

export function countOf(run: Run): number {
  return run.reduce((sum, { pairs }) => sum + pairs, 0);
}

/**
 * Compaction of a word index, which finds entries by the words of their texts. A compaction moves changes from the
 * index's log into a new run (a sorted list), and merges runs.
 *
 * Each step writes pages and the root (the list of runs) in one atomic batch. The batch fails if another compaction has
 * replaced the root since. So a compaction that runs twice or crashes does no harm.
 */
import { nullIfMissing } from "../../store/pages.ts";
import { streams, subjects } from "../../store/subjects.ts";
import { type Append, Conflict, type StoredMessage } from "../../store/types.ts";
import { isTogether } from "../../store/whole.ts";
import { readPage } from "../index/index.ts";
import { changeIn } from "../model/index.ts";
import { changesOf, freedPages, writeRoot } from "./changes.ts";
import type { Compaction } from "./compact.ts";
import { comparePairs, type Pair } from "./pages.ts";
import { PageGone } from "./read-pages.ts";
import {
  countOf,
  type Run,
  type StoredTerm,
  type WordRoot,
  wordPageBody,
  wordRootBody,
  wordRoots,
} from "./word-runs.ts";
import { readWordPages } from "./word-scan.ts";
import { lastPosting, mergedTerms, pagesOfTerms, termsOfPairs } from "./word-terms.ts";

export interface WordLimits {
  /** Maximum terms (words) that one compaction takes from the log. It always takes at least one change. */
  terms: number;
  /** Maximum postings (of a word and an entry id) in a page. */
  page: number;
  /**
   * If more than this many changes of the log are also in the root (the list of pages), the compaction removes them
   * from the log.
   */
  dead: number;
  /**
   * Approximate number of postings (a word and an entry id) in a run of the lowest level. A run is a sorted list of
   * postings. The size may grow fourfold with each further level.
   */
  level: number;
  /** A compaction stops after this many merge steps. The next compaction continues the merge. */
  merges: number;
  /** Maximum pages that one merge step reads. The runs that the step merges share this number equally. */
  step: number;
}

export const WORD_LIMITS: WordLimits = {
  terms: 60_000,
  page: 4_000,
  dead: 1_000,
  level: 1_000,
  merges: 8,
  step: 24,
};

export interface WordCompaction extends Omit<Compaction, "limits"> {
  limits: WordLimits;
}

/** A merge joins this many sorted lists of similar size into one. */
const FAN_IN = 4;
/** Maximum changes per read of the log. */
const LOG_READ = 500;

interface CurrentWords {
  root: WordRoot;
  seq: number;
}

async function readLog({ deps, index, limits }: WordCompaction, upTo: number): Promise<StoredMessage[]> {
  const log = subjects.orderedLog(index, index.field);
  const messages: StoredMessage[] = [];
  for (let terms = 0, fromSeq = upTo + 1; terms < limits.terms; ) {
    const page = await readPage(deps.store, index.orb, log, { fromSeq, limit: LOG_READ });
    for (const message of page.messages) {
      if (terms >= limits.terms) return messages;
      const { adds, drops } = changeIn(message.json());
      terms += adds.length + drops.length;
      messages.push(message);
    }
    const last = page.messages.at(-1);
    if (last === undefined || page.pending === 0) break;
    fromSeq = last.seq + 1;
  }
  return messages;
}

/**
 * Moves changes from the log of a word index into a new sorted list of postings (a run), and merges some lists.
 * @returns the number of moved changes, 0 if the log has fewer than `least`
 * @throws Conflict if another compaction or another definition came first
 */
export async function compactWords(plain: WordCompaction, least: number): Promise<number> {
  const { deps, index, limits } = plain;
  const { store } = deps;
  const stream = streams.orb(index.orb);
  const message = await nullIfMissing(store.get(stream, subjects.orderedRoot(index, index.field)));
  const current: CurrentWords = { root: wordRoots.parsed(message), seq: message?.seq ?? 0 };
  const { root } = current;
  const messages = await readLog(plain, root.upTo);
  const last = messages.at(-1);
  if (last === undefined || messages.length < least) return 0;
  const compaction = { ...plain, isTogether: messages.some(isTogether) };
  const { added, gone } = await changesOf(store, index, root.upTo, messages);
  const shortens = root.dead >= limits.dead;
  const { run, pages } = written(compaction, current, termsOfPairs(added, gone));
  const { merge } = root;
  await replaceRoot(compaction, current, pages, {
    ...root,
    upTo: last.seq,
    dead: (shortens ? 0 : root.dead) + messages.length,
    ...(run.length === 0
      ? {}
      : {
          runs: [run, ...root.runs],
          merge: merge === undefined ? undefined : { ...merge, at: merge.at + 1 },
        }),
  });
  // Keep the last change that is in the root. Readers look for this change to find out whether the log is complete.
  if (shortens) await store.purge(stream, subjects.orderedLog(index, index.field), { beforeSeq: last.seq });
  for (let step = 0; step < limits.merges && (await mergeStep(compaction, current)); step++);
  return messages.length;
}

/** Returns a new run (sorted list) of postings, and the messages with its pages. */
function written(
  { index, limits }: WordCompaction,
  { root }: CurrentWords,
  terms: readonly StoredTerm[],
): { run: Run; pages: Append[] } {
  const total = root.runs.reduce((sum, run) => sum + countOf(run), 0);
  const most = Math.max(limits.page, Math.ceil(Math.sqrt(total)));
  const named = pagesOfTerms(terms, most).map((page) => ({ ...page, name: crypto.randomUUID() }));
  return {
    run: named.map(({ name, pairs, first }) => ({ name, pairs, first })),
    pages: named.map(({ name, terms: some }) => ({
      subject: subjects.orderedPage(index, index.field, name),
      data: wordPageBody(some),
    })),
  };
}

/**
 * Returns how many of the newest runs (sorted lists) to merge, or 0 if there are too few. A run's level is the
 * logarithm of its size. Merges runs of a low level first, and always at least four together.
 */
function mergeable(runs: readonly Run[], { level, step }: WordLimits): number {
  const levelOf = (run: Run) => Math.max(0, Math.floor(Math.log(countOf(run) / level) / Math.log(FAN_IN)));
  const levels = runs.map(levelOf);
  for (let most = 0; most <= Math.max(0, ...levels); most++) {
    const larger = levels.findIndex((one) => one > most);
    const count = Math.min(larger < 0 ? runs.length : larger, step);
    if (count >= FAN_IN) return count;
  }
  return 0;
}

const START: Pair = { value: null, id: "" };

/** Merges some pages of sorted lists. Returns false if there is nothing to merge. */
async function mergeStep(compaction: WordCompaction, current: CurrentWords): Promise<boolean> {
  const { limits, index } = compaction;
  let { runs, merge } = current.root;
  if (merge === undefined) {
    const inputs = mergeable(runs, limits);
    if (inputs === 0) return false;
    merge = { at: 0, inputs, done: START };
    runs = [[], ...runs];
  }
  const { at, done } = merge;
  const end = at + 1 + merge.inputs;
  const inputs = runs.slice(at + 1, end);
  const each = Math.max(1, Math.floor(limits.step / inputs.length));
  const windows = await readWindows(compaction, inputs, each);
  const lasts = windows.map((run) => run.map(lastPosting));
  const bound = inputs
    .flatMap((run, number) => (run.length > each ? (lasts[number]?.at(-1) ?? []) : []))
    .sort(comparePairs)[0];
  // A mark `gone` hides older postings (a word and an entry id) of the same entry and word. There are no older postings
  // than those of the oldest run, so drop such marks there.
  const isOldest = end === runs.length;
  const merged = mergedTerms(
    windows.map((run) => run.flat()),
    { after: done, upTo: bound },
    isOldest,
  );
  const { run, pages } = written(compaction, current, merged);
  const freed: string[] = [];
  const rest = inputs.map((input, number) =>
    input.filter(({ name }, page) => {
      const last = lasts[number]?.[page];
      const isDone = last !== undefined && (bound === undefined || comparePairs(last, bound) <= 0);
      if (isDone) freed.push(name);
      return !isDone;
    }),
  );
  const result = [...(runs[at] ?? []), ...run];
  const isLast = bound === undefined;
  const between = isLast ? [result].filter(({ length }) => length > 0) : [result, ...rest];
  await replaceRoot(compaction, current, [...pages, ...freedPages(index, freed)], {
    ...current.root,
    runs: [...runs.slice(0, at), ...between, ...runs.slice(end)],
    merge: isLast ? undefined : { ...merge, done: bound },
  });
  return true;
}

/** Reads the next pages of each list that is being merged. */
async function readWindows(
  { deps, index }: WordCompaction,
  runs: readonly Run[],
  each: number,
): Promise<StoredTerm[][][]> {
  const names = runs.map((run) => run.slice(0, each).map(({ name }) => name));
  try {
    const pages = await readWordPages(deps.store, index, names.flat(), "leader");
    return names.map((some) => some.map((name) => pages.get(name) ?? []));
  } catch (error) {
    // PageGone means that another compaction replaced a page after this compaction had read the page's name.
    throw error instanceof PageGone ? new Conflict() : error;
  }
}

/**
 * Writes the root of a word index and new pages in one batch. Then `current` contains the new root.
 * @throws Conflict if the root or the definition changed
 */
async function replaceRoot(
  compaction: WordCompaction,
  current: CurrentWords,
  messages: readonly Append[],
  root: WordRoot,
): Promise<void> {
  const next = { upTo: root.upTo, body: wordRootBody(root) };
  current.seq = await writeRoot(compaction, current.seq, messages, next);
  current.root = root;
}

/** Compacts a word index until its log is short. Returns false if another compaction is running. */
export async function compactWordsFully(compaction: WordCompaction): Promise<boolean> {
  try {
    while ((await compactWords(compaction, 1)) > 0);
    return true;
  } catch (error) {
    if (error instanceof Conflict) return false;
    throw error;
  }
}

/**
 * Merges the terms of a word index, and splits them into pages. The ids of a term stay in one string where possible,
 * because a compaction moves hundreds of thousands of ids.
 */
import type { PagePlace, Pair } from "./pages.ts";
import { type StoredTerm, splitIds } from "./word-runs.ts";

/**
 * Returns the stored form of a term, or undefined if it has no ids.
 * @param ids sorted ids of entries that contain the term
 * @param gone sorted ids of entries that no longer contain it
 */
function termOf(term: string, ids: readonly string[], gone: readonly string[]): StoredTerm | undefined {
  if (gone.length > 0) return [term, ids.join(" "), gone.join(" ")];
  return ids.length > 0 ? [term, ids.join(" ")] : undefined;
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function sortedTerms(terms: Iterable<StoredTerm | undefined>): StoredTerm[] {
  return [...terms].filter((term) => term !== undefined).sort(([a], [b]) => compareTexts(a, b));
}

/**
 * Groups the added and the removed pairs (a value and an entry id) of an index by value. Ignores an added pair that was
 * also removed.
 */
export function termsOfPairs(added: readonly Pair[], gone: readonly Pair[]): StoredTerm[] {
  const byTerm = new Map<string, { ids: Set<string>; gone: Set<string> }>();
  const of = ({ value }: Pair) => {
    const term = String(value);
    let sets = byTerm.get(term);
    if (sets === undefined) {
      sets = { ids: new Set(), gone: new Set() };
      byTerm.set(term, sets);
    }
    return sets;
  };
  for (const pair of added) of(pair).ids.add(pair.id);
  for (const pair of gone) {
    const sets = of(pair);
    sets.ids.delete(pair.id);
    sets.gone.add(pair.id);
  }
  return sortedTerms(
    [...byTerm].map(([term, sets]) => termOf(term, [...sets.ids].sort(), [...sets.gone].sort())),
  );
}

function firstId([, ids, gone = ""]: StoredTerm): string {
  const firsts = [ids, gone].filter((text) => text !== "").map((text) => text.slice(0, endOf(text, 0)));
  return firsts.sort()[0] ?? "";
}

function endOf(text: string, from: number): number {
  const space = text.indexOf(" ", from);
  return space < 0 ? text.length : space;
}

function lastId([, ids, gone = ""]: StoredTerm): string {
  const lasts = [ids, gone].map((text) => text.slice(text.lastIndexOf(" ") + 1));
  return lasts.sort()[1] ?? "";
}

/** Returns the last posting (a word and an entry id) of an index page. */
export function lastPosting(page: readonly StoredTerm[]): Pair | undefined {
  const last = page.at(-1);
  return last === undefined ? undefined : { value: last[0], id: lastId(last) };
}

function countOfIds(ids: string): number {
  if (ids === "") return 0;
  let count = 1;
  for (let at = ids.indexOf(" "); at >= 0; at = ids.indexOf(" ", at + 1)) count++;
  return count;
}

function countIn([, ids, gone = ""]: StoredTerm): number {
  return countOfIds(ids) + countOfIds(gone);
}

/** Returns a copy of an index term that keeps only the ids for which `isWanted` returns true. */
function withIds(
  [term, ids, gone = ""]: StoredTerm,
  isWanted: (id: string) => boolean,
): StoredTerm | undefined {
  return termOf(term, splitIds(ids).filter(isWanted), splitIds(gone).filter(isWanted));
}

/** A range of a word index: the postings (a word and an entry id) behind `after`, up to and including `upTo`. */
export interface Section {
  after: Pair;
  /** Undefined means the end of the index. */
  upTo: Pair | undefined;
}

function within(term: StoredTerm, { after, upTo }: Section): StoredTerm | undefined {
  const [text] = term;
  const [start, end] = [after.value === null ? undefined : String(after.value), upTo && String(upTo.value)];
  if ((start !== undefined && text < start) || (end !== undefined && text > end)) return undefined;
  if (text !== start && text !== end) return term;
  return withIds(
    term,
    (id) => (text !== start || id > after.id) && (text !== end || upTo === undefined || id <= upTo.id),
  );
}

/**
 * Merges several stored parts of one term, each with ids of entries that contain the term or have lost it.
 * @param parts the newest part first
 * @param dropsGone whether no older part exists. Marks of removed ids are then no longer needed
 */
function mergedParts(term: string, parts: readonly StoredTerm[], dropsGone: boolean): StoredTerm | undefined {
  const isPlain = parts.every(([, , gone]) => gone === undefined);
  if (isPlain) {
    const sorted =
      parts.length === 1 ? parts : [...parts].sort((a, b) => compareTexts(firstId(a), firstId(b)));
    const isApart = sorted.every((part, at) => {
      const before = sorted[at - 1];
      return before === undefined || lastId(before) < firstId(part);
    });
    if (isApart) return [term, sorted.map(([, ids]) => ids).join(" ")];
  }
  const newer = new Set<string>();
  const kept: { ids: string[]; gone: string[] } = { ids: [], gone: [] };
  for (const [at, [, ids, gone = ""]] of parts.entries()) {
    const isFirst = (id: string) => !newer.has(id);
    const [here, lost] = [splitIds(ids).filter(isFirst), splitIds(gone).filter(isFirst)];
    // Begin with the ids of the older run (a sorted list). Ids begin with the creation time, so the list is then almost
    // sorted.
    kept.ids = [...here, ...kept.ids];
    kept.gone = [...lost, ...kept.gone];
    if (at < parts.length - 1) for (const id of [...here, ...lost]) newer.add(id);
  }
  return termOf(term, kept.ids.sort(), dropsGone ? [] : kept.gone.sort());
}

/**
 * Merges several runs (sorted lists of terms), but only the part within a section.
 * @param runs the terms of each run, the newest run first
 * @param dropsGone whether `runs` contains the oldest run of the index, so that marks of removed ids are no longer
 *   needed
 */
export function mergedTerms(
  runs: readonly (readonly StoredTerm[])[],
  section: Section,
  dropsGone: boolean,
): StoredTerm[] {
  const byTerm = new Map<string, StoredTerm[]>();
  for (const run of runs) {
    for (const one of run) {
      const part = within(one, section);
      if (part === undefined) continue;
      const parts = byTerm.get(part[0]);
      if (parts === undefined) byTerm.set(part[0], [part]);
      else parts.push(part);
    }
  }
  return sortedTerms([...byTerm].map(([term, parts]) => mergedParts(term, parts, dropsGone)));
}

type Halves = [first: StoredTerm | undefined, second: StoredTerm | undefined];

/** Splits a term: the first part gets `count` postings, the second part gets the rest. */
function split(term: StoredTerm, count: number): Halves {
  const [, ids, gone = ""] = term;
  const all = [...splitIds(ids), ...splitIds(gone)].sort();
  const bound = all[count] ?? "";
  return [withIds(term, (id) => id < bound), withIds(term, (id) => id >= bound)];
}

/** A page of the word index that has no name yet. */
export interface NewPage extends Omit<PagePlace, "name"> {
  terms: StoredTerm[];
}

/** Splits terms into pages of about the same size. */
export function pagesOfTerms(terms: readonly StoredTerm[], most: number): NewPage[] {
  const total = terms.reduce((sum, term) => sum + countIn(term), 0);
  const size = Math.ceil(total / Math.max(1, Math.ceil(total / most)));
  const pages: NewPage[] = [];
  let open: NewPage | undefined;
  for (const term of terms) {
    for (let rest: StoredTerm | undefined = term; rest !== undefined; ) {
      if (open === undefined || open.pairs >= size) {
        open = { pairs: 0, first: { value: rest[0], id: firstId(rest) }, terms: [] };
        pages.push(open);
      }
      const count: number = countIn(rest);
      const room: number = size - open.pairs;
      const [head, tail]: Halves = count <= room ? [rest, undefined] : split(rest, room);
      if (head !== undefined) open.terms.push(head);
      open.pairs += Math.min(count, room);
      rest = tail;
    }
  }
  return pages;
}

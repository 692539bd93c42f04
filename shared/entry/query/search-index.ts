/** Uses the word index of a schema to find the entries that may match a search. */
import type { CompiledSchema } from "../../definition/compile.ts";
import type { Deps } from "../../deps.ts";
import { WORDS } from "../model/index.ts";
import {
  eachTermIn,
  type OpenedWords,
  type OrderedField,
  openWords,
  postingsBetween,
  type TermRange,
  tendIndex,
} from "../ordered/index.ts";
import type { Search } from "./parameters.ts";
import { isWaiting, type OrderedContext } from "./ranges.ts";
import { BEST_POINTS, pointsOf } from "./search.ts";

/**
 * Maximum postings (a word and an entry id) to read for all words of a search. More postings would not reduce the number
 * of entries much.
 */
export const MOST_POSTINGS = 50_000;
/** If at most this many entries are left, reading them costs less than reading the postings of further words. */
const FEW = 200;
/**
 * Maximum words of a search that are looked up in the index. Each entry found is then read and compared with all words.
 */
const MOST_WORDS = 10;

/** A character that sorts after all others, to form the upper end of a range of words. */
const LAST = "\uffff";

function rangesOf({ words }: Search): TermRange[] {
  return words.map((word, at) => {
    const isLast = at === words.length - 1;
    return { from: `${word} `, to: isLast ? word + LAST : `${word} ${LAST}` };
  });
}

/**
 * Returns the entries that may match a search, and the maximum relevance score (points) of each. Returns undefined if
 * the index cannot be used because it is still being built, its log is too long, or every word occurs in too many
 * entries.
 */
export async function searchIndex(
  deps: Deps,
  schema: CompiledSchema,
  context: OrderedContext | undefined,
  search: Search,
): Promise<Map<string, number> | undefined> {
  if (search.words.length === 0) return new Map();
  if (context === undefined || isWaiting(schema, context)) return undefined;
  const index: OrderedField = { orb: schema.orb, ...schema.home, field: WORDS };
  const opened = await openWords(deps.store, index);
  tendIndex(deps, context, index, opened?.logged);
  return opened === undefined ? undefined : scoresIn(deps, index, opened, search);
}

async function scoresIn(
  deps: Deps,
  index: OrderedField,
  opened: OpenedWords,
  search: Search,
): Promise<Map<string, number> | undefined> {
  const words = rangesOf(search)
    .map((range, number) => ({
      range,
      length: search.words[number]?.length,
      count: postingsBetween(opened, range),
    }))
    .filter(({ count }) => count <= MOST_POSTINGS)
    .sort((a, b) => a.count - b.count)
    .slice(0, MOST_WORDS);
  const fields = new Map(search.fields.map((field) => [field.storedName, field]));
  let scores: Map<string, number> | undefined;
  let known = 0;
  let postings = 0;
  for (const { range, length, count } of words) {
    const enough = scores !== undefined && scores.size <= FEW && count > scores.size;
    // The entries that the rarer words left are compared with all words anyway.
    if (enough || (scores !== undefined && postings + count > MOST_POSTINGS)) break;
    postings += count;
    const before: ReadonlyMap<string, number> | undefined = scores;
    const points = new Map<string, number>();
    await eachTermIn(deps.store, index, opened, range, (term, ids) => {
      const space = term.indexOf(" ");
      const field = fields.get(term.slice(space + 1));
      if (field === undefined) return;
      const some = pointsOf(field, space === length);
      for (const id of ids)
        if (before?.has(id) !== false && some > (points.get(id) ?? 0)) points.set(id, some);
    });
    scores = new Map([...points].map(([id, some]) => [id, some + (before?.get(id) ?? 0)]));
    known++;
  }
  const rest = (search.words.length - known) * BEST_POINTS;
  return scores === undefined ? undefined : new Map([...scores].map(([id, some]) => [id, some + rest]));
}

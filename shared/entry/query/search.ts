/** The query parameter `search`, and how well an entry matches it. */
import type { CompiledField } from "../../definition/compile.ts";
import type { ReadBudget } from "../../store/budget.ts";
import { wordsFor, wordsOf } from "../../texts/words.ts";
import { searchText } from "../model/index.ts";
import { type ParameterReader, QUERY_LIMITS, type Search } from "./parameters.ts";

/** Parses `search`. Returns an empty list if the parameter is invalid. */
export function readSearch(reader: ParameterReader, text: string): Search[] {
  const fields = reader.compared?.searched;
  if (fields === undefined) {
    reader.fault("search", "needs_schema", "must only be given in lists of one schema");
    return [];
  }
  if (fields.length === 0) {
    reader.fault(
      "search",
      "not_searchable",
      "is not supported here, because no field of the schema has search: true",
    );
    return [];
  }
  if ([...text].length > QUERY_LIMITS.search) {
    reader.fault("search", "too_long", `must have at most ${QUERY_LIMITS.search} characters`);
    return [];
  }
  return [{ words: wordsFor(text), fields }];
}

/**
 * Points for a word, by the type of the field that contains it. A word that only begins with the searched word gets
 * fewer points.
 */
const POINTS = { string: { whole: 4, beginning: 2 }, text: { whole: 3, beginning: 1 } } as const;

/** Maximum points of a word. */
export const BEST_POINTS = POINTS.string.whole;

export function pointsOf({ definition }: CompiledField, isWhole: boolean): number {
  const { whole, beginning } = definition.type === "string" ? POINTS.string : POINTS.text;
  return isWhole ? whole : beginning;
}

/** Work to split a text into words, for each character, and to look up a word. */
const SPLIT = 4;
const LOOKED_UP = 8;

/**
 * Returns the points of an entry in the ranking: the sum over all searched words, each counted in the field where it
 * gets the most points. 0 if a word is missing, or if the search has no words. Uses only values that the caller can
 * see, so the order of a list reveals no hidden value.
 * @param valuesOf returns the values of a field that the caller can see
 */
export function scoreOf(
  { words, fields }: Search,
  valuesOf: (field: CompiledField) => unknown[],
  work?: Pick<ReadBudget, "work">,
): number {
  const found = fields.map((field) => ({
    field,
    words: valuesOf(field).map((value) => {
      const text = searchText(field, value);
      const some = wordsOf(text);
      work?.work(SPLIT * text.length + LOOKED_UP * (some.size + words.length));
      return some;
    }),
  }));
  let score = 0;
  for (const [at, word] of words.entries()) {
    const isLast = at === words.length - 1;
    const points = found.map(({ field, words: all }) => {
      if (all.some((some) => some.has(word))) return pointsOf(field, true);
      const begins = isLast && all.some((some) => [...some].some((one) => one.startsWith(word)));
      return begins ? pointsOf(field, false) : 0;
    });
    const best = Math.max(0, ...points);
    if (best === 0) return 0;
    score += best;
  }
  return score;
}

/** Finds the words that differ between two versions of a text. */
import { diffArrays } from "diff/lib/diff/array.js";

/** A stretch of a text. `changed` says whether the other version lacks it. */
export interface Part {
  text: string;
  changed: boolean;
}

/** A stretch of a text, in both versions or in one of them. */
export interface WordChange {
  op: "keep" | "remove" | "add";
  text: string;
}

/**
 * Maximum number of words that were removed and added. Texts with more differences count as changed as a whole: finding
 * all differences would take long, and marking them would not help.
 */
const MOST = 2_000;

/** Work that all comparisons of a request may do, in words times differences. It takes less than half a second. */
const WORK = 40_000_000;

/** What comparisons may still do. */
export class WordBudget {
  #left = WORK;

  /** Returns how many differences a comparison of so many words may find. */
  most(words: number): number {
    return Math.min(MOST, Math.floor(this.#left / (words + 1)));
  }

  spend(words: number, differences: number): void {
    this.#left = Math.max(0, this.#left - words * (differences + 1));
  }
}

const segmenter =
  typeof Intl.Segmenter === "function" ? new Intl.Segmenter(undefined, { granularity: "word" }) : undefined;

/** Splits a text, in any language, into words and the characters between them. */
function wordsOf(text: string): string[] {
  if (segmenter === undefined) return text.match(/\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? [];
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}

/** Returns the stretches of both versions of a text, in their order. A removed one comes before the one that replaces it. */
export function wordChanges(before: string, after: string, budget = new WordBudget()): WordChange[] {
  const [old, now] = [wordsOf(before), wordsOf(after)];
  const words = old.length + now.length;
  const most = budget.most(words);
  const changes = diffArrays(old, now, { maxEditLength: most });
  const differences = changes?.reduce(
    (sum, { added, removed, count }) => sum + (added || removed ? count : 0),
    0,
  );
  budget.spend(words, differences ?? most);
  const whole: WordChange[] = [
    { op: "remove", text: before },
    { op: "add", text: after },
  ];
  const found = changes?.map(
    ({ value, added, removed }): WordChange => ({
      op: added ? "add" : removed ? "remove" : "keep",
      text: value.join(""),
    }),
  );
  return (found ?? whole).filter(({ text }) => text !== "");
}

/** Returns both versions of a text, each with the parts that the other lacks. */
export function compareWords(before: string, after: string): { before: Part[]; after: Part[] } {
  const changes = wordChanges(before, after);
  const side = (own: "remove" | "add") =>
    changes.flatMap(({ op, text }) => (op === "keep" || op === own ? [{ text, changed: op === own }] : []));
  return { before: side("remove"), after: side("add") };
}

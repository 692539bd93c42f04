/**
 * Decides which pages of an ordered index a compaction replaces. A level is a sorted list of pages. Each level may have
 * several times as many pairs as the one before it. So a pair is written again a few times for each level, and the
 * number of levels is the logarithm of the index's size.
 */
import { comparePairs, countBefore, type Item, type PagePlace } from "./pages.ts";

type Level = readonly PagePlace[];

/** Which levels are full; see `OrderedLimits`. */
interface LevelLimits {
  page: number;
  growth: number;
}

export function countOf(pages: Level): number {
  return pages.reduce((sum, { pairs }) => sum + pairs, 0);
}

function isOverfull(pages: Level, number: number, { page, growth }: LevelLimits): boolean {
  return countOf(pages) > page * growth ** (number + 1);
}

/** Returns the position of the first level that has more pairs than it may have, or -1. */
export function overfull(levels: readonly Level[], limits: LevelLimits): number {
  return levels.findIndex((pages, number) => isOverfull(pages, number, limits));
}

/** Moves a level that is too large down as a whole if there is no page below it. This writes no page. */
export function settled(levels: readonly PagePlace[][], limits: LevelLimits): PagePlace[][] {
  const all = [...levels];
  for (const [number, pages] of all.entries()) {
    if (!isOverfull(pages, number, limits) || (all[number + 1]?.length ?? 0) > 0) continue;
    all[number] = [];
    all[number + 1] = pages;
  }
  while (all.at(-1)?.length === 0) all.pop();
  return all;
}

/** Returns the items that belong to each page of a level, by the page's position. Begins with the first page. */
export function byPage(pages: Level, items: readonly Item[]): Map<number, Item[]> {
  return Map.groupBy(items, (item) =>
    Math.max(0, countBefore(pages, ({ first }) => comparePairs(first, item) <= 0) - 1),
  );
}

/** Chooses the pages that get the most items, as many as one step may replace. */
export function fullest(
  items: ReadonlyMap<number, Item[]>,
  most: { pages: number; items: number },
): Map<number, Item[]> {
  const sorted = [...items].sort((a, b) => b[1].length - a[1].length).slice(0, most.pages);
  const chosen = new Map<number, Item[]>();
  let count = 0;
  for (const [number, some] of sorted) {
    count += some.length;
    if (chosen.size === 0 || count <= most.items) chosen.set(number, some);
  }
  return chosen;
}

/** Adjacent pages of a level, from one position up to, but not including, another. */
export interface Window {
  from: number;
  to: number;
}

/** Adjacent pages of a level, and the items that they get. */
export interface Group extends Window {
  items: Item[];
}

/** Joins the items of adjacent pages. */
export function groupsOf(items: ReadonlyMap<number, readonly Item[]>): Group[] {
  const groups: Group[] = [];
  for (const [number, some] of [...items].sort(([a], [b]) => a - b)) {
    const open = groups.at(-1);
    if (open?.to === number) {
      open.to++;
      open.items.push(...some);
    } else groups.push({ from: number, to: number + 1, items: [...some] });
  }
  return groups;
}

/**
 * Chooses adjacent pages of a level to move into the next level: those whose pairs are the most, in comparison with the
 * pairs of the pages that they are merged with.
 * @param most maximum pages of the next level to replace. A single page may need more
 */
export function windowToMove(upper: Level, lower: Level, most: number): Window {
  const startOf = ({ first }: PagePlace) =>
    Math.max(0, countBefore(lower, (page) => comparePairs(page.first, first) <= 0) - 1);
  const starts = upper.map(startOf);
  let best: Window = { from: 0, to: 1 };
  let bestRatio = 0;
  for (const [from, start] of starts.entries()) {
    let moved = 0;
    for (let to = from + 1; to <= upper.length; to++) {
      moved += upper[to - 1]?.pairs ?? 0;
      const next = starts[to];
      const end = next === undefined ? lower.length : next + 1;
      if (to > from + 1 && (end - start > most || to - from > most)) break;
      const ratio = moved / (moved + countOf(lower.slice(start, end)));
      if (ratio > bestRatio) [best, bestRatio] = [{ from, to }, ratio];
    }
  }
  return best;
}

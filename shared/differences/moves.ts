/**
 * Returns which items keep their place when a list is put into another order: a largest possible set of items whose
 * order stays the same. All other items have moved.
 * @param positions for each item of the new order, its distinct position in the old order
 * @returns the indices of these items in the new order
 */
export function unmoved(positions: readonly number[]): Set<number> {
  // The longest increasing subsequence. `ends[n]` is the last item of the best subsequence of n + 1 items.
  const ends: number[] = [];
  const previous: number[] = [];
  const at = (index: number | undefined) => positions[index ?? -1] ?? -1;
  for (const [index, position] of positions.entries()) {
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (at(ends[middle]) < position) low = middle + 1;
      else high = middle;
    }
    previous[index] = ends[low - 1] ?? -1;
    ends[low] = index;
  }
  const kept = new Set<number>();
  for (let index = ends.at(-1) ?? -1; index >= 0; index = previous[index] ?? -1) kept.add(index);
  return kept;
}

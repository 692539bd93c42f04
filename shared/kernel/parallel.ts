/** Items that are worked on at the same time, if the caller says nothing else. */
const AT_ONCE = 16;

/**
 * Does work for each item, for some of them at the same time. After a failure, begins no further item, and waits for
 * those that have begun.
 * @param most maximum number of items that are worked on at the same time
 * @throws the error of the first item that failed, in the order of the items
 */
export async function inParallel<T>(
  items: readonly T[],
  work: (item: T, at: number) => Promise<unknown>,
  most = AT_ONCE,
): Promise<void> {
  const failures: { at: number; error: unknown }[] = [];
  const rest = items.entries();
  const some = async () => {
    for (const [at, item] of rest) {
      try {
        await work(item, at);
      } catch (error) {
        failures.push({ at, error });
      }
      if (failures.length > 0) return;
    }
  };
  await Promise.all(Array.from({ length: Math.min(most, items.length) }, some));
  const [first] = failures.sort((a, b) => a.at - b.at);
  if (first !== undefined) throw first.error;
}

/** Returns the results of work for all items, in their order. Works and fails as {@link inParallel} does. */
export async function mapInParallel<T, R>(
  items: readonly T[],
  work: (item: T) => Promise<R>,
  most?: number,
): Promise<R[]> {
  const results: R[] = [];
  await inParallel(
    items,
    async (item, at) => {
      results[at] = await work(item);
    },
    most,
  );
  return results;
}

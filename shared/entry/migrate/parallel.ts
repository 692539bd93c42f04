/** Work on several entries at the same time. */

/** Entries that are read or written at the same time. */
const PARALLEL = 16;

/** Does work for each item. After a failure, begins no further one. */
export async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<unknown>): Promise<void> {
  let next = 0;
  const some = async () => {
    try {
      for (let item = items[next++]; item !== undefined; item = items[next++]) await work(item);
    } catch (error) {
      next = items.length;
      throw error;
    }
  };
  await Promise.all(Array.from({ length: PARALLEL }, some));
}

/** Returns the results for all items in their order. Some items are worked on at the same time. */
export async function inOrder<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  await inParallel([...items.entries()], async ([at, item]) => {
    results[at] = await work(item);
  });
  return results;
}

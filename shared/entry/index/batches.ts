import { READ_BYTES, type ReadBudget } from "../../store/budget.ts";
import { TooMuch } from "../../store/types.ts";

export interface Part<W, R> {
  wanted: readonly W[];
  result: R;
}

/** Reads all items in batches that fit into memory: the larger the items, the smaller the batch. */
export async function* inBatches<W, R>(
  budget: ReadBudget,
  wanted: readonly W[],
  read: (wanted: readonly W[], maxBytes: number) => Promise<R>,
): AsyncGenerator<Part<W, R>> {
  for (let at = 0; at < wanted.length; ) {
    const part = wanted.slice(at, at + budget.fitting);
    const before = budget.spent;
    let result: R;
    try {
      result = await read(part, budget.atOnce);
    } catch (error) {
      const { atOnce } = budget;
      if (!(error instanceof TooMuch) || (part.length <= 1 && atOnce === READ_BYTES)) throw error;
      budget.atOnce = READ_BYTES;
      const fitting = Math.floor(0.9 * part.length * error.fitting * (READ_BYTES / atOnce));
      budget.fitting = Math.max(1, Math.min(fitting, part.length));
      continue;
    }
    if (part.length === budget.fitting && 2 * (budget.spent - before) < READ_BYTES) budget.fitting *= 2;
    at += part.length;
    yield { wanted: part, result };
  }
}

/** Reads the next part while the caller works with the one before it. */
export async function* ahead<T>(parts: AsyncGenerator<T>): AsyncGenerator<T> {
  try {
    for (let next = parts.next(); ; ) {
      const { done, value } = await next;
      if (done === true) return;
      next = parts.next();
      // An error is thrown when the caller asks for the part.
      next.catch(() => {});
      yield value;
    }
  } finally {
    await parts.return(undefined);
  }
}

/**
 * Begins to read several lists at the same time, and yields their parts in the order of the lists. Of the lists after
 * the current one, reads the first part only, so that few parts are in memory.
 * @param read yields the parts of one list
 * @param most number of lists that are read at the same time
 */
export async function* sideBySide<L, T>(
  lists: AsyncIterable<L>,
  read: (list: L) => AsyncGenerator<T>,
  most: number,
): AsyncGenerator<T> {
  const begun: { parts: AsyncGenerator<T>; first: Promise<IteratorResult<T, void>> }[] = [];
  async function* oldest(): AsyncGenerator<T> {
    const [one] = begun;
    if (one === undefined) return;
    for (let next = await one.first; next.done !== true; next = await one.parts.next()) yield next.value;
    begun.shift();
  }
  try {
    for await (const list of lists) {
      const parts = read(list);
      const first = parts.next();
      // An error is thrown when the caller asks for the part.
      first.catch(() => {});
      begun.push({ parts, first });
      if (begun.length >= most) yield* oldest();
    }
    while (begun.length > 0) yield* oldest();
  } finally {
    await Promise.all(begun.map(({ parts }) => parts.return(undefined)));
  }
}

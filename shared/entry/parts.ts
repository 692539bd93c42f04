/** Reads of many entries that may be large: in parts, each of which fits into the memory of a function. */
import { TooMuch } from "../store/types.ts";

/** Bytes of one read, as they are stored. */
export const READ_BYTES = 2 * 1024 * 1024;

/** What came of a part. */
interface Part<W, R> {
  wanted: readonly W[];
  result: R;
}

/**
 * Reads all that is wanted, from the first on, as many at once as can be taken.
 * @param read throws TooMuch when they are larger than {@link READ_BYTES} together, and never of a single one
 */
export async function* inParts<W, R>(
  wanted: readonly W[],
  read: (wanted: readonly W[]) => Promise<R>,
): AsyncGenerator<Part<W, R>> {
  let size = wanted.length;
  for (let at = 0; at < wanted.length; ) {
    const part = wanted.slice(at, at + size);
    let result: R;
    try {
      result = await read(part);
    } catch (error) {
      if (!(error instanceof TooMuch) || part.length <= 1) throw error;
      // Large entries lie beside large ones: the parts behind it are as small.
      size = Math.ceil(part.length / 2);
      continue;
    }
    at += part.length;
    yield { wanted: part, result };
  }
}

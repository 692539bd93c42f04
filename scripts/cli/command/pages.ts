/** Reads lists of the platform page by page. */
import { CommandError } from "./context.ts";

/** A list of the platform may have empty pages, but not so many one after the other. */
const MOST_EMPTY = 1_000;

interface Page<Item> {
  items: readonly Item[];
  nextCursor: string | null;
}

/**
 * Yields the pages of a list until the last one.
 * @param read reads the page at a cursor; the first page has none
 * @throws CommandError if the list does not end: it has the same page twice, or only empty pages
 */
export async function* pagesOf<Item, P extends Page<Item>>(
  read: (at: { cursor?: string }) => Promise<P>,
): AsyncGenerator<P> {
  let cursor: string | null = null;
  let empty = 0;
  do {
    const page: P = await read(cursor === null ? {} : { cursor });
    empty = page.items.length === 0 ? empty + 1 : 0;
    yield page;
    if ((cursor !== null && cursor === page.nextCursor) || empty > MOST_EMPTY)
      throw new CommandError("The platform answered with the same page twice. Check the address.");
    cursor = page.nextCursor;
  } while (cursor !== null);
}

import { READ_BYTES } from "../store/budget.ts";
import { scanPages } from "../store/pages.ts";
import type { Store, StoredMessage } from "../store/types.ts";
import type { Damages } from "./damage.ts";

const PAGE = 1_000;

/** Yields the messages of a stream that match a filter, in order, in pages of bounded size. */
export function pagesOf(
  store: Store,
  stream: string,
  filter: string,
  fromSeq = 1,
): AsyncGenerator<StoredMessage[]> {
  const page = { limit: PAGE, maxBytes: READ_BYTES };
  return scanPages((from) => store.scan(stream, filter, { fromSeq: from, ...page }), { fromSeq });
}

/**
 * Reads every message of a stream, so that the broker compares each with its checksum. Reports a stream that has fewer
 * messages than the broker says, if no message was added or removed meanwhile.
 * @param take receives each page
 * @returns false if the stream does not exist
 */
export async function readWhole(
  store: Store,
  stream: string,
  damages: Damages,
  take: (messages: StoredMessage[]) => void | Promise<void> = () => undefined,
): Promise<boolean> {
  const before = await store.streamInfo(stream);
  if (before === null) return false;
  let count = 0;
  for await (const messages of pagesOf(store, stream, ">")) {
    count += messages.length;
    await take(messages);
  }
  const after = await store.streamInfo(stream);
  if (after === null) return false;
  const isStill =
    before.created === after.created &&
    before.state.messages === after.state.messages &&
    before.state.last_seq === after.state.last_seq;
  if (isStill && count !== after.state.messages) {
    damages.add({
      stream,
      from: after.state.first_seq,
      to: after.state.last_seq,
      says: `the broker stores ${after.state.messages} messages, and can read only ${count} of them.`,
    });
  }
  return true;
}

/**
 * Reads a page of messages one by one. Before the broker answers a request for several messages, it counts all messages
 * that match the filter, which takes about 0.5 µs for each: 250 ms if half a million entries have a value. A request for
 * the next single message counts nothing.
 */
import type { Connection } from "../client/index.ts";
import { forget, manyOf } from "../many.ts";
import type { Page, ScanOptions, StoredMessage } from "../types.ts";
import { directNext, directSeq } from "./read.ts";

/** Maximum ratio of the messages of a page to all matching messages. Counting costs less than a page that is larger. */
const LARGEST_PART = 1 / 300;
/** Parallel requests. */
const AT_ONCE = 64;
/** Distance between two messages of a filter, as a number of messages, before it is known. */
const USUAL_GAP = 10;
/**
 * Finds messages in order, with several requests at the same time. Each request returns the first message at or after a
 * sequence number. Some requests guess where the next messages are. A message is part of the result only if a request
 * that began right behind the one before it has returned it, so none is left out.
 * @param start sequence number at which the first message is looked for
 * @returns `ended` is true if no message follows; undefined if a replica that lags behind has reported so, although
 *   another one has returned a later message
 */
export async function chain(
  next: (seq: number) => Promise<StoredMessage | null>,
  start: number,
  limit: number,
): Promise<{ messages: StoredMessage[]; ended: boolean } | undefined> {
  const messages: StoredMessage[] = [];
  const after = new Map<number, StoredMessage | null>();
  const places = new Set<number>();
  let from = start;
  let gap = USUAL_GAP;
  for (;;) {
    for (
      let found = after.get(from);
      found !== undefined && messages.length < limit;
      found = after.get(from)
    ) {
      if (found === null)
        return [...places].some((seq) => seq >= from) ? undefined : { messages, ended: true };
      messages.push(found);
      from = found.seq + 1;
    }
    if (messages.length === limit) return { messages, ended: false };
    const ahead = [...places].filter((seq) => seq >= from).sort((a, b) => a - b);
    const farthest = ahead.at(-1) ?? from - 1;
    if (places.size > 1) gap = Math.max(1, Math.floor((farthest + 1 - start) / places.size));
    const wanted = new Set([from, ...ahead.map((seq) => seq + 1)]);
    for (let i = 0; wanted.size < Math.min(AT_ONCE, limit - messages.length + ahead.length); i++)
      wanted.add(farthest + 1 + i * gap);
    const asked = [...wanted].filter((seq) => !after.has(seq)).slice(0, AT_ONCE);
    const found = await Promise.all(asked.map(next));
    for (const [at, seq] of asked.entries()) {
      const message = found[at] ?? null;
      after.set(seq, message);
      if (message !== null) places.add(message.seq);
    }
  }
}

/**
 * Reads a page one message at a time.
 * @returns undefined if it is not known that many messages match the filter, if the page is a large part of them, or if
 *   the stream has changed so much that they must be counted again
 */
export async function walk(
  connection: Connection,
  stream: string,
  filter: string,
  { fromSeq, limit, maxBytes }: ScanOptions,
): Promise<Page | undefined> {
  const many = manyOf(stream, filter);
  if (many === undefined || limit > many.count * LARGEST_PART) return undefined;
  const begins = fromSeq <= many.first.seq;
  const next = (seq: number) => directNext(connection, stream, filter, seq);
  const [first, chained] = await Promise.all([
    begins ? directSeq(connection, stream, many.first.seq) : undefined,
    chain(next, begins ? many.first.seq + 1 : fromSeq, begins ? limit - 1 : limit),
  ]);
  if (chained === undefined) return undefined;
  const { messages, ended } = chained;
  if (begins && ended) forget(stream, filter);
  if (first !== undefined) {
    const { time, subject } = many.first;
    if (first === null || first.time !== time || first.subject !== subject) {
      forget(stream, filter);
      return undefined;
    }
    messages.unshift(first);
  }
  const fitting = within(messages, maxBytes);
  const isWhole = ended && fitting === messages.length;
  return {
    messages: messages.slice(0, fitting),
    pending: isWhole ? 0 : Math.max(1, many.count - fitting),
    lastSeq: messages[fitting - 1]?.seq ?? 0,
  };
}

/** Returns how many messages fit in a number of bytes: at least one. */
function within(messages: readonly StoredMessage[], maxBytes: number): number {
  let bytes = 0;
  const over = messages.findIndex(({ size }) => {
    bytes += size;
    return bytes > maxBytes;
  });
  return over < 0 ? messages.length : Math.max(1, over);
}

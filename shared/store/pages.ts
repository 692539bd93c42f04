import { pause } from "../kernel/pause.ts";
import { type RetryPolicy, retry } from "../kernel/retry.ts";
import {
  Conflict,
  type Page,
  type ScanOptions,
  type Store,
  type StoredMessage,
  StreamMissing,
} from "./types.ts";

/**
 * Maximum retries while a replica does not have the newest messages yet. There is a limit, because the missing message
 * may have expired.
 */
const MAX_CATCH_UPS = 10;
const CATCH_UP_MS = 20;

/**
 * Yields the messages of all pages in stream order.
 * @param until last sequence number on the leader; if a replica does not have that message yet, the read is repeated
 */
export async function* scanPages(
  read: (fromSeq: number) => Promise<Pick<Page, "messages" | "pending">>,
  { fromSeq = 1, until = 0 }: { fromSeq?: number; until?: number } = {},
): AsyncGenerator<StoredMessage[]> {
  let catchUps = MAX_CATCH_UPS;
  for (let next = fromSeq; ; ) {
    const { messages, pending } = await read(next);
    yield messages;
    const last = messages.at(-1);
    if (last !== undefined) next = last.seq + 1;
    if (pending > 0 && last !== undefined) continue;
    if (next > until || catchUps-- === 0) return;
    await pause(CATCH_UP_MS);
  }
}

/** Returns the result of a read, or null if the stream or the bucket does not exist. */
export async function nullIfMissing<T>(read: Promise<T>): Promise<T | null> {
  try {
    return await read;
  } catch (error) {
    if (error instanceof StreamMissing) return null;
    throw error;
  }
}

/**
 * Yields the messages of a filter in stream order, page by page. A stream that does not exist has none.
 * @param page what each read returns at most
 * @param range see {@link scanPages}
 */
export function pagesOf(
  store: Pick<Store, "scan">,
  stream: string,
  filter: string,
  page: Pick<ScanOptions, "limit" | "maxBytes">,
  range?: { fromSeq?: number; until?: number },
): AsyncGenerator<StoredMessage[]> {
  const read = async (fromSeq: number) =>
    (await nullIfMissing(store.scan(stream, filter, { ...page, fromSeq }))) ?? { messages: [], pending: 0 };
  return scanPages(read, range);
}

/** Returns whether a write failed because another process wrote first. */
export const isConflict = (error: unknown): error is Conflict => error instanceof Conflict;

/** Returns the result of a write, or null if another process wrote first. */
export async function nullOnConflict<T>(write: Promise<T>): Promise<T | null> {
  try {
    return await write;
  } catch (error) {
    if (isConflict(error)) return null;
    throw error;
  }
}

/** Repeats a write while other processes write first, also under heavy load. */
export const ON_CONFLICT: RetryPolicy = { attempts: 24, after: isConflict };

/**
 * Repeats a write that expects an unchanged value, until no other process wrote in between. `write` must read the
 * current value on each call.
 */
export function untilWritten<T>(write: () => Promise<T>): Promise<T> {
  return retry({ attempts: 9, after: isConflict }, write);
}

/**
 * Remembers which filters matched very many messages when the broker last counted them. This only decides how messages
 * are read, so it may be outdated, and processes need not agree.
 */
import { BoundedMap } from "../kernel/bounded-map.ts";
import type { Page, StoredMessage } from "./types.ts";

/** From this many matching messages on, counting them takes the broker longer than 5 ms. */
const MANY = 20_000;
/** Filters to remember. */
const MOST_FILTERS = 10_000;
/** Milliseconds for which a number is remembered, because the messages of an index can become few. */
const REMEMBERED_MS = 60_000;

/** A filter that matched many messages when they were last counted. */
export interface Many {
  count: number;
  /** The first message. If it is still there, the stream is the same one, and nothing precedes it. */
  first: Pick<StoredMessage, "seq" | "time" | "subject">;
  /** Time until which this is remembered, in milliseconds since the epoch. */
  until: number;
}

const known = new BoundedMap<string, Many>(MOST_FILTERS);

const keyOf = (stream: string, filter: string) => `${stream} ${filter}`;

/** Remembers how many messages match a filter, if they were counted from the beginning of the stream. */
export function remember(stream: string, filter: string, fromSeq: number, { messages, pending }: Page): void {
  if (fromSeq > 1) return;
  const [first] = messages;
  const count = messages.length + pending;
  if (first === undefined || count < MANY) {
    forget(stream, filter);
    return;
  }
  const { seq, time, subject } = first;
  known.set(keyOf(stream, filter), {
    count,
    first: { seq, time, subject },
    until: Date.now() + REMEMBERED_MS,
  });
}

export function forget(stream: string, filter: string): void {
  known.delete(keyOf(stream, filter));
}

/** Returns what is remembered of a filter, or undefined if it matched few messages, or nobody has counted them. */
export function manyOf(stream: string, filter: string): Many | undefined {
  const many = known.get(keyOf(stream, filter));
  return many !== undefined && many.until > Date.now() ? many : undefined;
}

/**
 * Reads an index of entries in order of creation. An index message may be outdated, so callers must compare it with the
 * entry.
 */

import { indexBytes } from "../../store/budget.ts";
import { nullIfMissing } from "../../store/pages.ts";
import { type Home, lastToken, parsedHome, streams } from "../../store/subjects.ts";
import type { Page, ScanOptions, Store, StoredMessage } from "../../store/types.ts";

export interface IndexEntry extends Home {
  id: string;
  seq: number;
  /** Milliseconds since the epoch. */
  time?: number;
}

const MAX_WINDOW = 500;
/**
 * Typical share of the messages of one index among all messages of an application's stream. A new entry adds up to ten
 * messages, and one of them is an index message.
 */
const USUAL_DENSITY = 1 / 10;

/** Reads a page of an index. A missing stream counts as empty. */
export function readPage(
  store: Store,
  orb: string,
  filter: string,
  options: Pick<ScanOptions, "fromSeq" | "limit" | "roughly">,
): Promise<Page> {
  return pageOf(store, streams.orb(orb), filter, { ...options, maxBytes: indexBytes(options.limit) });
}

async function pageOf(store: Store, stream: string, filter: string, options: ScanOptions): Promise<Page> {
  const page = await nullIfMissing(store.scan(stream, filter, options));
  return page ?? { messages: [], pending: 0, lastSeq: 0 };
}

function placeOf(message: StoredMessage, { home, literal }: IndexScan): IndexEntry | undefined {
  if (message.size === 0) return undefined;
  const { subject, seq, time } = message;
  if (home !== undefined) {
    const id = literal === true ? message.text() : lastToken(subject);
    return { ...home, id, seq, time };
  }
  const [, , type = "", schema = "", id = ""] = subject.split(".");
  return { ...parsedHome(type, schema), id, seq, time };
}

export function placesOf(messages: readonly StoredMessage[], indexScan: IndexScan): IndexEntry[] {
  return messages.map((message) => placeOf(message, indexScan)).filter((place) => place !== undefined);
}

export interface IndexScan {
  orb: string;
  filter: string;
  /** Identifies the schema of the entries. Needed only if the subjects of the index do not contain the schema. */
  home?: Home;
  literal?: boolean;
  first: number;
  /** Read only entries with a higher sequence number than this. Backward scans ignore it. */
  after?: number;
}

/**
 * Reads several indexes. Stops early if they have more than `most` messages in total, and returns `complete: false`.
 * `reached` is the highest sequence number that was read.
 */
export async function readPlaces(
  store: Store,
  scans: readonly IndexScan[],
  most: number,
): Promise<{ places: IndexEntry[]; complete: boolean; reached: number }> {
  const places: IndexEntry[] = [];
  let count = 0;
  let reached = 0;
  const one = async (indexScan: IndexScan): Promise<void> => {
    const { orb, filter, first, after = 0 } = indexScan;
    for (let fromSeq = after + 1; count <= most; ) {
      const page = await readPage(store, orb, filter, { fromSeq, limit: first });
      places.push(...placesOf(page.messages, indexScan));
      count += page.messages.length;
      const last = page.messages.at(-1);
      reached = Math.max(reached, last?.seq ?? 0);
      if (page.pending === 0 || last === undefined) return;
      if (count + page.pending > most) count = most + 1;
      fromSeq = last.seq + 1;
    }
  };
  await Promise.all(scans.map(one));
  return { places, complete: count <= most, reached };
}

/** What {@link messagesInOrder} reads: the filter of an index, and the number of messages of the first read. */
export type MessageScan = Pick<IndexScan, "orb" | "filter" | "first">;

/** What {@link messagesBackwards} reads: messages of any size in any stream. */
interface BackwardScan {
  stream: string;
  filter: string;
  /** Number of messages of the first read. */
  first: number;
  /** Maximum bytes of a read. Default: as for an index. */
  maxBytes?: number;
}

/** Messages that a scan has read with one request. */
export interface MessageWindow {
  messages: StoredMessage[];
  /**
   * Estimated share of index messages among all messages of the stream, from 0 to 1; 0 if unknown. A backward scan uses
   * this share to estimate at which sequence number to start its next read.
   */
  density: number;
}

export interface IndexWindow extends Pick<MessageWindow, "density"> {
  places: IndexEntry[];
}

export async function* scanForwards(
  store: Store,
  indexScan: IndexScan,
  after: number,
): AsyncGenerator<IndexWindow> {
  for await (const window of messagesForwards(store, indexScan, after)) yield windowOf(window, indexScan);
}

const windowOf = ({ messages, density }: MessageWindow, indexScan: IndexScan): IndexWindow => ({
  places: placesOf(messages, indexScan),
  density,
});

async function* messagesForwards(
  store: Store,
  indexScan: MessageScan,
  after: number,
): AsyncGenerator<MessageWindow> {
  let fromSeq = after + 1;
  for (let size = indexScan.first; ; size = Math.min(MAX_WINDOW, size * 4)) {
    const page = await readPage(store, indexScan.orb, indexScan.filter, {
      fromSeq,
      limit: size,
      roughly: true,
    });
    yield { messages: page.messages, density: 0 };
    const last = page.messages.at(-1);
    if (page.pending === 0 || last === undefined) return;
    fromSeq = last.seq + 1;
  }
}

export type ScanStart = Pick<IndexWindow, "density"> & { seq: number };

/** Yields the entries of an index in order of creation, oldest or newest first. */
export async function* scanInOrder(
  store: Store,
  indexScan: IndexScan,
  descending: boolean,
  after: ScanStart | undefined,
  newest: () => Promise<ScanStart | undefined>,
): AsyncGenerator<IndexWindow> {
  for await (const window of messagesInOrder(store, indexScan, descending, after, newest))
    yield windowOf(window, indexScan);
}

/**
 * Yields the messages of an index, oldest or newest first.
 * @param newest returns where a scan begins that reads the newest message first
 */
export async function* messagesInOrder(
  store: Store,
  indexScan: MessageScan,
  descending: boolean,
  after: ScanStart | undefined,
  newest: () => Promise<ScanStart | undefined>,
): AsyncGenerator<MessageWindow> {
  if (!descending) {
    yield* messagesForwards(store, indexScan, after?.seq ?? 0);
    return;
  }
  const start = after ?? (await newest());
  const { orb, filter, first } = indexScan;
  if (start !== undefined)
    yield* messagesBackwards(store, { stream: streams.orb(orb), filter, first }, start);
}

/**
 * Yields messages newest first. The broker can read only forwards, so each page starts at an estimated earlier sequence
 * number.
 */
export async function* messagesBackwards(
  store: Store,
  { stream, filter, first, maxBytes }: BackwardScan,
  before: ScanStart,
): AsyncGenerator<MessageWindow> {
  let upper = before.seq;
  let density = before.density > 0 ? before.density : USUAL_DENSITY;
  let want = first;
  while (upper > 1) {
    const width = Math.max(1, Math.ceil((want * 1.2) / density));
    const from = Math.max(1, upper - width);
    const limit = want * 3 + 32;
    const page = await pageOf(store, stream, filter, {
      ...{ fromSeq: from, limit, roughly: true },
      maxBytes: maxBytes ?? indexBytes(limit),
    });
    const inside = page.messages.filter((message) => message.seq < upper);
    const reached = inside.at(-1)?.seq ?? from;
    if (inside.length === page.messages.length && page.pending > 0 && reached < upper - 1) {
      // The page was full before it reached `upper`, so it lacks the newest entries. Start the next attempt at a higher
      // sequence number. If one large message fills the page, this ends at the message before `upper`.
      density = Math.max(density * 2, inside.length / (reached - from + 1));
      continue;
    }
    density = Math.max(inside.length, 0.5) / (upper - from);
    upper = from;
    yield { messages: inside.reverse(), density };
    want = Math.min(MAX_WINDOW, want * 4);
  }
}

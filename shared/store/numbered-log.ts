/**
 * Reads parts of a log: a subject whose messages carry growing numbers, such as the revisions of an entry. The numbers
 * are consecutive, except that there may be a gap behind the first one. So a number's position can be estimated, and
 * no request reads the whole log.
 */
import { unavailable } from "../kernel/errors.ts";
import { pause } from "../kernel/pause.ts";
import { READ_BYTES, ReadBudget } from "./budget.ts";
import type { Place, Store, StoredMessage } from "./types.ts";

/** A message of the log. */
export interface Numbered<T> extends Place {
  value: T;
  /** Bytes as stored. */
  size: number;
}

/** A part of the log. */
export interface NumberedPage<T> {
  items: Numbered<T>[];
  /** Whether the log has more messages in this direction. */
  more: boolean;
}

/** Returns where the next page starts; null at the end. */
export function nextPlace({ items, more }: { items: readonly Place[]; more: boolean }): Place | null {
  const last = items.at(-1);
  return more && last !== undefined ? { number: last.number, seq: last.seq } : null;
}

/** Returns the first place behind a message. */
export function placeAfter({ number, seq }: Place): Place {
  return { number: number + 1, seq: seq + 1 };
}

/** The log to read, up to its last message. */
interface Log<T> {
  stream: string;
  subject: string;
  /** The last message, as the leader knows it. */
  last: Place;
  /** Returns null for a message without a number. Keep the value small: a page holds all of them. */
  parse(message: StoredMessage): { number: number; value: T } | null;
}

/** Maximum messages and bytes of a read that searches. */
const PROBE = { limit: 200, maxBytes: 256 * 1024 };
/** Bytes of messages that a descending page looks up together. */
const RUN_BYTES = 2 * READ_BYTES;
/** A search first looks this many numbers before the wanted one, which usually is in the same read. */
const FIRST_LEAD = 100;
/** Every third read of a search bisects, so that its number of reads is logarithmic however the log is distributed. */
const BISECT_EVERY = 3;

/** Retries of a lagging replica, and milliseconds between them. */
const MAX_CATCH_UPS = 10;
const CATCH_UP_MS = 10;

export class NumberedLog<T> {
  readonly #log: Log<T>;
  readonly #budget = new ReadBudget();
  readonly #store: Store;
  /** Places that reads ended at. */
  readonly #places: Place[] = [];
  #lead = FIRST_LEAD;
  #start: Promise<Numbered<T>[]> | undefined;

  constructor(store: Store, log: Log<T>) {
    this.#log = log;
    this.#store = this.#budget.charging(store);
  }

  /** Finds the message with a number. Reads about as many messages as the stream's last sequence has bits, or fewer. */
  async find(number: number): Promise<Numbered<T> | null> {
    const { last } = this.#log;
    if (number > last.number) return null;
    const [found] = await this.#search(number, number, placeAfter(last));
    return found?.number === number ? found : null;
  }

  /** Returns the number of messages. */
  async total(): Promise<number> {
    const { last } = this.#log;
    const [first, next] = await this.#oldest();
    if (first === undefined || first.seq >= last.seq) return first === undefined ? 0 : 1;
    const second = next ?? (await this.#read(first.seq + 1, 1, PROBE.maxBytes))[0];
    return second === undefined ? 1 : 2 + last.number - second.number;
  }

  /** Reads messages in ascending order. Ends early when the request's read budget is used up. @param after excluded */
  async ascending(limit: number, after?: Place): Promise<NumberedPage<T>> {
    const end = this.#log.last.seq;
    const items: Numbered<T>[] = [];
    let fromSeq = (after?.seq ?? 0) + 1;
    while (fromSeq <= end && this.#goesOn(items, limit)) {
      const read = await this.#read(fromSeq, limit - items.length, READ_BYTES);
      items.push(...read);
      fromSeq = (read.at(-1)?.seq ?? end) + 1;
    }
    return { items, more: fromSeq <= end };
  }

  /**
   * Reads messages in descending order, in runs that fit into one read. Ends early when the request's read budget is
   * used up.
   * @param before excluded; by default the page begins with the last message
   */
  async descending(limit: number, before?: Place): Promise<NumberedPage<T>> {
    const end = placeAfter(this.#log.last);
    const [oldest] = await this.#oldest();
    const items: Numbered<T>[] = [];
    let below = before === undefined || before.seq > end.seq ? end : before;
    let width = limit;
    while (oldest !== undefined && below.seq > oldest.seq && this.#goesOn(items, limit)) {
      const wanted = Math.min(width, limit - items.length, below.number - oldest.number);
      const run = await this.#run(wanted, below);
      // The gap is behind the oldest message, so only that one is left.
      if (run.items.length === 0) run.items.push(oldest);
      width = Math.max(1, Math.floor(RUN_BYTES / averageSize(run.items)));
      if (run.more) continue;
      items.push(...run.items.reverse());
      below = items.at(-1) ?? oldest;
    }
    return { items, more: oldest !== undefined && below.seq > oldest.seq };
  }

  #goesOn(items: readonly unknown[], limit: number): boolean {
    return items.length < limit && (items.length === 0 || !this.#budget.over);
  }

  /** The first messages. Those of a small log are all of it. */
  #oldest(): Promise<Numbered<T>[]> {
    this.#start ??= this.#read(1, PROBE.limit, PROBE.maxBytes);
    return this.#start;
  }

  /**
   * Reads the last messages below a place: at most `wanted`, and at least half of them unless the log has fewer. Gives
   * up, with `more`, if they are too large.
   */
  async #run(wanted: number, below: Place): Promise<NumberedPage<T>> {
    const items = await this.#search(below.number - wanted, below.number - Math.ceil(wanted / 2), below);
    for (;;) {
      const last = items.at(-1);
      const missing = last === undefined ? 0 : below.number - 1 - last.number;
      if (last === undefined || missing <= 0) return { items, more: false };
      if (averageSize(items) * (items.length + missing) > 2 * RUN_BYTES) return { items, more: true };
      const read = await this.#read(last.seq + 1, missing, READ_BYTES);
      const further = read.filter(({ seq }) => seq < below.seq);
      if (further.length === 0) return { items, more: false };
      items.push(...further);
    }
  }

  /**
   * Searches a message below a place with a number from `least` to `most`. If there is none, searches the first message
   * with a higher number. Returns it and those that came with it, in order. Interpolates between the nearest known
   * places, because writes are usually spread evenly.
   */
  async #search(least: number, most: number, below: Place): Promise<Numbered<T>[]> {
    let low: Place = { number: 0, seq: 0 };
    for (const place of this.#places) if (place.number < least && place.seq > low.seq) low = place;
    let high = below;
    let found: Numbered<T>[] = [];
    for (let turn = 1; low.seq + 1 < high.seq; turn++) {
      const range = high.seq - low.seq;
      // Each number has a sequence of its own, so a gap in the numbers is no reason to look further ahead.
      const from = Math.max(low.number, high.number - range);
      const share = ((least + most) / 2 - 0.5 - this.#lead - from) / (high.number - from);
      const guess = Math.floor(range * (turn % BISECT_EVERY === 0 ? 0.5 : share));
      const seq = low.seq + Math.max(1, Math.min(range - 1, guess));
      const read = seq === 1 ? this.#oldest() : this.#read(seq, PROBE.limit, PROBE.maxBytes);
      const page = (await read).filter((item) => item.seq < high.seq);
      const at = page.findIndex(({ number }) => number >= least);
      const first = page[at];
      if (first !== undefined && (at > 0 || first.number <= most)) return page.slice(at);
      if (first !== undefined) found = page;
      const last = page.at(-1);
      if (first === undefined && last !== undefined) low = last;
      else high = { number: first?.number ?? high.number, seq };
    }
    return found;
  }

  /**
   * Reads messages up to the last one. Retries while a lagging replica has none: the last one is always there.
   * @throws AppError unavailable if the replica does not catch up, or the log has been purged
   */
  async #read(start: number, limit: number, maxBytes: number): Promise<Numbered<T>[]> {
    const { stream, subject, last, parse } = this.#log;
    let fromSeq = start;
    for (let catchUps = MAX_CATCH_UPS; fromSeq <= last.seq; ) {
      const { messages } = await this.#store.scan(stream, subject, { fromSeq, limit, maxBytes });
      const items = messages.flatMap((message): Numbered<T>[] => {
        const parsed = message.seq > last.seq ? null : parse(message);
        return parsed === null ? [] : [{ ...parsed, seq: message.seq, size: message.size }];
      });
      const end = items.at(-1);
      if (end !== undefined) {
        this.#places.push({ number: end.number, seq: end.seq });
        this.#lead = Math.floor(items.length / 2);
        return items;
      }
      fromSeq = (messages.at(-1)?.seq ?? fromSeq - 1) + 1;
      if (messages.length > 0) continue;
      if (catchUps-- === 0) throw unavailable("a replica lags behind");
      await pause(CATCH_UP_MS);
    }
    return [];
  }
}

function averageSize(items: readonly { size: number }[]): number {
  return items.reduce((bytes, { size }) => bytes + size, 0) / items.length;
}

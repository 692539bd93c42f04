/**
 * Reads pages of a log whose messages have ascending numbers, such as the revisions of an entry. Estimates the
 * position of a message from its number, so that no request reads the whole log.
 */
import { unavailable } from "../kernel/errors.ts";
import { pause } from "../kernel/pause.ts";
import { READ_BYTES, ReadBudget, SMALL_BYTES } from "./budget.ts";
import type { Place, Store, StoredMessage } from "./types.ts";

export interface Numbered<T> extends Place {
  value: T;
  size: number;
}

export interface NumberedPage<T> {
  items: Numbered<T>[];
  more: boolean;
}

/** Returns the cursor of the next page, or null after the last page. */
export function nextPlace({ items, more }: { items: readonly Place[]; more: boolean }): Place | null {
  const last = items.at(-1);
  return more && last !== undefined ? { number: last.number, seq: last.seq } : null;
}

export function placeAfter({ number, seq }: Place): Place {
  return { number: number + 1, seq: seq + 1 };
}

interface Log<T> {
  stream: string;
  subject: string;
  last: Place;
  parse(message: StoredMessage): { number: number; value: T } | null;
}

/** Maximum messages and bytes of each read that searches for the position of a number. */
const PROBE = { limit: 200, maxBytes: 256 * 1024 };
const RUN_BYTES = 2 * READ_BYTES;
/**
 * A search starts this many messages before the estimated position. Then its first read usually includes the wanted
 * message, even if the estimate is too high.
 */
const FIRST_LEAD = 100;
/** Every third step of the search halves the range. Without this, the number of reads would have no upper bound. */
const BISECT_EVERY = 3;

/** Maximum retries while a replica does not have the newest messages yet, and milliseconds between two retries. */
const MAX_CATCH_UPS = 10;
const CATCH_UP_MS = 10;

export class NumberedLog<T> {
  readonly #log: Log<T>;
  readonly #budget = new ReadBudget();
  readonly #store: Store;
  readonly #places: Place[] = [];
  #lead = FIRST_LEAD;
  #start: Promise<Numbered<T>[]> | undefined;

  constructor(store: Store, log: Log<T>) {
    this.#log = log;
    this.#store = this.#budget.charging(store);
  }

  /** Finds a message by its number, in a logarithmic number of reads. */
  async find(number: number): Promise<Numbered<T> | null> {
    const { last } = this.#log;
    if (number > last.number) return null;
    const [found] = await this.#search(number, number, placeAfter(last));
    return found?.number === number ? found : null;
  }

  async total(): Promise<number> {
    const { last } = this.#log;
    const [first, next] = await this.#oldest();
    if (first === undefined || first.seq >= last.seq) return first === undefined ? 0 : 1;
    const second = next ?? (await this.#read(first.seq + 1, 1, PROBE.maxBytes))[0];
    return second === undefined ? 1 : 2 + last.number - second.number;
  }

  /** Reads a page in ascending order. The page may be shorter than `limit` if one request would read too many bytes. */
  async ascending(limit: number, after?: Place): Promise<NumberedPage<T>> {
    const end = this.#log.last.seq;
    const items: Numbered<T>[] = [];
    let fromSeq = (after?.seq ?? 0) + 1;
    while (fromSeq <= end && this.#goesOn(items, limit)) {
      // Most logs fit into a small read, which never waits for the reads of other requests. So begin with a small read.
      const maxBytes = items.length === 0 ? SMALL_BYTES : READ_BYTES;
      const read = await this.#read(fromSeq, limit - items.length, maxBytes);
      items.push(...read);
      fromSeq = (read.at(-1)?.seq ?? end) + 1;
    }
    return { items, more: fromSeq <= end };
  }

  /**
   * Reads a page in descending order. The page may be shorter than `limit` if one request would read too many bytes.
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

  #oldest(): Promise<Numbered<T>[]> {
    this.#start ??= this.#read(1, PROBE.limit, PROBE.maxBytes);
    return this.#start;
  }

  async #run(wanted: number, below: Place): Promise<NumberedPage<T>> {
    const items = await this.#search(below.number - wanted, below.number - Math.ceil(wanted / 2), below);
    for (;;) {
      const last = items.at(-1);
      const missing = last === undefined ? 0 : below.number - 1 - last.number;
      if (last === undefined || missing <= 0) return { items, more: false };
      const size = averageSize(items);
      if (size * (items.length + missing) > 2 * RUN_BYTES) return { items, more: true };
      const read = await this.#read(
        last.seq + 1,
        missing,
        size * missing > SMALL_BYTES ? READ_BYTES : SMALL_BYTES,
      );
      const further = read.filter(({ seq }) => seq < below.seq);
      if (further.length === 0) return { items, more: false };
      items.push(...further);
    }
  }

  /**
   * Finds a message whose number is between `least` and `most`. Returns the message and those that follow it in the
   * same read. If no message has such a number, returns messages with higher numbers. Estimates the position from the
   * numbers at both ends of the range (interpolation search).
   */
  async #search(least: number, most: number, below: Place): Promise<Numbered<T>[]> {
    let low: Place = { number: 0, seq: 0 };
    for (const place of this.#places) if (place.number < least && place.seq > low.seq) low = place;
    let high = below;
    let found: Numbered<T>[] = [];
    for (let turn = 1; low.seq + 1 < high.seq; turn++) {
      const range = high.seq - low.seq;
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
   * Reads messages from the sequence number `start` on. Retries while a replica does not have the newest messages yet.
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

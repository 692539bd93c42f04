/**
 * Limits how much one request may read. A verb that reads many messages creates a budget and reads through {@link
 * ReadBudget.charging}, which charges each read. A list whose budget is used up ends its page early. A read that cannot
 * end early fails.
 */
import { AppError } from "../kernel/errors.ts";
import { type Page, type Store, type StoredMessage, TooMuch } from "./types.ts";

const MIB = 1024 * 1024;

/** Maximum bytes of entries or other bodies per read. */
export const READ_BYTES = 2 * MIB;
/** Reads up to this many bytes do not wait for other reads (`client/read-semaphore.ts`). Most lists fit. */
export const SMALL_BYTES = MIB / 2;
/** Maximum bytes of index messages per read, whatever its limit. */
const INDEX_BYTES = 4 * MIB;
/** Maximum bytes of an index message with subject and headers; usually half of that. */
const INDEX_MESSAGE_BYTES = 512;
/** Maximum bytes of a read of one or two messages. The broker accepts messages of up to 4 MB. */
export const PAIR_BYTES = 8 * MIB;
/** Maximum bytes of a bucket that is read as a whole: definitions, handlers, stream mappings. */
export const BUCKET_BYTES = 32 * MIB;
/** Maximum bytes that one request reads to answer a query. */
export const REQUEST_BYTES = 16 * MIB;

/**
 * Returns the byte limit for reading this many index messages. A larger message comes alone, and the page ends early.
 */
export function indexBytes(messages: number): number {
  return Math.min(INDEX_BYTES, SMALL_BYTES / 8 + messages * INDEX_MESSAGE_BYTES);
}

/** Advice if nothing more specific is known about the request. */
const ADVICE =
  "Request less: a smaller limit, a narrower filter, creation order instead of a sort order, or no count.";

/** 422: the request would read more bytes than allowed and cannot be answered in parts. */
export function tooManyBytes(bytes: number, advice = ADVICE): AppError {
  const detail = `Answering this would read more than ${bytes / MIB} MiB. ${advice}`;
  return new AppError("invalid", "too_broad", detail, { data: { limitBytes: bytes } });
}

export class ReadBudget {
  readonly #bytes: number;
  #spent = 0;
  /** Number of messages that fit into one read, known after a read was too large. The next read requests this many. */
  fitting = Number.POSITIVE_INFINITY;
  /** Byte limit of the next read. Starts low and grows when a read does not fit. */
  atOnce = SMALL_BYTES;

  constructor(bytes = REQUEST_BYTES) {
    this.#bytes = bytes;
  }

  /** Bytes read so far. */
  get spent(): number {
    return this.#spent;
  }

  /** Whether the budget is used up. A list then ends its page. */
  get over(): boolean {
    return this.#spent >= this.#bytes;
  }

  charge(bytes: number): void {
    this.#spent += bytes;
  }

  /**
   * Fails if the budget is used up. For reads that cannot end early.
   * @param advice how to request less
   * @throws AppError invalid `too_broad`
   */
  require(advice?: string): void {
    if (this.over) throw tooManyBytes(this.#bytes, advice);
  }

  /** Returns the same store with reads that are charged to this budget. */
  charging(store: Store): Store {
    const one = (message: StoredMessage | null) => {
      this.charge(message?.size ?? 0);
      return message;
    };
    const all = (messages: Iterable<StoredMessage>) => {
      for (const { size } of messages) this.charge(size);
    };
    const reads: Pick<Store, "get" | "getSeq" | "getMany" | "scan"> = {
      get: (...args) => store.get(...args).then(one),
      getSeq: (...args) => store.getSeq(...args).then(one),
      getMany: (...args) =>
        store.getMany(...args).then(
          (found) => {
            all(found.values());
            return found;
          },
          (error: unknown) => {
            // The broker sent these bytes even though the read failed.
            if (error instanceof TooMuch) this.charge(args[2].maxBytes);
            throw error;
          },
        ),
      scan: (...args) =>
        store.scan(...args).then((page: Page) => {
          all(page.messages);
          return page;
        }),
    };
    // The store may be a proxy that records which of its methods are used, so read no other property.
    return new Proxy(store, {
      get: (target, name) =>
        Object.hasOwn(reads, name) ? Reflect.get(reads, name) : Reflect.get(target, name),
    });
  }
}

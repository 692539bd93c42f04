/**
 * How much one request may read. A verb that reads many messages makes a budget, and reads through {@link ReadBudget.charging}:
 * each read is charged as it comes. A list whose budget is spent ends its page early; what cannot end early is refused.
 */
import { AppError } from "../kernel/errors.ts";
import { type Page, type Store, type StoredMessage, TooMuch } from "./types.ts";

const MIB = 1024 * 1024;

/** Bytes of entries, or of other bodies, that one read brings. */
export const READ_BYTES = 2 * MIB;
/** Bytes of a read that does not wait for others (`room.ts`). Most lists fit. */
export const SMALL_BYTES = MIB / 2;
/** Bytes of index messages that one read brings, whatever its limit. */
const INDEX_BYTES = 4 * MIB;
/** Bytes that an index message takes with its subject and headers: usually half of that. */
const INDEX_MESSAGE_BYTES = 512;
/** Bytes that a read of one or two messages may bring: more than the broker takes as one (4 MB each). */
export const PAIR_BYTES = 8 * MIB;
/** Bytes of a bucket that is read as a whole: definitions, handlers, stream mappings. */
export const BUCKET_BYTES = 32 * MIB;
/** Bytes that one request reads to answer a query. */
export const REQUEST_BYTES = 16 * MIB;

/** Bytes that so many index messages may take. One that is larger comes alone, and the page ends early. */
export function indexBytes(messages: number): number {
  return Math.min(INDEX_BYTES, SMALL_BYTES / 8 + messages * INDEX_MESSAGE_BYTES);
}

/** How to ask for less, where nothing else is known of the request. */
const ADVICE =
  "Ask for less: a smaller limit, a narrower filter, creation order instead of a sort order, or no count.";

/** 422: a request would read more bytes than it may, and cannot be answered in parts. */
export function tooManyBytes(bytes: number, advice = ADVICE): AppError {
  const detail = `Answering this would read more than ${bytes / MIB} MiB. ${advice}`;
  return new AppError("invalid", "too_broad", detail, { data: { limitBytes: bytes } });
}

export class ReadBudget {
  readonly #bytes: number;
  #spent = 0;
  /** How many messages fit into one read, known once a read was too large. The next read asks for as many. */
  fitting = Number.POSITIVE_INFINITY;
  /** Bytes of the next read: few, until that was too little. */
  atOnce = SMALL_BYTES;

  constructor(bytes = REQUEST_BYTES) {
    this.#bytes = bytes;
  }

  /** Bytes that were read so far. */
  get spent(): number {
    return this.#spent;
  }

  /** Whether nothing more may be read. A list ends its page then. */
  get over(): boolean {
    return this.#spent >= this.#bytes;
  }

  charge(bytes: number): void {
    this.#spent += bytes;
  }

  /**
   * For what cannot end early.
   * @param advice how to ask for less
   * @throws AppError invalid `too_broad` when nothing more may be read
   */
  require(advice?: string): void {
    if (this.over) throw tooManyBytes(this.#bytes, advice);
  }

  /** The same store, whose reads are charged. */
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
            // The broker sent these bytes all the same.
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
    // A store may be a proxy that notes which of its methods are used: read no other property.
    return new Proxy(store, {
      get: (target, name) =>
        Object.hasOwn(reads, name) ? Reflect.get(reads, name) : Reflect.get(target, name),
    });
  }
}

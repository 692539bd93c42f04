/** Limits what one HTTP request may read from the broker. */
import { AppError } from "../kernel/errors.ts";
import { pause } from "../kernel/pause.ts";
import { type Page, type Store, type StoredMessage, TooMuch } from "./types.ts";

const MIB = 1024 * 1024;

/** Maximum bytes that one read of entries returns. */
export const READ_BYTES = 2 * MIB;
/**
 * Reads of up to this many bytes start immediately. Larger reads wait until enough memory is free
 * (`read-semaphore.ts`).
 */
export const SMALL_BYTES = MIB / 2;
const INDEX_BYTES = 4 * MIB;
const INDEX_MESSAGE_BYTES = 512;
/** Maximum bytes of a read of one or two messages. The broker accepts messages of up to 4 MB, so two always fit. */
export const PAIR_BYTES = 8 * MIB;
/** Maximum bytes of a key-value bucket that is read as a whole. */
export const BUCKET_BYTES = 32 * MIB;
export const REQUEST_BYTES = 16 * MIB;
/** Maximum number of entries that one request reads to answer a query. */
export const REQUEST_ENTRIES = 10_000;
/**
 * Maximum work of one request that compares values: about the number of characters that it compares. It takes less than
 * half a second of processor time.
 */
export const REQUEST_WORK = 32_000_000;
/** After this much work, a request lets others continue. It takes about ten milliseconds. */
const TURN = 1_000_000;

export function indexBytes(messages: number): number {
  return Math.min(INDEX_BYTES, SMALL_BYTES / 8 + messages * INDEX_MESSAGE_BYTES);
}

const ADVICE =
  "Request less: a smaller limit, a narrower filter, creation order instead of a sort order, or no count.";

/** 422: the request would read more bytes than allowed. */
export function tooManyBytes(bytes: number, advice = ADVICE): AppError {
  const detail = `Answering this would read more than ${bytes / MIB} MiB. ${advice}`;
  return new AppError("invalid", "too_broad", detail, { data: { limitBytes: bytes } });
}

function tooMuchWork(): AppError {
  const detail = `Answering this would compare too much text. ${ADVICE}`;
  return new AppError("invalid", "too_broad", detail, { data: { limitWork: REQUEST_WORK } });
}

export class ReadBudget {
  readonly #bytes: number;
  #spent = 0;
  #work = 0;
  #turn = 0;
  fitting = Number.POSITIVE_INFINITY;
  atOnce = SMALL_BYTES;

  /** Maximum number of entries that a list reads. */
  readonly entries: number;

  constructor(bytes = REQUEST_BYTES, entries = REQUEST_ENTRIES) {
    this.#bytes = bytes;
    this.entries = entries;
  }

  get spent(): number {
    return this.#spent;
  }

  /** Work that the request has done, in characters. */
  get worked(): number {
    return this.#work;
  }

  get over(): boolean {
    return this.#spent >= this.#bytes || this.exhausted;
  }

  /** Whether the request has done all the work that it may do. */
  get exhausted(): boolean {
    return this.#work >= REQUEST_WORK;
  }

  /** Counts work, in characters that are compared or converted. */
  work(characters: number): void {
    this.#work += characters;
    this.#turn += characters;
  }

  /** Lets other requests continue if this one has worked for a while. */
  async breathe(): Promise<void> {
    if (this.#turn < TURN) return;
    this.#turn = 0;
    await pause(0);
  }

  charge(bytes: number): void {
    this.#spent += bytes;
  }

  /**
   * Throws a 422 error if the request has already read its maximum number of bytes. Call this before reads that cannot
   * return a partial result.
   */
  require(advice?: string): void {
    if (this.exhausted) throw tooMuchWork();
    if (this.over) throw tooManyBytes(this.#bytes, advice);
  }

  /** Returns a store that counts the bytes of every read against this budget. */
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
            // Count these bytes too: the broker sent them, although the read then failed with `TooMuch`.
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
    return new Proxy(store, {
      get: (target, name) =>
        Object.hasOwn(reads, name) ? Reflect.get(reads, name) : Reflect.get(target, name),
    });
  }

  /**
   * Like {@link charging}, but a read fails with a 422 error once the budget is spent. Use this for many checks of one
   * request, each of which has a budget of its own.
   */
  limiting(store: Store, advice: string): Store {
    const charged = this.charging(store);
    const reads: Pick<Store, "get" | "getSeq" | "getMany" | "scan"> = {
      get: async (...args) => this.#within(advice, charged).get(...args),
      getSeq: async (...args) => this.#within(advice, charged).getSeq(...args),
      getMany: async (...args) => this.#within(advice, charged).getMany(...args),
      scan: async (...args) => this.#within(advice, charged).scan(...args),
    };
    return new Proxy(store, {
      get: (target, name) =>
        Object.hasOwn(reads, name) ? Reflect.get(reads, name) : Reflect.get(target, name),
    });
  }

  #within(advice: string, store: Store): Store {
    this.require(advice);
    return store;
  }
}

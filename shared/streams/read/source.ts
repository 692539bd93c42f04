import { AppError, notFound } from "../../kernel/errors.ts";
import { sha256 } from "../../kernel/ids.ts";
import { feedSubject, republishedFilter } from "../../store/broker/index.ts";
import { REQUEST_BYTES } from "../../store/budget.ts";
import { mayLag } from "../../store/policy.ts";
import { orbOf } from "../../store/subjects.ts";
import type { Page, Store, StoredMessage, StreamInfo } from "../../store/types.ts";
import { servedAs } from "../mappings/index.ts";
import { concat, encodeMessages, type Messages, noMessages } from "../protocol/index.ts";
import { FairSemaphore } from "./fair-semaphore.ts";
import { type Projected, projectMessages } from "./orb-messages.ts";
import type { StreamPage, StreamState } from "./page.ts";
import type { PageCache } from "./page-cache.ts";

export type PageStart = number | "beginning";

export const beginningOf = (state: Pick<StreamState, "first">): number => Math.max(0, state.first - 1);

export interface PageLimit {
  messages: number;
  bytes: number;
}

/** @param revision revision of the published definition; undefined if no application owns the stream */
function stateOf(info: StreamInfo, revision: number | undefined): StreamState {
  const { config, created, state } = info;
  const { num_deleted: deleted = 0 } = state;
  const fed = republishedFilter(config) !== undefined;
  return {
    created,
    first: state.first_seq,
    last: state.last_seq,
    signature: `${created}|${state.first_seq}|${deleted}`,
    basis: String(revision ?? ""),
    lags: mayLag(config),
    numbered: fed,
    wakeUps: (filter) => {
      // The messages come from the broker's scheduler. It announces them only under one special subject.
      if (fed) return [feedSubject(filter)];
      // A subscription to a filter that begins with a wildcard would get all messages of the broker. Subscribe to the
      // stream's own subjects instead.
      return /^[*>]/.test(filter) ? [...(config.subjects ?? [])] : [filter];
    },
  };
}

/**
 * Maximum total bytes of all pages that are being read. The broker disconnects a client for which it has to buffer too
 * much.
 */
const READING_BYTES = 16_000_000;

/**
 * Pages of an application are cached for this many milliseconds. In rare cases, a cached page still contains an entry
 * that was unpublished.
 */
const RECHECK_MS = 10_000;

/** Reads may lag behind the leader for this many milliseconds. Pages read during this time are not cached. */
const SETTLING_MS = 10_000;

export class Source {
  readonly #store: Store;
  readonly #cache: PageCache | undefined;
  readonly #now: () => number;
  readonly #reading = new FairSemaphore(READING_BYTES);
  readonly #signatures = new Map<string, { signature: string; since: number }>();

  constructor(store: Store, cache?: PageCache, now: () => number = Date.now) {
    this.#store = store;
    this.#cache = cache;
    this.#now = now;
  }

  get store(): Store {
    return this.#store;
  }

  /** @throws AppError not_found if the broker has no such stream, or its application is not published */
  async state(stream: string): Promise<StreamState> {
    const [info, served] = await Promise.all([this.#store.streamInfo(stream), servedAs(this.#store, stream)]);
    if (served === null) throw notFound("stream");
    if (info === null)
      throw notFound(
        "stream",
        "The broker stream of this mapping does not exist. A platform admin can create it or change the mapping.",
      );
    return stateOf(info, served?.revision);
  }

  /**
   * Reads a page of messages.
   * @param live true for readers of new messages. Their reads overtake reads of stored messages.
   */
  async scan(stream: string, filter: string, position: number, limit: PageLimit, live = true): Promise<Page> {
    const done = await this.#reading.take("", limit.bytes, live);
    try {
      return await this.#store.scan(stream, filter, {
        fromSeq: position + 1,
        limit: limit.messages,
        maxBytes: limit.bytes,
      });
    } finally {
      done();
    }
  }

  /**
   * Returns the parts of the messages that clients may read.
   * @param live true for readers of new messages. Their reads overtake reads of stored messages.
   */
  async present(stream: string, messages: readonly StoredMessage[], live = true): Promise<Projected> {
    const orb = orbOf(stream);
    if (orb === undefined || messages.length === 0)
      return { messages: encodeMessages(stream, messages), until: undefined, rest: undefined };
    const take = (bytes: number) => this.#reading.take("", bytes, live);
    // There are only few new messages, and a waiting reader must get them all. So do not limit their reads.
    const maxBytes = live ? Number.POSITIVE_INFINITY : REQUEST_BYTES;
    return projectMessages(this.#store, orb, messages, this.#now, take, maxBytes);
  }

  /**
   * Returns a page of messages. Reads the stream's state first: every message up to that state is in the page, unless
   * the filter skipped it.
   * @throws AppError gone if messages after the position were removed, or the position is past the end
   */
  async page(stream: string, filter: string, from: PageStart, limit: PageLimit): Promise<StreamPage> {
    const state = await this.state(stream);
    const position = from === "beginning" ? beginningOf(state) : from;
    checkRetained(state, position);
    const cache = this.#cache;
    if (cache === undefined || !this.#settled(stream, state))
      return this.#read(stream, filter, position, limit, state);
    const key = `${stream} ${filter} ${position} ${limit.messages} ${limit.bytes}`;
    return cache.get(key, state, this.#now(), (known) =>
      this.#extend(stream, filter, position, limit, state, known),
    );
  }

  /** Returns whether pages may be cached. Reads that lag may still return removed messages for a while. */
  #settled(stream: string, { signature, lags }: StreamState): boolean {
    if (!lags) return true;
    const now = this.#now();
    const known = this.#signatures.get(stream);
    if (known?.signature === signature) return now - known.since > SETTLING_MS;
    this.#signatures.set(stream, { signature, since: now });
    return false;
  }

  async #extend(
    stream: string,
    filter: string,
    position: number,
    limit: PageLimit,
    state: StreamState,
    known: StreamPage | undefined,
  ): Promise<StreamPage> {
    if (known === undefined) return this.#read(stream, filter, position, limit, state);
    const left: PageLimit = {
      messages: limit.messages - known.messages.seqs.length,
      bytes: limit.bytes - known.messages.joined.length,
    };
    if (left.messages <= 0 || left.bytes <= 0) return { ...known, upToDate: false, state };
    const more = await this.#read(stream, filter, known.next, left, state);
    const messages = concat(known.messages, more.messages);
    const until = earlier(known.until, more.until);
    return { ...more, from: position, messages, until, tag: await tagOf(stream, state, messages) };
  }

  async #read(
    stream: string,
    filter: string,
    position: number,
    limit: PageLimit,
    state: StreamState,
  ): Promise<StreamPage> {
    const about = { from: position, state, tag: state.signature, until: undefined };
    if (position >= state.last) return { ...about, messages: noMessages, next: position, upToDate: true };
    const page = await this.scan(stream, filter, position, limit, false);
    const seen = page.messages.at(-1)?.seq ?? position;
    const shown = await this.present(stream, page.messages, false);
    const until = orbOf(stream) === undefined ? undefined : earlier(shown.until, this.#now() + RECHECK_MS);
    const { messages } = shown;
    const read = { ...about, messages, until, tag: await tagOf(stream, state, messages) };
    if (shown.rest !== undefined) return { ...read, next: shown.rest - 1, upToDate: false };
    if (page.pending > 0) return { ...read, next: seen, upToDate: false };
    if (seen < state.last && !(await this.nothingLeft(stream, filter, seen, state)))
      return { ...read, next: seen, upToDate: false };
    return { ...read, next: Math.max(seen, state.last), upToDate: true };
  }

  /**
   * Returns whether no message follows a position. Asks the leader if the read may have missed the newest messages.
   */
  async nothingLeft(stream: string, filter: string, position: number, state: StreamState): Promise<boolean> {
    if (!state.lags) return true;
    return (await this.#store.nextMessage(stream, filter, position + 1)) === null;
  }
}

/** Returns the earlier of two times; undefined means never. */
const earlier = (a: number | undefined, b: number | undefined) =>
  a === undefined || b === undefined ? (a ?? b) : Math.min(a, b);

/**
 * Returns a string for the ETag header. For an application's stream, the messages that readers get also depend on the
 * definition and on the time, so the ETag is a hash of them.
 */
async function tagOf(stream: string, state: StreamState, { joined }: Messages): Promise<string> {
  // The type cast is safe, because these bytes are never in shared memory.
  return orbOf(stream) === undefined ? state.signature : sha256(joined as Uint8Array<ArrayBuffer>);
}

/** Throws 410 if the stream no longer has the messages after a position, or the position is past the end. */
export function checkRetained(state: StreamState, position: number): void {
  if (position > state.last) {
    throw new AppError(
      "gone",
      "offset_ahead",
      "This offset is past the end: the stream was recreated since. Read from the start with offset=-1.",
    );
  }
  if (position + 1 < state.first) {
    throw new AppError(
      "gone",
      "offset_expired",
      "Messages after this offset are no longer retained. Read from the start with offset=-1.",
    );
  }
}

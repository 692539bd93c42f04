/** Reading a broker stream: its state, and pages of what a filter matches. */
import { AppError, notFound } from "../errors.ts";
import { feedSubject, republishedFilter } from "../store/provision.ts";
import type { Page, Store, StreamInfo } from "../store/types.ts";
import { concat, encodeMessages, type Messages, none } from "./messages.ts";
import type { PageCache } from "./page-cache.ts";
import { isServed } from "./served.ts";

/** What matters of a stream's state. */
export interface StreamState {
  /** Position of the oldest message that is retained. */
  first: number;
  /** Position of the newest message; nothing behind it existed when this was read. */
  last: number;
  /** Changes when a message is removed, or the stream is another one of the same name. */
  signature: string;
  replicas: number;
  /** Subjects on which to listen in order to learn of a new message that a filter matches. */
  wakeUps: (filter: string) => string[];
}

/** A page of a filter, and the reader's position behind it. */
export interface StreamPage {
  messages: Messages;
  next: number;
  /** Nothing more matched when this was read. */
  upToDate: boolean;
  state: StreamState;
}

/** How much one page may hold. */
export interface PageLimit {
  messages: number;
  bytes: number;
}

function stateOf(info: StreamInfo): StreamState {
  const { config, created, state } = info;
  const { num_deleted: deleted = 0 } = state;
  const fed = republishedFilter(config) !== undefined;
  return {
    first: state.first_seq,
    last: state.last_seq,
    signature: `${created}|${state.first_seq}|${deleted}`,
    replicas: Number(config.num_replicas ?? 1),
    wakeUps: (filter) => {
      // What the broker's scheduler stores is told by republishing alone.
      if (fed) return [feedSubject(filter)];
      // A filter that begins with a wildcard would be woken by everything that the broker carries.
      return /^[*>]/.test(filter) ? [...(config.subjects ?? [])] : [filter];
    },
  };
}

/** How long a replica may lag behind the leader before its answers are kept. */
const SETTLING_MS = 10_000;

/** Reads through a store; pages are kept in the cache, if there is one, for as long as they are true. */
export class Source {
  readonly #store: Store;
  readonly #cache: PageCache | undefined;
  readonly #now: () => number;
  /** Since when each replicated stream has had its signature. */
  readonly #signatures = new Map<string, { signature: string; since: number }>();

  constructor(store: Store, cache?: PageCache, now: () => number = Date.now) {
    this.#store = store;
    this.#cache = cache;
    this.#now = now;
  }

  get store(): Store {
    return this.#store;
  }

  /** @throws AppError not_found while the broker has no such stream, or the orb whose stream it is is not published */
  async state(stream: string): Promise<StreamState> {
    const [info, served] = await Promise.all([this.#store.streamInfo(stream), isServed(this.#store, stream)]);
    if (!served) throw notFound("stream");
    if (info === null) throw notFound("stream", "The broker's stream behind this name does not exist.");
    return stateOf(info);
  }

  /** What a filter matches from a position on, without asking for the stream's state. */
  scan(stream: string, filter: string, position: number, limit: PageLimit): Promise<Page> {
    return this.#store.scan(stream, filter, {
      fromSeq: position + 1,
      limit: limit.messages,
      maxBytes: limit.bytes,
    });
  }

  /**
   * A page behind a position. The state is read first: what it calls last and the page does not show was passed over
   * by the filter.
   * @throws AppError gone when messages behind the position are not retained any more, or never were there
   */
  async page(stream: string, filter: string, position: number, limit: PageLimit): Promise<StreamPage> {
    const state = await this.state(stream);
    checkRetained(state, position);
    const cache = this.#cache;
    if (cache === undefined || !this.#settled(stream, state))
      return this.#read(stream, filter, position, limit, state);
    const key = `${stream} ${filter} ${position} ${limit.messages} ${limit.bytes}`;
    return cache.get(key, state, (known) => this.#extend(stream, filter, position, limit, state, known));
  }

  /**
   * Whether every replica has removed what the leader's state says is removed: a page that one of them answers sooner
   * may hold it still, and must not be kept.
   */
  #settled(stream: string, { signature, replicas }: StreamState): boolean {
    if (replicas <= 1) return true;
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
    return { ...more, messages: concat(known.messages, more.messages) };
  }

  async #read(
    stream: string,
    filter: string,
    position: number,
    limit: PageLimit,
    state: StreamState,
  ): Promise<StreamPage> {
    if (position >= state.last) return { messages: none, next: position, upToDate: true, state };
    const page = await this.scan(stream, filter, position, limit);
    const seen = page.messages.at(-1)?.seq ?? position;
    const messages = encodeMessages(stream, page.messages);
    if (page.pending > 0) return { messages, next: seen, upToDate: false, state };
    if (seen < state.last && !(await this.nothingLeft(stream, filter, seen, state)))
      return { messages, next: seen, upToDate: false, state };
    return { messages, next: Math.max(seen, state.last), upToDate: true, state };
  }

  /** Whether really nothing matches behind a position: a replica that lags may not have it yet, the leader has. */
  async nothingLeft(stream: string, filter: string, position: number, state: StreamState): Promise<boolean> {
    if (state.replicas <= 1) return true;
    return (await this.#store.nextMessage(stream, filter, position + 1)) === null;
  }
}

/** @throws AppError gone */
export function checkRetained(state: StreamState, position: number): void {
  if (position > state.last) {
    throw new AppError(
      "gone",
      "offset_ahead",
      "The stream was begun anew since this offset was given out. Read from the start: offset=-1.",
    );
  }
  if (position + 1 < state.first) {
    throw new AppError(
      "gone",
      "offset_expired",
      "Messages behind this offset are not kept any more. Read from the start: offset=-1.",
    );
  }
}

/** Reading a broker stream: its state, and pages of what a filter matches. */
import { AppError, notFound } from "../../kernel/errors.ts";
import { sha256 } from "../../kernel/ids.ts";
import { feedSubject, republishedFilter } from "../../store/broker/provision.ts";
import { orbOf } from "../../store/subjects.ts";
import type { Page, Store, StoredMessage, StreamInfo } from "../../store/types.ts";
import { servedAs } from "../mappings/served.ts";
import { concat, encodeMessages, type Messages, none } from "../protocol/messages.ts";
import { type Projected, projectMessages } from "./orb-messages.ts";
import type { StreamPage, StreamState } from "./page.ts";
import type { PageCache } from "./page-cache.ts";
import { Turns } from "./turns.ts";

/** Where a page begins: behind a position, or with the oldest message that there is when it is read. */
export type From = number | "beginning";

/** The position that precedes everything that is retained: nothing that could be missed. */
export const beginningOf = (state: Pick<StreamState, "first">): number => Math.max(0, state.first - 1);

/** How much one page may hold. */
export interface PageLimit {
  messages: number;
  bytes: number;
}

/** @param revision the live definition's, for an orb's stream */
function stateOf(info: StreamInfo, revision: number | undefined): StreamState {
  const { config, created, state } = info;
  const { num_deleted: deleted = 0 } = state;
  const fed = republishedFilter(config) !== undefined;
  return {
    first: state.first_seq,
    last: state.last_seq,
    signature: `${created}|${state.first_seq}|${deleted}`,
    basis: String(revision ?? ""),
    replicas: Number(config.num_replicas ?? 1),
    numbered: fed,
    wakeUps: (filter) => {
      // What the broker's scheduler stores is told by republishing alone.
      if (fed) return [feedSubject(filter)];
      // A filter that begins with a wildcard would be woken by everything that the broker carries.
      return /^[*>]/.test(filter) ? [...(config.subjects ?? [])] : [filter];
    },
  };
}

/**
 * Bytes that may be on their way from the broker at once. What it cannot send soon enough it keeps, and of a client for
 * whom it keeps too much (64 MB) it ends the connection: of all readers, as they share it.
 */
const READING_BYTES = 16_000_000;

/**
 * Milliseconds for which the cache may keep a page of an orb's stream. A write withdraws an entry and removes its copy in
 * one act, which changes the signature; but a write under an older definition may remove a copy on another role's subject.
 */
const RECHECK_MS = 10_000;

/** How long a replica may lag behind the leader before its answers are kept. */
const SETTLING_MS = 10_000;

/** Reads through a store; pages are kept in the cache, if there is one, for as long as they are true. */
export class Source {
  readonly #store: Store;
  readonly #cache: PageCache | undefined;
  readonly #now: () => number;
  readonly #reading = new Turns(READING_BYTES);
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
    const [info, served] = await Promise.all([this.#store.streamInfo(stream), servedAs(this.#store, stream)]);
    if (served === null) throw notFound("stream");
    if (info === null) throw notFound("stream", "The broker's stream behind this name does not exist.");
    return stateOf(info, served?.revision);
  }

  /**
   * What a filter matches from a position on, without asking for the stream's state.
   * @param live those who follow what is new do not wait for those who catch up
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
   * Encodes messages for readers; those of an orb's stream through its live definition.
   * @param live as in {@link scan}
   * @throws AppError not_found when the orb is not published
   */
  async present(stream: string, messages: readonly StoredMessage[], live = true): Promise<Projected> {
    const orb = orbOf(stream);
    if (orb === undefined || messages.length === 0)
      return { messages: encodeMessages(stream, messages), until: undefined };
    const take = (bytes: number) => this.#reading.take("", bytes, live);
    return projectMessages(this.#store, orb, messages, this.#now, take);
  }

  /**
   * A page behind a position. The state is read first: what it calls last and the page does not show was passed over
   * by the filter.
   * @throws AppError gone when messages behind the position are not retained any more, or never were there
   */
  async page(stream: string, filter: string, from: From, limit: PageLimit): Promise<StreamPage> {
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
    if (position >= state.last) return { ...about, messages: none, next: position, upToDate: true };
    const page = await this.scan(stream, filter, position, limit, false);
    const seen = page.messages.at(-1)?.seq ?? position;
    const shown = await this.present(stream, page.messages, false);
    const until = orbOf(stream) === undefined ? undefined : earlier(shown.until, this.#now() + RECHECK_MS);
    const { messages } = shown;
    const read = { ...about, messages, until, tag: await tagOf(stream, state, messages) };
    if (page.pending > 0) return { ...read, next: seen, upToDate: false };
    if (seen < state.last && !(await this.nothingLeft(stream, filter, seen, state)))
      return { ...read, next: seen, upToDate: false };
    return { ...read, next: Math.max(seen, state.last), upToDate: true };
  }

  /** Whether really nothing matches behind a position: a replica that lags may not have it yet, the leader has. */
  async nothingLeft(stream: string, filter: string, position: number, state: StreamState): Promise<boolean> {
    if (state.replicas <= 1) return true;
    return (await this.#store.nextMessage(stream, filter, position + 1)) === null;
  }
}

/** The earlier of two times, where undefined is never. */
const earlier = (a: number | undefined, b: number | undefined) =>
  a === undefined || b === undefined ? (a ?? b) : Math.min(a, b);

/** Removals tell pages apart, but an orb's messages also change with its definition and with time: there, the content does. */
async function tagOf(stream: string, state: StreamState, { joined }: Messages): Promise<string> {
  // Projected messages never lie in shared memory.
  return orbOf(stream) === undefined ? state.signature : sha256(joined as Uint8Array<ArrayBuffer>);
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

/**
 * The deliveries of one application to one hook. The queue delivers each revision of an entry at least once, and the
 * revisions of the same entry in order. If a delivery fails, later revisions of the same entry wait until it succeeds
 * or its attempts run out. Deliveries for other entries continue. A schedule has a queue too (see `source.ts`).
 *
 * One message stores all progress. The queue replaces it by compare-and-set after each round. A process that crashes
 * repeats at most its current round. A process that is no longer the leader cannot store its progress.
 */

import type { Deps } from "../../deps.ts";
import { inParallel } from "../../kernel/parallel.ts";
import { streams, subjects } from "../../store/subjects.ts";
import { type Append, Conflict, type StoredMessage, StreamMissing } from "../../store/types.ts";
import type { Occurrence, Source } from "./source.ts";
import {
  type DeliveryRecord,
  DONE_SECONDS,
  FAILED_SECONDS,
  type HookState,
  type LastRun,
  type Waiting,
} from "./stored.ts";

/** Maximum revisions that a queue reads in one round. */
const ROUND = 32;
const ROUND_BYTES = 2 * 1024 * 1024;
/** Maximum entries whose revisions a queue delivers at the same time. */
const AT_ONCE = 8;
/**
 * A queue reads no new revisions while this number of revisions wait for another attempt. New revisions stay in the
 * log.
 */
const WAITING_LIMIT = 100;
/** A queue skips revisions that its hook does not select. It stores its progress after this many of them. */
const SKIPPED = 500;

export interface QueueOptions {
  attempts: number;
  /** Milliseconds before the second attempt. Each later pause is four times the previous one, up to one hour. */
  retryMs: number;
  /**
   * Returns whether this process has been the leader since the queue was created. Only such a process may store
   * progress.
   */
  leads(): boolean;
  /** Returns whether this process may still deliver: it is the leader, and it is not shutting down. */
  valid(): boolean;
}

const LONGEST_MS = 3_600_000;

export function pauseAfter(attempts: number, retryMs: number): number {
  return Math.min(LONGEST_MS, retryMs * 4 ** (attempts - 1));
}

export class DeliveryQueue {
  readonly #deps: Deps;
  readonly #options: QueueOptions;
  #state: (HookState & { seq: number }) | undefined;
  #skipped = 0;
  source: Source;

  constructor(deps: Deps, source: Source, options: QueueOptions) {
    this.#deps = deps;
    this.#options = options;
    this.source = source;
  }

  /** Time of the next attempt in milliseconds since the epoch; undefined if no revision is waiting for delivery. */
  get due(): number | undefined {
    const waiting = this.#state?.waiting ?? [];
    return waiting.length === 0 ? undefined : Math.min(...firsts(waiting).map(({ at }) => at));
  }

  /** Number of revisions that are waiting for another attempt. */
  get waiting(): number {
    return this.#state?.waiting.length ?? 0;
  }

  /**
   * Delivers all revisions that are due, then stores the progress. If this fails, the next round reloads the stored
   * progress.
   * @returns whether the next round can start immediately
   */
  async round(): Promise<boolean> {
    if (!this.#options.valid()) return false;
    try {
      return await this.#round();
    } catch (error) {
      this.#state = undefined;
      // Another process has stored newer progress, or the application was deleted.
      if (error instanceof Conflict || error instanceof StreamMissing) return false;
      throw error;
    }
  }

  async #round(): Promise<boolean> {
    const { clock } = this.#deps;
    this.#state ??= await this.#load();
    const state = this.#state;
    const { source } = this;
    const page = await this.#read(state);
    const now = clock.now();
    const ready = new Set(firsts(state.waiting).flatMap(({ entry, at }) => (at <= now ? [entry] : [])));
    const chains = new Map<string, Waiting[]>();
    const left: Waiting[] = [];
    const take = (item: Waiting) => {
      if (state.waiting.some(({ entry }) => entry === item.entry) && !ready.has(item.entry)) left.push(item);
      else chains.set(item.entry, [...(chains.get(item.entry) ?? []), item]);
    };
    for (const item of state.waiting) take(item);
    const revisions = new Map<number, Occurrence>();
    for (const message of page) {
      const revision = source.isSkipped(message) ? null : source.read(message);
      if (revision === null) continue;
      revisions.set(message.seq, revision);
      take({ seq: message.seq, entry: source.keyOf(message), attempts: 0, at: 0 });
    }
    const outcome: Outcome = { over: [], left };
    const deliver = (chain: Waiting[]) => this.#deliver(chain, revisions, outcome);
    await inParallel([...chains.values()], deliver, AT_ONCE);
    // If this process was not the leader all the time, discard the progress in memory. The stored progress may now
    // differ: another process may have written it, or a restore may have replaced it.
    if (!this.#options.leads()) {
      this.#state = undefined;
      return false;
    }
    const cursor = page.at(-1)?.seq ?? state.cursor;
    this.#skipped += page.length - revisions.size;
    const waiting = outcome.left.toSorted((a, b) => a.seq - b.seq);
    if (chains.size > 0 || this.#skipped >= SKIPPED) {
      const lost = outcome.over.filter(({ error }) => error !== undefined).length;
      const delivered = (state.delivered ?? 0) + outcome.over.length - lost;
      const failed = (state.failed ?? 0) + lost;
      const last = (outcome.last?.seq ?? 0) > (state.last?.seq ?? 0) ? outcome.last : state.last;
      const progress = { origin: source.origin, cursor, waiting, delivered, failed, last };
      await this.#store({ v: 1, ...progress }, outcome.over);
    }
    // No delivery was attempted, so the progress need not be stored yet. After a crash, the next leader reads these
    // revisions again.
    else this.#state = { ...state, cursor, waiting };
    return page.length > 0 && waiting.length < WAITING_LIMIT;
  }

  async #load(): Promise<HookState & { seq: number }> {
    const { store } = this.#deps;
    const { live, id, origin, stream, since } = this.source;
    const [message, info] = await Promise.all([
      store.get(streams.hooks, subjects.hookState(live.orb, id)),
      store.streamInfo(stream),
    ]);
    const last = message === null || message.size === 0 ? undefined : message.json<HookState>();
    const stored = (last?.origin ?? "revisions") === origin ? last : undefined;
    // After a restore, the stream may be shorter than the stored progress says.
    const end = info?.state.last_seq ?? 0;
    return {
      v: 1,
      origin,
      cursor: Math.max(Math.min(stored?.cursor ?? 0, end), since),
      waiting: (stored?.waiting ?? []).filter(({ seq }) => seq > since && seq <= end),
      delivered: stored?.delivered,
      failed: stored?.failed,
      last: stored?.last,
      seq: message?.seq ?? 0,
    };
  }

  async #read({ cursor, waiting }: HookState): Promise<StoredMessage[]> {
    const limit = Math.min(ROUND, WAITING_LIMIT - waiting.length);
    if (limit <= 0) return [];
    const { stream, filter } = this.source;
    const options = { fromSeq: cursor + 1, limit, maxBytes: ROUND_BYTES };
    return (await this.#deps.store.scan(stream, filter, options)).messages;
  }

  /** Delivers the revisions of one entry in order. Stops at the first revision that must be tried again later. */
  async #deliver(
    chain: readonly Waiting[],
    known: ReadonlyMap<number, Occurrence>,
    to: Outcome,
  ): Promise<void> {
    const { attempts: most, retryMs, valid } = this.#options;
    const { clock, log } = this.#deps;
    const { live, id } = this.source;
    for (const [index, item] of chain.entries()) {
      const { seq } = item;
      const revision = known.get(seq) ?? (await this.#again(seq));
      // The revision has been purged, or the hook no longer selects it.
      if (revision === null) continue;
      if (!valid()) {
        // This process may no longer deliver. Keep the remaining revisions in the stored progress, so that the next
        // leader delivers them.
        to.left.push(...chain.slice(index));
        return;
      }
      const attempt = item.attempts + 1;
      const { wanted, error } = await outcomeOf(revision, attempt);
      if (!wanted) continue;
      if (error !== undefined && attempt < most) {
        const at = clock.now() + pauseAfter(attempt, retryMs) * (0.9 + Math.random() * 0.2);
        to.left.push({ ...item, attempts: attempt, at, error }, ...chain.slice(index + 1));
        return;
      }
      if (error !== undefined) log.warn("a delivery was given up", { orb: live.orb, hook: id, seq, error });
      const record = recordOf(revision, seq, attempt, clock.now(), error);
      to.over.push(record);
      if (revision.due !== undefined && seq > (to.last?.seq ?? 0))
        to.last = { seq, due: new Date(revision.due).toISOString(), at: record.at, attempts: attempt, error };
    }
  }

  async #again(seq: number): Promise<Occurrence | null> {
    const message = await this.#deps.store.getSeq(this.source.stream, seq);
    return message === null ? null : this.source.read(message);
  }

  async #store(state: HookState, over: readonly DeliveryRecord[]): Promise<void> {
    const { id, live } = this.source;
    const { orb } = live;
    const seq = this.#state?.seq ?? 0;
    const progress: Append = {
      subject: subjects.hookState(orb, id),
      data: JSON.stringify(state),
      expect: { seq },
      rollup: true,
    };
    const messages = [...over.map((record) => recordMessage(orb, id, record)), progress];
    this.#state = { ...state, seq: await this.#deps.store.batch(streams.hooks, messages) };
    this.#skipped = 0;
  }
}

interface Outcome {
  over: DeliveryRecord[];
  left: Waiting[];
  /** The newest tick among those that are over. */
  last?: LastRun;
}

/** Returns the earliest waiting revision of each entry. */
function firsts(waiting: readonly Waiting[]): Waiting[] {
  const found = new Map<string, Waiting>();
  for (const item of waiting) if (!found.has(item.entry)) found.set(item.entry, item);
  return [...found.values()];
}

/**
 * Attempts a delivery.
 * @returns an object. Its `wanted` is false if the delivery must be dropped, for example because the application no
 * longer has the schedule. Its `error` is present if the attempt failed.
 */
export function outcomeOf(
  occurrence: Occurrence,
  attempt: number,
): Promise<{ wanted: boolean; error?: string }> {
  return occurrence.deliver(attempt).then(
    (wanted) => ({ wanted }),
    (cause: unknown) => ({
      wanted: true,
      error: (cause instanceof Error ? cause.message : String(cause)).slice(0, 500),
    }),
  );
}

export function recordOf(
  { about }: Occurrence,
  seq: number,
  attempts: number,
  now: number,
  error: string | undefined,
): DeliveryRecord {
  return { v: 1, seq, ...about, attempts, at: new Date(now).toISOString(), error };
}

/** Returns the message that records how a delivery ended. */
export function recordMessage(orb: string, hook: string, record: DeliveryRecord): Append {
  const data = JSON.stringify(record);
  if (record.error === undefined) return { subject: subjects.hookDone(orb, hook), data, ttl: DONE_SECONDS };
  return { subject: subjects.hookFailed(orb, hook, record.seq), data, rollup: true, ttl: FAILED_SECONDS };
}

/**
 * A list whose changes are sent to clients. All clients with the same filter, sort order, language and rights share one
 * list, so that each event is computed and encoded only once.
 */
import type { Deps } from "../../deps.ts";
import {
  effectOf,
  type ListEvent,
  type ListView,
  type SnapshotPage,
  type SnapshotRest,
  snapshotOfList,
} from "../../entry/live/index.ts";
import { unavailable } from "../../kernel/errors.ts";
import { concatBytes } from "../../kernel/ids.ts";
import { readsMemory } from "../../store/policy.ts";
import type { Hub, Listener, Tail, TailEnd } from "../read/index.ts";
import { type EndReason, listEvent } from "./events.ts";
import type { ChangeFeed, ChangeStep } from "./feed.ts";
import { ListPace, type SharedPace } from "./pace.ts";
import type { PositionSigner } from "./position.ts";
import { definitionKey } from "./rights.ts";

/** An event of a list, encoded for the response. */
export interface Piece {
  seq: number;
  id: string;
  /** The revision that the event shows; undefined if the entry leaves the list. */
  revision: number | undefined;
  /** The entry's newest revision after the change; undefined if its history was erased. */
  head: number | undefined;
  /** Whether the entry was purged, so it is unknown whether the list contained it. */
  lost: boolean;
  bytes: Uint8Array;
}

/** The events of a list for the changes between two positions of the stream. */
export interface ListStep {
  from: number;
  to: number;
  upToDate: boolean;
  pieces: readonly Piece[];
  /** Reason why the clients must load the list again, such as a changed definition. Undefined if they can continue. */
  end: EndReason | undefined;
}

/** What a client knows of an entry. */
export interface Told {
  /** The revision that it shows. */
  revision: number;
  /** The entry's newest revision at that time. */
  head: number;
}

/** Entries that a client gets, encoded. */
export interface SnapshotPart {
  bytes: Uint8Array;
  /** The entries among them that may be in the changes that follow. */
  told: readonly (readonly [id: string, told: Told])[];
}

/** The entries of a list at one time. Clients that connect at about the same time share them. */
export interface ListSnapshot {
  /**
   * Clients continue with the changes after this sequence number. The snapshot may already contain some of these
   * changes.
   */
  from: number;
  /** Last sequence number of the stream when the read of the snapshot began. */
  last: number;
  /** The entries in `pieces`. */
  told: ReadonlyMap<string, Told>;
  pieces: readonly Uint8Array[];
  /** The place after the entries in `pieces`. Each client reads the remaining entries separately. */
  rest: SnapshotRest | undefined;
  /** Changes after `from` may contain revisions that were written since this time, in milliseconds since the epoch. */
  since: number;
}

export interface ListFollower {
  readonly position: number;
  deliver(step: ListStep): void;
  end(reason: TailEnd | "slow"): void;
}

export interface LiveListOptions {
  deps: Deps;
  hub: Hub;
  view: ListView;
  feed: ChangeFeed;
  signer: PositionSigner;
  /** The turn that all lists of the host share to compare changes with their filters. */
  pace: SharedPace;
  /** Called when the last client has left. */
  unused: () => void;
}

/** Clients that connect within this many milliseconds share a snapshot. */
const SHARED_MS = 1_000;
/** A cache or a replica may lag behind the leader for this many milliseconds. */
const LAG_MS = 10_000;
/** The clocks of two hosts may differ by this many milliseconds. */
const SKEW_MS = 60_000;
/** Size in bytes of the pieces in which a snapshot is encoded. A slow client then keeps only one piece in memory. */
const PIECE_BYTES = 64_000;
/**
 * A list that has compared more than it may sends its events later. If more changes than this wait, its responses end.
 * The clients then continue from their last events, page by page, so no change has to wait in memory.
 */
const MOST_WAITING = 200;
/** Maximum entries, bytes and pages of a shared snapshot. It stays in memory while clients receive it. */
const SHARED = { entries: 10_000, bytes: 16_000_000, pages: 20 };

function snapshotEvent({ entry }: SnapshotPage["entries"][number]): Uint8Array {
  return listEvent({ type: "upsert", entry }, undefined);
}

export class LiveList implements Listener<ChangeStep> {
  readonly view: ListView;
  readonly signer: PositionSigner;
  readonly feed: ChangeFeed;
  readonly #o: LiveListOptions;
  readonly #followers = new Set<ListFollower>();
  readonly #attached = new Set<ListFollower>();
  readonly #steps = new WeakMap<ChangeStep, Promise<ListStep>>();
  #snapshot: { at: number; read: Promise<ListSnapshot> } | undefined;
  #tail: Promise<Tail<ChangeStep>> | undefined;
  /** All attached clients have received every change up to this sequence number. */
  #position = 0;
  #delivering = Promise.resolve();
  readonly #pace: ListPace;
  /** Number of changes that wait to be compared. */
  #waiting = 0;

  constructor(options: LiveListOptions) {
    this.#o = options;
    this.view = options.view;
    this.feed = options.feed;
    this.signer = options.signer;
    this.#pace = new ListPace(options.pace, () => options.hub.now());
  }

  /**
   * Adds a client. When the promise resolves, the client receives every change. The caller must release the client in
   * the end.
   */
  async hold(follower: ListFollower): Promise<void> {
    this.#followers.add(follower);
    this.#tail ??= this.#listen();
    await this.#tail;
  }

  async #listen(): Promise<Tail<ChangeStep>> {
    try {
      const tail = await this.feed.tail(this);
      this.#position = tail.position;
      if (!tail.attach(this, this.#position)) throw unavailable("the tail has ended");
      return tail;
    } catch (error) {
      this.#tail = undefined;
      throw error;
    }
  }

  /**
   * Starts to deliver new changes to a client. Returns false if the client must first read another page of earlier
   * changes.
   */
  attach(follower: ListFollower): boolean {
    if (!this.#followers.has(follower) || follower.position < this.#position) return false;
    this.#attached.add(follower);
    return true;
  }

  release(follower: ListFollower): void {
    this.#attached.delete(follower);
    if (!this.#followers.delete(follower) || this.#followers.size > 0) return;
    const tail = this.#tail;
    this.#tail = undefined;
    tail?.then(
      (held) => {
        if (this.#followers.size === 0) held.release(this);
      },
      () => undefined,
    );
    this.#o.unused();
  }

  deliver(step: ChangeStep): void {
    if (this.#pace.isLate && this.#waiting > MOST_WAITING) this.#endAll("slow");
    this.#waiting += step.size;
    this.#delivering = this.#delivering.then(async () => {
      this.#waiting -= step.size;
      if (this.#attached.size === 0) {
        this.#position = step.to;
        return;
      }
      try {
        const made = await this.stepOf(step);
        this.#position = made.to;
        for (const follower of this.#attached) follower.deliver(made);
      } catch {
        // End all responses. Each client then reconnects with its position. If the error persists, the client gets it
        // as a response.
        this.#endAll("broker_lost");
      }
    });
  }

  /** Called when the tail has ended. */
  end(reason: TailEnd): void {
    this.#tail = undefined;
    this.#endAll(reason);
  }

  #endAll(reason: TailEnd | "slow"): void {
    for (const follower of [...this.#followers]) follower.end(reason);
  }

  async page(from: number): Promise<ListStep> {
    return this.stepOf(await this.feed.page(from));
  }

  stepOf(step: ChangeStep): Promise<ListStep> {
    let made = this.#steps.get(step);
    if (made === undefined) {
      made = this.#make(step);
      this.#steps.set(step, made);
    }
    return made;
  }

  async #make({ from, to, upToDate, changes, live }: ChangeStep): Promise<ListStep> {
    const { view } = this;
    const now = this.#o.hub.now();
    const pieces: Piece[] = [];
    const { orb, schema } = view.reading;
    const same = live !== null && (await definitionKey(live, schema)) === (await definitionKey(orb, schema));
    if (!same) return { from, to, upToDate, pieces, end: "definition_changed" };
    for (const change of changes) {
      const effect = await effectOf(view, change, now, this.#pace);
      await this.#pace.breathe();
      if (effect === undefined) continue;
      const { seq, id } = change;
      const head = change.after?.head.revision;
      const lost = effect.type === "lost";
      const event: ListEvent = lost ? { type: "leave", id } : effect;
      const revision = event.type === "upsert" ? event.entry.revision : undefined;
      pieces.push({
        seq,
        id,
        revision,
        head,
        lost,
        bytes: listEvent(event, await this.signer.idAt(seq, now)),
      });
    }
    return { from, to, upToDate, pieces, end: undefined };
  }

  snapshot(): Promise<ListSnapshot> {
    const now = this.#o.hub.now();
    if (this.#snapshot !== undefined && now - this.#snapshot.at < SHARED_MS) return this.#snapshot.read;
    const read = this.#readSnapshot();
    const mine = { at: now, read };
    this.#snapshot = mine;
    const forget = () => {
      if (this.#snapshot === mine) this.#snapshot = undefined;
    };
    read.then(() => setTimeout(forget, SHARED_MS), forget);
    return read;
  }

  async #readSnapshot(): Promise<ListSnapshot> {
    const { hub, deps } = this.#o;
    const state = await hub.source.state(this.feed.stream);
    const lags = state.lags || readsMemory(deps.store);
    const from = lags ? await this.#before(state.last, hub.now() - LAG_MS) : state.last;
    const since = hub.now() - LAG_MS - SKEW_MS;
    const told = new Map<string, Told>();
    const pieces: Uint8Array[] = [];
    let open: Uint8Array[] = [];
    let held = 0;
    let bytes = 0;
    let pages = 0;
    let rest: SnapshotRest | undefined;
    const close = () => {
      if (open.length > 0) pieces.push(concatBytes(open));
      open = [];
      held = 0;
    };
    for await (const { entries, rest: next } of snapshotOfList(deps, this.view)) {
      for (const read of entries) {
        const piece = snapshotEvent(read);
        told.set(read.entry.id, { revision: read.entry.revision, head: read.head });
        open.push(piece);
        held += piece.length;
        bytes += piece.length;
        if (held > PIECE_BYTES) close();
      }
      if (told.size < SHARED.entries && bytes < SHARED.bytes && ++pages < SHARED.pages) continue;
      rest = next;
      break;
    }
    close();
    return { from, last: state.last, told, pieces, rest, since };
  }

  /**
   * Yields the entries that a snapshot left out, one page at a time. A page can be empty.
   * @param since time of the oldest revision that may be in the changes that follow
   */
  async *after(rest: SnapshotRest, since: number): AsyncGenerator<SnapshotPart> {
    for await (const { entries } of snapshotOfList(this.#o.deps, this.view, rest)) {
      const told = entries
        .filter(({ writtenAt }) => writtenAt >= since)
        .map(({ entry: { id, revision }, head }) => [id, { revision, head }] as const);
      yield { bytes: concatBytes(entries.map(snapshotEvent)), told };
    }
  }

  /** Returns the sequence number of a position in the stream that is older than the given time. 0 is the start. */
  async #before(last: number, time: number): Promise<number> {
    for (let back = 16; back < last; back *= 4) {
      const message = await this.#o.deps.store.nextMessage(this.feed.stream, ">", last - back);
      if (message === null || message.time < time) return last - back;
    }
    return 0;
  }
}

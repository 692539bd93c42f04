/**
 * A list whose changes are sent to clients. All clients with the same filter, sort order, language and rights share one
 * list, so that each event is computed and encoded only once.
 */
import type { Deps } from "../../deps.ts";
import { effectOf, type ListEvent, type ListView } from "../../entry/live/judge.ts";
import { type SnapshotPage, snapshotOfList } from "../../entry/live/snapshot.ts";
import { unavailable } from "../../kernel/errors.ts";
import { concatBytes } from "../../kernel/ids.ts";
import type { Hub } from "../read/hub.ts";
import type { Listener, Tail, TailEnd } from "../read/tail.ts";
import { type EndReason, listEvent } from "./events.ts";
import type { ChangeFeed, ChangeStep } from "./feed.ts";
import type { PositionSigner } from "./position.ts";
import { definitionKey } from "./rights.ts";

/** An event of a list, encoded for the response. */
export interface Piece {
  seq: number;
  id: string;
  /** The revision that the event shows; undefined if the entry leaves the list. */
  revision: number | undefined;
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

/** The entries of a list at one time. Clients that connect at about the same time share them. */
export interface ListSnapshot {
  /**
   * Clients continue with the changes after this sequence number. The snapshot may already contain some of these
   * changes.
   */
  from: number;
  /** Last sequence number of the stream when the read of the snapshot began. */
  last: number;
  /** The revision number of each entry in `pieces`. */
  revisions: ReadonlyMap<string, number>;
  pieces: readonly Uint8Array[];
  /** Cursor after the entries in `pieces`. Each client reads the remaining entries separately. */
  rest: string | undefined;
}

export interface ListFollower {
  readonly position: number;
  deliver(step: ListStep): void;
  end(reason: TailEnd): void;
}

export interface LiveListOptions {
  deps: Deps;
  hub: Hub;
  view: ListView;
  feed: ChangeFeed;
  signer: PositionSigner;
  /** Called when the last client has left. */
  unused: () => void;
}

/** Clients that connect within this many milliseconds share a snapshot. */
const SHARED_MS = 1_000;
/** A cache or a replica may lag behind the leader for this many milliseconds. */
const LAG_MS = 10_000;
/** Size in bytes of the pieces in which a snapshot is encoded. A slow client then keeps only one piece in memory. */
const PIECE_BYTES = 64_000;
/** Maximum entries, bytes and pages of a shared snapshot. It stays in memory while clients receive it. */
const SHARED = { entries: 10_000, bytes: 16_000_000, pages: 20 };

function snapshotEvent(entry: SnapshotPage["entries"][number]): Uint8Array {
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

  constructor(options: LiveListOptions) {
    this.#o = options;
    this.view = options.view;
    this.feed = options.feed;
    this.signer = options.signer;
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
    this.#delivering = this.#delivering.then(async () => {
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

  #endAll(reason: TailEnd): void {
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
    const same =
      live !== null &&
      (await definitionKey(live, view.schema)) === (await definitionKey(view.orb, view.schema));
    if (!same) return { from, to, upToDate, pieces, end: "definition_changed" };
    for (const change of changes) {
      const effect = await effectOf(view, change, now);
      if (effect === undefined) continue;
      const { seq, id } = change;
      const lost = effect.type === "lost";
      const event: ListEvent = lost ? { type: "leave", id } : effect;
      const revision = event.type === "upsert" ? event.entry.revision : undefined;
      pieces.push({ seq, id, revision, lost, bytes: listEvent(event, await this.signer.idAt(seq, now)) });
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
    const lags = state.replicas > 1 || deps.store.isCached === true;
    const from = lags ? await this.#before(state.last, hub.now() - LAG_MS) : state.last;
    const revisions = new Map<string, number>();
    const pieces: Uint8Array[] = [];
    let open: Uint8Array[] = [];
    let held = 0;
    let bytes = 0;
    let pages = 0;
    let rest: string | undefined;
    const close = () => {
      if (open.length > 0) pieces.push(concatBytes(open));
      open = [];
      held = 0;
    };
    for await (const { entries, next } of snapshotOfList(deps, this.view)) {
      for (const entry of entries) {
        const piece = snapshotEvent(entry);
        revisions.set(entry.id, entry.revision);
        open.push(piece);
        held += piece.length;
        bytes += piece.length;
        if (held > PIECE_BYTES) close();
      }
      if (revisions.size < SHARED.entries && bytes < SHARED.bytes && ++pages < SHARED.pages) continue;
      rest = next;
      break;
    }
    close();
    return { from, last: state.last, revisions, pieces, rest };
  }

  /** Yields the entries after a cursor, encoded, one page at a time. A page can be empty. */
  async *after(cursor: string): AsyncGenerator<Uint8Array> {
    for await (const { entries } of snapshotOfList(this.#o.deps, this.view, cursor))
      yield concatBytes(entries.map(snapshotEvent));
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

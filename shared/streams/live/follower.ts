/**
 * One client that follows a list. It first receives a snapshot (all entries), or the changes since its last event. Then
 * it receives each new change.
 */
import { AppError } from "../../kernel/errors.ts";
import type { Hub, ReaderEnd, Sink, TimerListener } from "../read/index.ts";
import {
  type EndReason,
  endEvent,
  positionLine,
  RESET,
  readyEvent,
  retryLine,
  STILL_READING,
} from "./events.ts";
import type { ListFollower, ListSnapshot, ListStep, LiveList, Piece, Told } from "./live-list.ts";

/** Where the events for a client start: with a snapshot, or after a position in the stream. */
export type Beginning = { snapshot: ListSnapshot } | { after: number };

/** What a follower needs of its list. */
export interface FollowedList extends Pick<LiveList, "hold" | "page" | "attach" | "release" | "after"> {
  signer: Pick<LiveList["signer"], "idAt">;
}

export interface FollowerOptions {
  hub: Hub;
  list: FollowedList;
  sink: Sink;
  beginning: Beginning;
  /** Time at which the client's token expires, in milliseconds since the epoch. */
  expiresAt: number;
  /** Returns whether the caller still has the rights that it had when the response started. */
  stillAllowed: () => Promise<boolean>;
  /** Called after the snapshot of the list was sent. */
  begun: () => void;
  ended: (reason: ReaderEnd) => void;
}

/** Milliseconds between two checks that the caller's session still exists. */
const ACCESS_MS = 3_000;
/**
 * Milliseconds after which an EventSource reconnects. Chosen at random, so that clients do not all reconnect at the
 * same moment.
 */
const RETRY_MS = { from: 500, to: 1_500 };

export class Follower implements ListFollower, TimerListener {
  readonly #o: FollowerOptions;
  readonly #rotateAt: number;
  #position: number;
  /** The snapshot may already contain changes up to this sequence number. */
  #snapshotLast: number;
  /**
   * The entries that the client got from the snapshot. Used to skip changes that the snapshot already contains, which
   * would show an older revision after a newer one. Undefined as soon as no such change can follow.
   */
  #told: Map<string, Told> | undefined;
  /** Whether the client also got entries that `#told` omits to save memory: those that have not changed for a while. */
  readonly #toldMore: boolean;
  /** Whether the client has no position in the stream yet. If it reconnected now, it would get the whole list again. */
  #isBeginning: boolean;
  #ended = false;
  #attached = false;
  #quietSince: number;
  #checkAt: number;
  #stalledSince = 0;

  constructor(options: FollowerOptions) {
    this.#o = options;
    const { hub, beginning } = options;
    const begins = "snapshot" in beginning ? beginning.snapshot : undefined;
    this.#position = "snapshot" in beginning ? beginning.snapshot.from : beginning.after;
    this.#snapshotLast = begins?.last ?? 0;
    this.#told = begins === undefined ? undefined : new Map(begins.told);
    this.#toldMore = begins?.rest !== undefined;
    this.#isBeginning = begins !== undefined;
    const now = hub.now();
    this.#quietSince = now - hub.random() * hub.times.keepAliveMs * 0.2;
    this.#checkAt = now + ACCESS_MS * (0.5 + hub.random() / 2);
    this.#rotateAt = now + hub.times.rotateMs * (0.9 + hub.random() * 0.1);
  }

  get position(): number {
    return this.#position;
  }

  async run(): Promise<void> {
    const { hub, list, beginning } = this.#o;
    try {
      hub.watch(this);
      this.#write(retryLine(RETRY_MS.from + hub.random() * (RETRY_MS.to - RETRY_MS.from)));
      await list.hold(this);
      if (this.#ended) return list.release(this);
      if ("snapshot" in beginning) await this.#writeSnapshot(beginning.snapshot);
      this.#o.begun();
      while (!this.#ended) {
        const step = await list.page(this.#position);
        if (this.#ended) return;
        this.#take(step);
        if (this.#o.sink.queued() > 0) await this.#drained();
        if (this.#ended) return;
        if (!step.upToDate) continue;
        const ready = readyEvent(await list.signer.idAt(this.#position, hub.now()));
        if (this.#ended || !list.attach(this)) continue;
        this.#attached = true;
        this.#told = undefined;
        this.#isBeginning = false;
        this.#write(ready);
        return;
      }
    } catch (error) {
      // End the response without an error. The client then reconnects with its last position, and gets the error as a
      // response.
      this.end(error instanceof AppError && error.kind === "not_found" ? "stream_gone" : "failed");
    }
  }

  async #writeSnapshot({ pieces, rest, since }: ListSnapshot): Promise<void> {
    this.#write(RESET);
    for (const piece of pieces) await this.#writeSlowly(piece);
    if (rest === undefined || this.#ended) return;
    for await (const { bytes, told } of this.#o.list.after(rest, since)) {
      if (this.#ended) return;
      for (const [id, known] of told) this.#told?.set(id, known);
      await this.#writeSlowly(bytes.length > 0 ? bytes : STILL_READING);
    }
  }

  /** Writes a part of the response, and waits until the client has accepted it. */
  async #writeSlowly(piece: Uint8Array): Promise<void> {
    if (this.#ended) return;
    this.#write(piece);
    if (this.#o.sink.queued() > 0) await this.#drained();
  }

  async #drained(): Promise<void> {
    this.#stalledSince = this.#o.hub.now();
    await this.#o.sink.drained();
    this.#stalledSince = 0;
  }

  #write(piece: Uint8Array): void {
    this.#quietSince = this.#o.hub.now();
    this.#o.sink.write(piece);
  }

  #take(step: ListStep): void {
    if (step.end !== undefined) {
      this.#endBecause(step.end);
      return;
    }
    const pieces = step.pieces.filter(({ seq }) => seq > this.#position);
    // Returns whether the client may still be showing an entry that was purged. If the entry was purged before the
    // snapshot was read, only a replica with old data can have returned it.
    const mayShow = ({ seq, id }: Piece) =>
      seq > this.#snapshotLast || (this.#toldMore && this.#told?.has(id) === false);
    if (pieces.some((piece) => piece.lost && mayShow(piece))) {
      this.#endBecause("history_lost");
      return;
    }
    for (const piece of pieces) this.#tell(piece);
    this.#position = step.to;
  }

  #tell({ id, revision, head, bytes }: Piece): void {
    if (this.#told !== undefined) {
      const told = this.#told.get(id);
      // The snapshot was read after this change.
      if (told !== undefined && head !== undefined && head < told.head) return;
      if (told?.revision === revision && (told !== undefined || !this.#toldMore)) return;
      if (revision === undefined) this.#told.delete(id);
      else this.#told.set(id, { revision, head: head ?? 0 });
    }
    this.#write(bytes);
  }

  deliver(step: ListStep): void {
    if (this.#ended || step.to <= this.#position) return;
    this.#take(step);
    if (!this.#ended && this.#o.sink.queued() > this.#o.hub.limits.queueBytes) this.#slow();
  }

  #slow(): void {
    this.#o.hub.figures.slowReaders++;
    this.end("slow");
  }

  tick(now: number): void {
    if (this.#ended) return;
    if (now >= this.#o.expiresAt) {
      this.end("expired");
      return;
    }
    if (now >= this.#rotateAt && !this.#isBeginning) {
      this.end("rotated");
      return;
    }
    const { times } = this.#o.hub;
    if (now >= this.#checkAt) {
      this.#checkAt = now + ACCESS_MS;
      void this.#checkAccess();
    }
    if (this.#stalledSince > 0) {
      if (now - this.#stalledSince > times.stallMs) this.#slow();
      return;
    }
    if (this.#attached && now - this.#quietSince >= times.keepAliveMs) {
      this.#quietSince = now;
      void this.#tellPosition();
    }
  }

  async #checkAccess(): Promise<void> {
    // If the broker does not respond, assume that the session still exists. If it has ended, the client's next request
    // is rejected.
    const allowed = await this.#o.stillAllowed().catch(() => true);
    if (!allowed) this.#endBecause("access_changed");
  }

  /**
   * Sends the client its current position in the stream. If the list rarely changes, the position in the client's last
   * event could otherwise expire.
   */
  async #tellPosition(): Promise<void> {
    const { list, hub, sink } = this.#o;
    const at = this.#position;
    const id = await list.signer.idAt(at, hub.now());
    if (!this.#ended && at === this.#position) sink.write(positionLine(id));
  }

  #endBecause(reason: EndReason): void {
    if (this.#ended) return;
    this.#o.sink.write(endEvent(reason));
    this.end(reason);
  }

  end(reason: ReaderEnd): void {
    if (this.#ended) return;
    this.#finish(reason);
    this.#o.sink.end();
  }

  /** Stops because the client has disconnected. Writes nothing more. */
  abandon(): void {
    if (!this.#ended) this.#finish("client_gone");
  }

  #finish(reason: ReaderEnd): void {
    this.#ended = true;
    this.#o.list.release(this);
    this.#o.hub.unwatch(this);
    this.#told = undefined;
    this.#o.ended(reason);
  }
}

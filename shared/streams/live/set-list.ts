/**
 * A list within a change set whose changes are sent to one client. What a write means for such a list depends on the set
 * and on the orb. So after each write into either, the list is read again, and the client gets what differs.
 */
import type { LiveOrb } from "../../definition/live-orb.ts";
import { liveOrb } from "../../definition/stored/index.ts";
import type { Deps } from "../../deps.ts";
import { changesFilter, type ListView, type LiveEntry, snapshotOfList } from "../../entry/live/index.ts";
import { readTogether } from "../../entry/read/index.ts";
import { AppError, unavailable } from "../../kernel/errors.ts";
import { concatBytes } from "../../kernel/ids.ts";
import { fingerprint } from "../../kernel/tags.ts";
import { streams, subjects } from "../../store/subjects.ts";
import type { Hub, Listener, Step, Tail, TailEnd } from "../read/index.ts";
import { type EndReason, listEvent } from "./events.ts";
import type { FollowedList } from "./follower.ts";
import type { ListFollower, ListSnapshot, ListStep, Piece } from "./live-list.ts";
import { definitionKey } from "./rights.ts";

/** The change set of a live list. */
export interface SetOfList {
  id: string;
  /**
   * Opens the set as it is now.
   * @throws AppError if the caller may not read it any more
   */
  open(): Promise<{ deps: Deps; pages?: ListView["pages"] }>;
  /** Returns the definition that the set proposes in place of the live one. */
  definition(live: LiveOrb): Promise<LiveOrb>;
}

/** Maximum entries of a live list in a set, because each write reads all of them. */
export const MOST_IN_SET = 1_000;
/** Least milliseconds between the ends and beginnings of two reads. */
const PAUSE_MS = 200;
/** Milliseconds after a write at which the list is read. A cache or a replica may lag behind the broker's leader. */
const READ_AT = [0, 1_000, 5_000];

export class SetList implements FollowedList, Listener {
  /** A client cannot resume, so its events have an empty position: after an interruption, it gets the list again. */
  readonly signer = { idAt: async () => "" };
  readonly #hub: Hub;
  readonly #view: ListView;
  readonly #set: SetOfList;
  readonly #turn: () => Promise<() => void>;
  #tails: Tail<Step>[] = [];
  #follower: ListFollower | undefined;
  #attached = false;
  /** For each entry that the client has, a fingerprint of what it was sent. */
  readonly #sent = new Map<string, string>();
  #position = 0;
  /** Times at which the list is to be read, in milliseconds since the epoch. */
  #due: number[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isReading = false;

  /**
   * @param turn waits until the client's user may load another list; see {@link Hub.pageTurn}. The caller takes the turn
   *   of the snapshot
   */
  constructor(hub: Hub, view: ListView, set: SetOfList, turn: () => Promise<() => void>) {
    this.#hub = hub;
    this.#view = view;
    this.#set = set;
    this.#turn = turn;
  }

  /** Reads the whole list. Call this once, before the response begins. */
  async snapshot(): Promise<ListSnapshot> {
    const pieces: Uint8Array[] = [];
    const told = new Map<string, { revision: number; head: number }>();
    for (const entry of await this.#read()) {
      pieces.push(this.#upsert(entry));
      told.set(entry.id, { revision: entry.revision, head: entry.revision });
    }
    return { from: 0, last: 0, told, pieces: [concatBytes(pieces)], rest: undefined, since: 0 };
  }

  async hold(follower: ListFollower): Promise<void> {
    this.#follower = follower;
    const { orb, schema } = this.#view.reading;
    const filters = [subjects.changeOf(orb.orb, this.#set.id), changesFilter(orb.orb, schema.home)];
    for (const filter of filters) {
      const tail = await this.#hub.tailOf(
        "set",
        streams.orb(orb.orb),
        filter,
        this,
        async (messages, between) => ({
          ...between,
          size: messages.length,
        }),
      );
      this.#tails.push(tail);
      // The client has left meanwhile.
      if (this.#follower === undefined) tail.release(this);
      else if (!tail.attach(this, tail.position)) throw unavailable("the tail has ended");
    }
    // What was written before the tails began is in no notice.
    this.#plan();
  }

  /** Returns no events: the first read comes once the client is attached. */
  async page(from: number): Promise<ListStep> {
    return { from, to: from, upToDate: true, pieces: [], end: undefined };
  }

  // biome-ignore lint/correctness/useYield: a snapshot is always complete
  async *after(): AsyncGenerator<never> {
    return;
  }

  attach(): boolean {
    this.#attached = true;
    this.#wait();
    return true;
  }

  release(): void {
    this.#follower = undefined;
    clearTimeout(this.#timer);
    for (const tail of this.#tails) tail.release(this);
    this.#tails = [];
    this.#sent.clear();
  }

  /** Called when something was written that may concern the list. */
  deliver(): void {
    this.#plan();
  }

  end(reason: TailEnd): void {
    this.#follower?.end(reason);
  }

  get #isFollowed(): boolean {
    return this.#follower !== undefined;
  }

  #plan(): void {
    const now = this.#hub.now();
    this.#due = READ_AT.map((ms) => now + ms);
    this.#wait();
  }

  /** Waits for the next read. */
  #wait(): void {
    const [next] = this.#due;
    if (!this.#attached || this.#isReading || next === undefined) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#refresh(), Math.max(0, next - this.#hub.now()));
  }

  async #refresh(): Promise<void> {
    if (this.#isReading || this.#follower === undefined) return;
    this.#isReading = true;
    this.#due.shift();
    let done: (() => void) | undefined;
    try {
      // One write concerns all clients that follow the set, and each of them loads a whole list.
      done = await this.#turn();
      if (this.#isFollowed) this.#tell(...(await this.#differences()));
    } catch (error) {
      const kind = error instanceof AppError ? error.kind : undefined;
      if (kind === "too_many") this.#plan();
      else if (kind === "not_found" || kind === "forbidden" || kind === "unauthenticated")
        this.#tell([], "access_changed");
      else this.#follower?.end("broker_lost");
    } finally {
      done?.();
      // Many writes in a row are read together.
      this.#timer = setTimeout(() => {
        this.#isReading = false;
        this.#wait();
      }, PAUSE_MS);
    }
  }

  #tell(pieces: readonly Piece[], end: EndReason | undefined): void {
    const from = this.#position;
    if (pieces.length === 0 && end === undefined) return;
    this.#follower?.deliver({ from, to: ++this.#position, upToDate: true, pieces, end });
  }

  /** Reads the list again, and returns what differs from what the client was sent. */
  async #differences(): Promise<[pieces: Piece[], end: EndReason | undefined]> {
    const { orb, schema } = this.#view.reading;
    const [entries, live] = await Promise.all([this.#read(), liveOrb(this.#hub.source, orb.orb, "cached")]);
    const now = live === null ? null : await this.#set.definition(live);
    const isSame = now !== null && (await definitionKey(now, schema)) === (await definitionKey(orb, schema));
    if (!isSame) return [[], "definition_changed"];
    const seq = this.#position + 1;
    const common = { seq, id: "", revision: undefined, head: undefined, lost: false };
    const pieces: Piece[] = [];
    const gone = new Set(this.#sent.keys());
    for (const entry of entries) {
      gone.delete(entry.id);
      if (this.#sent.get(entry.id) === printOf(entry)) continue;
      pieces.push({ ...common, id: entry.id, revision: entry.revision, bytes: this.#upsert(entry) });
    }
    for (const id of gone) {
      this.#sent.delete(id);
      pieces.push({ ...common, id, bytes: listEvent({ type: "leave", id }, undefined) });
    }
    return [pieces, undefined];
  }

  #upsert(entry: LiveEntry): Uint8Array {
    this.#sent.set(entry.id, printOf(entry));
    return listEvent({ type: "upsert", entry }, undefined);
  }

  /** @throws AppError invalid `too_broad` if the list has too many entries */
  async #read(): Promise<LiveEntry[]> {
    const { deps, pages } = await this.#set.open();
    return readTogether(deps, this.#view.reading.orb, async (whole) => {
      const found: LiveEntry[] = [];
      for await (const { entries } of snapshotOfList(whole, { ...this.#view, pages })) {
        found.push(...entries.map(({ entry }) => entry));
        if (found.length > MOST_IN_SET) throw tooMany();
      }
      return found;
    });
  }
}

const printOf = (entry: LiveEntry) => fingerprint(JSON.stringify(entry));

function tooMany(): AppError {
  const detail = `A live list in a change set has at most ${MOST_IN_SET.toLocaleString("en")} entries. Use a narrower filter, or read the list without live=sse.`;
  return new AppError("invalid", "too_broad", detail);
}

/** Finds what an API token has published without a change set, by the marks that its writes leave. */

import type { Deps } from "../../deps.ts";
import { messagesInOrder } from "../../entry/index/index.ts";
import { placesIn, type RevisionState, snapshotOf } from "../../entry/model/index.ts";
import { mapInParallel } from "../../kernel/parallel.ts";
import { SMALL_BYTES } from "../../store/budget.ts";
import { nullIfMissing, scanPages } from "../../store/pages.ts";
import { type EntryAddress, type Home, streams, subjects } from "../../store/subjects.ts";
import { findSet } from "../record/index.ts";
import type { Before, Item, VersionAct } from "./content.ts";

/** Revisions of an entry that one read returns. */
const REVISIONS = 200;
/** Entries whose revisions are read at the same time. */
const AT_ONCE = 16;
/** How much a search reads before it ends with the place where the next one goes on. */
export interface SearchLimits {
  /** Maximum number of entries. */
  entries: number;
  /** Bytes of revisions after which it begins no further ones. */
  bytes: number;
}

const LIMITS: SearchLimits = { entries: 5_000, bytes: 64 * 1024 * 1024 };

/** What decides on what a write did with an entry. */
type State = Pick<
  RevisionState,
  "status" | "revision" | "publishedRevision" | "publishedSeq" | "token" | "change"
> & { seq: number };

/** Revisions of a token that follow each other, and the state before them. */
interface Run {
  before: State | null;
  last: State;
}

/** The publications of one API token in the revisions of entries. */
export class TokenWrites {
  readonly #deps: Pick<Deps, "store">;
  readonly #orb: string;
  readonly #token: string;
  readonly #limits: SearchLimits;
  readonly #known = new Map<string, Promise<boolean>>();
  /** Bytes of revisions read so far. */
  #bytes = 0;

  constructor(deps: Pick<Deps, "store">, orb: string, token: string, limits = LIMITS) {
    this.#deps = deps;
    this.#orb = orb;
    this.#token = token;
    this.#limits = limits;
  }

  /**
   * Finds entries that the token has published, those of its newest marks first.
   * @param search.after place of the last mark that an earlier search has read
   * @param search.most maximum number of entries to find
   * @returns what the token did with each of them, and the place where the next search goes on; null if there is no more
   */
  async find(search: {
    after?: number | undefined;
    most: number;
  }): Promise<{ items: Map<string, Item[]>; next: number | null }> {
    const items = new Map<string, Item[]>();
    const seen = new Set<string>();
    let last: number | undefined;
    for await (const { places, seq } of this.#marks(search.after)) {
      const isOver =
        items.size >= search.most || seen.size >= this.#limits.entries || this.#bytes >= this.#limits.bytes;
      if (isOver && last !== undefined) return { items, next: last };
      const fresh = places.filter(({ id }) => !seen.has(id));
      for (const { id } of fresh) seen.add(id);
      const found = await mapInParallel(fresh, (place) => this.itemsOf(place));
      for (const [index, { id }] of fresh.entries()) {
        const own = found[index] ?? [];
        if (own.length > 0) items.set(id, own);
      }
      last = seq;
    }
    return { items, next: null };
  }

  /** Yields the places of entries in the marks, newest first, a few at a time. */
  async *#marks(after: number | undefined) {
    const { store } = this.#deps;
    const filter = subjects.tokenWrites(this.#orb, this.#token);
    const newest = async () => {
      const message = await nullIfMissing(store.get(streams.orb(this.#orb), filter));
      return message === null ? undefined : { seq: message.seq + 1, density: 0 };
    };
    const start = after === undefined ? undefined : { seq: after, density: 0 };
    const scan = { orb: this.#orb, filter, first: REVISIONS };
    for await (const { messages } of messagesInOrder(store, scan, true, start, newest))
      for (let at = 0; at < messages.length; at += AT_ONCE) {
        const some = messages.slice(at, at + AT_ONCE);
        const places = some.flatMap((message) => placesIn(message.text()));
        yield { places, seq: some.at(-1)?.seq ?? 0 };
      }
  }

  /** Returns what the token did with an entry, as a change set would have done it, newest first. */
  async itemsOf({ type, schema, id }: Home & { id: string }): Promise<Item[]> {
    const address: EntryAddress = { orb: this.#orb, type, schema, id };
    const runs = await this.#runsOf(address);
    return runs.flatMap((run) => itemOf(address, run) ?? []).reverse();
  }

  /** Returns the runs of the token that are in effect, oldest first. */
  async #runsOf(address: EntryAddress): Promise<Run[]> {
    let runs: Run[] = [];
    let open: Run | undefined;
    let before: State | null = null;
    const { store } = this.#deps;
    const page = { limit: REVISIONS, maxBytes: SMALL_BYTES };
    const read = (fromSeq: number) =>
      store.scan(streams.orb(this.#orb), subjects.entryLog(address), { fromSeq, ...page });
    for await (const messages of scanPages(read))
      for (const message of messages) {
        this.#bytes += message.size;
        const snapshot = snapshotOf(message);
        if (snapshot === null) {
          // A purge has erased the history.
          [runs, open, before] = [[], undefined, null];
          continue;
        }
        const { status, revision, publishedRevision, publishedSeq, token, change } = snapshot;
        const now: State = {
          status,
          revision,
          publishedRevision,
          publishedSeq,
          token,
          change,
          seq: message.seq,
        };
        if (change !== undefined && (await this.#isTakenBackBy(change))) runs = [];
        if (token !== this.#token || change !== undefined) open = undefined;
        else if (open === undefined) {
          open = { before, last: now };
          runs.push(open);
        } else open.last = now;
        before = now;
      }
    return runs;
  }

  /** Returns whether a published change set has taken back what the token did before. */
  #isTakenBackBy(set: string): Promise<boolean> {
    const known =
      this.#known.get(set) ??
      findSet(this.#deps, this.#orb, set).then(
        (found) => found?.set.undoesToken === this.#token && found.set.state === "PUBLISHED",
      );
    this.#known.set(set, known);
    return known;
  }
}

/** Returns a run as the publication of a change set; undefined if it has published nothing. */
function itemOf({ type, schema, id }: EntryAddress, { before: state, last }: Run): Item | undefined {
  const before = stateBefore(state);
  const act = actOf(before, last);
  if (act === undefined) return undefined;
  const revision = act === "publish" ? (last.publishedRevision ?? last.revision) : last.revision;
  return { type, schema, id, act, revision, hash: "", bytes: 0, done: { revision, before } };
}

function stateBefore(state: State | null): Before | null {
  if (state === null || state.status === "DELETED") return null;
  const { status, revision, publishedRevision, publishedSeq, seq } = state;
  if (publishedRevision === null || publishedSeq === null) return { status, revision, seq };
  return { status, revision: publishedRevision, seq: publishedSeq };
}

/** Returns what a run did with what readers see of an entry; undefined if it did nothing with it. */
function actOf(before: Before | null, { status, publishedRevision }: State): VersionAct | undefined {
  if (publishedRevision !== null) {
    const isSame = before?.status === "PUBLISHED" && before.revision === publishedRevision;
    return isSame ? undefined : "publish";
  }
  // What was created and is not live was never published.
  if (before === null) return undefined;
  if (status === "DELETED") return "delete";
  if (status === "ARCHIVED") return before.status === "ARCHIVED" ? undefined : "archive";
  if (before.status === "PUBLISHED") return "unpublish";
  return before.status === "ARCHIVED" ? "restore" : undefined;
}

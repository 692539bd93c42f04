/**
 * Receives changes by other users live. Updates the visible rows, but moves none of them, so that the table does not
 * change under the user's pointer.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import { type EntryItem, type EntryPlace, followEntries } from "../../../api/entries.ts";
import { sessionEnded } from "../../../api/http.ts";
import type { Status } from "../../../api/orbs.ts";
import type { OrbModel } from "../../../model/orb.ts";
import type { Row } from "./rows.ts";
import type { Kept } from "./use-rows.ts";
import { filterOf, isNewestFirst, type View } from "./view.ts";

/** Maximum entries of a list for live updates, because the client must first load the state of all its entries. */
export const MOST = 2_000;
/** Maximum entries per request. */
const AT_ONCE = 100;
/** If the platform returns an older revision than expected, read the entry again after this many milliseconds. */
const BEHIND = 1_000;

/** Changes that the table shows only on request, because showing them would move rows. */
export interface News {
  added: number;
  /** Number of changed entries whose place in the list may be different now. */
  changed: number;
  gone: number;
}
export const NO_NEWS: News = { added: 0, changed: 0, gone: 0 };

/** Returns a string that differs for each revision and state of an entry. */
const markOf = ({ revision, status, publishedRevision, validFrom, validTo }: EntryItem): string =>
  [revision, status, publishedRevision, validFrom, validTo].join();

/** Compares a list that is updated live with the rows of the table. */
class Follower {
  readonly #list: Kept;
  readonly #view: View;
  readonly #tell: (news: News) => void;
  readonly #abort = new AbortController();
  /** The entries of the live list; undefined until all entries are loaded. */
  #items: ReadonlyMap<string, EntryItem> | undefined;
  readonly #seen = new Set<string>();
  /** Highest id in the live list. It belongs to the newest entry, because ids begin with the creation time. */
  #newest = "";
  /**
   * Highest id that the first row of the table has had. Stored here, because the row itself may no longer be in memory.
   */
  #top = "";
  /** Ids of entries that existed before the table was read. All other entries that are missing in the table are new. */
  #old: ReadonlySet<string> | undefined;
  /**
   * For each entry that was read again, its state in the live list. Prevents endless reads if the management API keeps
   * returning another state for the same revision.
   */
  readonly #read = new Map<string, string>();
  /** Ids of entries for which a request returned an older revision than the live update. */
  readonly #behind = new Set<string>();
  #changed = new Set<string>();
  #busy = false;
  paused = false;

  constructor(list: Kept, view: View, tell: (news: News) => void) {
    this.#list = list;
    this.#view = view;
    this.#tell = tell;
  }

  take(items: readonly EntryItem[]): void {
    const { status } = this.#view;
    const shown = status === undefined ? items : items.filter((item) => item.status === status);
    this.#items = new Map(shown.map((item) => [item.id, item]));
    for (const { id } of shown) {
      this.#seen.add(id);
      if (id > this.#newest) this.#newest = id;
    }
    this.compare();
  }

  /** Starts a new comparison after the table was read again. */
  begin(): void {
    this.#old = undefined;
    this.#changed = new Set();
    this.#tell(NO_NEWS);
    this.compare();
  }

  compare(): void {
    const { rows } = this.#list;
    const items = this.#items;
    if (items === undefined || this.paused || rows.busy || this.#busy || this.#abort.signal.aborted) return;
    const here = new Map([...rows.current()].map((row) => [row.id, row]));
    // A row that is missing in the live list may be new, and the live list may be late. So the entry counts as gone
    // only if the live list has contained it before, or contains a newer entry.
    const isGone = ({ id }: Row) => !items.has(id) && (this.#seen.has(id) || id < this.#newest);
    const gone = [...here.values()].filter(isGone);
    this.#mark([...here.values()].filter((row) => (row.gone === true) !== isGone(row)));
    const changed = [...here.values()].filter((row) => this.#isChanged(row, items.get(row.id)));
    if (changed.length > 0)
      void this.#readAgain(
        changed.map(({ id }) => id),
        items,
      );
    this.#tell({
      added: this.#added(here, items),
      changed: isNewestFirst(this.#view) ? 0 : this.#changed.size,
      gone: gone.length,
    });
  }

  #isChanged(row: Row, item: EntryItem | undefined): boolean {
    if (item === undefined) return false;
    const mark = markOf(item);
    return mark !== markOf(row) && mark !== this.#read.get(row.id);
  }

  #mark(rows: readonly Row[]): void {
    if (rows.length > 0)
      this.#list.rows.replace(new Map(rows.map((row) => [row.id, { ...row, gone: row.gone !== true }])));
  }

  #added(here: ReadonlyMap<string, Row>, items: ReadonlyMap<string, EntryItem>): number {
    const { rows } = this.#list;
    const missing = [...items.keys()].filter((id) => !here.has(id));
    const top = rows.at(0)?.id ?? "";
    if (top > this.#top) this.#top = top;
    if (isNewestFirst(this.#view) && this.#top !== "") return missing.filter((id) => id > this.#top).length;
    // If the table contains the whole list, all entries that it lacks are new. Otherwise, only later entries count as
    // new.
    this.#old ??= new Set(rows.ended && here.size === rows.known ? here.keys() : items.keys());
    return missing.filter((id) => this.#old?.has(id) !== true).length;
  }

  async #readAgain(ids: readonly string[], items: ReadonlyMap<string, EntryItem>): Promise<void> {
    this.#busy = true;
    try {
      for (let at = 0; at < ids.length; at += AT_ONCE) {
        const some = ids.slice(at, at + AT_ONCE);
        const found = await this.#list.readOnes(some, this.#abort.signal);
        this.#put(some, found, items);
      }
    } catch {
      // Ignore the error. The next change starts another attempt.
      this.#busy = false;
      return;
    }
    this.#busy = false;
    if (this.#behind.size === 0) this.compare();
    else setTimeout(() => this.compare(), BEHIND);
  }

  #put(ids: readonly string[], found: readonly Row[], items: ReadonlyMap<string, EntryItem>): void {
    const rows = new Map(found.map((row) => [row.id, row]));
    const old = new Map([...this.#list.rows.current()].map((row) => [row.id, markOf(row)]));
    const changedAt = performance.now();
    const changes = new Map<string, Row>();
    for (const id of ids) {
      const row = rows.get(id);
      const item = items.get(id);
      const behind = row !== undefined && item !== undefined && row.revision < item.revision;
      if (behind && !this.#behind.has(id)) {
        this.#behind.add(id);
        continue;
      }
      this.#behind.delete(id);
      if (item !== undefined) this.#read.set(id, markOf(item));
      if (row === undefined || markOf(row) === old.get(id)) continue;
      this.#changed.add(id);
      changes.set(id, { ...row, changedAt });
    }
    if (changes.size > 0) this.#list.rows.replace(changes);
  }

  stop(): void {
    this.#abort.abort();
  }
}

/**
 * Returns whether the runtime API serves the entries of an application. Users see only published applications, so their
 * responses have no `status`.
 */
export function isServed(orb: OrbModel & { status?: Status }, { module }: EntryPlace): boolean {
  const { type } = orb.modules.find(({ id }) => id === module) ?? {};
  return (type === "CONTENT" || type === "CONFIG") && (orb.status ?? "PUBLISHED") === "PUBLISHED";
}

/**
 * Receives the changes of a list live, while the page is visible and not paused.
 * @param possible whether the platform can send changes of this list live
 * @returns whether changes are being received, the changes that are not shown yet, and a function to call after a
 * refresh
 */
export function useFollow(
  list: Kept,
  { place, view, drafts }: { place: EntryPlace; view: View; drafts: boolean },
  { possible, paused }: { possible: boolean; paused: boolean },
): { following: boolean; news: News; begin: () => void } {
  const [following, setFollowing] = useState(false);
  const [refused, setRefused] = useState<string>();
  const [news, setNews] = useState(NO_NEWS);
  const [visible, setVisible] = useState(document.visibilityState === "visible");
  const follower = useRef<Follower>();
  const filter = filterOf(view);
  const key = `${place.orb}/${place.module}/${place.schema} ${JSON.stringify([filter, view.search, view.missing, drafts])}`;
  const active = possible && refused !== key;
  useEffect(() => {
    const look = () => setVisible(document.visibilityState === "visible");
    document.addEventListener("visibilitychange", look);
    return () => document.removeEventListener("visibilitychange", look);
  }, []);
  const ended = sessionEnded.value;
  useEffect(() => {
    if (!ended) setRefused(undefined);
  }, [ended]);
  useEffect(() => {
    setNews(NO_NEWS);
    if (!active) return undefined;
    const made = new Follower(list, view, (next) =>
      setNews((old) => (JSON.stringify(old) === JSON.stringify(next) ? old : next)),
    );
    made.paused = paused;
    follower.current = made;
    return () => {
      made.stop();
      follower.current = undefined;
    };
  }, [list, active, view.status, view.sort]);
  useEffect(() => {
    if (!active || !visible) return undefined;
    const stop = followEntries(
      place,
      { filter, search: view.search, missing: view.missing, drafts },
      (items) => {
        setFollowing(true);
        follower.current?.take(items);
      },
      (again) => {
        setFollowing(false);
        if (!again) setRefused(key);
      },
    );
    return () => {
      stop();
      setFollowing(false);
    };
  }, [list, key, active, visible]);
  const version = list.rows.version.value;
  useEffect(() => {
    if (follower.current === undefined) return;
    follower.current.paused = paused;
    follower.current.compare();
  }, [paused, version]);
  return { following, news, begin: () => follower.current?.begin() };
}

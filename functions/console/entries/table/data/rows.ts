/**
 * The entries of a list of any length, read in pages by cursor. Keeps only the pages near the visible rows in memory.
 * Reads evicted pages again when they become visible.
 */
import { signal } from "@preact/signals";
import type { EntryItem } from "../../../api/entries.ts";
import type { Page } from "../../../api/orbs.ts";

/** `PAGE`: entries per page. `KEPT`: maximum pages in memory. */
export const PAGE = 100;
const KEPT = 6;
/** Read the next page when the visible rows are this close to the last known row. */
const AHEAD = 60;

/** An entry with the values that the table shows. */
export interface Row extends EntryItem {
  /** Names of the entries that this entry refers to, by field. */
  names?: Readonly<Record<string, string>>;
  /** Time in milliseconds (`performance.now()`) at which the row was updated with another user's change. */
  changedAt?: number;
  /** Whether the entry has left the list. The row stays until the list is read again. */
  gone?: boolean;
}

export type ReadPage = (cursor: string | null, signal: AbortSignal) => Promise<Page<Row>>;

interface Part {
  /** Cursor of the page; null for the first one. */
  cursor: string | null;
  /** Number of entries when the page was last read. */
  count: number;
  /** Id of the page's last entry. If it changes, the cursors of the following pages become invalid. */
  last: string | undefined;
  items: Row[] | undefined;
  /** Number of entries that the platform compared before it ended the page early; 0 for a full page. */
  searched: number;
  /** Whether the entries must be read again. They stay visible until then. */
  stale: boolean;
  busy: boolean;
}

const part = (cursor: string | null): Part => ({
  cursor,
  count: 0,
  last: undefined,
  items: undefined,
  searched: 0,
  stale: false,
  busy: false,
});

export class Rows {
  /** Changes whenever the rows change, so that components render again. */
  readonly version = signal(0);
  /** The error from the most recent failed read of a page. */
  error: unknown;
  /** Whether the user stopped a search before its end. */
  stopped = false;
  /** The pages that are known so far. The last page may not have been read yet. */
  #parts: Part[] = [part(null)];
  readonly #read: ReadPage;
  #abort = new AbortController();

  constructor(read: ReadPage) {
    this.#read = read;
  }

  /** Number of entries in the pages that are known so far. */
  get known(): number {
    return this.#parts.reduce((sum, { count }) => sum + count, 0);
  }

  /** Whether all entries of the list are known. */
  get ended(): boolean {
    return this.#parts.at(-1)?.last !== undefined;
  }

  get busy(): boolean {
    return this.#parts.some(({ busy }) => busy);
  }

  /**
   * Number of entries that were compared since the last full page. Shows the progress of a search that takes several
   * requests.
   */
  get searched(): number {
    const read = this.#parts.filter(({ last }) => last !== undefined);
    return read
      .slice(read.findLastIndex(({ searched }) => searched === 0) + 1)
      .reduce((sum, { searched }) => sum + searched, 0);
  }

  /** Number of entries in memory. */
  get held(): number {
    return this.#parts.reduce((sum, { items }) => sum + (items?.length ?? 0), 0);
  }

  /** Returns an entry; undefined if it is not in memory. */
  at(index: number): Row | undefined {
    let start = 0;
    for (const { count, items } of this.#parts) {
      if (index < start + count) return items?.[index - start];
      start += count;
    }
    return undefined;
  }

  /** Reads the missing pages of a range, and evicts pages that are far from it. */
  ensure(first: number, end: number): void {
    let start = 0;
    const near: number[] = [];
    this.#parts.forEach((one, index) => {
      const unread = one.last === undefined;
      if (unread ? end + AHEAD >= start : start < end && start + one.count > first) {
        near.push(index);
        const wanted = one.items === undefined ? !(unread && this.stopped) : one.stale;
        if (wanted && !one.busy && this.error === undefined) void this.#load(one);
      }
      start += one.count;
    });
    this.#forget(near[0] ?? 0);
  }

  #forget(center: number): void {
    const held = this.#parts
      .map((_, index) => index)
      .filter((index) => this.#parts[index]?.items !== undefined);
    held.sort((a, b) => Math.abs(a - center) - Math.abs(b - center));
    for (const index of held.slice(KEPT)) {
      const far = this.#parts[index];
      if (far !== undefined) far.items = undefined;
    }
  }

  #changed(): void {
    this.version.value++;
  }

  async #load(one: Part): Promise<void> {
    const { signal } = this.#abort;
    one.busy = true;
    this.#changed();
    try {
      const page = await this.#read(one.cursor, signal);
      const index = this.#parts.indexOf(one);
      if (signal.aborted || index < 0) return;
      const last = page.items.at(-1)?.id ?? "";
      // If the page's last entry has changed, the cursors of the following pages are outdated. An empty page has no
      // last entry to compare, so it counts as changed.
      if (one.last !== last || last === "" || page.nextCursor === null) this.#parts.length = index + 1;
      if (this.#parts.length === index + 1 && page.nextCursor !== null)
        this.#parts.push(part(page.nextCursor));
      one.items = page.items;
      one.count = page.items.length;
      one.searched = page.nextCursor === null ? 0 : (page.read?.entries ?? 0);
      one.last = last;
      one.stale = false;
      this.error = undefined;
    } catch (error) {
      if (!signal.aborted) this.error = error;
    } finally {
      one.busy = false;
      this.#changed();
    }
  }

  /** Stops a search that sends several requests. Keeps the rows that were found. */
  stop(): void {
    this.stopped = true;
    this.dispose();
    this.#changed();
  }

  /** Tries again after an error, or continues a search that was stopped. */
  retry(): void {
    this.error = undefined;
    this.stopped = false;
    this.#changed();
  }

  /** Marks all loaded pages as stale. They stay visible until they are read again. */
  refresh(): void {
    this.error = undefined;
    this.stopped = false;
    // An empty table never asks for rows again. So discard its pages, and the first page is read again.
    if (this.known === 0) this.#parts = [part(null)];
    for (const one of this.#parts) {
      if (one.items !== undefined) one.stale = true;
    }
    this.#changed();
  }

  /** Yields the entries in memory, except those of stale pages. */
  *current(): Generator<Row> {
    for (const { items, stale } of this.#parts) if (items !== undefined && !stale) yield* items;
  }

  /** Replaces entries in their places, so that no row moves. */
  replace(changes: ReadonlyMap<string, Row>): void {
    for (const one of this.#parts) {
      if (one.items?.some(({ id }) => changes.has(id)) === true)
        one.items = one.items.map((item) => changes.get(item.id) ?? item);
    }
    this.#changed();
  }

  /** Updates entries with the responses to writes. Undefined removes an entry. */
  update(changes: ReadonlyMap<string, EntryItem | undefined>): void {
    for (const one of this.#parts) {
      if (one.items === undefined) continue;
      one.items = one.items.flatMap((item) => {
        if (!changes.has(item.id)) return item;
        const changed = changes.get(item.id);
        return changed === undefined ? [] : { ...item, ...changed, values: item.values };
      });
      one.count = one.items.length;
    }
    this.#changed();
  }

  /** Returns a range of entries. Does not cache the pages that it loads. */
  async range(first: number, end: number, signal: AbortSignal): Promise<Row[]> {
    const found: Row[] = [];
    let start = 0;
    for (const { cursor, count, items } of [...this.#parts]) {
      if (start < end && start + count > first) {
        const all = items ?? (await this.#read(cursor, signal)).items;
        found.push(...all.slice(Math.max(0, first - start), end - start));
      }
      start += count;
    }
    return found;
  }

  /** Returns how many entries other users changed, added or removed in a range or on the first page. */
  async changes(first: number, end: number, signal: AbortSignal): Promise<number> {
    let start = 0;
    let changes = 0;
    for (const [index, one] of [...this.#parts].entries()) {
      const { cursor, count, items } = one;
      const shown = start < end && start + count > first;
      start += count;
      if (items === undefined || one.stale || !(shown || index === 0)) continue;
      const now = (await this.#read(cursor, signal)).items;
      if (one.items === items) changes += difference(items, now);
    }
    return changes;
  }

  dispose(): void {
    this.#abort.abort();
    this.#abort = new AbortController();
    for (const one of this.#parts) one.busy = false;
  }
}

/**
 * Returns how many entries differ between two reads of a page. Ignores entries that only moved to or from another
 * page.
 */
export function difference(before: readonly Row[], now: readonly Row[]): number {
  const old = new Map(before.map((item) => [item.id, item.revision]));
  const ids = new Set(now.map(({ id }) => id));
  const lastNow = now.findLastIndex(({ id }) => old.has(id));
  const lastOld = before.findLastIndex(({ id }) => ids.has(id));
  const whole = lastNow < 0;
  const changed = now
    .slice(0, whole ? now.length : lastNow + 1)
    .filter((item) => old.get(item.id) !== item.revision).length;
  const gone = before.slice(0, whole ? before.length : lastOld + 1).filter(({ id }) => !ids.has(id)).length;
  return changed + gone;
}

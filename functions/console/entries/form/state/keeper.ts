/**
 * Keeps the unsaved changes of a form on the server, for this account alone. Writes at most every few seconds, one request
 * after the other. Each request names the version that it replaces, so that another window of the same person loses nothing:
 * the form then offers what that window has kept.
 */
import { isProblem } from "../../../../../shared/client/problem.ts";
import {
  type Changed,
  discardUnsaved,
  keepUnsaved,
  listUnsaved,
  type Unsaved,
} from "../../../api/editing.ts";
import type { EntryPlace } from "../../../api/entries.ts";
import { same } from "../../../model/cells.ts";
import type { Remote } from "./kept.ts";

/** Milliseconds between a change and the request that keeps it. */
const AFTER_MS = 2_000;
/** Milliseconds until an attempt that failed is repeated. */
const AGAIN_MS = 10_000;

/** Characters of changes that are sent. The platform keeps about as many bytes, and answers 413 to more. */
const MOST = 256 * 1024;

/** `large`, `full`: the platform keeps no more. `failed`: it could not be reached, and the form tries again. */
export type Standing = "none" | "kept" | "large" | "full" | "failed";

export interface KeeperState {
  /** What other windows, or earlier ones, have kept. */
  offers: readonly Unsaved[];
  standing: Standing;
}

export interface KeeperOptions {
  place: EntryPlace;
  /** Id of the entry; undefined for a new one. */
  entry: string | undefined;
  remote: Remote;
  /** Called after each change of where the server keeps the changes. */
  remember: (remote: Remote) => void;
  show: (state: KeeperState) => void;
  /** Returns whether what was kept differs from the stored entry. */
  differs: (kept: Unsaved) => boolean;
}

const statusOf = (error: unknown): number | undefined => (isProblem(error) ? error.status : undefined);

/** Whether an answer says that nothing can be kept: the rights, the entry or the set are gone, or the session has ended. */
const isOver = (error: unknown): boolean => [401, 403, 404, 409, 410].includes(statusOf(error) ?? 0);

export class Keeper {
  readonly #options: KeeperOptions;
  #remote: Remote;
  #state: KeeperState = { offers: [], standing: "none" };
  #newest: Changed | undefined;
  /** What the server has, as JSON. */
  #sent = "";
  #timer: ReturnType<typeof setTimeout> | undefined;
  #queue: Promise<void> = Promise.resolve();
  #ended = false;

  constructor(options: KeeperOptions) {
    this.#options = options;
    this.#remote = options.remote;
  }

  /** Reads what is kept. */
  begin(): void {
    this.#run(async () => {
      const { place, entry, differs } = this.#options;
      const found = (await listUnsaved(place, entry)).filter(
        (one) => entry !== undefined || one.entry.startsWith("new-"),
      );
      const { id } = this.#remote;
      const own = found.find((one) => one.entry === id);
      const isOwn = own !== undefined && this.#hasWritten(own);
      if (own === undefined || isOwn) this.#set({ id, version: own?.version });
      const others = found.filter((one) => one !== own || !isOwn);
      // What was saved already is not offered. The request that erased it may have failed.
      const saved = others.filter((one) => !differs(one));
      for (const one of saved) await this.#erase(one);
      this.#show({ offers: others.filter((one) => !saved.includes(one)) });
    });
  }

  /** @param changed what the form has changed; undefined if it has no unsaved changes */
  change(changed: Changed | undefined): void {
    this.#newest = changed;
    if (changed === undefined) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), AFTER_MS);
  }

  /** Keeps the newest changes now. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#run(() => this.#write());
  }

  /** Goes on from what was kept. Call this when the form shows it. */
  take(offer: Unsaved): void {
    this.#show({ offers: this.#without(offer), standing: "kept" });
    // After a request that is under way, whose answer would name another form.
    this.#run(async () => {
      this.#set({ id: offer.entry, version: offer.version });
      this.#sent = "";
    });
  }

  /** Erases what was kept elsewhere. */
  drop(offer: Unsaved): void {
    this.#show({ offers: this.#without(offer) });
    this.#run(async () => {
      await this.#erase(offer);
      if (offer.entry === this.#remote.id) this.#set({ ...this.#remote, version: undefined });
      this.#sent = "";
      await this.#write();
    });
  }

  /** @param isForgotten whether the changes were saved or discarded */
  end(isForgotten: boolean): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (isForgotten) this.#newest = undefined;
    this.#run(() => this.#write());
    this.#ended = true;
  }

  /** Whether this form has written what is kept, perhaps before the page was loaded again and without an answer. */
  #hasWritten({ version, draft }: Unsaved): boolean {
    const { version: known, sending } = this.#remote;
    return version === known || same(draft, this.#newest?.draft) || same(draft, sending);
  }

  #without(offer: Unsaved): Unsaved[] {
    return this.#state.offers.filter((one) => one !== offer);
  }

  #set(remote: Remote): void {
    this.#remote = remote;
    this.#options.remember(remote);
  }

  #show(state: Partial<KeeperState>): void {
    this.#state = { ...this.#state, ...state };
    if (!this.#ended) this.#options.show(this.#state);
  }

  #run(work: () => Promise<void>): void {
    if (this.#ended) return;
    this.#queue = this.#queue.then(work).catch((error: unknown) => this.#fail(error));
  }

  #fail(error: unknown): void {
    const status = statusOf(error);
    const isFull = isProblem(error, "too_many_unsaved");
    if (!isFull && isOver(error)) {
      this.#show({ standing: "none" });
      return;
    }
    this.#show({ standing: status === 413 ? "large" : isFull ? "full" : "failed" });
    // The same request would fail again.
    if (this.#ended || (status !== undefined && status >= 400 && status < 429)) return;
    this.#timer ??= setTimeout(() => this.flush(), AGAIN_MS);
  }

  async #erase({ entry, version }: Pick<Unsaved, "entry" | "version">): Promise<void> {
    await discardUnsaved(this.#options.place, entry, version).catch((error: unknown) => {
      // Another window has kept something else since. That stays.
      if (statusOf(error) !== 412) throw error;
    });
  }

  async #write(): Promise<void> {
    const { id, version } = this.#remote;
    // The user decides first what becomes of the other version.
    if (this.#state.offers.some(({ entry }) => entry === id)) return;
    const changed = this.#newest;
    if (changed === undefined) {
      if (version !== undefined) await this.#erase({ entry: id, version });
      this.#set({ id, version: undefined });
      this.#sent = "";
      this.#show({ standing: "none" });
      return;
    }
    const text = JSON.stringify(changed);
    if (text === this.#sent) return;
    if (text.length > MOST) {
      this.#show({ standing: "large" });
      return;
    }
    this.#set({ id, version, sending: changed.draft });
    try {
      const kept = await keepUnsaved(this.#options.place, id, changed, version);
      this.#set({ id, version: kept.version });
      this.#sent = text;
      this.#show({ standing: "kept" });
    } catch (error) {
      if (statusOf(error) !== 412) throw error;
      await this.#meet(changed);
    }
  }

  /** After a conflict: offers what the other window has kept, unless it is the same. */
  async #meet(changed: Changed): Promise<void> {
    const { place } = this.#options;
    const { id } = this.#remote;
    const [found] = await listUnsaved(place, id);
    // An earlier attempt of the request may have succeeded without an answer.
    if (found !== undefined && !same(found.draft, changed.draft)) {
      this.#show({ offers: [...this.#state.offers, found] });
      return;
    }
    this.#set({ id, version: found?.version });
    if (found === undefined) await this.#write();
    else this.#show({ standing: "kept" });
  }
}

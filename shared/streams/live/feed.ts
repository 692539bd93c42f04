/** Reads the changes of one schema's entries, once for all live lists (lists that send changes) of the schema. */
import type { LiveOrb } from "../../definition/live-orb.ts";
import { liveOrb } from "../../definition/stored/index.ts";
import { type Change, changesFilter, changesIn } from "../../entry/live/index.ts";
import { BoundedMap } from "../../kernel/bounded-map.ts";
import { type Home, streams } from "../../store/subjects.ts";
import type { StoredMessage } from "../../store/types.ts";
import {
  checkRetained,
  type Hub,
  type Listener,
  type PageLimit,
  type Step,
  type Tail,
} from "../read/index.ts";

/** The changes of entries between two positions of the stream. */
export interface ChangeStep extends Step {
  changes: readonly Change[];
  /** The definition when the changes were read. Null if the application was not published. */
  live: LiveOrb | null;
}

const LIMIT: PageLimit = { messages: 500, bytes: 2_000_000 };
/**
 * Clients that resume within this many milliseconds share the same read of changes. After an interruption, many
 * clients resume from almost the same position.
 */
const SHARED_MS = 1_000;
const SHARED_PAGES = 64;

export class ChangeFeed {
  readonly stream: string;
  readonly #hub: Hub;
  readonly #orb: string;
  readonly #home: Home;
  readonly #filter: string;
  readonly #pages = new BoundedMap<number, { at: number; page: Promise<ChangeStep> }>(SHARED_PAGES);
  #lags = true;

  constructor(hub: Hub, orb: string, home: Home) {
    this.#hub = hub;
    this.#orb = orb;
    this.#home = home;
    this.stream = streams.orb(orb);
    this.#filter = changesFilter(orb, home);
  }

  /** Returns a tail: an object that delivers new changes to the listener. The caller must release it in the end. */
  tail(listener: Listener<ChangeStep>): Promise<Tail<ChangeStep>> {
    return this.#hub.tailOf("changes", this.stream, this.#filter, listener, (messages, between) =>
      this.#step(messages, between),
    );
  }

  /** Returns the changes after a position. */
  page(from: number): Promise<ChangeStep> {
    const now = this.#hub.now();
    const known = this.#pages.get(from);
    if (known !== undefined && now - known.at < SHARED_MS) return known.page;
    const page = this.#read(from);
    page.catch(() => this.#pages.delete(from));
    this.#pages.set(from, { at: now, page });
    return page;
  }

  async #read(from: number): Promise<ChangeStep> {
    const { source } = this.#hub;
    const state = await source.state(this.stream);
    this.#lags = state.lags;
    checkRetained({ ...state, first: 0 }, from);
    if (from >= state.last) return this.#step([], { from, to: from, upToDate: true });
    const page = await source.scan(this.stream, this.#filter, from, LIMIT);
    const seen = page.messages.at(-1)?.seq ?? from;
    const whole =
      page.pending === 0 &&
      (seen >= state.last || (await source.nothingLeft(this.stream, this.#filter, seen, state)));
    const to = whole ? Math.max(seen, state.last) : seen;
    return this.#step(page.messages, { from, to, upToDate: whole });
  }

  async #step(
    messages: readonly StoredMessage[],
    between: Pick<Step, "from" | "to" | "upToDate">,
  ): Promise<ChangeStep> {
    const { store } = this.#hub.source;
    const [orb, home, lags] = [this.#orb, this.#home, this.#lags];
    const options = { orb, home, from: between.from, lags };
    // Read the definition after the messages, because an older definition could allow something that the current one
    // forbids.
    const [changes, known] = await Promise.all([
      changesIn(store, messages, options),
      liveOrb({ store }, orb, "cached"),
    ]);
    // A change set may have published entries together with a definition that this process has not met yet.
    const newest = Math.max(0, ...changes.map(({ after }) => after?.head.defRevision ?? 0));
    const live = known !== null && newest > known.revision ? await liveOrb({ store }, orb) : known;
    return { ...between, size: changes.length, changes, live };
  }
}

/** A client of live lists, as simple as an EventSource in a page: it resumes from the id of its last event. */
import { setTimeout as delay } from "node:timers/promises";
import { type SentEvent, sentEvents } from "./streams.ts";

export interface ListedItem {
  id: string;
  revision: number;
  values: Record<string, unknown>;
  rank?: unknown[];
}

/**
 * Reads the beginning of a live list, until it is ready.
 * @returns the items that the client then has; undefined if the list ended before, to begin anew
 */
export async function beginningOf<T extends { id: string }>(response: Response): Promise<T[] | undefined> {
  const known = new Map<string, T>();
  for await (const { type, data } of sentEvents(response)) {
    if (type === "ready") return [...known.values()];
    if (type !== "upsert" && type !== "leave") continue;
    const item = JSON.parse(data) as T;
    if (type === "upsert") known.set(item.id, item);
    else known.delete(item.id);
  }
  return undefined;
}

export interface FollowOptions {
  token?: string | undefined;
  headers?: Record<string, string>;
  /** Address to use for the next connection. */
  origin: () => string;
}

/** Follows a list. Call `stop` at the end. */
export class Follow {
  readonly items = new Map<string, ListedItem>();
  /** Everything that arrived, in order. */
  readonly events: SentEvent[] = [];
  /** Statuses of refused connections. */
  readonly refused: number[] = [];
  resets = 0;
  lastId = "";
  ready = false;
  readonly #path: string;
  readonly #o: FollowOptions;
  #cut = new AbortController();
  #stopped = false;
  readonly #running: Promise<void>;
  #waiting: { met: () => boolean; resolve: () => void }[] = [];

  /** @param path of the list with its query, such as `/api/shop/catalog?live=sse` */
  constructor(path: string, options: FollowOptions) {
    this.#path = path;
    this.#o = options;
    this.#running = this.#run();
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      this.#cut = new AbortController();
      await this.#connect().catch(() => undefined);
      this.ready = false;
      this.#check();
      if (!this.#stopped) await delay(20);
    }
  }

  async #connect(): Promise<void> {
    const { token, headers, origin } = this.#o;
    const response = await fetch(`${origin()}${this.#path}`, {
      signal: this.#cut.signal,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(this.lastId === "" ? {} : { "last-event-id": this.lastId }),
        ...headers,
      },
    });
    if (response.status !== 200) {
      this.refused.push(response.status);
      this.#check();
      await response.body?.cancel();
      await delay(100);
      return;
    }
    for await (const event of sentEvents(response)) {
      // The test has cut the connection. Ignore data that still arrives, as if the connection had broken earlier.
      if (this.#cut.signal.aborted) return;
      this.#take(event);
      this.#check();
    }
  }

  #take(event: SentEvent): void {
    if (event.id !== undefined) this.lastId = event.id;
    if (event.type === "comment" || event.data === "") return;
    this.events.push(event);
    const data = JSON.parse(event.data) as ListedItem;
    if (event.type === "upsert") this.items.set(data.id, data);
    else if (event.type === "leave") this.items.delete(data.id);
    else if (event.type === "ready") this.ready = true;
    else if (event.type === "reset") {
      this.resets++;
      this.items.clear();
    }
  }

  #check(): void {
    this.#waiting = this.#waiting.filter(({ met, resolve }) => {
      if (met()) resolve();
      return !met();
    });
  }

  /** Waits until a condition is met. It is checked after each event. */
  async until(met: (follow: Follow) => boolean): Promise<this> {
    if (met(this)) return this;
    await new Promise<void>((resolve) => this.#waiting.push({ met: () => met(this), resolve }));
    return this;
  }

  get names(): unknown[] {
    return [...this.items.values()].map(({ values }) => values.name).sort();
  }

  /** Breaks the connection immediately. The client connects again by itself. */
  cut(): void {
    this.#cut.abort();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.cut();
    await this.#running;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }
}

/** Follows a list: keeps a sorted copy of its entries up to date, and calls back after each change. */
import type { ReadOptions } from "./options.ts";
import { type Attempt, Outage } from "./outage.ts";
import { Problem } from "./problem.ts";
import { type ListInput, queryOf } from "./query.ts";
import { eventsOf, type SentEvent } from "./stream.ts";
import { isPassing, pause, type Transport } from "./transport.ts";
import type { Fields, Filter, Sort } from "./types.ts";

export interface LiveOptions<S extends Fields, L extends string = string> extends ReadOptions<S, L> {
  /** Conditions on the entries themselves: a live list does not follow the entries that they refer to. */
  filter?: Filter<unknown, S, never>;
  /** Words that an entry must contain in fields with `search: true`. */
  search?: string;
  sort?: Sort<S> | readonly Sort<S>[];
}

/**
 * - `connecting`: the list is not complete yet.
 * - `live`: the list is up to date.
 * - `retrying`: the platform cannot be reached. The list may be out of date, and the client reconnects by itself.
 * - `ended`: the client has stopped after an error that will not pass.
 */
export type LiveStatus = "connecting" | "live" | "retrying" | "ended";

export interface LiveHandlers {
  /** Called with each new status, first with `connecting`. */
  onStatus?: (status: LiveStatus) => void;
  /**
   * Called when the platform responds with an error. The client retries after a temporary error, and stops after any
   * other.
   */
  onError?: (error: Problem) => void;
}

type SortValue = string | number | boolean | null;

interface Followed {
  id: string;
  /** Values of the sort fields. */
  rank?: SortValue[];
}

/**
 * Maximum milliseconds before the client reconnects. The delay is random, so that not all clients reconnect at the same
 * time.
 */
const RECONNECT_MS = 1_000;

/** The outages of clients. All lists of one client reconnect together. */
const outages = new WeakMap<Transport, Outage>();

function outageOf(transport: Transport): Outage {
  const known = outages.get(transport) ?? new Outage();
  outages.set(transport, known);
  return known;
}

function compareValues(a: SortValue, b: SortValue): number {
  if (a === b) return 0;
  if (a === null) return -1;
  if (b === null) return 1;
  return a < b ? -1 : 1;
}

/**
 * Returns a function that orders entries as the platform does: by sort values, then by id. An id begins with the
 * creation time.
 */
function orderOf(sort: string | readonly string[] = []): (a: Followed, b: Followed) => number {
  const keys = typeof sort === "string" ? sort.split(",") : sort;
  const signs = keys.map((key) => (key.startsWith("-") ? -1 : 1));
  return (a, b) => {
    for (const [at, sign] of signs.entries()) {
      const result = compareValues(a.rank?.[at] ?? null, b.rank?.[at] ?? null);
      if (result !== 0) return result * sign;
    }
    return compareValues(a.id, b.id) * (signs[0] ?? 1);
  };
}

/** The entries of a followed list. Also collects the entries of a new snapshot until it is complete. */
class Followers {
  readonly #changed: () => void;
  lastEventId = "";
  items = new Map<string, Followed>();
  /** Whether the client has received all entries at least once, and receives no new snapshot now. */
  get complete(): boolean {
    return this.#complete && this.#next === undefined;
  }
  #complete = false;
  /**
   * Entries of a snapshot that the client is still receiving. They replace the list's entries when the snapshot is
   * complete.
   */
  #next: Map<string, Followed> | undefined;

  constructor(changed: () => void) {
    this.#changed = changed;
  }

  take({ name, data, id }: SentEvent): void {
    if (id !== undefined) this.lastEventId = id;
    if (data === "") return;
    const body = JSON.parse(data) as Followed;
    const target = this.#next ?? this.items;
    if (name === "reset") this.#next = new Map();
    else if (name === "upsert") target.set(body.id, body);
    else if (name === "leave") target.delete(body.id);
    else if (name === "ready" && this.#next !== undefined) {
      this.items = this.#next;
      this.#next = undefined;
      this.#complete = true;
    } else return;
    if (this.#next === undefined) this.#changed();
  }

  /** Discards an incomplete snapshot. */
  interrupted(): void {
    this.#next = undefined;
  }
}

/**
 * Follows a list until the returned function is called.
 * @param path URL path of the list
 * @param render called with all entries, sorted, when the list is complete and after each change
 * @returns a function that stops following
 */
export function followList(
  transport: Transport,
  path: string,
  { signal, ...input }: ListInput & { signal?: AbortSignal },
  render: (items: unknown[]) => void,
  { onError, onStatus }: LiveHandlers = {},
): () => void {
  const stop = new AbortController();
  const stopped = signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal]);
  const order = orderOf(input.sort);
  let waiting = false;
  const list = new Followers(() => {
    // Many changes may arrive together. Call back once for all of them.
    if (waiting) return;
    waiting = true;
    setTimeout(() => {
      waiting = false;
      if (stopped.aborted) return;
      render([...list.items.values()].sort(order).map(({ rank: _, ...item }) => item));
    });
  });
  const query = queryOf(input);
  query.set("live", "sse");
  let status: LiveStatus | undefined;
  const become = (next: LiveStatus) => {
    if (status === next || stopped.aborted) return;
    status = next;
    onStatus?.(next);
  };
  const outage = outageOf(transport);
  const connect = async (attempt: Attempt) => {
    const headers = list.lastEventId === "" ? {} : { "last-event-id": list.lastEventId };
    const response = await transport.send({
      method: "GET",
      path,
      query,
      headers: { accept: "text/event-stream", ...headers },
      signal: stopped,
      repeat: "never",
    });
    if (response.body === null) throw new TypeError("The response has no body.");
    attempt.succeeded();
    if (list.complete) become("live");
    for await (const event of eventsOf(response.body)) {
      if (stopped.aborted) return;
      list.take(event);
      become(list.complete ? "live" : "connecting");
    }
  };
  const follow = async () => {
    become("connecting");
    for (;;) {
      const attempt = await outage.begin(stopped);
      try {
        await connect(attempt);
        if (stopped.aborted) return;
        // The platform ends each response after about a minute.
        await pause(Math.random() * RECONNECT_MS, stopped);
      } catch (error) {
        if (stopped.aborted) return;
        if (error instanceof Problem) {
          onError?.(error);
          if (!isPassing(error.status)) {
            become("ended");
            return;
          }
        }
        attempt.failed(error instanceof Problem ? error.retryAfter : undefined);
        become("retrying");
      }
      list.interrupted();
    }
  };
  // `pause` rejects when the caller stops following the list. That is not an error.
  follow().catch(() => undefined);
  return () => stop.abort();
}

/** Lists the acts in an application, newest first. All of them are stored anyway; the list stores nothing. */
import type { Actor } from "../access/actor.ts";
import { mayOperate, requireOperator } from "../access/authorize.ts";
import type { Deps } from "../deps.ts";
import { messagesBackwards } from "../entry/index/index.ts";
import type { OrbContext } from "../entry/model/index.ts";
import { READ_BYTES } from "../store/budget.ts";
import { nullIfMissing } from "../store/pages.ts";
import type { StoredMessage } from "../store/types.ts";
import { type By, namesFor } from "./by.ts";
import { firstAfter } from "./moment.ts";
import { type ActivityKind, type Noted, type Source, sourcesOf } from "./sources.ts";

export const ACTIVITY_LIMITS = {
  /** Maximum acts of a page. */
  page: 100,
  /** Maximum messages that one page reads. It ends early after this many. */
  read: 2_000,
  /** Maximum bytes of messages that one page reads, except for its last message. */
  bytes: 4 * 1024 * 1024,
} as const;

/**
 * Milliseconds for which the time in a record and the one at which the broker stored it may differ: a request takes time,
 * and clocks differ.
 */
const CLOCKS_MS = 60_000;

export interface ActivityQuery {
  /** Id of the only entry whose acts are listed. */
  entry?: string | undefined;
  /** Id of the only account whose acts are listed. */
  by?: string | undefined;
  kind?: ActivityKind | undefined;
  act?: string | undefined;
  /** Milliseconds since the epoch, inclusive. */
  since?: number | undefined;
  until?: number | undefined;
  limit: number;
  /** For each source of {@link sourcesFor}: list the messages before this sequence number. */
  before?: readonly number[] | undefined;
}

export type ActivityItem = Omit<Noted, "by" | "account"> & { id: string; by: By; account?: By };

export interface ActivityPage {
  items: ActivityItem[];
  /** Where each source continues; null after the last page. */
  next: number[] | null;
}

/**
 * Returns the sources that a list reads, in a fixed order.
 * @throws AppError 401 or 403 if the caller may not read what the application stores
 */
export function sourcesFor(
  actor: Actor,
  orb: string,
  { entry, kind }: Pick<ActivityQuery, "entry" | "kind">,
): readonly Source[] {
  requireOperator(actor, "entries.read", orb);
  return sourcesOf(orb, entry).filter(
    ({ right, kinds }) =>
      mayOperate(actor, right, orb) && (kind === undefined || (kinds as readonly string[]).includes(kind)),
  );
}

/** The messages of a source, newest first. */
class Reader {
  /** The messages before this sequence number are not used yet. */
  position: number;
  #windows: AsyncGenerator<{ messages: StoredMessage[] }> | undefined;
  #read: StoredMessage[] = [];
  readonly source: Source;
  readonly #deps: Deps;
  readonly #first: number;

  /** @param before undefined to begin with the newest message */
  constructor(deps: Deps, source: Source, first: number, before: number | undefined) {
    this.#deps = deps;
    this.source = source;
    this.#first = first;
    this.position = before ?? Number.POSITIVE_INFINITY;
  }

  /** Returns the next message. Null after the last one. */
  async head(): Promise<StoredMessage | null> {
    this.#windows ??= this.#open();
    while (this.#read.length === 0) {
      const window = await this.#windows.next();
      if (window.done === true) {
        this.end();
        return null;
      }
      this.#read = window.value.messages;
    }
    return this.#read[0] ?? null;
  }

  take(message: StoredMessage): void {
    this.#read.shift();
    this.position = message.seq;
  }

  /** Marks that the list needs nothing more of this source. */
  end(): void {
    this.position = 1;
    this.#read = [];
    this.#windows = none();
  }

  async *#open(): AsyncGenerator<{ messages: StoredMessage[] }> {
    const { stream, filter } = this.source;
    let seq = this.position;
    if (seq <= 1) return;
    if (seq === Number.POSITIVE_INFINITY) {
      const last = await nullIfMissing(this.#deps.store.get(stream, filter));
      if (last === null) return;
      seq = last.seq + 1;
    }
    const scan = { stream, filter, first: this.#first, maxBytes: READ_BYTES };
    yield* messagesBackwards(this.#deps.store, scan, { seq, density: 0 });
  }
}

async function* none(): AsyncGenerator<never> {}

/** Returns where the sources of a list begin, which has only what happened before a time. */
async function startOf(
  deps: Deps,
  sources: readonly Source[],
  { before, until }: ActivityQuery,
): Promise<readonly (number | undefined)[]> {
  if (before !== undefined || until === undefined) return before ?? [];
  const streams = [...new Set(sources.map(({ stream }) => stream))];
  const found = new Map(
    await Promise.all(
      streams.map(async (one) => [one, await firstAfter(deps.store, one, until + CLOCKS_MS)] as const),
    ),
  );
  return sources.map(({ stream }) => found.get(stream));
}

function isWanted(noted: Noted, { by, kind, act, since, until, entry }: ActivityQuery): boolean {
  const at = Date.parse(noted.at);
  return (
    (by === undefined || noted.by === by) &&
    (kind === undefined || noted.kind === kind) &&
    (act === undefined || noted.act === act) &&
    (entry === undefined || noted.entry?.id === entry) &&
    (since === undefined || at >= since) &&
    (until === undefined || at <= until)
  );
}

/** Lists what happened in an application. A page may be shorter than `limit`, although others follow. */
export async function listActivity(
  deps: Deps,
  actor: Actor,
  context: OrbContext,
  query: ActivityQuery,
): Promise<ActivityPage> {
  const sources = sourcesFor(actor, context.orb, query);
  const start = await startOf(deps, sources, query);
  const readers = sources.map((source, at) => new Reader(deps, source, query.limit, start[at]));
  const found: (Noted & { id: string })[] = [];
  let [read, bytes] = [0, 0];
  for (;;) {
    const heads = await Promise.all(
      readers.map(async (reader) => ({ reader, message: await reader.head() })),
    );
    const newest = heads.reduce<{ reader: Reader; message: StoredMessage } | undefined>(
      (best, { reader, message }) =>
        message !== null && (best === undefined || message.time > best.message.time)
          ? { reader, message }
          : best,
      undefined,
    );
    if (newest === undefined) return { items: await named(deps, actor, context, found), next: null };
    const { reader, message } = newest;
    const isFull = found.length === query.limit || read >= ACTIVITY_LIMITS.read;
    if (isFull || bytes >= ACTIVITY_LIMITS.bytes) break;
    read++;
    bytes += message.size;
    if (query.since !== undefined && message.time < query.since - CLOCKS_MS) {
      reader.end();
      continue;
    }
    reader.take(message);
    const noted = message.size === 0 ? null : reader.source.note(message, context.compiled);
    if (noted !== null && isWanted(noted, query))
      found.push({ ...noted, id: `${reader.source.name}-${message.seq}` });
  }
  const next = await Promise.all(
    readers.map(async (reader) => {
      // A source that nothing was taken from begins after its newest message.
      if (reader.position !== Number.POSITIVE_INFINITY) return reader.position;
      return ((await reader.head())?.seq ?? 0) + 1;
    }),
  );
  return { items: await named(deps, actor, context, found), next };
}

/** Adds the names of accounts. */
async function named(
  deps: Deps,
  actor: Actor,
  context: OrbContext,
  found: readonly (Noted & { id: string })[],
): Promise<ActivityItem[]> {
  const ids = found.flatMap(({ by, account }) => (account === undefined ? [by] : [by, account]));
  const nameOf = await namesFor(deps, actor, context, ids);
  return found.map(({ by, account, ...noted }) => ({
    ...noted,
    by: nameOf(by),
    ...(account === undefined ? {} : { account: nameOf(account) }),
  }));
}

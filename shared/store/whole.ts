/**
 * Lets a request that reads many messages see all of a publication, or nothing of it.
 *
 * A publication writes several entries in one atomic batch, and each of its messages has the header {@link TOGETHER}. A
 * single read sees the whole batch or nothing of it, because the broker isolates reads from batches, on each replica and
 * in the memory of a host. Two reads can differ: the publication comes between them, or the second is answered by a
 * replica that lags. So a request is answered only from reads that all begin after every publication of which they show a
 * message: otherwise it reads again, from then on nothing older than that message. A request that publications have
 * overtaken several times holds further ones of this process for a moment.
 */
import { PerHost } from "../kernel/bounded-map.ts";
import { AppError } from "../kernel/errors.ts";
import { pause } from "../kernel/pause.ts";
import { type Installation, readsMemory, seesAllWrites } from "./policy.ts";
import { TOGETHER } from "./subjects.ts";
import type { Page, Store, StoredMessage } from "./types.ts";

/** Returns whether a message was written together with those of other entries that readers must see with it. */
export const isTogether = (message: Pick<StoredMessage, "header">): boolean =>
  message.header(TOGETHER) !== undefined;

interface Publication {
  seq: number;
  /** When it was stored, in milliseconds since the epoch. Tells it from one of an earlier stream of the same name. */
  time: number;
}

interface Known extends Publication {
  /** When this process has met it first, by the clock of the process. */
  since: number;
  /** Whether the leader is known to have it. */
  isLed: boolean;
}

const MOST_STREAMS = 10_000;
/** For each stream, the newest publication that requests of this process have met. */
const publications = new PerHost<Known>(MOST_STREAMS);

/** Milliseconds after which all replicas and the memory of all hosts have a publication. */
const SETTLED_MS = 10_000;
/** Maximum number of times that a request reads. Each further one has met a newer publication. */
const PASSES = 10;
/** After this many of them, publications of this process wait for the request. */
const PATIENT_PASSES = 3;
/** Maximum milliseconds for which a publication waits, and for which others wait for one pass. */
const HELD_MS = 3_000;
const LOOK_MS = 5;
/**
 * For each stream, when the requests for which publications of this process wait began their passes, in milliseconds
 * since the epoch. In Workers a cancelled request cannot report its end, so a pass counts only for a while.
 */
const overtaken = new PerHost<number[]>(MOST_STREAMS);
/** Milliseconds to wait until the leader has what a replica has returned. */
const LEADER_WAITS = [0, 2, 5, 20, 50, 100];

/** The reads of one pass. Notes what they show, and asks for nothing older than what they have shown. */
class Pass {
  readonly #stream: string;
  readonly #floor: number;
  readonly #isMixed: boolean;
  /** The newest message of the stream that was read. */
  #newest: number;
  met: Publication | undefined;

  /** @param floor sequence number that each read must include, if it may come from a replica or from memory */
  constructor(deps: Installation, stream: string, floor: number) {
    this.#stream = stream;
    this.#floor = floor;
    this.#newest = floor;
    this.#isMixed = !seesAllWrites(deps) || readsMemory(deps.store);
  }

  #note(stream: string, messages: Iterable<StoredMessage>): void {
    if (stream !== this.#stream) return;
    for (const message of messages) {
      this.#newest = Math.max(this.#newest, message.seq);
      if (isTogether(message) && message.seq > (this.met?.seq ?? 0))
        this.met = { seq: message.seq, time: message.time };
    }
  }

  /** Returns the options of a read that must include a sequence number. */
  #since<O extends object>(stream: string, options: O, seq: number): O & { atLeast?: number } {
    return this.#isMixed && stream === this.#stream && seq > 0 ? { ...options, atLeast: seq } : options;
  }

  /** Returns a store whose reads this pass notes. */
  over(store: Store): Store {
    const one = (stream: string) => (message: StoredMessage | null) => {
      if (message !== null) this.#note(stream, [message]);
      return message;
    };
    const reads: Pick<Store, "get" | "getSeq" | "getMany" | "scan" | "nextMessage"> = {
      get: (stream, subject, options = {}) =>
        store.get(stream, subject, this.#since(stream, options, this.#newest)).then(one(stream)),
      getSeq: (stream, ...rest) => store.getSeq(stream, ...rest).then(one(stream)),
      getMany: async (stream, subjects, options) => {
        const asked = options.upTo === undefined ? this.#since(stream, options, this.#newest) : options;
        const found = await store.getMany(stream, subjects, asked);
        if (options.upTo === undefined) this.#note(stream, found.values());
        return found;
      },
      // Messages are appended to an index, and entries tell whether the index is right. So only its end can be too old,
      // and only a publication matters.
      scan: async (stream, filter, options): Promise<Page> => {
        const page = await store.scan(stream, filter, this.#since(stream, options, this.#floor));
        this.#note(stream, page.messages);
        return page;
      },
      nextMessage: (stream, ...rest) => store.nextMessage(stream, ...rest).then(one(stream)),
    };
    return new Proxy(store, {
      get: (target, name) =>
        Object.hasOwn(reads, name) ? Reflect.get(reads, name) : Reflect.get(target, name),
    });
  }
}

const covers = (known: Publication | undefined, { seq, time }: Publication): boolean =>
  known !== undefined && seq <= known.seq && time <= known.time;

/** Returns the sequence number of the last message of a stream. */
const lastOf = async (store: Store, stream: string): Promise<number> =>
  (await store.get(stream, ">", { consistency: "leader" }))?.seq ?? 0;

/** Waits until the leader has a message. A replica may have it a moment earlier. */
async function isLed(store: Store, stream: string, seq: number): Promise<boolean> {
  for (const ms of LEADER_WAITS) {
    if (ms > 0) await pause(ms);
    if ((await lastOf(store, stream)) >= seq) return true;
  }
  return false;
}

/**
 * Returns the sequence number that each read must include: the newest publication, unless all replicas have had the time
 * to store it. 0 if the stream does not have this number: it was created again or restored.
 */
async function floorOf(deps: Installation, stream: string, known: Known | undefined): Promise<number> {
  if (known === undefined || Date.now() - known.since > SETTLED_MS) return 0;
  if (!known.isLed && !seesAllWrites(deps)) known.isLed = await isLed(deps.store, stream, known.seq);
  return known.isLed || seesAllWrites(deps) ? known.seq : 0;
}

/** Waits until no publication has overtaken a request of this process several times. Call this before a publication. */
export async function afterReaders({ config }: Pick<Installation, "config">, stream: string): Promise<void> {
  const until = Date.now() + HELD_MS;
  for (;;) {
    const now = Date.now();
    const waiting = overtaken.get(config, stream) ?? [];
    if (now >= until || !waiting.some((since) => since + HELD_MS > now)) return;
    await pause(LOOK_MS);
  }
}

/** Makes publications of this process wait. @returns ends that */
function holdPublications(config: Installation["config"], stream: string): () => void {
  const since = Date.now();
  const others = (overtaken.get(config, stream) ?? []).filter((other) => other + HELD_MS > since);
  overtaken.set(config, stream, [...others, since]);
  return () => {
    const waiting = overtaken.get(config, stream) ?? [];
    const index = waiting.indexOf(since);
    if (index >= 0) overtaken.set(config, stream, waiting.toSpliced(index, 1));
  };
}

/**
 * Reads from a stream until all that was read shows the same publications. If there are no publications, this costs
 * nothing.
 * @param incarnation tells the stream from earlier ones of the same name
 * @param read reads with the given dependencies; it is called again if a publication came between its reads. What it has
 *   read before must not be older than the sequence number `floor`
 * @throws AppError unavailable `reads_busy` if publications follow each other faster than the request can read
 */
export async function readWhole<D extends Installation, T>(
  deps: D,
  { stream, incarnation }: { stream: string; incarnation: number },
  read: (deps: D, floor: number) => Promise<T>,
): Promise<T> {
  const name = `${stream} ${incarnation}`;
  let release: (() => void) | undefined;
  try {
    for (let passes = 0; passes < PASSES; passes++) {
      if (passes >= PATIENT_PASSES) {
        release?.();
        release = holdPublications(deps.config, stream);
      }
      const known = publications.get(deps.config, name);
      const before = known && { seq: known.seq, time: known.time };
      // What was stored before a pass overtakes none of its reads, also if this process has not met it yet.
      const stored = passes === 0 ? 0 : await lastOf(deps.store, stream);
      const floor = Math.max(stored, await floorOf(deps, stream, known));
      const pass = new Pass(deps, stream, floor);
      const result = await read({ ...deps, store: pass.over(deps.store) }, floor);
      const { met } = pass;
      if (met === undefined || covers(before, met)) return result;
      const newest = publications.get(deps.config, name);
      if (!covers(newest, met))
        publications.set(deps.config, name, { ...met, since: Date.now(), isLed: false });
      if (met.seq <= stored) return result;
    }
  } finally {
    release?.();
  }
  const detail =
    "Change sets are published faster than this can be read. Try again in a moment, or request less.";
  throw new AppError("unavailable", "reads_busy", detail, { retryAfter: 1 });
}

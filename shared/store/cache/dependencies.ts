/**
 * Dependency tracking: what an answer was made of. Whoever caches answers may give one again for as long as all of its
 * dependencies are valid, and not a moment longer.
 */
import { DEFINITIONS } from "../subjects.ts";

/**
 * The time in which a stream's changes are followed without a gap (`feed.ts`). What was cached in it is invalid once it has
 * ended: then changes may have been missed.
 */
export interface Epoch {
  ended: boolean;
}

/** A cached value, as it was when an answer was made of it. */
export interface Dependency {
  /** Whether it is still so: neither replaced, nor evicted, nor of an epoch that has ended. */
  readonly valid: boolean;
  /** The message that it is, where it is one: in its epoch, each message that replaces it is heard of. */
  readonly message?: { readonly subject: string; readonly seq: number; readonly epoch: Epoch };
}

/** A stream whose changes are followed. */
export interface Source {
  readonly stream: string;
  /** Milliseconds since 1970: a stream that is used stays followed. */
  lastUse: number;
  /** The whole stream as it is now: valid until anything is stored in it. */
  dependency(): Dependency;
}

/** Most dependencies on single values of one stream: checking them must stay cheaper than making the answer again. */
const MOST = 512;

/** The dependencies on one stream. */
interface StreamDependencies {
  source: Source;
  /** The coarse one: on the whole stream as it was when it was first read. Covers whatever was read of it. */
  whole: Dependency | undefined;
  /** The fine ones: on each value that was read; undefined when something was read that is not cached. */
  fine: Dependency[] | undefined;
}

/** The dependencies of an answer about one entry: the orb's live definition and one message. */
export interface EntryDependencies {
  definition: Dependency;
  message: NonNullable<Dependency["message"]>;
  /** The streams of both. */
  sources: readonly Source[];
}

/** Collects the dependencies of one answer while it is made. */
export class DependencyTracker {
  readonly #streams = new Map<string, StreamDependencies>();
  #until = Number.POSITIVE_INFINITY;
  #uncacheable = false;

  /**
   * To be called before a stream is read.
   * @param replicas with more than one, what is read may be older than the feed: then only cached values can be depended on
   */
  begin(source: Source, replicas: number): void {
    if (this.#streams.has(source.stream)) return;
    this.#streams.set(source.stream, {
      source,
      whole: replicas > 1 ? undefined : source.dependency(),
      fine: [],
    });
  }

  /** Adds what was read; undefined for what is not cached: then the answer depends on the whole stream. */
  add(stream: string, dependency: Dependency | undefined): void {
    const known = this.#streams.get(stream);
    if (known === undefined) this.markUncacheable();
    else if (dependency === undefined || (known.fine?.length ?? MOST) >= MOST) {
      known.fine = undefined;
      if (known.whole === undefined) this.markUncacheable();
    } else known.fine?.push(dependency);
  }

  /** The answer is made of something that may change without this process hearing of it. */
  markUncacheable(): void {
    this.#uncacheable = true;
    this.#streams.clear();
  }

  /** The answer is valid until then, even if nothing changes. @param time milliseconds since 1970 */
  expires(time: number): void {
    this.#until = Math.min(this.#until, time);
  }

  /** The dependencies, where they are a live definition and one message of another stream. */
  entryDependencies(): EntryDependencies | undefined {
    if (this.#uncacheable || this.#until !== Number.POSITIVE_INFINITY || this.#streams.size !== 2)
      return undefined;
    let definition: Dependency | undefined;
    let message: Dependency["message"];
    for (const [stream, { fine }] of this.#streams) {
      const [first] = fine ?? [];
      if (fine === undefined || first?.message === undefined || fine.some((other) => other !== first))
        return undefined;
      if (stream === DEFINITIONS) definition = first;
      else message = first.message;
    }
    if (definition === undefined || message === undefined) return undefined;
    return { definition, message, sources: [...this.#streams.values()].map(({ source }) => source) };
  }

  /** How many dependencies there are. */
  get size(): number {
    let size = 0;
    for (const { fine } of this.#streams.values()) size += fine?.length ?? 1;
    return size;
  }

  /** Whether the answer may be given at a moment. @param now milliseconds since 1970 */
  valid(now: number): boolean {
    if (this.#uncacheable || now >= this.#until) return false;
    for (const { source, whole, fine } of this.#streams.values()) {
      source.lastUse = now;
      if (fine === undefined) {
        if (whole?.valid !== true) return false;
      } else for (const dependency of fine) if (!dependency.valid) return false;
    }
    return true;
  }
}

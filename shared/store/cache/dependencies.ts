/**
 * Dependency tracking: records what a response was made from. A response cache may reuse a response exactly as long as
 * all of its dependencies are valid.
 */
import { DEFINITIONS } from "../subjects.ts";

/**
 * A period in which a stream's changes were received without a gap (`feed.ts`). When it ends, changes may have been
 * missed, so everything that was cached in it becomes invalid.
 */
export interface Epoch {
  ended: boolean;
}

/** The state of a cached value when a response was made from it. */
export interface Dependency {
  /** Whether the value is still the same: not replaced, not evicted, and its epoch has not ended. */
  readonly valid: boolean;
  /** The message, if the value is one. During its epoch, every message that replaces it is received. */
  readonly message?: { readonly subject: string; readonly seq: number; readonly epoch: Epoch };
}

/** A stream whose changes are received. */
export interface Source {
  readonly stream: string;
  /** Milliseconds since 1970. The cache keeps receiving changes of streams that are in use. */
  lastUse: number;
  /** The current state of the whole stream: valid until anything is stored in it. */
  dependency(): Dependency;
}

/**
 * Maximum dependencies on single values of one stream. Checking them must stay cheaper than making the response again.
 */
const MOST = 512;

/** The dependencies on one stream. */
interface StreamDependencies {
  source: Source;
  /** A dependency on the whole stream as it was before the first read. Covers everything that was read from it. */
  whole: Dependency | undefined;
  /** Dependencies on each value that was read; undefined if an uncached value was read. */
  fine: Dependency[] | undefined;
}

/** The dependencies of a response about one entry: the orb's live definition and one message. */
export interface EntryDependencies {
  definition: Dependency;
  message: NonNullable<Dependency["message"]>;
  /** The streams of both. */
  sources: readonly Source[];
}

/** Collects the dependencies of one response. */
export class DependencyTracker {
  readonly #streams = new Map<string, StreamDependencies>();
  #until = Number.POSITIVE_INFINITY;
  #uncacheable = false;

  /**
   * Call this before reading a stream.
   * @param replicas with more than one, a read may return older data than the feed, so only cached values count as
   * dependencies
   */
  begin(source: Source, replicas: number): void {
    if (this.#streams.has(source.stream)) return;
    this.#streams.set(source.stream, {
      source,
      whole: replicas > 1 ? undefined : source.dependency(),
      fine: [],
    });
  }

  /** Adds a value that was read; undefined for an uncached value, which makes the response depend on the whole stream. */
  add(stream: string, dependency: Dependency | undefined): void {
    const known = this.#streams.get(stream);
    if (known === undefined) this.markUncacheable();
    else if (dependency === undefined || (known.fine?.length ?? MOST) >= MOST) {
      known.fine = undefined;
      if (known.whole === undefined) this.markUncacheable();
    } else known.fine?.push(dependency);
  }

  /** Marks the response as uncacheable, because it depends on something whose changes this process does not receive. */
  markUncacheable(): void {
    this.#uncacheable = true;
    this.#streams.clear();
  }

  /** Limits the validity of the response. @param time milliseconds since 1970 */
  expires(time: number): void {
    this.#until = Math.min(this.#until, time);
  }

  /** The dependencies, if they are one live definition and one message of another stream. */
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

  /** Number of dependencies. */
  get size(): number {
    let size = 0;
    for (const { fine } of this.#streams.values()) size += fine?.length ?? 1;
    return size;
  }

  /** Whether the response is still valid. @param now milliseconds since 1970 */
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

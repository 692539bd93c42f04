/**
 * Dependency tracking: records which cached values a response was made from. A response cache may repeat the response
 * while all of them are valid.
 */
import { DEFINITIONS } from "../subjects.ts";

/**
 * A period in which no change of a stream was missed. When it ends, all values that were cached in it become invalid.
 */
export interface Epoch {
  ended: boolean;
}

/** A cached value at the time when a response was made from it. */
export interface Dependency {
  /** Whether the value was neither replaced nor evicted, and its epoch has not ended. */
  readonly valid: boolean;
  /** The message, if the value is a single message. */
  readonly message?: { readonly subject: string; readonly seq: number; readonly epoch: Epoch };
}

/** A stream whose changes this process receives. */
export interface Source {
  readonly stream: string;
  /** Milliseconds since the epoch. The cache unfollows streams that have not been used for long. */
  lastUse: number;
  /** Returns a dependency that any write to the stream invalidates. */
  dependency(): Dependency;
}

/** Maximum dependencies per stream. Checking more would cost as much as making the response again. */
const MOST = 512;

interface StreamDependencies {
  source: Source;
  /** A dependency on the whole stream, taken before the first read. Used if `fine` is undefined. */
  whole: Dependency | undefined;
  /** A dependency on each value that was read; undefined if an uncached value was read. */
  fine: Dependency[] | undefined;
}

/** Dependencies of a response about one entry: the orb's published definition, and one message. */
export interface EntryDependencies {
  definition: Dependency;
  message: NonNullable<Dependency["message"]>;
  sources: readonly Source[];
}

/** Collects the dependencies of one response. */
export class DependencyTracker {
  readonly #streams = new Map<string, StreamDependencies>();
  #until = Number.POSITIVE_INFINITY;
  #uncacheable = false;

  /**
   * Call this before the first read from a stream.
   * @param replicas with more than one, uncached reads may be older than the feed and make the response uncacheable
   */
  begin(source: Source, replicas: number): void {
    if (this.#streams.has(source.stream)) return;
    this.#streams.set(source.stream, {
      source,
      whole: replicas > 1 ? undefined : source.dependency(),
      fine: [],
    });
  }

  /** Adds a value that was read. An uncached value (undefined) makes the response depend on the whole stream. */
  add(stream: string, dependency: Dependency | undefined): void {
    const known = this.#streams.get(stream);
    if (known === undefined) this.markUncacheable();
    else if (dependency === undefined || (known.fine?.length ?? MOST) >= MOST) {
      known.fine = undefined;
      if (known.whole === undefined) this.markUncacheable();
    } else known.fine?.push(dependency);
  }

  /** Marks the response as uncacheable, because this process does not receive all changes of its sources. */
  markUncacheable(): void {
    this.#uncacheable = true;
    this.#streams.clear();
  }

  /**
   * Limits how long the response is valid.
   * @param time milliseconds since the epoch
   */
  expires(time: number): void {
    this.#until = Math.min(this.#until, time);
  }

  /** Returns the dependencies if they are exactly one published definition and one message of another stream. */
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

  get size(): number {
    let size = 0;
    for (const { fine } of this.#streams.values()) size += fine?.length ?? 1;
    return size;
  }

  /**
   * Returns whether the response is still valid.
   * @param now milliseconds since the epoch
   */
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

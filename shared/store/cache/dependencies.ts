/**
 * Dependency tracking: records which cached values a response was made from. A response cache may repeat the response
 * while all of them are unchanged.
 */

/**
 * A period in which this process received every message of a stream without a gap. When a message was missed, all
 * values cached from the stream become invalid.
 */
export interface Epoch {
  ended: boolean;
}

export interface Dependency {
  /** Whether the cached value is still current. */
  readonly valid: boolean;
}

export interface Source {
  readonly stream: string;
  lastUse: number;
  dependency(): Dependency;
}

/**
 * Maximum number of stored values on which a cached response may depend, per stream. All of them are checked before the
 * response is used again. With more values, these checks would be slower than building the response again.
 */
const MOST = 512;

interface StreamDependencies {
  source: Source;
  /**
   * Tells whether the whole stream is unchanged. Used if the response was made from an uncached value, which cannot be
   * checked alone.
   */
  whole: Dependency | undefined;
  fine: Dependency[] | undefined;
}

export class DependencyTracker {
  readonly #streams = new Map<string, StreamDependencies>();
  #until = Number.POSITIVE_INFINITY;
  #uncacheable = false;

  begin(source: Source, replicas: number): void {
    if (this.#streams.has(source.stream)) return;
    this.#streams.set(source.stream, {
      source,
      whole: replicas > 1 ? undefined : source.dependency(),
      fine: [],
    });
  }

  /**
   * Records that the response was made from a cached value. Pass undefined if the value is not cached. Then any write
   * to the stream invalidates the response.
   */
  add(stream: string, dependency: Dependency | undefined): void {
    const known = this.#streams.get(stream);
    if (known === undefined) this.markUncacheable();
    else if (dependency === undefined || (known.fine?.length ?? MOST) >= MOST) {
      known.fine = undefined;
      if (known.whole === undefined) this.markUncacheable();
    } else known.fine?.push(dependency);
  }

  markUncacheable(): void {
    this.#uncacheable = true;
    this.#streams.clear();
  }

  /** Sets the latest time until which the response may be repeated, in milliseconds since the epoch. */
  expires(time: number): void {
    this.#until = Math.min(this.#until, time);
  }

  get size(): number {
    let size = 0;
    for (const { fine } of this.#streams.values()) size += fine?.length ?? 1;
    return size;
  }

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

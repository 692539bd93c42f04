/**
 * Dependency tracking: records which cached values a response was made from. A response cache may repeat the response
 * while all of them are unchanged.
 */
import { DEFINITIONS } from "../subjects.ts";

/** A period in which no change of a stream was missed. When it ends, cached values become invalid. */
export interface Epoch {
  ended: boolean;
}

export interface Dependency {
  /** Whether the cached value is still current. */
  readonly valid: boolean;
  readonly message?: { readonly subject: string; readonly seq: number; readonly epoch: Epoch };
}

export interface Source {
  readonly stream: string;
  /** Milliseconds since the epoch. */
  lastUse: number;
  dependency(): Dependency;
}

/** Maximum dependencies of a response on one stream. Checking more would be slower than making the response again. */
const MOST = 512;

interface StreamDependencies {
  source: Source;
  /** Used after an uncached read: any write to the stream invalidates it. */
  whole: Dependency | undefined;
  fine: Dependency[] | undefined;
}

/** What a response about one entry was made from: the orb's published definition, and one message. */
export interface EntryDependencies {
  definition: Dependency;
  message: NonNullable<Dependency["message"]>;
  sources: readonly Source[];
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

  /** Adds a cached value. For an uncached value (undefined), the response depends on the whole stream. */
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

  /** Limits how long the response is valid, in milliseconds since the epoch. */
  expires(time: number): void {
    this.#until = Math.min(this.#until, time);
  }

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

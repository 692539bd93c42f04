/**
 * Dependency tracking: records which cached values a response was made from. A response cache may repeat the response
 * while all of them are unchanged.
 */
import { DEFINITIONS } from "../subjects.ts";

/** A period in which no change of a stream was missed. Values that were cached in it are invalid when it ends. */
export interface Epoch {
  ended: boolean;
}

export interface Dependency {
  /** Whether the value was neither replaced nor evicted, and no change of its stream was missed. */
  readonly valid: boolean;
  readonly message?: { readonly subject: string; readonly seq: number; readonly epoch: Epoch };
}

export interface Source {
  readonly stream: string;
  /** Milliseconds since the epoch. Streams that are not used for long are no longer followed. */
  lastUse: number;
  /** Returns a dependency that any write to the stream invalidates. */
  dependency(): Dependency;
}

/** Maximum dependencies per stream. Checking more would cost as much as making the response again. */
const MOST = 512;

interface StreamDependencies {
  source: Source;
  /** Used if an uncached value was read: any write to the stream invalidates it. */
  whole: Dependency | undefined;
  fine: Dependency[] | undefined;
}

/** Dependencies of a response about one entry: the orb's published definition, and one message. */
export interface EntryDependencies {
  definition: Dependency;
  message: NonNullable<Dependency["message"]>;
  sources: readonly Source[];
}

export class DependencyTracker {
  readonly #streams = new Map<string, StreamDependencies>();
  #until = Number.POSITIVE_INFINITY;
  #uncacheable = false;

  /** Call this before the first read from a stream. */
  begin(source: Source, replicas: number): void {
    if (this.#streams.has(source.stream)) return;
    this.#streams.set(source.stream, {
      source,
      whole: replicas > 1 ? undefined : source.dependency(),
      fine: [],
    });
  }

  /** Adds a value that was read. An uncached one (undefined) makes the response depend on the whole stream. */
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

  /** Returns the dependencies if they are exactly one published definition and one message. */
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

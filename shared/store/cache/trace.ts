/**
 * What an answer was made of. Whoever remembers answers may give one again for as long as everything that it was made
 * of is still so, and not a moment longer.
 */

import { DEFINITIONS } from "../subjects.ts";
import type { Era } from "./memory.ts";

/** A part of what is known, as it was when an answer was made of it. */
export interface Ground {
  /** Whether it is still so: neither replaced, nor forgotten, nor doubtful because something may have been missed. */
  readonly holds: boolean;
  /** The message that it is, where it is one: as long as the era lasts, whatever replaces it is told of. */
  readonly message?: { readonly subject: string; readonly seq: number; readonly era: Era };
}

/** A stream whose changes are told. */
export interface Source {
  readonly stream: string;
  /** Milliseconds since 1970: what is used is looked after. */
  lastUse: number;
  /** The whole of it as it is now. */
  ground(): Ground;
}

/** Most parts of one stream: looking whether they hold must stay cheaper than making the answer again. */
const MOST = 512;

/** What was read of one stream. */
interface Part {
  source: Source;
  /** That nothing at all was stored since it was first read: enough for whatever was read of it. */
  whole: Ground | undefined;
  /** Each message that was read, as long as these are all. */
  fine: Ground[] | undefined;
}

/** What an answer was made of when that was a definition and one message. */
export interface Pair {
  definition: Ground;
  own: NonNullable<Ground["message"]>;
  /** Of both. */
  sources: readonly Source[];
}

/** Collects what one request reads. */
export class Trace {
  readonly #parts = new Map<string, Part>();
  #until = Number.POSITIVE_INFINITY;
  #spoiled = false;

  /**
   * Begins a read of a stream.
   * @param replicas with more than one, what is read may be older than what was told: then only what is remembered counts
   */
  touch(source: Source, replicas: number): void {
    if (this.#parts.has(source.stream)) return;
    this.#parts.set(source.stream, { source, whole: replicas > 1 ? undefined : source.ground(), fine: [] });
  }

  /** What was read; undefined: something that is not remembered by itself. */
  note(stream: string, ground: Ground | undefined): void {
    const part = this.#parts.get(stream);
    if (part === undefined) this.spoil();
    else if (ground === undefined || (part.fine?.length ?? MOST) >= MOST) {
      part.fine = undefined;
      if (part.whole === undefined) this.spoil();
    } else part.fine?.push(ground);
  }

  /** The answer is made of something that may change without this process hearing of it. */
  spoil(): void {
    this.#spoiled = true;
    this.#parts.clear();
  }

  /** What was read means something else from then on. @param time milliseconds since 1970 */
  expires(time: number): void {
    this.#until = Math.min(this.#until, time);
  }

  /** What the answer was made of, where that is a live definition and one message of another stream. */
  pair(): Pair | undefined {
    if (this.#spoiled || this.#until !== Number.POSITIVE_INFINITY || this.#parts.size !== 2) return undefined;
    let definition: Ground | undefined;
    let own: Ground["message"];
    for (const [stream, { fine }] of this.#parts) {
      const [first] = fine ?? [];
      if (fine === undefined || first?.message === undefined || fine.some((other) => other !== first))
        return undefined;
      if (stream === DEFINITIONS) definition = first;
      else own = first.message;
    }
    if (definition === undefined || own === undefined) return undefined;
    return { definition, own, sources: [...this.#parts.values()].map(({ source }) => source) };
  }

  /** How many parts there are. */
  get size(): number {
    let size = 0;
    for (const { fine } of this.#parts.values()) size += fine?.length ?? 1;
    return size;
  }

  /** Whether the answer may be given at a moment. */
  holds(now: number): boolean {
    if (this.#spoiled || now >= this.#until) return false;
    for (const { source, whole, fine } of this.#parts.values()) {
      source.lastUse = now;
      if (fine === undefined) {
        if (whole?.holds !== true) return false;
      } else for (const ground of fine) if (!ground.holds) return false;
    }
    return true;
  }
}

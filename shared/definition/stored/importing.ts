/**
 * What tells of an import that is going on: a sign of life in the platform's stream, and a mark in the orb's own. Both
 * bear the number of the revision that began it, which is never used again.
 */
import type { Deps } from "../../deps.ts";
import { streams, subjects } from "../../store/subjects.ts";
import { type Append, BATCH_LIMIT, Conflict } from "../../store/types.ts";
import { type OrbHead, orbHead } from "./history.ts";

/** Seconds between two signs of life, and until an import that gives none counts as gone. */
const SIGN = { every: 10, lasts: 60 } as const;

/** A sign of life. */
export function heartbeat(orb: string, revision: number): Append {
  return { subject: subjects.orbImport(orb, revision), data: "{}", rollup: true, ttl: SIGN.lasts };
}

/** Whether somebody is at an import. One request. */
export async function isAlive(deps: Pick<Deps, "store">, orb: string, head: OrbHead): Promise<boolean> {
  return (await deps.store.get(streams.platform, subjects.orbImport(orb, head.revision))) !== null;
}

/** Gives signs of life until it is stopped. @returns stops it; resolves when the last one is out of the way */
export function startHeartbeat(deps: Pick<Deps, "store" | "log">, orb: string, begun: OrbHead) {
  let last: Promise<unknown> = Promise.resolve();
  const timer = setInterval(() => {
    last = deps.store.append(streams.platform, heartbeat(orb, begun.revision)).catch((error: unknown) => {
      deps.log.warn("an import could not give a sign of life", { orb, error: String(error) });
    });
  }, SIGN.every * 1000);
  return async (): Promise<void> => {
    clearInterval(timer);
    await last;
  };
}

/**
 * The orb's stream as an import found it. Each of its batches expects the mark and moves it on, so that the broker refuses
 * them in another stream of the same name.
 */
export class Mark {
  readonly #store: Deps["store"];
  readonly #stream: string;
  readonly #subject: string;
  #seq = 0;

  private constructor(deps: Pick<Deps, "store">, orb: string, begun: OrbHead) {
    this.#store = deps.store;
    this.#stream = streams.orb(orb);
    this.#subject = subjects.importMark(orb, begun.revision);
  }

  /** Marks the stream. @throws Conflict when the import was given up meanwhile: then the stream may be anybody's */
  static async set(deps: Pick<Deps, "store">, orb: string, begun: OrbHead): Promise<Mark> {
    const mark = new Mark(deps, orb, begun);
    mark.#seq = await deps.store.append(mark.#stream, mark.#next());
    // Whoever gives the import up from now on removes this very stream, and the mark with it.
    const head = await orbHead(deps, orb);
    if (head?.seq === begun.seq) return mark;
    await mark.erase();
    throw new Conflict();
  }

  #next(): Append {
    return { subject: this.#subject, data: "{}", rollup: true, expect: { seq: this.#seq } };
  }

  /**
   * Writes messages in batches of what one holds: nobody sees an orb whose import is not over.
   * @returns the sequence of each
   * @throws Conflict, StreamMissing
   */
  async write(messages: readonly Append[]): Promise<number[]> {
    const sequences: number[] = [];
    for (let from = 0; from < messages.length; from += BATCH_LIMIT - 1) {
      const part = messages.slice(from, from + BATCH_LIMIT - 1);
      const last = await this.#store.batch(this.#stream, [this.#next(), ...part]);
      // Messages of a batch have sequences in a row, the mark's first.
      this.#seq = last - part.length;
      for (const index of part.keys()) sequences.push(this.#seq + 1 + index);
    }
    return sequences;
  }

  /** Whether the stream still is the one that was marked. @throws StreamMissing */
  async holds(): Promise<boolean> {
    return (await this.#store.get(this.#stream, this.#subject))?.seq === this.#seq;
  }

  /** Takes the mark away. @throws Conflict, StreamMissing when it is gone already */
  async erase(): Promise<void> {
    await this.#store.append(this.#stream, { ...this.#next(), data: "", ttl: 1 });
  }
}

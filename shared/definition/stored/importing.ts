import type { Deps } from "../../deps.ts";
import { streams, subjects } from "../../store/subjects.ts";
import { type Append, BATCH_LIMIT, Conflict } from "../../store/types.ts";
import { type OrbHead, orbHead } from "./history.ts";

/**
 * An import sends a heartbeat to show that it is running. `every`: seconds between two heartbeats. `lasts`: seconds
 * without a heartbeat after which the import counts as abandoned.
 */
const SIGN = { every: 10, lasts: 60 } as const;

export function heartbeat(orb: string, revision: number): Append {
  return { subject: subjects.orbImport(orb, revision), data: "{}", rollup: true, ttl: SIGN.lasts };
}

export async function isAlive(deps: Pick<Deps, "store">, orb: string, head: OrbHead): Promise<boolean> {
  return (await deps.store.get(streams.platform, subjects.orbImport(orb, head.revision))) !== null;
}

/** Starts to send heartbeats. Returns a function that stops them and waits for the last one. */
export function startHeartbeat(deps: Pick<Deps, "store" | "log">, orb: string, begun: OrbHead) {
  let last: Promise<unknown> = Promise.resolve();
  const timer = setInterval(() => {
    last = deps.store.append(streams.platform, heartbeat(orb, begun.revision)).catch((error: unknown) => {
      deps.log.warn("an import could not send a heartbeat", { orb, error: String(error) });
    });
  }, SIGN.every * 1000);
  return async (): Promise<void> => {
    clearInterval(timer);
    await last;
  };
}

/**
 * A message that each batch of an import must find and replace. If the stream was deleted and created again in the
 * meantime, the broker rejects the batch.
 */
export class ImportMark {
  readonly #store: Deps["store"];
  readonly #stream: string;
  readonly #subject: string;
  #seq = 0;

  private constructor(deps: Pick<Deps, "store">, orb: string, begun: OrbHead) {
    this.#store = deps.store;
    this.#stream = streams.orb(orb);
    this.#subject = subjects.importMark(orb, begun.revision);
  }

  /**
   * Writes the mark of a new import into the stream.
   * @throws Conflict if the import was cancelled
   */
  static async set(deps: Pick<Deps, "store">, orb: string, begun: OrbHead): Promise<ImportMark> {
    const mark = new ImportMark(deps, orb, begun);
    mark.#seq = await deps.store.append(mark.#stream, mark.#next());
    // From now on, cancelling the import deletes the stream, and this mark with it. So only an earlier cancellation is
    // left to check.
    const head = await orbHead(deps, orb);
    if (head?.seq === begun.seq) return mark;
    await mark.erase();
    throw new Conflict();
  }

  #next(): Append {
    return { subject: this.#subject, data: "{}", rollup: true, expect: { seq: this.#seq } };
  }

  /**
   * Writes messages in several batches. They need not be atomic, because an application is invisible during its
   * import.
   * @throws Conflict if the stream was deleted and created again
   */
  async write(messages: readonly Append[]): Promise<number[]> {
    const sequences: number[] = [];
    for (let from = 0; from < messages.length; from += BATCH_LIMIT - 1) {
      const part = messages.slice(from, from + BATCH_LIMIT - 1);
      const last = await this.#store.batch(this.#stream, [this.#next(), ...part]);
      // Each batch begins with a new mark of the import, and its messages have consecutive sequence numbers. The next
      // batch expects the sequence number of this mark.
      this.#seq = last - part.length;
      for (const index of part.keys()) sequences.push(this.#seq + 1 + index);
    }
    return sequences;
  }

  /** Returns whether the import may continue: no other process has erased it or replaced the stream. */
  async holds(): Promise<boolean> {
    return (await this.#store.get(this.#stream, this.#subject))?.seq === this.#seq;
  }

  async erase(): Promise<void> {
    await this.#store.append(this.#stream, { ...this.#next(), data: "", ttl: 1 });
  }
}

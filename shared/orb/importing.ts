/** What tells of an import that is going on. It bears the number of the revision that began it, which is never used again. */
import type { Deps } from "../deps.ts";
import { streams, subjects } from "../store/subjects.ts";
import { type Append, Conflict } from "../store/types.ts";
import { type OrbHead, orbHead } from "./history.ts";

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

  /** Writes a batch. @returns the sequence of its first message @throws Conflict, StreamMissing */
  async write(messages: readonly Append[]): Promise<number> {
    const last = await this.#store.batch(this.#stream, [this.#next(), ...messages]);
    // Messages of a batch have sequences in a row.
    this.#seq = last - messages.length;
    return this.#seq + 1;
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

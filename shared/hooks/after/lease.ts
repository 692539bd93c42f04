import type { Deps } from "../../deps.ts";
import { streams, subjects } from "../../store/subjects.ts";
import { Conflict } from "../../store/types.ts";

/** Another process takes over if the leader has not renewed its lease for this many milliseconds. */
export const TAKEOVER_MS = 5_000;
/**
 * A leader stops delivering if its last successful renewal is this many milliseconds old. Must be less than {@link
 * TAKEOVER_MS}.
 */
const VALID_MS = 4_000;

/**
 * Elects one process as the leader. The leader keeps replacing a message, on condition that its own previous message is
 * still there. Other processes watch the message. If it has not changed for {@link TAKEOVER_MS}, one of them replaces
 * it and becomes the leader. Each process measures the time with its own clock, so the clocks need not agree.
 */
export class Lease {
  readonly #deps: Pick<Deps, "store" | "clock">;
  readonly #name: string;
  /** Sequence number of the leader's latest message, and the local time at which this process first saw that number. */
  #seen: { seq: number; since: number } | undefined;
  #own: number | undefined;
  #renewed = Number.NEGATIVE_INFINITY;
  #term = 0;

  constructor(deps: Pick<Deps, "store" | "clock">, name: string) {
    this.#deps = deps;
    this.#name = name;
  }

  /** Whether this process is the leader. While it is, no other process can be the leader. */
  get valid(): boolean {
    return this.#own !== undefined && this.#deps.clock.now() - this.#renewed < VALID_MS;
  }

  /**
   * Number of times that this process has become the leader; undefined while it does not lead. If the number has
   * changed, another process may have been the leader in between, or the streams were restored from a backup.
   */
  get term(): number | undefined {
    return this.valid ? this.#term : undefined;
  }

  /** Renews the lease, or acquires it if no process holds it. Call this about once per second. */
  async hold(): Promise<boolean> {
    const { store, clock } = this.#deps;
    const asked = clock.now();
    const expect = this.#own ?? (await this.#free(asked));
    if (expect === undefined) return false;
    try {
      this.#own = await this.#write(expect, JSON.stringify({ v: 1, name: this.#name }));
      if (clock.now() - this.#renewed >= VALID_MS) this.#term++;
      this.#renewed = asked;
      return true;
    } catch (error) {
      if (!(error instanceof Conflict)) throw error;
      const last = await store.get(streams.hooks, subjects.hooksLeader);
      // A renewal whose acknowledgement was lost may be stored. So find out whether the last message is from this
      // process.
      const own = last !== null && last.json<{ name?: string }>().name === this.#name;
      this.#own = own ? last.seq : undefined;
      if (!own) this.#renewed = Number.NEGATIVE_INFINITY;
      this.#seen = undefined;
      return own && this.valid;
    }
  }

  /** Gives up the lease, so that another process can become the leader immediately. */
  async release(): Promise<void> {
    const own = this.#own;
    this.#own = undefined;
    this.#renewed = Number.NEGATIVE_INFINITY;
    if (own !== undefined) await this.#write(own, "{}").catch(() => undefined);
  }

  /**
   * Returns the sequence number of the message that a new leader must replace. Undefined while another process is the
   * leader.
   */
  async #free(now: number): Promise<number | undefined> {
    const last = await this.#deps.store.get(streams.hooks, subjects.hooksLeader);
    if (last === null) return 0;
    if (last.json<{ name?: string }>().name === undefined) return last.seq;
    if (this.#seen?.seq !== last.seq) this.#seen = { seq: last.seq, since: now };
    return now - this.#seen.since >= TAKEOVER_MS ? last.seq : undefined;
  }

  #write(expect: number, data: string): Promise<number> {
    const message = { subject: subjects.hooksLeader, data, expect: { seq: expect }, rollup: true };
    return this.#deps.store.append(streams.hooks, message);
  }
}

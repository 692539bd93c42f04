import type { Deps } from "../../deps.ts";
import { streams, subjects } from "../../store/subjects.ts";
import { Conflict } from "../../store/types.ts";

/** A process takes over if the leader has been silent for this many milliseconds. */
export const TAKEOVER_MS = 5_000;
/** A leader stops its work if it could not renew its lease for this many milliseconds. Less than {@link TAKEOVER_MS}. */
const VALID_MS = 4_000;

/**
 * Makes one process the leader. The leader replaces a message again and again, each time expecting its own last one. The
 * others watch that message, and replace it once it has stayed the same for too long. No process compares its clock with
 * that of another one.
 */
export class Lease {
  readonly #deps: Pick<Deps, "store" | "clock">;
  readonly #name: string;
  /** Sequence of the leader's message as last seen, and when this process saw it first. */
  #seen: { seq: number; since: number } | undefined;
  #own: number | undefined;
  #renewed = 0;

  constructor(deps: Pick<Deps, "store" | "clock">, name: string) {
    this.#deps = deps;
    this.#name = name;
  }

  /** Whether this process is the leader, and no other one can be. */
  get valid(): boolean {
    return this.#own !== undefined && this.#deps.clock.now() - this.#renewed < VALID_MS;
  }

  /** Renews the lease, or takes it if it is free. Call this about every second. */
  async hold(): Promise<boolean> {
    const { store, clock } = this.#deps;
    const asked = clock.now();
    const expect = this.#own ?? (await this.#free(asked));
    if (expect === undefined) return false;
    try {
      this.#own = await this.#write(expect, JSON.stringify({ v: 1, name: this.#name }));
      this.#renewed = asked;
      return true;
    } catch (error) {
      if (!(error instanceof Conflict)) throw error;
      const last = await store.get(streams.hooks, subjects.hooksLeader);
      // The broker may have stored a renewal whose acknowledgement was lost.
      const own = last !== null && last.json<{ name?: string }>().name === this.#name;
      this.#own = own ? last.seq : undefined;
      this.#seen = undefined;
      return own && this.valid;
    }
  }

  /** Lets another process take over at once. */
  async release(): Promise<void> {
    const own = this.#own;
    this.#own = undefined;
    if (own !== undefined) await this.#write(own, "{}").catch(() => undefined);
  }

  /** Returns the sequence to replace if there is no leader, or undefined. */
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

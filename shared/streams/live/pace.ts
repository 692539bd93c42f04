/**
 * Bounds the processor time that live lists take to compare changes with their filters. Each list may compare a little
 * for each second. What it compares beyond that waits for a turn that all lists of the host share, so the list gets its
 * events later.
 */
import type { Work } from "../../entry/query/index.ts";
import { pause } from "../../kernel/pause.ts";

/** Work of a list without waiting, in characters that are compared: about two milliseconds in each second. */
export const FREE = { perSecond: 200_000, burst: 2_000_000 };
/** Work of all lists of a host beyond that: about a tenth of a processor. */
export const SHARED_PER_SECOND = 10_000_000;

/** The turn that all lists of a host share. */
export class SharedPace {
  readonly #pause: (ms: number) => Promise<void>;
  #last: Promise<void> = Promise.resolve();

  constructor(wait = pause) {
    this.#pause = wait;
  }

  /** Waits as long as the host needs to do the work and that of the lists before it, at the common rate. */
  take(work: number): Promise<void> {
    const mine = this.#last.then(() => this.#pause((work / SHARED_PER_SECOND) * 1_000));
    this.#last = mine;
    return mine;
  }
}

export class ListPace implements Work {
  readonly #shared: SharedPace;
  readonly #now: () => number;
  #spent = 0;
  #at: number;
  #isLate = false;

  constructor(shared: SharedPace, now: () => number) {
    this.#shared = shared;
    this.#now = now;
    this.#at = now();
  }

  /** Whether the list has waited for its last change. */
  get isLate(): boolean {
    return this.#isLate;
  }

  work(characters: number): void {
    this.#spent += characters;
  }

  /** Waits if the list has compared more than it may. Call this after each change. */
  async breathe(): Promise<void> {
    const now = this.#now();
    this.#spent = Math.max(0, this.#spent - (Math.max(0, now - this.#at) / 1_000) * FREE.perSecond);
    this.#at = now;
    const over = this.#spent - FREE.burst;
    this.#isLate = over > 0;
    if (over <= 0) return;
    this.#spent = FREE.burst;
    await this.#shared.take(over);
  }
}

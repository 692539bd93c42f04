import { pause } from "../kernel/pause.ts";
import type { Store, Subscription } from "./types.ts";

/** When a keeper looks, and at what. */
export interface Following {
  /** Subject of the broker's notifications of changes. */
  subject: string;
  /** Milliseconds between two looks. */
  lookMs: number;
  /** Milliseconds between two looks at everything, in case that notifications were lost. */
  lookAtAllMs: number;
  /** Whether a look may begin before the one before it has ended. */
  overlaps?: boolean;
}

/**
 * Does work in a long-lived process when it is due. It looks regularly at what the broker's notifications have named,
 * and sometimes at everything.
 */
export abstract class Keeper {
  readonly #store: Pick<Store, "subscribe">;
  readonly #following: Following;
  readonly #ending = new AbortController();
  #subscription: Subscription | undefined;
  #lookedAtAll = Number.NEGATIVE_INFINITY;
  #ended: Promise<void> = Promise.resolve();

  constructor(store: Pick<Store, "subscribe">, following: Following) {
    this.#store = store;
    this.#following = following;
  }

  /** Does the work that is due. */
  abstract look(): Promise<void>;
  /** Remembers for the next look what a notification has named. */
  protected abstract take(subject: string): void;
  /** Reports that a look has failed. */
  protected abstract failed(error: unknown): void;

  start(): void {
    this.#ended = this.#run();
  }

  /** Begins no further look, and waits for the current one, unless looks may overlap. */
  async stop(): Promise<void> {
    this.#ending.abort();
    this.#subscription?.unsubscribe();
    await this.#ended;
  }

  async #run(): Promise<void> {
    const { signal } = this.#ending;
    const { lookMs, overlaps = false } = this.#following;
    while (!signal.aborted) {
      const looked = this.look().catch((error: unknown) => this.failed(error));
      if (!overlaps) await looked;
      await pause(lookMs, signal);
    }
  }

  protected get isEnding(): boolean {
    return this.#ending.signal.aborted;
  }

  /** Subscribes to notifications, unless there is a subscription. Returns whether to look at everything. */
  protected follow(): boolean {
    const lost = () => {
      this.#subscription = undefined;
      this.#lookedAtAll = Number.NEGATIVE_INFINITY;
    };
    const take = ({ subject }: { subject: string }) => this.take(subject);
    this.#subscription ??= this.#store.subscribe(this.#following.subject, take, lost);
    return Date.now() - this.#lookedAtAll > this.#following.lookAtAllMs;
  }

  /** @param at when everything was looked at, in milliseconds since the epoch */
  protected sawAll(at: number): void {
    this.#lookedAtAll = at;
  }
}

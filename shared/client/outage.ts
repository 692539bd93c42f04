/**
 * Reconnects the live lists of one client after the platform could not be reached. Only one list tries to connect, with
 * growing pauses. When it succeeds, the others follow at random times within a second.
 */
import { backoff, pause } from "./transport.ts";

/** Maximum milliseconds before the other lists reconnect. The time is random, so that they do not connect at once. */
const SPREAD_MS = 1_000;

export interface Attempt {
  /** Call this when the platform has responded. The other lists then connect too. */
  succeeded(): void;
  /** @param seconds the shortest pause before the next attempt, as the platform demands it */
  failed(seconds?: number): void;
}

interface Probe {
  ended: Promise<void>;
  end: () => void;
}

export class Outage {
  #failures = 0;
  #shortest = 0;
  /** Resolves when the list that tries to connect has an outcome. */
  #probe: Probe | undefined;

  /**
   * Waits until a list may connect.
   * @throws the reason of the signal, if it is aborted meanwhile
   */
  async begin(signal: AbortSignal): Promise<Attempt> {
    let waited = false;
    while (this.#failures > 0 && this.#probe !== undefined) {
      waited = true;
      await Promise.race([this.#probe.ended, aborted(signal)]);
    }
    if (this.#failures === 0) {
      if (waited) await pause(Math.random() * SPREAD_MS, signal);
      return this.#attempt(undefined);
    }
    let end = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const probe = { ended, end };
    this.#probe = probe;
    try {
      await pause(Math.max(backoff(this.#failures), this.#shortest * 1_000), signal);
    } catch (error) {
      this.#release(probe);
      throw error;
    }
    const stop = () => this.#release(probe);
    signal.addEventListener("abort", stop, { once: true });
    return this.#attempt(probe);
  }

  #attempt(probe: Probe | undefined): Attempt {
    let connected = false;
    return {
      succeeded: () => {
        connected = true;
        this.#failures = 0;
        this.#shortest = 0;
        this.#release(probe);
      },
      failed: (seconds = 0) => {
        // The lists of a page lose their connections together, so their first failures count as one.
        const counts = (probe !== undefined && !connected) || this.#failures === 0;
        if (counts) this.#failures++;
        this.#shortest = Math.max(seconds, counts ? 0 : this.#shortest);
        this.#release(probe);
      },
    };
  }

  #release(probe: Probe | undefined): void {
    if (probe === undefined) return;
    if (this.#probe === probe) this.#probe = undefined;
    probe.end();
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}

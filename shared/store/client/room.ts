/**
 * Lets large reads wait for each other, so that those of many requests together stay small: an isolate has 128 MB, and a host's
 * one connection, over which everything else goes too, is cut by the broker when it cannot take what it asked for soon enough.
 */
import { AppError } from "../../kernel/errors.ts";
import { pause } from "../../kernel/pause.ts";
import { SMALL_BYTES } from "../budget.ts";

/** How often one that waits looks whether it is its turn, and for how long it does so, in milliseconds. */
const LOOK_MS = 5;
const PATIENCE_MS = 10_000;
/** A request that was cancelled gives nothing back: after so many milliseconds it counts no longer. */
const WAITING_MS = 1_000;
const READING_MS = 6_000;

interface Turn {
  readonly bytes: number;
  /** Milliseconds since 1970; until then it counts. */
  until: number;
}

/**
 * Requests of one isolate share the numbers, and nothing else: each looks by itself whether it is its turn, as one must not
 * resolve what another one waits for.
 */
export class ReadRoom {
  readonly #most: number;
  #waiting: Turn[] = [];
  #reading: Turn[] = [];

  /** @param most bytes of large reads that may be under way at once */
  constructor(most: number) {
    this.#most = most;
  }

  /**
   * Reads when it is this one's turn: large reads in the order in which they came, a small one at once.
   * @param maxBytes how much it may bring
   * @throws AppError unavailable `reads_busy` when others took too long
   */
  async enter<T>(maxBytes: number, read: () => Promise<T>): Promise<T> {
    if (maxBytes <= SMALL_BYTES) return read();
    const started = Date.now();
    const turn: Turn = { bytes: Math.min(maxBytes, this.#most), until: started + WAITING_MS };
    this.#waiting.push(turn);
    while (!this.#admits(turn)) {
      if (Date.now() - started > PATIENCE_MS) {
        this.#waiting = this.#waiting.filter((other) => other !== turn);
        throw busy();
      }
      await pause(LOOK_MS);
      turn.until = Date.now() + WAITING_MS;
    }
    try {
      return await read();
    } finally {
      this.#reading = this.#reading.filter((other) => other !== turn);
    }
  }

  #admits(turn: Turn): boolean {
    const now = Date.now();
    this.#waiting = this.#waiting.filter(({ until }) => until > now);
    this.#reading = this.#reading.filter(({ until }) => until > now);
    if (!this.#waiting.includes(turn)) this.#waiting.push(turn);
    const taken = this.#reading.reduce((sum, { bytes }) => sum + bytes, 0);
    if (this.#waiting[0] !== turn || taken + turn.bytes > this.#most) return false;
    this.#waiting.shift();
    turn.until = now + READING_MS;
    this.#reading.push(turn);
    return true;
  }
}

function busy(): AppError {
  const detail = "Too many large reads are under way. Try again in a moment, or ask for less at once.";
  return new AppError("unavailable", "reads_busy", detail, { retryAfter: 1 });
}

/**
 * Limits the total bytes of large reads that run at the same time, because a Workers isolate has only 128 MB of memory.
 */
import { AppError, unavailable } from "../kernel/errors.ts";
import { pause } from "../kernel/pause.ts";
import { SMALL_BYTES } from "./budget.ts";

const LOOK_MS = 5;
const PATIENCE_MS = 10_000;
/**
 * A waiting request polls regularly. If it has not polled for this many milliseconds, it was probably cancelled, and it
 * is removed from the queue.
 */
const WAITING_MS = 1_000;
const READING_MS = 6_000;

interface Turn {
  readonly bytes: number;
  readonly owner: object | undefined;
  until: number;
  /** Whether the owner gave up this turn. */
  left: boolean;
}

/**
 * A semaphore that admits requests in order of arrival. Each waiting request polls, because in Workers a request must
 * not resolve a promise that another request awaits.
 */
export class ReadSemaphore {
  readonly #most: number;
  readonly #readingMs: number;
  #waiting: Turn[] = [];
  #reading: Turn[] = [];

  /**
   * @param readingMs milliseconds after which the semaphore counts a read as finished; a cancelled request cannot
   *   report its end
   */
  constructor(most: number, readingMs = READING_MS) {
    this.#most = most;
    this.#readingMs = readingMs;
  }

  /**
   * Runs a small read immediately. A large read waits until earlier reads have started and there is enough memory for
   * it.
   * @param owner can give up all its turns with {@link leave}
   * @throws AppError unavailable `reads_busy` after 10 seconds, or if the owner left
   */
  async enter<T>(maxBytes: number, read: () => Promise<T>, owner?: object): Promise<T> {
    if (maxBytes <= SMALL_BYTES) return read();
    const started = Date.now();
    const bytes = Math.min(maxBytes, this.#most);
    const turn: Turn = { bytes, owner, until: started + WAITING_MS, left: false };
    this.#waiting.push(turn);
    while (!this.#admits(turn)) {
      if (turn.left) throw unavailable("closed");
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

  /**
   * Ends all turns of an owner immediately. Call this when the owner's request ends. Its reads that still wait would
   * otherwise delay the reads of other requests, because the runtime no longer runs their timers.
   */
  leave(owner: object): void {
    const others = (turn: Turn) => {
      if (turn.owner === owner) turn.left = true;
      return !turn.left;
    };
    this.#waiting = this.#waiting.filter(others);
    this.#reading = this.#reading.filter(others);
  }

  #admits(turn: Turn): boolean {
    if (turn.left) return false;
    const now = Date.now();
    this.#waiting = this.#waiting.filter(({ until }) => until > now);
    this.#reading = this.#reading.filter(({ until }) => until > now);
    if (!this.#waiting.includes(turn)) this.#waiting.push(turn);
    const taken = this.#reading.reduce((sum, { bytes }) => sum + bytes, 0);
    if (this.#waiting[0] !== turn || taken + turn.bytes > this.#most) return false;
    this.#waiting.shift();
    turn.until = now + this.#readingMs;
    this.#reading.push(turn);
    return true;
  }
}

function busy(): AppError {
  const detail = "Too many large reads are in progress. Try again in a moment, or request less at once.";
  return new AppError("unavailable", "reads_busy", detail, { retryAfter: 1 });
}

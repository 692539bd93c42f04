/**
 * What was asked over one connection and is not answered yet. Each has a limit of its own; beside that, a broker of which
 * nobody hears anything, not even the answer to a ping, is given up early.
 */
import { AppError } from "../errors.ts";
import { LOOK_MS, type Pulse, Silence } from "./pulse.ts";

/** Silence after which nothing is waited for any more. */
const SILENT_MS = 3_000;
/** The part of it after which the broker is pinged: one that is only busy with our own request answers that. */
const UNASKED = 1 / 3;

/** Whom to ask for a sign of life, and to tell of silence. */
export interface Watched {
  pulse(): Pulse;
  probe(): void;
  silent(): void;
}

interface Pending<M> {
  /** Tells it from others that had its place before: an answer may come when nobody waits for it any more. */
  id: string;
  /** Called for every answer; returns true when the last one has come. */
  receive: (message: M) => boolean;
  fail: (error: unknown) => void;
  /** Milliseconds; when it is over. */
  deadline: number;
}

/** 504: whether it was done is not known. */
export function brokerTimeout(): AppError {
  return new AppError("timeout", "broker_timeout", "The platform's storage did not answer in time.", {
    retryAfter: 1,
  });
}

export class Answers<M> {
  readonly #watched: Watched;
  readonly #silentMs: number;
  /**
   * Places that are used again and again. A map of what comes and goes makes itself anew all the time, and each that it
   * leaves behind keeps what it held until all memory is swept.
   */
  readonly #places: (Pending<M> | undefined)[] = [];
  readonly #free: number[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #silence: Silence | undefined;
  /** Whether the broker was asked for a sign of life since it was last heard. */
  #asked = false;
  #next = 0;

  constructor(watched: Watched, silentMs = SILENT_MS) {
    this.#watched = watched;
    this.#silentMs = silentMs;
  }

  /**
   * Waits for answers.
   * @param ask sends the question, whose answers come with this id
   * @throws AppError timeout when nobody answers in time, or the broker is silent
   */
  wait<T>(
    timeoutMs: number,
    ask: (id: string) => void,
    receive: (message: M, resolve: (value: T) => void, reject: (error: unknown) => void) => boolean,
  ): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const id = this.#expect(timeoutMs, (message) => receive(message, resolve, reject), reject);
      try {
        ask(id);
      } catch (error) {
        this.fail(id, error);
      }
    });
  }

  /** Waits, within the same limits, for something else that only a living broker ends. */
  until<T>(timeoutMs: number, work: Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const id = this.#expect(timeoutMs, () => true, reject);
      work.then(
        (value) => {
          this.#take(id);
          resolve(value);
        },
        (error: unknown) => this.fail(id, error),
      );
    });
  }

  #expect(timeoutMs: number, receive: Pending<M>["receive"], fail: Pending<M>["fail"]): string {
    const place = this.#free.pop() ?? this.#places.length;
    const id = `${place.toString(36)}-${(this.#next++).toString(36)}`;
    this.#places[place] = { id, receive, fail, deadline: Date.now() + timeoutMs };
    this.#watch();
    return id;
  }

  #at(id: string): Pending<M> | undefined {
    // What follows the place is no digit, so that it ends there.
    const pending = this.#places[Number.parseInt(id, 36)];
    return pending?.id === id ? pending : undefined;
  }

  /** Who waits under an id, and waits no longer. */
  #take(id: string): Pending<M> | undefined {
    const pending = this.#at(id);
    if (pending === undefined) return undefined;
    const place = Number.parseInt(id, 36);
    this.#places[place] = undefined;
    this.#free.push(place);
    return pending;
  }

  /** Hands an answer to whoever waits for it. */
  answer(id: string, message: M): void {
    const pending = this.#at(id);
    if (pending === undefined) return;
    let done = true;
    try {
      done = pending.receive(message);
    } catch (failure) {
      pending.fail(failure);
    }
    if (done) this.#take(id);
  }

  /** Ends the waiting for one. */
  fail(id: string, error: unknown): void {
    this.#take(id)?.fail(error);
  }

  /** Ends the waiting for all. */
  failAll(error: () => AppError): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const pending of [...this.#places]) if (pending !== undefined) this.fail(pending.id, error());
  }

  /** One timer looks after all that wait; it ends with them. */
  #watch(): void {
    if (this.#timer !== undefined) return;
    this.#silence = new Silence(this.#watched.pulse());
    this.#asked = false;
    this.#timer = setTimeout(() => this.#look(), LOOK_MS);
  }

  #look(): void {
    this.#timer = undefined;
    const now = Date.now();
    for (const pending of [...this.#places])
      if (pending !== undefined && now >= pending.deadline) this.fail(pending.id, brokerTimeout());
    if (this.#free.length === this.#places.length) return;
    const silentMs = this.#silence?.look() ?? 0;
    if (silentMs >= this.#silentMs) {
      // Who asks again at once is to find another connection.
      this.#watched.silent();
      this.failAll(brokerTimeout);
      return;
    }
    if (silentMs === 0) this.#asked = false;
    else if (!this.#asked && silentMs >= this.#silentMs * UNASKED) {
      this.#asked = true;
      this.#watched.probe();
    }
    this.#timer = setTimeout(() => this.#look(), LOOK_MS);
  }
}

/**
 * Tracks the requests of one connection that have no response yet. If the broker does not answer a ping, all of them
 * fail immediately instead of waiting for their own timeouts.
 */
import { AppError } from "../../kernel/errors.ts";
import { CHECK_MS, type Liveness, SilenceTimer } from "./liveness.ts";

const SILENT_MS = 3_000;
/** Ping the broker after this fraction of the allowed silence. A broker that is only busy answers the ping. */
const UNASKED = 1 / 3;

export interface MonitoredConnection {
  liveness(): Liveness;
  probe(): void;
  silent(): void;
}

interface Pending<M> {
  /** Unique id of the request. An earlier request may have used the same slot, and its response may still arrive. */
  id: string;
  /** Called for each response; returns true after the last one. */
  receive: (message: M) => boolean;
  fail: (error: unknown) => void;
  deadline: number;
}

/** Error 504: the broker did not respond, so it is unknown whether a write succeeded. */
export function brokerTimeout(): AppError {
  return new AppError(
    "timeout",
    "broker_timeout",
    "The platform's storage did not respond in time. Try again; a write may have succeeded.",
    {
      retryAfter: 1,
    },
  );
}

export class PendingRequests<M> {
  readonly #watched: MonitoredConnection;
  readonly #silentMs: number;
  /**
   * The pending requests. Slots of this array are reused, because a Map with constant insertions and deletions
   * reallocates often and wastes memory.
   */
  readonly #slots: (Pending<M> | undefined)[] = [];
  readonly #free: number[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #silence: SilenceTimer | undefined;
  #pinged = false;
  #next = 0;

  constructor(watched: MonitoredConnection, silentMs = SILENT_MS) {
    this.#watched = watched;
    this.#silentMs = silentMs;
  }

  /** Sends a request and waits for its responses, which contain the id of the request. */
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
    const place = this.#free.pop() ?? this.#slots.length;
    const id = `${place.toString(36)}-${(this.#next++).toString(36)}`;
    this.#slots[place] = { id, receive, fail, deadline: Date.now() + timeoutMs };
    this.#watch();
    return id;
  }

  #at(id: string): Pending<M> | undefined {
    // The id begins with the slot number. parseInt stops at the separator after it.
    const pending = this.#slots[Number.parseInt(id, 36)];
    return pending?.id === id ? pending : undefined;
  }

  #take(id: string): Pending<M> | undefined {
    const pending = this.#at(id);
    if (pending === undefined) return undefined;
    const place = Number.parseInt(id, 36);
    this.#slots[place] = undefined;
    this.#free.push(place);
    return pending;
  }

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

  fail(id: string, error: unknown): void {
    this.#take(id)?.fail(error);
  }

  failAll(error: () => AppError): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const pending of [...this.#slots]) if (pending !== undefined) this.fail(pending.id, error());
  }

  #watch(): void {
    if (this.#timer !== undefined) return;
    this.#silence = new SilenceTimer(this.#watched.liveness());
    this.#pinged = false;
    this.#timer = setTimeout(() => this.#check(), CHECK_MS);
  }

  #check(): void {
    this.#timer = undefined;
    const now = Date.now();
    for (const pending of [...this.#slots])
      if (pending !== undefined && now >= pending.deadline) this.fail(pending.id, brokerTimeout());
    if (this.#free.length === this.#slots.length) return;
    const silentMs = this.#silence?.check() ?? 0;
    if (silentMs >= this.#silentMs) {
      // Close the connection first, so that an immediate retry opens a new one.
      this.#watched.silent();
      this.failAll(brokerTimeout);
      return;
    }
    if (silentMs === 0) this.#pinged = false;
    else if (!this.#pinged && silentMs >= this.#silentMs * UNASKED) {
      this.#pinged = true;
      this.#watched.probe();
    }
    this.#timer = setTimeout(() => this.#check(), CHECK_MS);
  }
}

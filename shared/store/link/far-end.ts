/**
 * The end of the link that holds the connection: one for all requests, made with the first call and given up when
 * nobody has called for a while, so that what hosts it may sleep.
 */
import { AppError } from "../../kernel/errors.ts";
import type { OpenStore } from "../broker/store.ts";
import type { Store } from "../types.ts";
import { type Answer, CALLS, type Call, type Parcel, pack, packFailure } from "./parcel.ts";

export interface FarEndOptions {
  /** Calls that may be under way at once; further ones are refused. Default 2,000. */
  maxCalls?: number;
  /** Milliseconds without a call after which the connection is given up. Default 30,000. */
  idleMs?: number;
  /** Whether there is another server to be asked when one falls silent. Default false. */
  others?: boolean;
}

const KNOWN = new Set<string>(CALLS);

/**
 * Calls that change nothing. A connection that breaks is everybody's, so these are asked once more, over the next one; what
 * became of a write is for the caller to find out, as ever.
 */
const REPEATABLE = new Set<Call>([
  "get",
  "getSeq",
  "getMany",
  "scan",
  "nextMessage",
  "kvGet",
  "kvList",
  "kvLast",
  "streamInfo",
  "streamNames",
  "ping",
  "server",
]);

export class FarEnd {
  readonly #open: (broken: () => void) => OpenStore;
  readonly #maxCalls: number;
  readonly #idleMs: number;
  readonly #others: boolean;
  #store: OpenStore | undefined;
  #underWay = 0;
  /** Of these, requests to services: they may take long, and must not take every place. */
  #services = 0;
  #called = false;
  /** How many connections were lost. */
  #breaks = 0;

  /** @param open makes a store, and has it tell when its connection is lost */
  constructor(open: (broken: () => void) => OpenStore, options: FarEndOptions = {}) {
    this.#open = open;
    this.#maxCalls = options.maxCalls ?? 2_000;
    this.#idleMs = options.idleMs ?? 30_000;
    this.#others = options.others ?? false;
  }

  /** Does one call of the store's. Never throws: a failure is an answer too. */
  async call(call: string, args: readonly unknown[]): Promise<Parcel> {
    if (!isCall(call)) return packFailure(new Error(`no such call: ${call}`));
    const service = call === "request";
    if (this.#underWay >= this.#maxCalls || (service && this.#services >= this.#maxCalls / 2)) {
      return packFailure(
        new AppError("unavailable", "link_busy", "Too many requests are under way. Try again in a moment.", {
          retryAfter: 1,
        }),
      );
    }
    this.#underWay++;
    if (service) this.#services++;
    try {
      return pack(call, await this.#insist(call, args));
    } catch (error) {
      return packFailure(error);
    } finally {
      this.#underWay--;
      if (service) this.#services--;
    }
  }

  async #insist<C extends Call>(call: C, args: readonly unknown[]): Promise<Answer<C>> {
    const breaks = this.#breaks;
    try {
      return await this.#ask(call, args);
    } catch (error) {
      if (this.#breaks === breaks || !REPEATABLE.has(call)) throw error;
      // Who waited for a server that fell silent has waited long enough, unless another one knows.
      if (!this.#others && error instanceof AppError && error.kind === "timeout") throw error;
      return this.#ask(call, args);
    }
  }

  #ask<C extends Call>(call: C, args: readonly unknown[]): Promise<Answer<C>> {
    this.#called = true;
    const store = this.#connection();
    const method = store[call] as unknown as (...args: readonly unknown[]) => Promise<Answer<C>>;
    return method.apply(store, [...args]);
  }

  #connection(): Store {
    if (this.#store !== undefined) return this.#store;
    const store = this.#open(() => {
      this.#breaks++;
    });
    this.#store = store;
    const timer = setInterval(() => {
      if (this.#called || this.#underWay > 0) {
        this.#called = false;
        return;
      }
      clearInterval(timer);
      this.#store = undefined;
      void store.close().catch(() => undefined);
    }, this.#idleMs);
    return store;
  }
}

function isCall(name: string): name is Call {
  return KNOWN.has(name);
}

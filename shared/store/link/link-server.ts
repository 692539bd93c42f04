/**
 * Runs in a Durable Object and shares one broker connection among all Workers that call it. Closes the connection when
 * idle, so that the object can hibernate.
 */
import { AppError } from "../../kernel/errors.ts";
import type { OpenStore } from "../broker/index.ts";
import type { Store } from "../types.ts";
import {
  type Answer,
  CALLS,
  type Call,
  encodeFailure,
  encodeResult,
  type RpcMessage,
} from "./rpc-message.ts";

export interface LinkServerOptions {
  /** Maximum concurrent calls; further calls fail. Default 2,000. */
  maxCalls?: number;
  /** Close the connection after this many milliseconds without a call. Default 30,000. */
  idleMs?: number;
  /** Whether to repeat a call on another broker if the first broker does not respond. Default false. */
  others?: boolean;
}

const KNOWN = new Set<string>(CALLS);

/**
 * Calls that can be repeated if the connection is lost. Writes are missing here, because the first attempt may have
 * succeeded.
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
  "subjects",
  "streamNames",
  "ping",
  "server",
]);

export class LinkServer {
  readonly #open: (broken: () => void) => OpenStore;
  readonly #maxCalls: number;
  readonly #idleMs: number;
  readonly #others: boolean;
  #store: OpenStore | undefined;
  #underWay = 0;
  /**
   * Number of running requests to services. At most half of the concurrent calls may be such requests, because they can
   * be slow.
   */
  #services = 0;
  #called = false;
  #breaks = 0;

  constructor(open: (broken: () => void) => OpenStore, options: LinkServerOptions = {}) {
    this.#open = open;
    this.#maxCalls = options.maxCalls ?? 2_000;
    this.#idleMs = options.idleMs ?? 30_000;
    this.#others = options.others ?? false;
  }

  /** Calls a method of the store by its name. Returns an error as a value instead of throwing it. */
  async call(call: string, args: readonly unknown[]): Promise<RpcMessage> {
    if (!isCall(call)) return encodeFailure(new Error(`the link has no call ${call}`));
    const service = call === "request";
    if (this.#underWay >= this.#maxCalls || (service && this.#services >= this.#maxCalls / 2)) {
      return encodeFailure(
        new AppError(
          "unavailable",
          "link_busy",
          "Too many requests are in progress. Try again in a moment.",
          {
            retryAfter: 1,
          },
        ),
      );
    }
    this.#underWay++;
    if (service) this.#services++;
    try {
      return encodeResult(call, await this.#insist(call, args));
    } catch (error) {
      return encodeFailure(error);
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
      // A timed-out call has already waited long for a silent broker. Repeat it only if there is another broker.
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

import { setImmediate, setTimeout } from "node:timers/promises";
import { CALLS } from "../../shared/store/link/rpc-message.ts";
import type { Store } from "../../shared/store/types.ts";

/** Store methods that send requests to the broker. */
const ASKING: ReadonlySet<string> = new Set(CALLS.filter((call) => call !== "server"));

/** Records the calls of a wrapped store. */
export interface Counted {
  store: Store;
  /** Names of the calls in order. */
  calls: string[];
  /** Number of sequential round trips. Parallel calls count as one. */
  trips: number;
  reset(): void;
}

/** A group of calls that run at the same time. */
interface Round {
  /** Calls without a response yet. */
  running: number;
  /** Number of calls that have joined the group so far. */
  joined: number;
  over: PromiseWithResolvers<void>;
}

/**
 * Wraps a store and counts its calls.
 * @param before runs before each call, which waits for the returned promise. If it throws, the call fails with that
 *   error, and the broker receives nothing.
 * @param gather milliseconds for which the responses to parallel calls are held back, so that all of them arrive
 *   together. Parallel chains of calls then proceed in step, and `trips` is the length of the longest chain. Must be
 *   longer than the code needs between two calls, for example to sign or hash. With 0, no response is held back, and
 *   `trips` counts the periods in which at least one call is running.
 */
export function countingStore(
  inner: Store,
  before?: (call: string, index: number) => void | Promise<void>,
  gather = 0,
): Counted {
  let round: Round | undefined;
  const counted: Counted = {
    store: inner,
    calls: [],
    trips: 0,
    reset() {
      counted.calls = [];
      counted.trips = 0;
    },
  };
  const join = (): Round => {
    if (round === undefined) {
      counted.trips++;
      round = { running: 0, joined: 0, over: Promise.withResolvers() };
    }
    round.running++;
    round.joined++;
    return round;
  };
  const end = async (mine: Round): Promise<void> => {
    const { joined } = mine;
    if (gather > 0) {
      await setTimeout(gather);
      // Let pending computations run first, because they may start further calls.
      await setImmediate();
      if (mine.joined > joined) return;
    }
    round = undefined;
    mine.over.resolve();
  };
  counted.store = new Proxy(inner, {
    get(target, name, receiver) {
      const member: unknown = Reflect.get(target, name, receiver);
      if (typeof member !== "function" || typeof name !== "string" || !ASKING.has(name)) return member;
      return async (...args: unknown[]) => {
        const act = before?.(name, counted.calls.length);
        counted.calls.push(name);
        if (act !== undefined) await act;
        const mine = join();
        try {
          return await Reflect.apply(member, target, args);
        } finally {
          if (--mine.running === 0) void end(mine);
          if (gather > 0) await mine.over.promise;
        }
      };
    },
  });
  return counted;
}

/** Thrown by a store that {@link stoppingStore} has stopped. */
export class Stopped extends Error {}

/** Wraps a store that fails from its n-th call on, before the broker receives it, as if the process had crashed. */
export function stoppingStore(inner: Store, after: number): Store {
  return countingStore(inner, (_call, index) => {
    if (index >= after) throw new Stopped("died");
  }).store;
}

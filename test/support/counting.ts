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

/**
 * Wraps a store and counts its calls.
 * @param before runs before each call; an error that it throws becomes the call's error, and the broker sees nothing
 * @param distance added latency in milliseconds. Code that signs or hashes between two parallel calls needs some, so
 * that the first
 *   response does not arrive before the second call
 */
export function countingStore(
  inner: Store,
  before?: (call: string, index: number) => void,
  distance = 0,
): Counted {
  let running = 0;
  const counted: Counted = {
    store: inner,
    calls: [],
    trips: 0,
    reset() {
      counted.calls = [];
      counted.trips = 0;
    },
  };
  counted.store = new Proxy(inner, {
    get(target, name, receiver) {
      const member: unknown = Reflect.get(target, name, receiver);
      if (typeof member !== "function" || typeof name !== "string" || !ASKING.has(name)) return member;
      return async (...args: unknown[]) => {
        before?.(name, counted.calls.length);
        counted.calls.push(name);
        if (running++ === 0) counted.trips++;
        try {
          const answer: unknown = await Reflect.apply(member, target, args);
          if (distance > 0) {
            await setTimeout(distance);
            // Let pending computations run first.
            await setImmediate();
          }
          return answer;
        } finally {
          running--;
        }
      };
    },
  });
  return counted;
}

/** The error of a store made by {@link stoppingStore}. */
export class Stopped extends Error {}

/** Wraps a store that fails from its n-th call on, before the broker receives it, as if the process had crashed. */
export function stoppingStore(inner: Store, after: number): Store {
  return countingStore(inner, (_call, index) => {
    if (index >= after) throw new Stopped("died");
  }).store;
}

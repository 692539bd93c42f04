import { CALLS } from "../../shared/store/link/parcel.ts";
import type { Store } from "../../shared/store/types.ts";

/** Methods of a store that ask the broker something: all that cross a link but one, which only looks at the connection. */
const ASKING: ReadonlySet<string> = new Set(CALLS.filter((call) => call !== "server"));

/** What a wrapped store saw. */
export interface Counted {
  store: Store;
  /** Names of the calls, in order. */
  calls: string[];
  /** Round trips one after the other: calls that run side by side are one. */
  trips: number;
  reset(): void;
}

/**
 * Wraps a store, and counts what one verb asks of it.
 * @param before runs before each call: what it throws is the call's failure, without the broker having seen anything
 */
export function countingStore(inner: Store, before?: (call: string, index: number) => void): Counted {
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
          return await Reflect.apply(member, target, args);
        } finally {
          running--;
        }
      };
    },
  });
  return counted;
}

import { setImmediate, setTimeout } from "node:timers/promises";
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
 * @param distance milliseconds that each answer takes on its way. Whoever counts trips of acts that sign or hash
 *   between two calls sent side by side needs some: the answer to the first must not overtake the second
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
            // When everything stood still meanwhile, what was computed is seen to first.
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

/** The cache of API data that `useLoad` uses. Components that show the same data share one request. */
import { type Signal, signal } from "@preact/signals";

interface State {
  data: unknown;
  error: unknown;
  busy: boolean;
}

type Load = (signal: AbortSignal) => Promise<unknown>;

/** One cache entry: its data, and the loaders of the mounted components that use it. */
interface Shared {
  state: Signal<State>;
  loads: Set<Load>;
  /** The latest request. Responses to older requests are ignored. */
  request: AbortController | undefined;
  /** When the data arrived, in milliseconds since the epoch; 0 if newer data is needed. */
  at: number;
}

/** Maximum number of cached keys. If there are more, the cache evicts the oldest key that no mounted component uses. */
const KEPT = 200;
/** If another component needs the same data within this many milliseconds, it is not requested again. */
const FRESH = 2_000;

const EMPTY: State = { data: undefined, error: undefined, busy: false };
const shared = new Map<string, Shared>();

function sharedOf(key: string): Shared {
  let found = shared.get(key);
  if (found === undefined) {
    found = { state: signal(EMPTY), loads: new Set(), request: undefined, at: 0 };
    shared.set(key, found);
    for (const [old, { loads }] of shared) {
      if (shared.size <= KEPT) break;
      if (loads.size === 0 && old !== key) shared.delete(old);
    }
  }
  return found;
}

async function run(one: Shared): Promise<void> {
  const [load] = one.loads;
  if (load === undefined) return;
  one.request?.abort();
  const request = new AbortController();
  one.request = request;
  // Mark the data as old, so that the next component does not use it if this request fails or is aborted.
  one.at = 0;
  one.state.value = { ...one.state.value, busy: true };
  const finish = (result: Partial<State>, at: number) => {
    // A newer request, or a call of `keep`, has replaced this request. Ignore its response.
    if (one.request !== request) return;
    one.request = undefined;
    one.at = at;
    one.state.value = { ...one.state.value, busy: false, ...result };
  };
  try {
    const data = await load(request.signal);
    finish({ data, error: undefined }, Date.now());
  } catch (error) {
    finish({ error }, 0);
  }
}

/** Returns the cached data of a key, and whether a request for it is running. */
export const cached = (key: string): Signal<State> => sharedOf(key).state;

/** Requests the data of a key again, if a mounted component uses it. */
export const reload = (key: string): Promise<void> => run(sharedOf(key));

/** Subscribes a component to a key, and loads missing or old data. Returns a function that unsubscribes. */
export function show(key: string, load: Load): () => void {
  const one = sharedOf(key);
  const known = one.loads.size > 0 || Date.now() - one.at < FRESH;
  one.loads.add(load);
  const current = one.request !== undefined || (known && one.state.peek().data !== undefined);
  if (!current) void run(one);
  return () => {
    one.loads.delete(load);
    if (one.loads.size > 0) return;
    one.request?.abort();
    one.request = undefined;
    if (one.state.peek().busy) one.state.value = { ...one.state.peek(), busy: false };
  };
}

/** Replaces the cached data of a key. */
export function keep(key: string, data: unknown): void {
  const one = sharedOf(key);
  one.request?.abort();
  one.request = undefined;
  one.at = Date.now();
  one.state.value = { data, error: undefined, busy: false };
}

/** Reloads the data of all keys with a prefix. Drops keys that no mounted component uses. */
export function refresh(prefix: string): void {
  for (const [key, one] of shared) {
    if (!key.startsWith(prefix)) continue;
    if (one.loads.size > 0) void run(one);
    else {
      one.at = 0;
      one.state.value = EMPTY;
    }
  }
}

/** Drops all keys with a prefix after the resource was deleted. Mounted components do not load the data again. */
export function forget(prefix: string): void {
  for (const [key, { request }] of shared) {
    if (!key.startsWith(prefix)) continue;
    request?.abort();
    shared.delete(key);
  }
}

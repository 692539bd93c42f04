/** A stale-while-revalidate cache of API data. */
import { type Signal, signal } from "@preact/signals";
import { useCallback, useEffect } from "preact/hooks";

export interface Loaded<T> {
  /** The newest data; undefined until the first answer. */
  data: T | undefined;
  /** The error of the latest attempt; undefined if it succeeded. */
  error: unknown;
  busy: boolean;
  reload: () => Promise<void>;
  /** Replaces the cached data, for example with the response to a write. */
  set: (data: T) => void;
}

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
  /** The latest request. Responses to older ones are ignored. */
  request: AbortController | undefined;
  /** When the data arrived, in milliseconds since the epoch. */
  at: number;
}

/** Maximum number of cached keys. Evicts the oldest one that no mounted component uses. */
const KEPT = 200;
/** Data younger than this many milliseconds is not requested again by another component. */
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
  one.state.value = { ...one.state.value, busy: true };
  const finish = (result: Partial<State>) => {
    // Ignore the response if a newer request or `keep` replaced this one.
    if (one.request !== request) return;
    one.request = undefined;
    one.at = Date.now();
    one.state.value = { ...one.state.value, busy: false, ...result };
  };
  try {
    finish({ data: await load(request.signal), error: undefined });
  } catch (error) {
    finish({ error });
  }
}

/** Subscribes a component to a key. Returns the function that unsubscribes. */
function show(one: Shared, load: Load): () => void {
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

/**
 * Loads data while the component is shown. Components with the same key share one request.
 * @param key identifies the data, such as `orbs/shop`; null loads nothing
 */
export function useLoad<T>(key: string | null, load: (signal: AbortSignal) => Promise<T>): Loaded<T> {
  const one = sharedOf(key ?? "");
  // `load` is not a dependency: the key alone identifies the data.
  useEffect(() => (key === null ? undefined : show(sharedOf(key), load)), [key]);
  const { data, error, busy } = one.state.value;
  const reload = useCallback(() => (key === null ? Promise.resolve() : run(sharedOf(key))), [key]);
  const set = useCallback(
    (value: T) => {
      if (key !== null) keep(key, value);
    },
    [key],
  );
  return {
    data: data as T | undefined,
    error,
    busy: key !== null && (busy || (data === undefined && error === undefined)),
    reload,
    set,
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

/** Reloads all keys with a prefix. Drops those that no mounted component uses. */
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

/** Loads data from the API, keeps it, and shows the kept data while it is loaded again. */
import { type Signal, signal } from "@preact/signals";
import { useCallback, useEffect } from "preact/hooks";

export interface Loaded<T> {
  /** The newest data; undefined until the first answer. */
  data: T | undefined;
  /** Why the newest attempt failed; undefined if it did not. */
  error: unknown;
  busy: boolean;
  /** Loads again. */
  reload: () => Promise<void>;
  /** Replaces the data, for example by the answer to a change. */
  set: (data: T) => void;
}

interface State {
  data: unknown;
  error: unknown;
  busy: boolean;
}

type Load = (signal: AbortSignal) => Promise<unknown>;

/** One key: its data, and the components that show it now. */
interface Shared {
  state: Signal<State>;
  loads: Set<Load>;
  /** The request that runs, of which the answer counts. */
  request: AbortController | undefined;
  /** When the data arrived, in milliseconds. */
  at: number;
}

/** Most keys that are kept. The oldest that no component shows is forgotten first. */
const KEPT = 200;
/** Milliseconds in which data is new, so that components that appear together ask once. */
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
    // A newer request, or data that was set meanwhile, wins.
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

/** A component begins to show a key. Returns how it ends. */
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
  // A new function with the same key loads the same data.
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

/** Replaces kept data. */
export function keep(key: string, data: unknown): void {
  const one = sharedOf(key);
  one.request?.abort();
  one.request = undefined;
  one.at = Date.now();
  one.state.value = { data, error: undefined, busy: false };
}

/** Loads all data again whose key begins with a prefix, and forgets the data that no component shows. */
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

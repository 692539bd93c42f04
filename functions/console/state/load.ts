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
  /** Counts attempts, so that only the newest one sets the data. */
  attempt: number;
}

const EMPTY: State = { data: undefined, error: undefined, busy: false, attempt: 0 };
/** Most keys that are kept. The oldest is forgotten first. */
const KEPT = 200;
const states = new Map<string, Signal<State>>();
/** How to load each key that a component shows. */
const loaders = new Map<string, (signal: AbortSignal) => Promise<unknown>>();

function stateOf(key: string): Signal<State> {
  let state = states.get(key);
  if (state === undefined) {
    state = signal(EMPTY);
    states.set(key, state);
    for (const old of states.keys()) {
      if (states.size <= KEPT) break;
      if (!loaders.has(old)) states.delete(old);
    }
  }
  return state;
}

async function run(key: string, abort?: AbortSignal): Promise<void> {
  const load = loaders.get(key);
  if (load === undefined) return;
  const state = stateOf(key);
  const attempt = state.value.attempt + 1;
  state.value = { ...state.value, busy: true, attempt };
  const finish = (result: Partial<State>) => {
    if (state.value.attempt === attempt) state.value = { ...state.value, busy: false, ...result };
  };
  try {
    finish({ data: await load(abort ?? new AbortController().signal), error: undefined });
  } catch (error) {
    finish(abort?.aborted === true ? {} : { error });
  }
}

/**
 * Loads data while the component is shown.
 * @param key identifies the data, such as `orbs/shop`; null loads nothing
 */
export function useLoad<T>(key: string | null, load: (signal: AbortSignal) => Promise<T>): Loaded<T> {
  const state = stateOf(key ?? "");
  useEffect(() => {
    if (key === null) return undefined;
    const abort = new AbortController();
    loaders.set(key, load);
    void run(key, abort.signal);
    return () => {
      if (loaders.get(key) === load) loaders.delete(key);
      abort.abort();
    };
    // A new function with the same key loads the same data.
  }, [key]);
  const { data, error, busy } = state.value;
  const reload = useCallback(() => (key === null ? Promise.resolve() : run(key)), [key]);
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
  const state = stateOf(key);
  state.value = { data, error: undefined, busy: false, attempt: state.value.attempt + 1 };
}

/** Loads all data again whose key begins with a prefix, and forgets what no component shows. */
export function refresh(prefix: string): void {
  for (const key of [...states.keys()].filter((one) => one.startsWith(prefix))) {
    if (loaders.has(key)) void run(key);
    else states.delete(key);
  }
}

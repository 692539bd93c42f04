/** Loads API data for components, through the cache. */
import { useCallback, useEffect, useLayoutEffect } from "preact/hooks";
import { cached, keep, reload, show } from "./cache.ts";

export interface Loaded<T> {
  /** The newest data; undefined until the first response. */
  data: T | undefined;
  /** The error of the latest attempt; undefined if it succeeded. */
  error: unknown;
  busy: boolean;
  reload: () => Promise<void>;
  /** Replaces the cached data, for example with the response to a write. */
  set: (data: T) => void;
  /** Replaces the newest data by what a function makes of it. If the data is loading, loads it again instead. */
  change: (make: (data: T) => T) => void;
}

/**
 * Loads data while the component is shown. Components with the same key share one request.
 * @param key identifies the data, such as `orbs/shop`; with null, nothing is loaded
 */
export function useLoad<T>(key: string | null, load: (signal: AbortSignal) => Promise<T>): Loaded<T> {
  const state = cached(key ?? "");
  // The key alone identifies the data, so `load` is not a dependency of the effect.
  useEffect(() => (key === null ? undefined : show(key, load)), [key]);
  const { data, error, busy } = state.value;
  const again = useCallback(() => (key === null ? Promise.resolve() : reload(key)), [key]);
  const set = useCallback(
    (value: T) => {
      if (key !== null) keep(key, value);
    },
    [key],
  );
  const change = useCallback(
    (make: (value: T) => T) => {
      if (key === null) return;
      const { data: newest, busy: isLoading } = cached(key).peek();
      if (newest === undefined || isLoading) void reload(key);
      else keep(key, make(newest as T));
    },
    [key],
  );
  return {
    data: data as T | undefined,
    error,
    busy: key !== null && (busy || (data === undefined && error === undefined)),
    reload: again,
    set,
    change,
  };
}

/** Loads data again when the user returns to the page: others may have changed it while it was in the background. */
export function useReloadOnShow({ reload: again }: Pick<Loaded<unknown>, "reload">): void {
  useLayoutEffect(() => {
    const onShow = () => {
      if (document.visibilityState === "visible") void again();
    };
    document.addEventListener("visibilitychange", onShow);
    return () => document.removeEventListener("visibilitychange", onShow);
  }, [again]);
}

/** Detects changes by other users with occasional requests, for lists that cannot receive changes live. */
import { useEffect, useState } from "preact/hooks";
import type { Rows } from "./rows.ts";

/** Milliseconds between two checks while the page is visible. */
const EVERY = 60_000;
const AT_LEAST = 5_000;
/** Milliseconds until a check is made up for that came while rows were being read. */
const AGAIN = 1_000;

/**
 * Returns how many visible entries other users have changed since the list was read. Checks when the page becomes
 * visible, and then once a minute.
 */
export function useChanges(
  rows: Rows,
  range: () => { first: number; end: number },
  active: boolean,
): [number, () => void] {
  const [count, setCount] = useState(0);
  useEffect(() => {
    setCount(0);
    if (!active) return undefined;
    const abort = new AbortController();
    let last = performance.now();
    let busy = false;
    let again: ReturnType<typeof setTimeout> | undefined;
    const look = async (least: number): Promise<void> => {
      if (document.visibilityState !== "visible" || busy || performance.now() - last < least) return;
      if (rows.busy) {
        clearTimeout(again);
        again = setTimeout(() => void look(least), AGAIN);
        return;
      }
      busy = true;
      last = performance.now();
      const { first, end } = range();
      // If the platform cannot be reached, the next check may succeed.
      const found = await rows.changes(first, end, abort.signal).catch(() => undefined);
      busy = false;
      if (found !== undefined && !abort.signal.aborted) setCount(found);
    };
    const front = () => void look(AT_LEAST);
    const timer = setInterval(() => void look(EVERY / 2), EVERY);
    document.addEventListener("visibilitychange", front);
    addEventListener("focus", front);
    return () => {
      abort.abort();
      clearTimeout(again);
      clearInterval(timer);
      document.removeEventListener("visibilitychange", front);
      removeEventListener("focus", front);
    };
  }, [rows, active]);
  return [count, () => setCount(0)];
}

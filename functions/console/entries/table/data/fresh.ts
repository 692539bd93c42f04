/** Notices changes by others, without asking all the time. */
import { useEffect, useState } from "preact/hooks";
import type { Rows } from "./rows.ts";

/** Milliseconds between two looks while the page is in front, and at least after it came back to the front. */
const EVERY = 60_000;
const AT_LEAST = 5_000;

/**
 * Returns how many of the entries on the screen others have changed since they were read. Looks when the page comes to
 * the front, and once a minute while it is there.
 */
export function useChanges(rows: Rows, range: () => { first: number; end: number }): [number, () => void] {
  const [count, setCount] = useState(0);
  useEffect(() => {
    setCount(0);
    const abort = new AbortController();
    let last = performance.now();
    let busy = false;
    const look = async (least: number) => {
      if (document.visibilityState !== "visible" || busy || rows.busy || performance.now() - last < least)
        return;
      busy = true;
      last = performance.now();
      const { first, end } = range();
      // If the platform cannot be reached, the next look may succeed.
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
      clearInterval(timer);
      document.removeEventListener("visibilitychange", front);
      removeEventListener("focus", front);
    };
  }, [rows]);
  return [count, () => setCount(0)];
}

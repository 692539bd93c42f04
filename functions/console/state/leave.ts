/** Asks before the user leaves a page with unsaved changes, whichever way the user leaves it. */
import { useLayoutEffect, useRef } from "preact/hooks";
import type { AroundNavHandler, BaseLocationHook } from "wouter-preact";
import { useBrowserLocation } from "wouter-preact/use-browser-location";
import { keepChange, pageOf, updateEditing } from "./change.ts";

interface Guard {
  hasChanges: () => boolean;
  /** Asks the user whether to leave anyway. */
  ask: () => Promise<boolean>;
}

/** The guards of all forms on the page. The newest one belongs to the form on top, such as a dialog. */
let guards: readonly Guard[] = [];
const asking = () => guards.filter((guard) => guard.hasChanges());

/** Lets the next navigation continue without a question about unsaved changes, for example after a save. */
export function leaveFreely(): void {
  guards = [];
}

/** Whether a question is open. A second attempt to leave must not open a second one. */
let isOpen = false;

/** Asks about all unsaved changes on the page. Returns whether the page may be left. */
export async function mayLeave(): Promise<boolean> {
  if (isOpen) return false;
  isOpen = true;
  try {
    for (const guard of asking().reverse()) if (!(await guard.ask())) return false;
  } finally {
    isOpen = false;
  }
  leaveFreely();
  return true;
}

/**
 * Position of the current page in the browser's history. Each entry of the history stores its position, so that the
 * distance to another entry is known.
 */
let position = 0;
/** The address of the page that is shown. */
let shown = location.href;
/** Called when the browser is back at the page, after the user tried to leave it with Back or Forward. */
let onReturned: (() => void) | undefined;

const positionIn = (state: unknown): number | undefined => {
  const at: unknown =
    typeof state === "object" && state !== null ? Reflect.get(state, "position") : undefined;
  return typeof at === "number" ? at : undefined;
};
const pathOf = (address: string) => new URL(address, location.href).pathname;

/**
 * Navigates after the user was asked. Does not ask if only the query string changes, unless the user enters or leaves a
 * change set. Within an application, the user stays in the set.
 */
export const guarded: AroundNavHandler = (navigate, path, options) => {
  const to = keepChange(path);
  const go = () => {
    if (options?.replace !== true) position++;
    navigate(to, { ...options, state: { position } });
    shown = location.href;
    updateEditing();
  };
  if (asking().length === 0 || pageOf(to) === pageOf(shown)) go();
  else
    void mayLeave().then((leave) => {
      if (leave) go();
    });
};

/** Reacts to Back and Forward. Runs before the listener of the router. */
function onPop(event: PopStateEvent): void {
  const to = positionIn(event.state);
  if (onReturned !== undefined) {
    event.stopImmediatePropagation();
    if (to !== undefined && to !== position) history.go(position - to);
    else {
      const returned = onReturned;
      onReturned = undefined;
      returned();
    }
    return;
  }
  if (to === undefined) {
    // A link within the page, such as `#main`, has added an entry.
    history.replaceState({ position: ++position }, "");
    shown = location.href;
    return;
  }
  // An entry of an earlier visit may have the same position. The user most likely went back.
  const distance = to - position || -1;
  if (asking().length === 0 || pageOf(location.href) === pageOf(shown)) {
    position = to;
    shown = location.href;
    updateEditing();
    return;
  }
  // The browser has already moved to the other entry. Return to the page, so that it stays while the user answers.
  event.stopImmediatePropagation();
  onReturned = () =>
    void mayLeave().then((leave) => {
      if (leave) history.go(distance);
    });
  history.go(-distance);
}

/** Starts to watch the browser's history. Call this before the router starts. */
export function watchHistory(): void {
  position = positionIn(history.state) ?? 0;
  history.replaceState({ position }, "");
  addEventListener("popstate", onPop, { capture: true });
  addEventListener("beforeunload", (event) => {
    if (asking().length > 0) event.preventDefault();
  });
}

/** Returns the address for the router. While the browser returns to the page, that is the page's address. */
export const useShownLocation: BaseLocationHook = () => {
  const [path, navigate] = useBrowserLocation();
  return [onReturned === undefined ? path : pathOf(shown), navigate];
};

/**
 * While there are unsaved changes, asks the user before leaving the page.
 * @param unsaved whether there are unsaved changes, or a function that finds out
 * @param ask returns whether to leave anyway
 */
export function useLeaveGuard(unsaved: boolean | (() => boolean), ask: () => Promise<boolean>): void {
  const newest = useRef({ unsaved, ask });
  newest.current = { unsaved, ask };
  const on = unsaved !== false;
  // Before the next frame: whoever goes back right after typing is asked too.
  useLayoutEffect(() => {
    if (!on) return undefined;
    const own: Guard = {
      hasChanges: () => {
        const { unsaved: now } = newest.current;
        return typeof now === "function" ? now() : now;
      },
      ask: () => newest.current.ask(),
    };
    guards = [...guards, own];
    return () => {
      guards = guards.filter((guard) => guard !== own);
    };
  }, [on]);
}

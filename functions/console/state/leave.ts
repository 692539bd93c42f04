/** Asks before the user leaves a page with unsaved changes. */
import { useEffect, useRef } from "preact/hooks";
import type { AroundNavHandler } from "wouter-preact";

/** Asks the user whether to leave the page. Undefined if there are no unsaved changes. */
let guard: (() => Promise<boolean>) | undefined;

/** Calls the guard before a navigation to another path, but not if only the query string changes. */
export const guarded: AroundNavHandler = (navigate, to, options) => {
  const { pathname } = new URL(to, location.href);
  if (guard === undefined || pathname === location.pathname) navigate(to, options);
  else
    void guard().then((leave) => {
      if (!leave) return;
      guard = undefined;
      navigate(to, options);
    });
};

/**
 * While there are unsaved changes, asks the user before leaving the page.
 * @param ask returns whether to leave anyway
 */
export function useLeaveGuard(unsaved: boolean, ask: () => Promise<boolean>): void {
  const newest = useRef(ask);
  newest.current = ask;
  useEffect(() => {
    if (!unsaved) return undefined;
    const own = () => newest.current();
    const here = location.href;
    const onUnload = (event: BeforeUnloadEvent) => event.preventDefault();
    // This listener runs before the router's listener, so that the page stays mounted while the user answers the
    // question.
    const onPop = (event: PopStateEvent) => {
      const target = location.href;
      if (guard !== own || new URL(target).pathname === new URL(here).pathname) return;
      event.stopImmediatePropagation();
      history.pushState(null, "", here);
      void own().then((leave) => {
        if (!leave) return;
        guard = undefined;
        history.pushState(null, "", target);
      });
    };
    guard = own;
    addEventListener("beforeunload", onUnload);
    addEventListener("popstate", onPop, { capture: true });
    return () => {
      if (guard === own) guard = undefined;
      removeEventListener("beforeunload", onUnload);
      removeEventListener("popstate", onPop, { capture: true });
    };
  }, [unsaved]);
}

/** Lets the next navigation continue without a question about unsaved changes, for example after a save. */
export function leaveFreely(): void {
  guard = undefined;
}

import { useEffect, useState } from "preact/hooks";
import { loadTexts } from "../texts/t.ts";
import { ProblemBox } from "../ui/problem.tsx";
import { Loading } from "../ui/states.tsx";
import type { PageComponent, PageParams, Route } from "./nav.ts";

const loaded = new Map<Route, PageComponent>();
const RELOADED = "console.reloaded";

/**
 * Reloads the page, at most once a minute. After an update of the platform, the server may no longer have the old
 * version's code, which this page still tries to load.
 */
function reloadOnce(): boolean {
  const last = Number(sessionStorage.getItem(RELOADED) ?? 0);
  if (Date.now() - last < 60_000) return false;
  sessionStorage.setItem(RELOADED, String(Date.now()));
  location.reload();
  return true;
}

/** Shows a page. The browser loads the page's code at the first visit. */
export function LazyPage({ route, params }: { route: Route; params: PageParams }) {
  const [, render] = useState(0);
  const [error, setError] = useState<unknown>();
  const Page = loaded.get(route);
  useEffect(() => {
    if (Page !== undefined) return;
    // A module may use texts as soon as it runs.
    loadTexts()
      .then(route.load)
      .then(
        (module) => {
          loaded.set(route, module.default);
          render((count) => count + 1);
        },
        (reason: unknown) => {
          if (!reloadOnce()) setError(reason);
        },
      );
  }, [route, Page]);
  if (Page !== undefined) return <Page params={params} />;
  return error === undefined ? <Loading /> : <ProblemBox error={error} retry={() => location.reload()} />;
}

/** Starts the console. */
import { render } from "preact";
import { useMemo, useRef } from "preact/hooks";
import { matchRoute, Router, useLocation, useRouter } from "wouter-preact";
import type { Caller } from "./api/caller.ts";
import { ROUTES } from "./routes.ts";
import { Boundary } from "./shell/boundary.tsx";
import { LazyPage } from "./shell/lazy.tsx";
import type { PageParams, Route } from "./shell/nav.ts";
import { Shell } from "./shell/shell.tsx";
import { NotAllowed, SignIn } from "./shell/signin.tsx";
import { keepChange } from "./state/change.ts";
import { keepFocus } from "./state/focus.ts";
import { guarded, useShownLocation, watchHistory } from "./state/leave.ts";
import { useCaller, useOrb } from "./state/session.ts";
import { loadTexts, t } from "./texts/t.ts";
import { Page } from "./ui/page.tsx";
import { ProblemBox } from "./ui/problem.tsx";
import { Empty, Loading } from "./ui/states.tsx";

function useMatch(): { route: Route | undefined; params: PageParams; path: string } {
  const { parser } = useRouter();
  const [path] = useLocation();
  return useMemo(() => {
    for (const route of ROUTES) {
      const [matches, params] = matchRoute(parser, route.path, path);
      if (matches) return { route, params: params as PageParams, path };
    }
    return { route: undefined, params: {}, path };
  }, [parser, path]);
}

/** Returns the application that a page belongs to. The page of a user's account belongs to the user's application. */
function orbOf({ orb, realm }: PageParams): string | undefined {
  return realm === "platform" || realm === "auth" ? undefined : (orb ?? realm);
}

function NotFound() {
  return (
    <Page title={t("app.notFound")}>
      <Empty icon="search" title={t("app.notFoundText")} />
    </Page>
  );
}

function App() {
  const { route, params, path } = useMatch();
  const orbId = orbOf(params);
  const { data: caller, error, reload } = useCaller(orbId);
  const orb = useOrb(orbId);
  // While the user's rights in another application load, keep showing the navigation and the header with the last known
  // rights.
  const last = useRef<Caller>();
  if (caller !== undefined) last.current = caller;
  const framed =
    caller ?? (last.current === undefined ? undefined : { account: last.current.account, orb: null });
  if (framed === undefined)
    return error === undefined ? <Loading /> : <ProblemBox error={error} retry={() => void reload()} />;
  const shown =
    caller === undefined ? (
      error === undefined ? (
        <Loading />
      ) : (
        <ProblemBox error={error} retry={() => void reload()} />
      )
    ) : caller.account === null && route?.asks !== true ? (
      <SignIn caller={caller} />
    ) : route === undefined ? (
      <NotFound />
    ) : route.visible?.(caller) === false ? (
      <NotAllowed caller={caller} />
    ) : (
      <LazyPage route={route} params={params} />
    );
  return (
    <Shell
      routes={ROUTES}
      caller={framed}
      orbId={orbId}
      orb={orb.data}
      waiting={orbId !== undefined && orb.data === undefined && orb.error === undefined}
    >
      <Boundary path={path}>{shown}</Boundary>
    </Shell>
  );
}

// Each page needs them, so they load beside the first request. If that fails, the page loads them again.
loadTexts().catch(() => undefined);
watchHistory();
keepFocus();
const root = document.getElementById("app");
if (root !== null)
  render(
    <Router base="/console" hook={useShownLocation} aroundNav={guarded} hrefs={keepChange}>
      <App />
    </Router>,
    root,
  );

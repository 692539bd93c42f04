/**
 * Account routes of orbs (applications), such as sign-in. They run before all other routes: a path may be an account
 * route in one application, and belong to a module in another.
 */

import { z } from "@hono/zod-openapi";
import type { Context, Next } from "hono";
import { getPath } from "hono/utils/url";
import { orbRealm, type Realm } from "../../shared/access/realms.ts";
import {
  accessHandler,
  hidesRealmSegment,
  isSigninPage,
  shortPath,
} from "../../shared/definition/document/index.ts";
import { liveOrb, noLiveOrb } from "../../shared/definition/stored/index.ts";
import { innerRouter } from "../http/inner-router.ts";
import { wrongMethod } from "../http/problem.ts";
import { defineRoute } from "../http/router.ts";
import { receiveEarly } from "../middleware/session.ts";
import { PageQuery, pageResponses, programPage } from "../pages/index.ts";
import { showProgram } from "../pages/program.ts";
import { showSignin } from "../pages/signin.ts";
import { pathParams } from "../realm/scope.ts";
import type { AppEnv } from "../request/context.ts";
import { realmRoutes } from "./index.ts";

const PREFIX = "/api/{orbId}";
const PAGE_METHODS = ["GET", "HEAD"];

/**
 * Maps `/call/{handler}/…` to the short path. `POST /passkey` with a session id completes a registration or sign-in.
 * Without a session id, it begins one.
 */
function realmPath(request: Request): string {
  const path = shortPath(getPath(request));
  if (!/^\/api\/[^/]+\/passkey$/.test(path)) return path;
  return `${path}/${request.headers.has("sessionid") ? "complete" : "begin"}`;
}

export function orbAuth() {
  const { router: inner, handedTo, hand } = innerRouter<Realm>(realmPath);
  inner.route("/", realmRoutes({ prefix: PREFIX, name: "Orb", realm: handedTo }));
  inner.openapi(
    defineRoute({
      method: "get",
      path: `${PREFIX}/signin`,
      operationId: "orbSigninPage",
      summary: "Sign-in page of an orb",
      description: "An orb that does not use the service `access` redirects to /api/auth/signin.",
      tags: ["sign-in"],
      security: [],
      request: { params: z.object(pathParams(PREFIX)), query: PageQuery },
      responses: pageResponses,
      problems: [404],
    }),
    (c) => showSignin(c, handedTo(c)),
  );
  inner.openapi(
    defineRoute({
      ...programPage,
      method: "get",
      path: `${PREFIX}/signin/program`,
      operationId: "orbProgramPage",
      summary: "Page on which a user of an orb allows a program",
      tags: ["sign-in"],
      request: { ...programPage.request, params: z.object(pathParams(PREFIX)) },
      problems: [404],
    }),
    (c) => showProgram(c, handedTo(c)),
  );

  /**
   * Serves account routes and the sign-in page. Passes all other requests on.
   * @param called name of the handler, if the path contains `/call`
   */
  async function answer(
    c: Context<AppEnv>,
    next: Next,
    orbId: string,
    segment: string,
    called: string | undefined,
  ): Promise<Response | undefined> {
    await receiveEarly(c);
    const live = await liveOrb(c.var.deps, orbId);
    if (live === null) throw noLiveOrb();
    const realm = orbRealm(live.document);
    const named = live.compiled.handlers.get(called ?? "");
    // A new definition cannot give an account route's name to a module or to another service's handler. Older
    // definitions may have done so.
    const foreign =
      called === undefined ? hidesRealmSegment(live.document, segment) : named !== accessHandler(called);
    if (isSigninPage(segment) && realm === null) {
      if (!PAGE_METHODS.includes(c.req.method)) return wrongMethod(c, PAGE_METHODS);
      const { pathname, search } = new URL(c.req.url);
      return c.redirect(`/api/auth${pathname.slice(`/api/${orbId}`.length)}${search}`, 302);
    }
    // The application has no user accounts, or the path belongs to a module or another handler. Pass the request on.
    if (realm === null || foreign) {
      await next();
      return undefined;
    }
    return hand(c, realm);
  }
  return { router: inner, answer };
}

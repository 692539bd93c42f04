/**
 * Account routes of orbs. A module may have the same path as one of them, so only the orb's definition decides. This
 * middleware therefore runs before the other routes.
 */

import { z } from "@hono/zod-openapi";
import type { Context, Next } from "hono";
import { getPath } from "hono/utils/url";
import { orbRealm, type Realm } from "../../shared/access/realms.ts";
import { accessHandler, isSigninPage, shortPath } from "../../shared/definition/document/ids.ts";
import { liveOrb, noLiveOrb } from "../../shared/definition/stored/live.ts";
import { notFound } from "../../shared/kernel/errors.ts";
import { onError, wrongMethod } from "../http/problem.ts";
import { answerUnmatched, defineRoute, newRouter } from "../http/router.ts";
import { receiveEarly } from "../middleware/session.ts";
import { PageQuery, pageResponses } from "../pages/index.ts";
import { showSignin } from "../pages/signin.ts";
import { pathParams } from "../realm/scope.ts";
import type { AppEnv } from "../request/context.ts";
import { realmRoutes } from "./index.ts";

const PREFIX = "/api/{orbId}";
const PAGE_METHODS = ["GET", "HEAD"];
interface Handed {
  outer: Context<AppEnv>;
  realm: Realm;
}
/** Passes values from the outer request to the inner one. */
const handed = new WeakMap<Request, Handed>();

function handedTo(c: Context<AppEnv>): Handed {
  const found = handed.get(c.req.raw);
  if (found === undefined) throw notFound("orb");
  return found;
}

/**
 * The path of a request among the realm routes. A handler of `access` also has the long form, `/call/{handler}/…`.
 * `POST /passkey` is the handler itself: with a session id it completes a ceremony, without one it begins.
 */
function realmPath(request: Request): string {
  const path = shortPath(getPath(request));
  if (!/^\/api\/[^/]+\/passkey$/.test(path)) return path;
  return `${path}/${request.headers.has("sessionid") ? "complete" : "begin"}`;
}

export function orbAuth() {
  const inner = newRouter(undefined, realmPath);
  inner.use("*", async (c, next) => {
    const { outer } = handedTo(c);
    c.set("host", outer.var.host);
    c.set("deps", outer.var.deps);
    c.set("received", outer.var.received);
    await next();
    outer.set("route", c.var.route);
    outer.set("actor", c.var.actor);
  });
  inner.onError(onError);
  answerUnmatched(inner);
  inner.route("/", realmRoutes({ prefix: PREFIX, name: "Orb", realm: (c) => handedTo(c).realm }));
  inner.openapi(
    defineRoute({
      method: "get",
      path: `${PREFIX}/signin`,
      operationId: "orbSigninPage",
      summary: "Sign-in page of an orb",
      description: "An orb that does not use the service `access` redirects to /api/auth/signin.",
      tags: ["Orb-level authentication"],
      security: [],
      request: { params: z.object(pathParams(PREFIX)), query: PageQuery },
      responses: pageResponses,
      problems: [404],
    }),
    (c) => showSignin(c, handedTo(c).realm),
  );

  /**
   * Serves a realm route of an orb that uses `access`, or the sign-in page of any orb. Passes on other requests.
   * @param called handler of `access` in the long form of the path
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
    // An older document may use a handler of the same name of another service.
    const foreign = called !== undefined && named !== accessHandler(called);
    if (isSigninPage(segment) && realm === null) {
      if (!PAGE_METHODS.includes(c.req.method)) return wrongMethod(c, PAGE_METHODS);
      return c.redirect(`/api/auth/signin${new URL(c.req.url).search}`, 302);
    }
    // In an orb without a realm, the path may belong to a module or handler.
    if (realm === null || foreign) {
      await next();
      return undefined;
    }
    handed.set(c.req.raw, { outer: c, realm });
    return inner.fetch(c.req.raw, c.env, executionCtx(c));
  }
  return { router: inner, answer };
}

function executionCtx(c: Context<AppEnv>) {
  try {
    return c.executionCtx;
  } catch {
    return undefined;
  }
}

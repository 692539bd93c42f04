/**
 * A router for paths that belong to the platform in one application, and to a module or handler in another. Middleware
 * decides which, and hands the request over.
 */
import type { Context } from "hono";
import { notFound } from "../../shared/kernel/errors.ts";
import type { AppEnv } from "../request/context.ts";
import { onError } from "./problem.ts";
import { answerUnmatched, newRouter, type Router } from "./router.ts";

export interface InnerRouter<T> {
  router: Router;
  /** Returns what the middleware handed over with the request. */
  handedTo: (c: Context<AppEnv>) => T;
  /** Answers a request with the router. */
  hand: (c: Context<AppEnv>, value: T) => Response | Promise<Response>;
}

/** @param getPath returns the path by which to route a request */
export function innerRouter<T>(getPath?: (request: Request) => string): InnerRouter<T> {
  const handed = new WeakMap<Request, { outer: Context<AppEnv>; value: T }>();
  const found = (c: Context<AppEnv>) => {
    const it = handed.get(c.req.raw);
    if (it === undefined) throw notFound("orb");
    return it;
  };
  const router = newRouter(undefined, getPath);
  router.use("*", async (c, next) => {
    const { outer } = found(c);
    c.set("host", outer.var.host);
    c.set("deps", outer.var.deps);
    c.set("received", outer.var.received);
    if (outer.var.actor !== undefined) c.set("actor", outer.var.actor);
    await next();
    outer.set("route", c.var.route);
    outer.set("problem", c.var.problem);
    outer.set("actor", c.var.actor);
  });
  router.onError(onError);
  answerUnmatched(router);
  return {
    router,
    handedTo: (c) => found(c).value,
    hand(c, value) {
      handed.set(c.req.raw, { outer: c, value });
      return router.fetch(c.req.raw, c.env, executionCtx(c));
    },
  };
}

function executionCtx(c: Context<AppEnv>) {
  try {
    return c.executionCtx;
  } catch {
    return undefined;
  }
}

/**
 * HTTP handlers receive the request and return a response, for any method and for all paths below their name.
 *
 * To add one, declare it in shared/handlers/contract/http.ts and add its code to {@link CODE} under the same name.
 */
import type { Context, MiddlewareHandler, Next } from "hono";
import { type Principal, principalIn } from "../../shared/access/authorize.ts";
import { isOrbId, shortPath } from "../../shared/definition/document/index.ts";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import { liveOrb } from "../../shared/definition/stored/index.ts";
import {
  type FurtherHttpHandler,
  HTTP_HANDLERS,
  type HttpHandler,
} from "../../shared/handlers/contract/index.ts";
import { requireCallable } from "../../shared/handlers/dispatch.ts";
import { countCall } from "../../shared/quotas/quotas.ts";
import { actorFor } from "../middleware/session.ts";
import type { AppEnv } from "../request/context.ts";

export interface HttpCall {
  c: Context<AppEnv>;
  live: LiveOrb;
  principal: Principal;
}

export type HttpCode = (call: HttpCall) => Response | Promise<Response>;

export interface MountedHandler {
  handler: HttpHandler;
  run: HttpCode;
}

const CODE: Record<FurtherHttpHandler, HttpCode> = {};

export const MOUNTED: readonly MountedHandler[] = HTTP_HANDLERS.flatMap((handler) => {
  const run = Object.hasOwn(CODE, handler.name) ? (Reflect.get(CODE, handler.name) as HttpCode) : undefined;
  return run === undefined ? [] : [{ handler, run }];
});

/** Serves requests to HTTP handlers that the application uses, and passes all others on. */
export function httpHandlers(mounted: readonly MountedHandler[]): MiddlewareHandler<AppEnv> {
  const byName = new Map(mounted.map((each) => [each.handler.name, each] as const));
  const shorts = new Set([...byName.keys()].map((name) => name.slice(name.indexOf(".") + 1)));
  async function answer(
    c: Context<AppEnv>,
    next: Next,
    orb: string,
    segment: string,
  ): Promise<Response | undefined> {
    const live = await liveOrb(c.var.deps, orb);
    const found = byName.get(live?.compiled.handlers.get(segment) ?? "");
    if (live === null || found === undefined) {
      await next();
      return undefined;
    }
    // The response may depend on data whose changes the cache does not notice, so never cache it.
    c.var.deps.expires?.(0);
    c.set("route", `/api/{orbId}/${segment}`);
    c.var.deps.log.info("handler", { handler: found.handler.name, orb });
    const { usesAccess } = live.compiled;
    const actor = await actorFor(c, orb, usesAccess);
    const principal = principalIn(actor, orb, live.compiled);
    requireCallable(found.handler, principal);
    await countCall(c.var.deps, actor, orb);
    return withoutMarkup(await found.run({ c, live, principal }));
  }
  return (c, next) => {
    const [, , orb = "", segment = ""] = shortPath(c.req.path).split("/", 4);
    return shorts.has(segment) && isOrbId(orb) ? answer(c, next, orb, segment) : next();
  };
}

/**
 * Changes the type of HTML and XML responses to plain text. Otherwise their scripts could act as the signed-in user.
 */
function withoutMarkup(response: Response): Response {
  const type = response.headers.get("content-type") ?? "";
  if (!/html|xml|svg/i.test(type)) return response;
  const plain = new Response(response.body, response);
  plain.headers.set("content-type", "text/plain; charset=utf-8");
  return plain;
}

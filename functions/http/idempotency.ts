import type { Context } from "hono";
import { checkKey, type Idempotency } from "../../shared/entry/model/index.ts";
import type { AppEnv } from "../request/context.ts";
import { describedPath } from "./prefixes.ts";

export function idempotencyKeyOf(c: Context<AppEnv>): string | undefined {
  const key = c.req.header("idempotency-key");
  return key === undefined ? undefined : checkKey(key);
}

/**
 * Returns the idempotency key with the request's route, because clients may use the same key on several routes.
 * @param path canonical path, for a route with several equivalent paths
 */
export function idempotencyOf(c: Context<AppEnv>, path = c.req.path): Idempotency | undefined {
  const key = idempotencyKeyOf(c);
  return key === undefined ? undefined : { key, route: routeOf(c, path) };
}

/** Returns whether an update takes an idempotency key. Without `If-Match`, a repeated update makes the same values again. */
export function isKeyedUpdate(c: Context<AppEnv>): boolean {
  return c.req.header("if-match") !== undefined;
}

/**
 * Returns the method and the canonical path of a request, to which its idempotency keys belong. A write into a change
 * set is another one than the same write of the entry.
 */
export function routeOf(c: Context<AppEnv>, path = c.req.path): string {
  const change = c.req.query("change");
  return `${c.req.method} ${describedPath(path)}${change === undefined ? "" : `?change=${change}`}`;
}

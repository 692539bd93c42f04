import type { Context } from "hono";
import { checkKey, type Idempotency } from "../../shared/entry/model/idempotency.ts";
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
  return key === undefined ? undefined : { key, route: `${c.req.method} ${describedPath(path)}` };
}

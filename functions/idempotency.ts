/** `Idempotency-Key`: which requests are the same one, by whatever name of a route they came. */
import type { Context } from "hono";
import { checkKey, type Idempotency } from "../shared/entry/idempotency.ts";
import { describedPath } from "./admin/prefixes.ts";
import type { AppEnv } from "./context.ts";

/** The caller's key; undefined without the header. @throws AppError malformed `invalid_header` */
export function idempotencyKeyOf(c: Context<AppEnv>): string | undefined {
  const key = c.req.header("idempotency-key");
  return key === undefined ? undefined : checkKey(key);
}

/**
 * The caller's key with the route, which is one below both prefixes of the management API.
 * @param path the route's one name where an address has several
 * @throws AppError malformed `invalid_header`
 */
export function idempotencyOf(c: Context<AppEnv>, path = c.req.path): Idempotency | undefined {
  const key = idempotencyKeyOf(c);
  return key === undefined ? undefined : { key, route: `${c.req.method} ${describedPath(path)}` };
}

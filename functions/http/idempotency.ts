/** `Idempotency-Key`: decides which requests are repetitions of each other. */
import type { Context } from "hono";
import { checkKey, type Idempotency } from "../../shared/entry/model/idempotency.ts";
import type { AppEnv } from "../request/context.ts";
import { describedPath } from "./prefixes.ts";

/** The key from the header; undefined without it. @throws AppError malformed `invalid_header` */
export function idempotencyKeyOf(c: Context<AppEnv>): string | undefined {
  const key = c.req.header("idempotency-key");
  return key === undefined ? undefined : checkKey(key);
}

/**
 * The key together with the route. Both prefixes of the management API count as one route.
 * @param path canonical path, if an address has several
 * @throws AppError malformed `invalid_header`
 */
export function idempotencyOf(c: Context<AppEnv>, path = c.req.path): Idempotency | undefined {
  const key = idempotencyKeyOf(c);
  return key === undefined ? undefined : { key, route: `${c.req.method} ${describedPath(path)}` };
}

import type { Context, MiddlewareHandler } from "hono";
import { hasOwner, noteBootstrapAccess } from "../../shared/access/bootstrap.ts";
import { enforceRateLimit } from "../../shared/access/limits.ts";
import { platformRealm } from "../../shared/access/realms.ts";
import { AppError } from "../../shared/kernel/errors.ts";
import type { AppEnv } from "../request/context.ts";

function detailOf(c: Context<AppEnv>, access: string): string {
  const { error } = c;
  if (error instanceof AppError) return error.code;
  const { status } = c.res;
  if (error !== undefined || status >= 400) return `http_${status}`;
  return status === 302 ? "redirected" : access;
}

/**
 * Logs every attempt to sign in while the platform has no admin. The audit log omits attempts that exceed a rate
 * limit or fail because of the broker.
 * @param access name under which the audit log records the attempt
 */
export function bootstrapAccess(access: string): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const { deps } = c.var;
    // Whether an admin exists. Undefined if the broker is unavailable.
    const owned = hasOwner(deps, platformRealm).catch(() => undefined);
    if (access === "completed") await owned;
    await next();
    const known = await owned;
    if (known === true) return;
    const { status } = c.res;
    const refused = c.error !== undefined || status >= 400;
    const attempt = { outcome: refused ? "refused" : "ok", detail: detailOf(c, access) } as const;
    const stored = known === false && status !== 429 && status < 500;
    // Apply a rate limit to refused requests. No other rate limit applies to them, and they could flood the audit
    // log.
    const limit =
      stored && status >= 400 ? await enforceRateLimit(deps, "bootstrap").catch(asError) : undefined;
    if (limit === undefined) return noteBootstrapAccess(deps, attempt, stored);
    await noteBootstrapAccess(deps, { outcome: "refused", detail: limit.code }, false);
    throw limit;
  };
}

function asError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  throw error;
}

import type { MiddlewareHandler } from "hono";
import { hasOwner, noteBootstrapAccess } from "../../shared/access/bootstrap.ts";
import { enforceRateLimit } from "../../shared/access/limits.ts";
import { platformRealm } from "../../shared/access/realms.ts";
import { AppError } from "../../shared/kernel/errors.ts";
import type { AppEnv } from "../request/context.ts";

/**
 * Logs and audits every sign-in attempt while the platform has no admin. Skips failures of the broker, rate limits and
 * redirects.
 * @param access name of the access in the audit log
 */
export function bootstrapAccess(access: string): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const { deps } = c.var;
    const owned = hasOwner(deps, platformRealm);
    // The promise is awaited later. Without this handler an early rejection would be unhandled.
    owned.catch(() => undefined);
    if (access === "completed") await owned;
    await next();
    const { status } = c.res;
    if (status === 302 || status === 429 || status >= 500 || (await owned)) return;
    // Rate limit these requests, because they could flood the audit log.
    if (status >= 400) await enforceRateLimit(deps, "bootstrap");
    const { error } = c;
    if (error === undefined) await noteBootstrapAccess(deps, "ok", access);
    else
      await noteBootstrapAccess(deps, "refused", error instanceof AppError ? error.code : `http_${status}`);
  };
}

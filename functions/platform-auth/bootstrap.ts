import type { MiddlewareHandler } from "hono";
import { hasOwner, noteBootstrapAccess } from "../../shared/access/bootstrap.ts";
import { enforceRateLimit } from "../../shared/access/limits.ts";
import { platformRealm } from "../../shared/access/realms.ts";
import { AppError } from "../../shared/kernel/errors.ts";
import type { AppEnv } from "../request/context.ts";

/**
 * For every way in to the platform: while it has no admin, each attempt is logged and audited, whatever comes of it. What
 * could not be answered, was one too many or was sent on to another address is passed over.
 *
 * Costs no round trip where there is an admin, but for whoever completes: the account that comes of it must not be taken
 * for one that was there.
 * @param access how it is called when it is let
 */
export function bootstrapAccess(access: string): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const { deps } = c.var;
    const owned = hasOwner(deps, platformRealm);
    // Whoever awaits it gets its failure; until then it is nobody's.
    owned.catch(() => undefined);
    if (access === "completed") await owned;
    await next();
    const { status } = c.res;
    if (status === 302 || status === 429 || status >= 500 || (await owned)) return;
    // What was refused before anything else counted it would fill log and audit.
    if (status >= 400) await enforceRateLimit(deps, "bootstrap");
    const { error } = c;
    if (error === undefined) await noteBootstrapAccess(deps, "ok", access);
    else
      await noteBootstrapAccess(deps, "refused", error instanceof AppError ? error.code : `http_${status}`);
  };
}

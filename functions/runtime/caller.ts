/** Who calls a route of an orb, found out beside the read of the orb's definition. */
import type { Context } from "hono";
import type { Actor } from "../../shared/access/actor.ts";
import { authenticate } from "../../shared/access/authenticate.ts";
import { realmOf, SHARED_REALM } from "../../shared/access/authorize.ts";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import { credentialsOf, identify } from "../middleware/session.ts";
import type { AppEnv } from "../request/context.ts";

/** Whether the request presents anything that could be somebody's. */
export function hasCredentials(c: Context<AppEnv>): boolean {
  return c.req.header("authorization") !== undefined || (c.req.header("cookie") ?? "").includes("session_");
}

/**
 * Begins to find out who calls, before it is known whose users the orb's are. The result waits for the definition and
 * judges by it.
 */
export function beginCaller(c: Context<AppEnv>, orb: string): (live: LiveOrb) => Promise<Actor> {
  const early = identify(c, { platform: true, realms: [orb, SHARED_REALM] });
  // Whoever awaits it later meets the failure.
  early.catch(() => undefined);
  return async (live) => {
    const actor = await early;
    const realm = realmOf(live.orb, live.compiled.usesAccess);
    if (actor.kind !== "orb" || actor.realm === realm) return actor;
    const other = await authenticate(c.get("deps"), credentialsOf(c), { platform: true, realms: [realm] });
    c.set("actor", other);
    return other;
  };
}

/** Identifies the caller of an orb's route while the orb's definition is read. */
import type { Context } from "hono";
import type { Actor } from "../../shared/access/actor.ts";
import { authenticate } from "../../shared/access/authenticate.ts";
import { realmOf, SHARED_REALM } from "../../shared/access/authorize.ts";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import { credentialsOf, identify } from "../middleware/session.ts";
import type { AppEnv } from "../request/context.ts";

/** Whether the request has any credentials. */
export function hasCredentials(c: Context<AppEnv>): boolean {
  return c.req.header("authorization") !== undefined || (c.req.header("cookie") ?? "").includes("session_");
}

/**
 * Starts to authenticate the caller before the orb's realm is known. The returned function completes it with the
 * definition.
 */
export function beginCaller(c: Context<AppEnv>, orb: string): (live: LiveOrb) => Promise<Actor> {
  const early = identify(c, { platform: true, realms: [orb, SHARED_REALM] });
  // The promise is awaited later. Without this handler an early rejection would be unhandled.
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

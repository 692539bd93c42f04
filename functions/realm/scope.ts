/** What the routes of one realm, or of many alike, have in common. */
import { z } from "@hono/zod-openapi";
import type { Context, MiddlewareHandler } from "hono";
import { deleteCookie, setCookie } from "hono/cookie";
import { cookieName } from "../../shared/access/authenticate.ts";
import { PLATFORM_REALM, refusal, requireInRealm } from "../../shared/access/authorize.ts";
import type { Realm } from "../../shared/access/realms.ts";
import type { StartedSession } from "../../shared/access/sessions.ts";
import type { AppEnv } from "../context.ts";
import { actingConsistency, identify } from "../middleware/session.ts";

/** Where a set of routes is, and whose accounts it is about. */
export interface Scope {
  /** `/api/_auth`, `/api/auth` or `/api/{orbId}`. */
  prefix: string;
  /** Tells apart the operations of the sets in the OpenAPI description. */
  name: "Platform" | "Shared" | "Orb";
  tag: string;
  /** @throws AppError not_found when the orb of the path has no realm */
  realm: (c: Context<AppEnv>) => Realm | Promise<Realm>;
}

/** The path's parameters that a prefix brings. */
export function pathParams(prefix: string): { orbId?: z.ZodString } {
  return prefix.includes("{orbId}") ? { orbId: z.string() } : {};
}

/** A realm's token as a cookie: out of reach for scripts, and not sent along by other sites' forms. */
export function setSessionCookie(c: Context<AppEnv>, realm: Realm, session: StartedSession): void {
  setCookie(c, cookieName(realm.name), session.token, {
    httpOnly: true,
    sameSite: "Lax",
    // Browsers keep Secure cookies from http://localhost apart from each other's rules: plain there, Secure elsewhere.
    secure: c.var.deps.config.publicUrl.startsWith("https:"),
    path: "/api",
    maxAge: session.ttl,
  });
}

export function clearSessionCookie(c: Context<AppEnv>, realm: Realm): void {
  deleteCookie(c, cookieName(realm.name), {
    path: "/api",
    secure: c.var.deps.config.publicUrl.startsWith("https:"),
  });
}

/** Whose tokens stand for an account of the realm. */
export function accountsOf(realm: Realm): { platform: boolean; realms: string[] } {
  return realm.name === PLATFORM_REALM
    ? { platform: true, realms: [] }
    : { platform: false, realms: [realm.name] };
}

/** Lets only the realm's own accounts in: 401 before anything of the request is looked at. */
export function accountOnly(scope: Scope): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const actor = await identify(c, accountsOf(await scope.realm(c)), actingConsistency(c));
    if (actor.kind === "anonymous") throw refusal(actor);
    await next();
  };
}

/** Lets only those in who manage the realm: its admins and owners, and platform admins. */
export function managerOnly(scope: Scope): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const realm = await scope.realm(c);
    const realms = realm.name === PLATFORM_REALM ? [] : [realm.name];
    const actor = await identify(c, { platform: true, realms }, actingConsistency(c));
    requireInRealm(actor, realm.name, "users.read");
    await next();
  };
}

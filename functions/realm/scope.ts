/** Shared parts of the routes of all realms. */
import { z } from "@hono/zod-openapi";
import type { Context, MiddlewareHandler } from "hono";
import { deleteCookie, setCookie } from "hono/cookie";
import { cookieName } from "../../shared/access/authenticate.ts";
import { PLATFORM_REALM, refusal, requireInRealm } from "../../shared/access/authorize.ts";
import type { Realm } from "../../shared/access/realms.ts";
import type { StartedSession } from "../../shared/access/sessions.ts";
import { actingConsistency, identify } from "../middleware/session.ts";
import type { AppEnv } from "../request/context.ts";

/** Where a set of routes is mounted, and which realm it serves. */
export interface Scope {
  /** `/api/_auth`, `/api/auth` or `/api/{orbId}`. */
  prefix: string;
  /** Suffix that makes operation ids unique in the OpenAPI description. */
  name: "Platform" | "Shared" | "Orb";
  tag: string;
  /** @throws AppError not_found if the orb in the path has no realm */
  realm: (c: Context<AppEnv>) => Realm | Promise<Realm>;
}

/** Path parameters in the prefix. */
export function pathParams(prefix: string): { orbId?: z.ZodString } {
  return prefix.includes("{orbId}") ? { orbId: z.string() } : {};
}

/**
 * Returns the attributes of a session cookie. Browsers require `Secure` and the path `/` for names that begin with
 * `__Host-`. They differ in whether they accept Secure cookies from http://localhost, so Secure is omitted there.
 */
const placeOf = ({ publicUrl }: { publicUrl: string }) =>
  publicUrl.startsWith("https:") ? { secure: true, path: "/" } : { secure: false, path: "/api" };

/** Sets a realm's token as a cookie that scripts cannot read and that forms of other sites do not send. */
export function setSessionCookie(c: Context<AppEnv>, realm: Realm, session: StartedSession): void {
  const { config } = c.var.deps;
  setCookie(c, cookieName(config, realm.name), session.token, {
    httpOnly: true,
    sameSite: "Lax",
    ...placeOf(config),
    maxAge: session.ttl,
  });
}

export function clearSessionCookie(c: Context<AppEnv>, realm: Realm): void {
  const { config } = c.var.deps;
  deleteCookie(c, cookieName(config, realm.name), placeOf(config));
}

/** Realms whose tokens identify an account of this realm. */
export function accountsOf(realm: Realm): { platform: boolean; realms: string[] } {
  return realm.name === PLATFORM_REALM
    ? { platform: true, realms: [] }
    : { platform: false, realms: [realm.name] };
}

/** Admits only accounts of the realm: responds with 401 before it validates anything else. */
export function accountOnly(scope: Scope): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const actor = await identify(c, accountsOf(await scope.realm(c)), actingConsistency(c));
    if (actor.kind === "anonymous") throw refusal(actor);
    await next();
  };
}

/** Admits only admins and owners of the realm, and platform admins. */
export function managerOnly(scope: Scope): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const realm = await scope.realm(c);
    const realms = realm.name === PLATFORM_REALM ? [] : [realm.name];
    const actor = await identify(c, { platform: true, realms }, actingConsistency(c));
    requireInRealm(actor, realm.name, "users.read");
    await next();
  };
}

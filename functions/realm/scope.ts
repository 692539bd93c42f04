/** Shared parts of the routes of all realms. */
import { z } from "@hono/zod-openapi";
import type { Context, MiddlewareHandler } from "hono";
import { deleteCookie, setCookie } from "hono/cookie";
import type { Role } from "../../shared/access/actor.ts";
import { cookieName } from "../../shared/access/authenticate.ts";
import { PLATFORM_REALM, refusal, requireInRealm } from "../../shared/access/authorize.ts";
import type { AccessHandler, Realm } from "../../shared/access/realms.ts";
import type { StartedSession } from "../../shared/access/sessions.ts";
import { notFound } from "../../shared/kernel/errors.ts";
import { SESSION } from "../http/schemas.ts";
import { actingConsistency, identify } from "../middleware/session.ts";
import type { AppEnv } from "../request/context.ts";

type Account = Exclude<Role, "public">;

/** Where a set of routes is mounted, and which realm it serves. */
export interface Scope {
  /** `/api/_auth`, `/api/auth` or `/api/{orbId}`. */
  prefix: string;
  /** Suffix that makes operation ids unique in the OpenAPI description. */
  name: "Platform" | "Shared" | "Orb";
  tag: string;
  /** What its accounts are called, and the roles that they can have; invitations grant the last one by default. */
  accounts: { noun: string; roles: readonly [Account, ...Account[]] };
  /** @throws AppError not_found if the orb in the path has no realm */
  realm: (c: Context<AppEnv>) => Realm | Promise<Realm>;
  /** Wraps every way to sign in. @param access name of the access in the audit log */
  attempt?: (access: string) => MiddlewareHandler<AppEnv>;
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

/** Callers that a route of a realm admits: everyone, accounts of the realm, or its admins and owners and platform admins. */
type Callers = "anyone" | "account" | "manager";

/**
 * Shared settings of a realm's routes. Their middleware sets `realm`, and `actor` unless it admits everyone. It responds
 * with 401 and 403 before it validates anything else.
 * @param callers whom the routes admit
 * @param handler handler of the service `access` that the orb must use (otherwise 404)
 * @param attempt name of the access in the audit log while the realm has no owner
 */
export function realmRoute(scope: Scope, callers: Callers, handler?: AccessHandler, attempt?: string) {
  const admit: MiddlewareHandler<AppEnv> = async (c, next) => {
    const realm = await scope.realm(c);
    c.set("realm", realm);
    if (callers !== "anyone") {
      const accepted = { ...accountsOf(realm), ...(callers === "manager" ? { platform: true } : {}) };
      const actor = await identify(c, accepted, actingConsistency(c));
      if (callers === "manager") requireInRealm(actor, realm.name, "users.read");
      else if (actor.kind === "anonymous") throw refusal(actor);
    }
    if (handler !== undefined && !realm.handlers.has(handler)) {
      const detail = "No route matches this address. The orb does not use this handler of access.";
      throw notFound("route", detail);
    }
    await next();
  };
  return {
    tags: [scope.tag],
    security: callers === "anyone" ? [] : SESSION,
    middleware:
      attempt === undefined || scope.attempt === undefined ? [admit] : [scope.attempt(attempt), admit],
  };
}

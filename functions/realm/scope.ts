import { z } from "@hono/zod-openapi";
import type { Context, MiddlewareHandler } from "hono";
import { deleteCookie, setCookie } from "hono/cookie";
import type { Role } from "../../shared/access/actor.ts";
import { cookieName } from "../../shared/access/authenticate.ts";
import {
  orbOfRealm,
  PLATFORM_REALM,
  requireInRealm,
  requireOperator,
  requireOwn,
} from "../../shared/access/authorize.ts";
import {
  type AccountOperation,
  isAccountOperation,
  isPlatformOperation,
  type PlatformOperation,
  type RealmOperation,
} from "../../shared/access/credentials/index.ts";
import type { AccessHandler, Realm } from "../../shared/access/realms.ts";
import type { StartedSession } from "../../shared/access/sessions.ts";
import { notFound } from "../../shared/kernel/errors.ts";
import { scopesFor } from "../http/prefixes.ts";
import { ANY_SESSION, OPERATOR_SESSION, SESSION } from "../http/schemas.ts";
import { changesRights, createsCredential } from "../middleware/origin.ts";
import { actingConsistency, identify } from "../middleware/session.ts";
import type { AppEnv } from "../request/context.ts";

type Account = Exclude<Role, "public">;

export interface Scope {
  prefix: string;
  /** Suffix that makes operation ids unique in the OpenAPI document. */
  name: "Platform" | "Shared" | "Orb";
  /** OpenAPI tags of the routes. In an application's own OpenAPI document, the application's id precedes each tag. */
  tags: { signin: string; account: string; recovery: string; invitations: string; people: string };
  /**
   * `noun` names an account in messages. `roles` are the possible roles. Invitations grant the last role by default.
   */
  accounts: { noun: string; roles: readonly [Account, ...Account[]] };
  realm: (c: Context<AppEnv>) => Realm | Promise<Realm>;
  /** Middleware of all routes for signing in. @param access name under which the audit log records the attempt */
  attempt?: (access: string) => MiddlewareHandler<AppEnv>;
}

/**
 * Returns the schema of an account's role. For the users of an application, the schema accepts any short string.
 * `requireRole` in shared/access later checks that the application has the role.
 */
export function roleSchema({ name, accounts }: Scope): z.ZodString | z.ZodEnum<Record<Account, Account>> {
  if (name !== "Orb") return z.enum(accounts.roles) as z.ZodEnum<Record<Account, Account>>;
  return z.string().max(63).openapi({
    description: "`owner`, `admin`, `user`, or a role of the orb",
    example: "user",
  });
}

export function pathParams(prefix: string): { orbId?: z.ZodString } {
  return prefix.includes("{orbId}") ? { orbId: z.string() } : {};
}

/** Browsers require `Secure` for cookies named `__Host-…`. Some reject Secure cookies from http://localhost. */
export const cookieScope = ({ publicUrl }: { publicUrl: string }) =>
  publicUrl.startsWith("https:") ? { secure: true, path: "/" } : { secure: false, path: "/api" };

/** Sets the session cookie. Scripts cannot read it, and browsers do not send it with forms of other sites. */
export function setSessionCookie(c: Context<AppEnv>, realm: Realm, session: StartedSession): void {
  const { config } = c.var.deps;
  setCookie(c, cookieName(config, realm.name), session.token, {
    httpOnly: true,
    sameSite: "Lax",
    ...cookieScope(config),
    maxAge: session.ttl,
  });
}

export function clearSessionCookie(c: Context<AppEnv>, realm: Realm): void {
  const { config } = c.var.deps;
  deleteCookie(c, cookieName(config, realm.name), cookieScope(config));
}

export function accountsOf(realm: Realm): { platform: boolean; realms: string[] } {
  return realm.name === PLATFORM_REALM
    ? { platform: true, realms: [] }
    : { platform: false, realms: [realm.name] };
}

/**
 * Operation of an account route. An account operation affects the caller's own account. The other operations manage the
 * accounts of a realm (set of accounts).
 */
type RouteOperation = AccountOperation | RealmOperation | PlatformOperation;

function described({ name }: Scope, operation: RouteOperation) {
  const scopes = scopesFor(operation);
  if (name === "Platform" || isPlatformOperation(operation))
    return { security: OPERATOR_SESSION, "x-role": "platform", ...scopes };
  return isAccountOperation(operation)
    ? { security: SESSION, "x-role": "user", ...scopes }
    : { security: ANY_SESSION, "x-role": "admin", ...scopes };
}

/**
 * Returns the common properties of an account route. The route rejects unauthorized callers before it validates their
 * request.
 * @param operation operation that the caller must be allowed to perform; `anyone` if the route needs no account
 * @param handler handler of the built-in service `access`; the route exists only if the application uses this handler
 * @param attempt name under which the audit log records each request while the platform has no admin
 */
export function realmRoute(
  scope: Scope,
  operation: RouteOperation | "anyone",
  handler?: AccessHandler,
  attempt?: string,
) {
  const manages = operation !== "anyone" && !isAccountOperation(operation);
  const admit: MiddlewareHandler<AppEnv> = async (c, next) => {
    const realm = await scope.realm(c);
    c.set("realm", realm);
    if (operation !== "anyone") {
      // Platform admins also manage the tokens of service accounts that belong to other sets of accounts (realms).
      const operated = manages || operation === "tokens.read" || operation === "tokens.write";
      const accepted = {
        ...accountsOf(realm),
        ...(operated ? { platform: true } : {}),
        // These routes show no entries.
        pinned: operation === "tokens.current" || operation === "account.read",
      };
      const actor = await identify(c, accepted, actingConsistency(c));
      if (isAccountOperation(operation)) requireOwn(actor, realm.name, operation);
      else if (isPlatformOperation(operation)) requireOperator(actor, operation, orbOfRealm(realm.name));
      else requireInRealm(actor, realm, operation);
    }
    if (handler !== undefined && !realm.handlers.has(handler)) {
      const detail =
        "The orb does not use the handler of this address. Add it to uses in the orb's document, and publish.";
      throw notFound("route", detail);
    }
    await next();
  };
  const invites = handler === "invitations" || handler === "bootstrap";
  const ofAccount = operation === "anyone" ? "signin" : "account";
  const subject = invites ? "invitations" : manages ? "people" : ofAccount;
  return {
    tags: [scope.tags[subject]],
    ...(operation === "anyone" ? { security: [] } : described(scope, operation)),
    middleware:
      attempt === undefined || scope.attempt === undefined ? [admit] : [scope.attempt(attempt), admit],
  };
}

/**
 * Returns the common properties of a route that creates a credential, as {@link realmRoute} does for other routes. With
 * a session cookie, only the platform's own pages may use the route.
 */
export function credentialRoute(...route: Parameters<typeof realmRoute>) {
  return createsCredential(realmRoute(...route));
}

/** Returns the common properties of a route that changes what accounts may do. */
export function rightsRoute(...route: Parameters<typeof realmRoute>) {
  return changesRights(realmRoute(...route));
}

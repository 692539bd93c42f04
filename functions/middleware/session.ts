import type { Context, MiddlewareHandler } from "hono";
import { getCookie } from "hono/cookie";
import { parse } from "hono/utils/cookie";
import { type Actor, anonymous, proposing } from "../../shared/access/actor.ts";
import {
  type AcceptedRealms,
  authenticate,
  type Credentials,
  isSessionCookie,
} from "../../shared/access/authenticate.ts";
import { realmOf, requireScope, SHARED_REALM } from "../../shared/access/authorize.ts";
import { isTokenText, type Operation, readTokenText } from "../../shared/access/credentials/index.ts";
import { handlerRefusal, refusal } from "../../shared/access/refusals.ts";
import { claimsPreview, isVerified } from "../../shared/access/tokens.ts";
import { AppError } from "../../shared/kernel/errors.ts";
import { sameSecret } from "../../shared/kernel/ids.ts";
import type { Consistency } from "../../shared/store/types.ts";
import type { AppEnv } from "../request/context.ts";
import { BODY_LIMIT, hasBody, receiveBody } from "./body.ts";
import { requireTrustedOrigin } from "./origin.ts";

const BEARER = /^bearer +([A-Za-z0-9._~+/-]+=*) *$/i;

export function bearerOf(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  const bearer = BEARER.exec(header)?.[1];
  if (bearer !== undefined) return bearer;
  const detail = "The Authorization header must have the form: Bearer <token>.";
  throw new AppError("unauthenticated", "invalid_token", detail);
}

/**
 * Returns the value of a cookie. Returns undefined if the cookie occurs twice, because another port or subdomain may
 * have set one of them.
 */
export function cookieOf(header: string | undefined, name: string): string | undefined {
  const [value, ...others] = (header ?? "").split(";").flatMap((pair) => Object.values(parse(pair, name)));
  return others.length > 0 ? undefined : value;
}

export function credentialsOf(c: Context<AppEnv>): Credentials {
  const bearer = bearerOf(c.req.header("authorization"));
  return bearer === undefined ? { cookies: (name) => cookieOf(c.req.header("cookie"), name) } : { bearer };
}

/**
 * Returns whether a request contains a token that may be valid. A session token must have a valid signature and must
 * not have expired. An API token must have a correct checksum. Does not ask the broker, so the session may already
 * have ended, or the API token may be revoked.
 */
export function mayBeAuthenticated(c: Context<AppEnv>): boolean | Promise<boolean> {
  const { config, clock } = c.get("deps");
  const header = c.req.header("authorization");
  if (header !== undefined) {
    const token = BEARER.exec(header)?.[1] ?? "";
    return isTokenText(token) ? readTokenText(token) !== null : isVerified(config, token, clock.now());
  }
  const checks = Object.entries(getCookie(c)).flatMap(([name, token]) =>
    isSessionCookie(config, name) ? [isVerified(config, token, clock.now())] : [],
  );
  return Promise.all(checks).then((valid) => valid.includes(true));
}

/**
 * Receives the body only if the token is valid. Otherwise authentication rejects the request, and the body is not
 * needed.
 */
export const receiveAuthenticated: MiddlewareHandler<AppEnv> = async (c, next) => {
  if (await mayBeAuthenticated(c)) await receiveBody(c);
  await next();
};

export const receivePublic: MiddlewareHandler<AppEnv> = async (c, next) => {
  await receiveBody(c);
  await next();
};

/**
 * Receives the request body before the route is known, unless the bearer token is invalid. Skips a body whose
 * Content-Length reaches `BODY_LIMIT`: most routes reject such a body, and a handler may stream it.
 */
export async function receiveEarly(c: Context<AppEnv>): Promise<void> {
  if (!hasBody(c) || Number(c.req.header("content-length") ?? 0) >= BODY_LIMIT) return;
  if (c.req.header("authorization") === undefined || (await mayBeAuthenticated(c))) await receiveBody(c);
}

/** Throws 401 for a bearer token that cannot be valid, before the body is received. */
export async function requireUsable(c: Context<AppEnv>, orb: string): Promise<void> {
  if (c.req.header("authorization") === undefined || (await mayBeAuthenticated(c))) return;
  await identify(c, { platform: true, realms: [orb, SHARED_REALM], handlersOf: orb });
}

/** Authenticates the request once. A write with a session cookie must come from an allowed origin. */
export async function identify(
  c: Context<AppEnv>,
  want: AcceptedRealms,
  consistency: Consistency = "cached",
): Promise<Actor> {
  const known = c.get("actor") ?? (hasCredentials(c) ? undefined : anonymous);
  if (known !== undefined) return known;
  const credentials = credentialsOf(c);
  const actor = await authenticate(c.get("deps"), credentials, want, consistency);
  if (credentials.bearer === undefined && actor.kind !== "anonymous") requireTrustedOrigin(c);
  // A service may leak its credential to a web page. Reject requests from browsers, so that the page does not get the
  // handler's rights.
  if (actor.kind === "handler" && fromBrowser(c)) throw handlerRefusal(actor);
  c.set("actor", actor);
  return actor;
}

/** Returns whether a web page sent the request. Browsers set these headers, and scripts cannot remove them. */
function fromBrowser(c: Context<AppEnv>): boolean {
  return c.req.header("origin") !== undefined || c.req.header("sec-fetch-site") !== undefined;
}

export function actorFor(c: Context<AppEnv>, orb: string, usesAccess: boolean): Promise<Actor> {
  return identify(c, { platform: true, realms: [realmOf(orb, usesAccess)] });
}

export function hasCredentials(c: Context<AppEnv>): boolean {
  return c.req.header("authorization") !== undefined || (c.req.header("cookie") ?? "").includes("session_");
}

/** Returns the token of the preview link that a request contains, which may not be valid. */
export function previewTokenOf(c: Context<AppEnv>): string | undefined {
  const token = BEARER.exec(c.req.header("authorization") ?? "")?.[1];
  return token !== undefined && claimsPreview(token) ? token : undefined;
}

/** Returns whether a request contains an API token, which may not be valid. */
export function sendsApiToken(c: Context<AppEnv>): boolean {
  const token = BEARER.exec(c.req.header("authorization") ?? "")?.[1];
  return token !== undefined && isTokenText(token);
}

/**
 * Starts to authenticate the client while the application's definition is still loading. Call the returned function
 * when the definition has loaded.
 * @param pinned whether the route serves API tokens that are pinned to a revision of the definition
 * @param previewed whether the route serves the holders of preview links
 */
export function beginCaller(
  c: Context<AppEnv>,
  orb: string,
  pinned = false,
  previewed = false,
): (usesAccess: boolean) => Promise<Actor> {
  const early = identify(c, {
    ...{ platform: true, realms: [orb, SHARED_REALM], handlersOf: orb, pinned },
    ...(previewed ? { previewsOf: orb } : {}),
  });
  // The promise is awaited later. If it is rejected before that, this handler prevents an unhandled rejection.
  early.catch(() => undefined);
  return async (usesAccess) => {
    const actor = await early;
    const realm = realmOf(orb, usesAccess);
    if (actor.kind !== "orb" || actor.realm === realm) return actor;
    const want = { platform: true, realms: [realm], pinned };
    const other = await authenticate(c.get("deps"), credentialsOf(c), want);
    c.set("actor", other);
    return other;
  };
}

/** Writes read the session from the leader, because a cached session may have ended. Reads accept a cached session. */
export function actingConsistency(c: Context<AppEnv>): Consistency {
  return c.req.method === "GET" || c.req.method === "HEAD" ? "cached" : "leader";
}

/** Admits only platform admins. An admin's API token must also allow the operation on the application in the path. */
function onlyPlatformAdmins(
  operation: Operation,
  consistencyOf: (c: Context<AppEnv>) => Consistency,
  asking: (c: Context<AppEnv>, actor: Actor) => Actor = (_, actor) => actor,
  pinned = false,
): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const actor = await identify(c, { platform: true, pinned }, consistencyOf(c));
    if (actor.kind !== "platform") throw refusal(actor, "platform admin");
    requireScope(asking(c, actor), operation, c.req.param("orbId"));
    await next();
  };
}

export const platformAdmin = (operation: Operation) => onlyPlatformAdmins(operation, actingConsistency);

const metricsAdmin = platformAdmin("metrics.read");

/** Rejects requests that have neither the metrics token nor the credentials of a platform admin. */
export const scraper: MiddlewareHandler<AppEnv> = async (c, next) => {
  const { metricsToken } = c.get("deps").config;
  const { bearer } = credentialsOf(c);
  const isToken =
    metricsToken !== undefined && bearer !== undefined && (await sameSecret(bearer, metricsToken));
  return isToken ? next() : metricsAdmin(c, next);
};

/**
 * Admits only platform admins. The session may come from a cache, which saves a broker round trip for each written
 * entry. An API token with the scope `propose` may ask for a write into a change set. What writes an entry itself checks
 * the token's scopes again.
 * @param pinned whether the route serves API tokens that are pinned to a revision of the definition
 */
export const entryAdmin = (operation: Operation, pinned = false) =>
  onlyPlatformAdmins(
    operation,
    () => "cached",
    (c, actor) => (c.req.query("change") === undefined ? actor : proposing(actor)),
    pinned,
  );

/**
 * Reads the session again from the leader, because it may have ended during a long upload.
 * @param pinned whether the route serves API tokens that are pinned to a revision of the definition
 */
export async function stillPlatformAdmin(c: Context<AppEnv>, pinned = false): Promise<Actor> {
  const ended = (cause?: unknown) => {
    const detail =
      "Your access ended during the upload. The lines that were answered with 201 are written. Sign in and send the others again.";
    return new AppError("unauthenticated", "access_ended", detail, { cause });
  };
  const want = { platform: true, pinned };
  const actor = await authenticate(c.get("deps"), credentialsOf(c), want, "leader").catch(
    (error: unknown) => {
      throw error instanceof AppError && error.kind === "unauthenticated" ? ended(error) : error;
    },
  );
  if (actor.kind !== "platform") throw ended();
  c.set("actor", actor);
  return actor;
}

/** Who asks: from the bearer token, else from the realm's cookie. */
import type { Context, MiddlewareHandler } from "hono";
import { getCookie } from "hono/cookie";
import type { Actor } from "../../shared/access/actor.ts";
import {
  authenticate,
  type Credentials,
  isSessionCookie,
  type Wanted,
} from "../../shared/access/authenticate.ts";
import { realmOf, refusal } from "../../shared/access/authorize.ts";
import { claimedRealm, verifyToken } from "../../shared/access/tokens.ts";
import { AppError } from "../../shared/kernel/errors.ts";
import type { Consistency } from "../../shared/store/types.ts";
import type { AppEnv } from "../request/context.ts";
import { receiveBody } from "./body.ts";
import { cookieOf } from "./cookies.ts";
import { requireTrustedOrigin } from "./origin.ts";

const BEARER = /^bearer +([A-Za-z0-9._~+/-]+=*) *$/i;

/**
 * The token in an `Authorization` header; undefined without one.
 * @throws AppError unauthenticated `invalid_token` when the header is no bearer token
 */
export function bearerOf(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  const bearer = BEARER.exec(header)?.[1];
  if (bearer !== undefined) return bearer;
  const detail = "The Authorization header must be a bearer token.";
  throw new AppError("unauthenticated", "invalid_token", detail);
}

/** What the request presents. @throws AppError unauthenticated when its Authorization header is no bearer token */
export function credentialsOf(c: Context<AppEnv>): Credentials {
  const bearer = bearerOf(c.req.header("authorization"));
  return bearer === undefined ? { cookies: (name) => cookieOf(c.req.header("cookie"), name) } : { bearer };
}

/**
 * Returns true if a token of the request has a valid signature and has not expired. Sends nothing to the broker, so the
 * session can have ended all the same.
 */
export async function mayBeKnown(c: Context<AppEnv>): Promise<boolean> {
  const { config, clock } = c.get("deps");
  const header = c.req.header("authorization");
  const tokens =
    header === undefined
      ? Object.entries(getCookie(c)).flatMap(([name, value]) =>
          isSessionCookie(config, name) ? [value] : [],
        )
      : [BEARER.exec(header)?.[1] ?? ""];
  const checks = tokens.map(async (token) => {
    try {
      await verifyToken(config, token, [claimedRealm(token) ?? ""], clock.now());
      return true;
    } catch {
      return false;
    }
  });
  return (await Promise.all(checks)).includes(true);
}

/**
 * Waits for the body of a route that needs an account. Without a valid token it does not wait: the authentication that
 * follows refuses the request.
 */
export const receiveFromKnown: MiddlewareHandler<AppEnv> = async (c, next) => {
  if (await mayBeKnown(c)) await receiveBody(c);
  await next();
};

/** Waits for the body of a route that anyone can use. */
export const receiveFromAnyone: MiddlewareHandler<AppEnv> = async (c, next) => {
  await receiveBody(c);
  await next();
};

/** Waits for the body of a request whose route is not known yet, unless its bearer token is invalid. */
export async function receiveEarly(c: Context<AppEnv>): Promise<void> {
  if (c.req.header("authorization") === undefined || (await mayBeKnown(c))) await receiveBody(c);
}

/**
 * Authenticates the request once and keeps the result in `c.get("actor")`.
 *
 * When a cookie speaks for the caller, an unsafe request must come from one of our own origins (403).
 * @throws AppError unauthenticated for a token that does not hold
 */
export async function identify(
  c: Context<AppEnv>,
  want: Wanted,
  consistency: Consistency = "told",
): Promise<Actor> {
  const known = c.get("actor");
  if (known !== undefined) return known;
  const credentials = credentialsOf(c);
  const actor = await authenticate(c.get("deps"), credentials, want, consistency);
  if (credentials.bearer === undefined && actor.kind !== "anonymous") requireTrustedOrigin(c);
  c.set("actor", actor);
  return actor;
}

/** The caller of a runtime route of an orb: a user of the realm that the orb knows, or a platform admin. */
export function actorFor(c: Context<AppEnv>, orb: string, usesAccess: boolean): Promise<Actor> {
  return identify(c, { platform: true, realms: [realmOf(orb, usesAccess)] });
}

/** Changes of accounts and orbs need the caller's session as the leader has it; reads can use a cached one. */
export function actingConsistency(c: Context<AppEnv>): Consistency {
  return c.req.method === "GET" || c.req.method === "HEAD" ? "told" : "leader";
}

function onlyPlatformAdmins(consistencyOf: (c: Context<AppEnv>) => Consistency): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const actor = await identify(c, { platform: true }, consistencyOf(c));
    if (actor.kind !== "platform") throw refusal(actor, "platform admin");
    await next();
  };
}

/** Lets only platform admins in: 401 or 403 before anything of the request is looked at. */
export const platformAdmin = onlyPlatformAdmins(actingConsistency);

/** Lets only platform admins in, by a cached session where the host has one: entries are written often. */
export const entryAdmin = onlyPlatformAdmins(() => "told");

/**
 * Reads the caller's session again, from the leader. Uploads take minutes, and the caller can lose their access meanwhile.
 * @throws AppError unauthenticated `access_ended`
 */
export async function stillPlatformAdmin(c: Context<AppEnv>): Promise<Actor> {
  const ended = (cause?: unknown) => {
    const detail =
      "Your access ended during the upload. The lines that were answered with 201 are written. Sign in and send the others again.";
    return new AppError("unauthenticated", "access_ended", detail, { cause });
  };
  const actor = await authenticate(c.get("deps"), credentialsOf(c), { platform: true }, "leader").catch(
    (error: unknown) => {
      throw error instanceof AppError && error.kind === "unauthenticated" ? ended(error) : error;
    },
  );
  if (actor.kind !== "platform") throw ended();
  c.set("actor", actor);
  return actor;
}

import type { Deps } from "../deps.ts";
import type { Consistency } from "../store/types.ts";
import { type Actor, anonymous, type DirectActor, type HandlerActor } from "./actor.ts";
import { PLATFORM_REALM } from "./authorize.ts";
import { handlerRefusal, realmRefusal } from "./refusals.ts";
import { readSession } from "./sessions.ts";
import { badToken, claimedRealm, claimsHandler, verifyHandlerToken, verifyToken } from "./tokens.ts";

export interface Credentials {
  /** Bearer token. If present, cookies are ignored. */
  bearer?: string | undefined;
  /** Returns a cookie by its name; undefined if the request has several cookies of that name. */
  cookies?: ((name: string) => string | undefined) | undefined;
}

/** The realms whose tokens a route accepts. A realm is a separate set of accounts. */
export interface AcceptedRealms {
  platform?: boolean;
  realms?: readonly string[];
  /** Also accepts handlers that act for their callers in this orb. */
  handlersOf?: string;
}

/** Returns the name of a session cookie. With the prefix `__Host-`, sibling subdomains cannot set the cookie. */
export function cookieName({ publicUrl }: { publicUrl: string }, realm: string): string {
  return `${publicUrl.startsWith("https:") ? "__Host-" : ""}session_${realm}`;
}

export function isSessionCookie(config: { publicUrl: string }, name: string): boolean {
  return name.startsWith(cookieName(config, ""));
}

/**
 * Returns the account that sent a request, or an anonymous caller.
 *
 * An invalid bearer token is an error. An invalid cookie is ignored, so that an expired session does not block public
 * pages.
 * @param consistency use `leader` if the decision has effects after the session ends
 * @throws AppError unauthenticated `invalid_token`; forbidden `other_realm`
 */
export async function authenticate(
  deps: Deps,
  credentials: Credentials,
  want: AcceptedRealms,
  consistency: Consistency = "cached",
): Promise<Actor> {
  const realms = [...(want.realms ?? []), ...(want.platform === true ? [PLATFORM_REALM] : [])];
  const { bearer } = credentials;
  if (bearer !== undefined) {
    return claimsHandler(bearer)
      ? handlerOf(deps, bearer, want.handlersOf, consistency)
      : actorOf(deps, bearer, realms, consistency);
  }
  for (const realm of realms) {
    const cookie = credentials.cookies?.(cookieName(deps.config, realm));
    if (cookie === undefined || claimedRealm(cookie) !== realm) continue;
    const actor = await actorOf(deps, cookie, [realm], consistency).catch((error: unknown) => {
      if (isBadToken(error)) return anonymous;
      throw error;
    });
    if (actor.kind !== "anonymous") return actor;
  }
  return anonymous;
}

function isBadToken(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "invalid_token";
}

async function actorOf(
  deps: Deps,
  jwt: string,
  realms: readonly string[],
  consistency: Consistency,
): Promise<DirectActor> {
  const claims = await verifyToken(deps.config, jwt, deps.clock.now());
  const actor = await accountWith(deps, claims, consistency);
  if (!realms.includes(claims.realm)) throw realmRefusal(claims.realm, realms);
  return actor;
}

/** Returns the handler that acts for its caller. The caller's session must not have ended since the call. */
async function handlerOf(
  deps: Deps,
  jwt: string,
  accepted: string | undefined,
  consistency: Consistency,
): Promise<HandlerActor> {
  const claims = await verifyHandlerToken(deps.config, jwt, deps.clock.now());
  const { handler, orb, acts, requestId, caller, exp } = claims;
  const account = caller === null ? anonymous : await accountWith(deps, { ...caller, exp }, consistency);
  if (orb !== accepted) throw handlerRefusal(claims);
  return { kind: "handler", handler, orb, acts, caller: account, requestId };
}

/** Returns the account of a session, with the role that the session has now. */
async function accountWith(
  deps: Deps,
  { realm, sub, sid, exp }: { realm: string; sub: string; sid: string; exp: number },
  consistency: Consistency,
): Promise<DirectActor> {
  const session = await readSession(deps, realm, sub, sid, consistency);
  if (session === null) throw badToken();
  const { name, email, role } = session;
  return realm === PLATFORM_REALM
    ? { kind: "platform", sub, sid, exp, name, email }
    : { kind: "orb", realm, sub, sid, exp, name, role };
}

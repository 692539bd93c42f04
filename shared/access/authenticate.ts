import type { Deps } from "../deps.ts";
import type { Consistency } from "../store/types.ts";
import { type Actor, anonymous } from "./actor.ts";
import { PLATFORM_REALM } from "./authorize.ts";
import { realmRefusal } from "./refusals.ts";
import { readSession } from "./sessions.ts";
import { badToken, claimedRealm, verifyToken } from "./tokens.ts";

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
  if (credentials.bearer !== undefined) return actorOf(deps, credentials.bearer, realms, consistency);
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
): Promise<Actor> {
  const claims = await verifyToken(deps.config, jwt, deps.clock.now());
  const { realm, sub, sid, exp } = claims;
  const session = await readSession(deps, realm, sub, sid, consistency);
  if (session === null) throw badToken();
  if (!realms.includes(realm)) throw realmRefusal(realm, realms);
  const { name, email, role } = session;
  return realm === PLATFORM_REALM
    ? { kind: "platform", sub, sid, exp, name, email }
    : { kind: "orb", realm, sub, sid, exp, name, role };
}

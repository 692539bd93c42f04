import type { Deps } from "../deps.ts";
import type { Consistency } from "../store/types.ts";
import { type Actor, anonymous } from "./actor.ts";
import { PLATFORM_REALM } from "./authorize.ts";
import { readSession } from "./sessions.ts";
import { badToken, claimedRealm, verifyToken } from "./tokens.ts";

/** The credentials of a request. */
export interface Credentials {
  /** The bearer token. If there is one, cookies are ignored. */
  bearer?: string | undefined;
  /** Reads a cookie by its name. Undefined if the request has several cookies of that name. */
  cookies?: ((name: string) => string | undefined) | undefined;
}

/** Accepted tokens: those of platform admins, and those of users of these realms. */
export interface AcceptedRealms {
  platform?: boolean;
  realms?: readonly string[];
}

/**
 * Returns the name of the cookie with a realm's token. Over https it begins with `__Host-`: browsers reject such a
 * cookie from any other host, so a page on a sibling subdomain cannot replace the caller's session with its own.
 */
export function cookieName({ publicUrl }: { publicUrl: string }, realm: string): string {
  return `${publicUrl.startsWith("https:") ? "__Host-" : ""}session_${realm}`;
}

/** Whether a cookie's name is one of {@link cookieName}. */
export function isSessionCookie(config: { publicUrl: string }, name: string): boolean {
  return name.startsWith(cookieName(config, ""));
}

/**
 * Identifies the caller: verifies the token and reads its session ({@link readSession}).
 *
 * An invalid bearer token is an error. An invalid cookie is ignored, so that a stale one does not block access to
 * public data.
 * @param consistency `leader` if the decision outlives the request
 * @throws AppError unauthenticated `invalid_token`
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
  const claims = await verifyToken(deps.config, jwt, realms, deps.clock.now());
  const { realm, sub, sid, exp } = claims;
  const session = await readSession(deps, realm, sub, sid, consistency);
  if (session === null) throw badToken();
  const { name, email, role } = session;
  return realm === PLATFORM_REALM
    ? { kind: "platform", sub, sid, exp, name, email }
    : { kind: "orb", realm, sub, sid, exp, name, role };
}

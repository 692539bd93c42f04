/** Authenticates stream readers by bearer token or cookie. */
import type { Actor } from "../access/actor.ts";
import { authenticate, type Credentials } from "../access/authenticate.ts";
import { claimedRealm } from "../access/tokens.ts";
import type { Deps } from "../deps.ts";
import { AppError } from "../kernel/errors.ts";
import { isToken } from "../store/subjects.ts";

const DEFAULT_REALM = "auth";

/** The credentials in a stream request. */
export interface StreamCredentials extends Credentials {
  /** Realm whose cookie is used, from `?realm=`. */
  realm: string | undefined;
}

/**
 * Authenticates users of every realm. A bearer token names its realm and is verified for that realm. Without a token,
 * the cookie of the requested realm is used, or else a platform admin's cookie.
 * @throws AppError unauthenticated, malformed
 */
export async function authenticateReader(deps: Deps, credentials: StreamCredentials): Promise<Actor> {
  const { bearer, cookies, realm = DEFAULT_REALM } = credentials;
  if (!isToken(realm))
    throw new AppError(
      "malformed",
      "invalid_realm",
      "The realm name is not valid. Use letters, digits, hyphens and underscores.",
    );
  const claimed = bearer === undefined ? realm : claimedRealm(bearer);
  const realms = claimed === null || !isToken(claimed) ? [] : [claimed];
  return authenticate(deps, { bearer, cookies }, { platform: true, realms });
}

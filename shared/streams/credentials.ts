import type { Actor } from "../access/actor.ts";
import { authenticate, type Credentials } from "../access/authenticate.ts";
import { claimedRealm } from "../access/tokens.ts";
import type { Deps } from "../deps.ts";
import { AppError } from "../kernel/errors.ts";
import { isToken } from "../store/subjects.ts";

const DEFAULT_REALM = "auth";

export interface StreamCredentials extends Credentials {
  /** Realm (set of accounts) whose session cookie to use. From the query parameter `realm`. */
  realm: string | undefined;
}

/**
 * Returns the reader's account, from the bearer token or from a session cookie. Without the parameter `realm` (a set of
 * accounts), uses the cookie of platform admins.
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

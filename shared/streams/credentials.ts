/** Who may read: the bearer token, else a cookie. */
import type { Actor } from "../access/actor.ts";
import { authenticate, type Credentials } from "../access/authenticate.ts";
import { claimedRealm } from "../access/tokens.ts";
import type { Deps } from "../deps.ts";
import { AppError } from "../kernel/errors.ts";
import { isToken } from "../store/subjects.ts";

const DEFAULT_REALM = "auth";

/** What a request for streams presents. */
export interface StreamCredentials extends Credentials {
  /** The realm whose cookie counts: `?realm=`. */
  realm: string | undefined;
}

/**
 * Streams are there for users of every realm: a token says of which it is, and is then judged as one of that realm.
 * A cookie counts for the realm that was asked for, else a platform admin's does.
 * @throws AppError unauthenticated, malformed
 */
export async function authenticateReader(deps: Deps, credentials: StreamCredentials): Promise<Actor> {
  const { bearer, cookies, realm = DEFAULT_REALM } = credentials;
  if (!isToken(realm)) throw new AppError("malformed", "invalid_realm", "There can be no such realm.");
  const claimed = bearer === undefined ? realm : claimedRealm(bearer);
  const realms = claimed === null || !isToken(claimed) ? [] : [claimed];
  return authenticate(deps, { bearer, cookies }, { platform: true, realms });
}

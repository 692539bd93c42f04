/** Reads the parts of a token that are not secret. Only the platform verifies tokens. */

/** Path prefix of the accounts of platform admins. */
export const PLATFORM_BASE = "/api/_auth";

/** The claims of a session's token. */
export interface SessionClaims {
  type?: string;
  orb?: string;
  /** Time at which the session expires, in seconds since the epoch. */
  exp?: number;
}

export function claimsOf(token: string): SessionClaims | null {
  try {
    return JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()) as SessionClaims;
  } catch {
    return null;
  }
}

/**
 * Returns the realm of a token: `platform`, `auth` or the id of an application. Returns null if the text is not a
 * token.
 */
export function realmOfToken(token: string): string | null {
  const realm = /^orbtok_([a-z][a-z0-9_-]{1,62})_[0-9a-f]{32}_/.exec(token)?.[1];
  if (realm !== undefined) return realm;
  const claims = claimsOf(token);
  return claims?.type === "platform" ? "platform" : (claims?.orb ?? null);
}

/** Returns the path prefix of the account that a token belongs to; null if the text is not a token. */
export function baseOfToken(token: string): string | null {
  const realm = realmOfToken(token);
  if (realm === null) return null;
  return realm === "platform" ? PLATFORM_BASE : `/api/${realm}`;
}

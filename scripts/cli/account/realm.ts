/** The accounts that a command is about: those of the platform, of one orb, or those that orbs share. */
import { CommandError, type Context } from "../command/context.ts";

export const PLATFORM_BASE = "/api/_auth";
const SHARED_BASE = "/api/auth";

/**
 * Returns the start of the paths of the accounts with which users sign in to an orb.
 * @param orb id of an orb; `auth` for the accounts that orbs share; undefined for platform admins
 */
export async function baseFor({ transport }: Context, orb: string | undefined): Promise<string> {
  if (orb === undefined) return PLATFORM_BASE;
  if (orb === "auth") return SHARED_BASE;
  const path = `/api/${encodeURIComponent(orb)}`;
  const response = await transport
    .send({ method: "GET", path: `${path}/signin`, repeat: "safe" })
    .catch((error: unknown) => {
      if (error instanceof Error && Reflect.get(error, "status") === 404)
        throw new CommandError(`There is no published orb ${orb}. Check the id, or publish the orb first.`);
      throw error;
    });
  await response.body?.cancel();
  // The sign-in page of an orb without accounts of its own leads to that of the shared accounts.
  return new URL(response.url).pathname.startsWith(`${SHARED_BASE}/`) ? SHARED_BASE : path;
}

/** Returns the start of the paths of the account that a token belongs to; null if the text is not a token. */
export function baseOfToken(token: string): string | null {
  const realm = /^orbtok_([a-z][a-z0-9_-]{1,62})_[0-9a-f]{32}_/.exec(token)?.[1] ?? realmOfSession(token);
  if (realm === null) return null;
  return realm === "platform" ? PLATFORM_BASE : `/api/${realm}`;
}

/** The claims of a session's token. Only the server verifies them. */
export interface SessionClaims {
  type?: string;
  orb?: string;
  exp?: number;
}

export function claimsOf(token: string): SessionClaims | null {
  try {
    return JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()) as SessionClaims;
  } catch {
    return null;
  }
}

function realmOfSession(token: string): string | null {
  const claims = claimsOf(token);
  return claims?.type === "platform" ? "platform" : (claims?.orb ?? null);
}

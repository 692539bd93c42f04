/**
 * A sign-in at a provider that has begun. The browser holds it, encrypted in a cookie, so the server stores nothing
 * until the browser returns. A browser without the cookie has not begun the sign-in (login CSRF).
 */
import type { Deps } from "../../deps.ts";
import { AppError, notFound } from "../../kernel/errors.ts";
import { sameSecret } from "../../kernel/ids.ts";
import { open, seal } from "../../kernel/seal.ts";
import { consumeOnce } from "../ceremony/challenges.ts";

/** People may have to enter a password and a second factor. */
export const STATE_SECONDS = 600;
const BINDING = "oauth";

export interface OAuthState {
  realm: string;
  /** Id of the provider. */
  provider: string;
  issuer: string;
  /** The parameter `state` of the request to the provider. */
  state: string;
  nonce: string;
  /** PKCE code verifier. */
  verifier: string;
  invite: string | null;
  /** Address to return to, which was checked. */
  back: string;
  /** The session that links an identity to its account; null for a sign-in. */
  link: { sub: string; sid: string } | null;
  /** Milliseconds since the epoch. */
  expiresAt: number;
}

/** Returns the value of the cookie. */
export function sealState(deps: Deps, state: Omit<OAuthState, "expiresAt">): Promise<string> {
  const expiresAt = deps.clock.now() + STATE_SECONDS * 1000;
  return seal(deps.config.encryptionKeys, JSON.stringify({ ...state, expiresAt }), BINDING);
}

/**
 * Returns the sign-in that this browser has begun.
 * @param given.state parameter of the provider's answer
 * @throws AppError not_found if the browser has not begun it; gone if it has expired
 */
export async function openState(
  deps: Deps,
  given: {
    realm: string;
    provider: string;
    issuer: string;
    cookie: string | undefined;
    state: string | null;
  },
): Promise<OAuthState> {
  const { cookie, realm, provider, issuer } = given;
  const text = cookie === undefined ? null : await open(deps.config.encryptionKeys, cookie, BINDING);
  const begun = text === null ? null : (JSON.parse(text) as OAuthState);
  const fits =
    begun !== null &&
    begun.realm === realm &&
    begun.provider === provider &&
    begun.issuer === issuer &&
    (await sameSecret(given.state ?? "", begun.state));
  if (!fits) throw notFound("session", "This sign-in was not started in this browser. Start again.");
  if (begun.expiresAt <= deps.clock.now()) {
    throw new AppError("gone", "session_expired", "This sign-in took too long. Start again.");
  }
  return begun;
}

/** Marks a sign-in as used, and throws 410 if it was used before. */
export function consumeState(deps: Deps, { state }: OAuthState): Promise<void> {
  return consumeOnce(deps, state, STATE_SECONDS * 2);
}

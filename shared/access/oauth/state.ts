/**
 * The state of an unfinished sign-in at a provider. The browser keeps the state in an encrypted cookie, so the server
 * stores nothing until the browser returns. A browser without the cookie cannot complete the sign-in, which prevents
 * login CSRF.
 */
import type { Deps } from "../../deps.ts";
import { AppError, notFound } from "../../kernel/errors.ts";
import { sameSecret } from "../../kernel/ids.ts";
import { open, seal } from "../../kernel/seal.ts";
import { consumeOnce } from "../ceremony/index.ts";

/**
 * Seconds within which the user must complete the sign-in. The provider may ask for a password and a second factor.
 */
export const STATE_SECONDS = 600;
const BINDING = "oauth";

export interface OAuthState {
  realm: string;
  /** Id of the provider in the application's document. */
  provider: string;
  issuer: string;
  /** Value of the OAuth parameter `state`. */
  state: string;
  nonce: string;
  /** PKCE code verifier. */
  verifier: string;
  invite: string | null;
  /** Trusted URL to open after the sign-in. */
  back: string;
  /** Account and session that began to link an identity; null for a sign-in. */
  link: { sub: string; sid: string } | null;
  /** Milliseconds since the epoch. */
  expiresAt: number;
}

/** Returns the encrypted state, which is the value of the cookie. */
export function sealState(deps: Deps, state: Omit<OAuthState, "expiresAt">): Promise<string> {
  const expiresAt = deps.clock.now() + STATE_SECONDS * 1000;
  return seal(deps.config.encryptionKeys, JSON.stringify({ ...state, expiresAt }), BINDING);
}

/** Returns when a cookie expires, in milliseconds since the epoch; 0 if this platform did not make it. */
export async function endOfState(deps: Deps, cookie: string): Promise<number> {
  const text = await open(deps.config.encryptionKeys, cookie, BINDING);
  return text === null ? 0 : (JSON.parse(text) as OAuthState).expiresAt;
}

/**
 * Decrypts the cookie and checks that it belongs to this callback.
 * @param given.state parameter `state` that the provider sent back
 * @throws AppError not_found if this browser did not begin the sign-in; gone if the sign-in has expired
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

/** Marks a sign-in as used. Throws 410 if it was used before. */
export function consumeState(deps: Deps, { state }: OAuthState): Promise<void> {
  return consumeOnce(deps, state, STATE_SECONDS * 2);
}

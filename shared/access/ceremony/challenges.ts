/**
 * Challenges between begin and complete. The session id *is* the challenge with everything that it is bound to,
 * encrypted. So nothing is stored until it comes back; then a compare-and-set consumes it.
 */

import type { Deps } from "../../deps.ts";
import { AppError, notFound } from "../../kernel/errors.ts";
import { sha256 } from "../../kernel/ids.ts";
import { open, seal } from "../../kernel/seal.ts";
import { nullOnConflict } from "../../store/pages.ts";
import { buckets } from "../../store/subjects.ts";

/** Lifetime of a challenge in seconds. */
export const CHALLENGE_SECONDS = 300;
const BINDING = "challenge";
/** Seconds. A consumed challenge is remembered until no host's clock could still accept it. */
const REMEMBER_SECONDS = CHALLENGE_SECONDS * 2;

/** A challenge with the data that it is bound to. */
export interface Challenge {
  realm: string;
  purpose: "login" | "register" | "add";
  /** Base64url, as in WebAuthn. */
  challenge: string;
  /** The invitation of a registration: its key and its hash. */
  invitation: { key: string; hash: string } | null;
  /** The account that is created, or that gets another passkey. */
  account: string | null;
  /** The session that adds a passkey to its account. The challenge is void when the session ends. */
  session: string | null;
  name: string | null;
  email: string | null;
  /** Milliseconds since the epoch. */
  expiresAt: number;
}

/** Creates the session id that contains a challenge. No request. */
export function sealChallenge(deps: Deps, challenge: Omit<Challenge, "expiresAt">): Promise<string> {
  const expiresAt = deps.clock.now() + CHALLENGE_SECONDS * 1000;
  return seal(deps.config.encryptionKeys, JSON.stringify({ ...challenge, expiresAt }), BINDING);
}

/**
 * Reads a session id. No request.
 * @throws AppError not_found if it is invalid or of another realm, gone if it has expired
 */
export async function openChallenge(deps: Deps, realm: string, sessionId: string): Promise<Challenge> {
  const text = await open(deps.config.encryptionKeys, sessionId, BINDING);
  const challenge = text === null ? null : (JSON.parse(text) as Challenge);
  if (challenge === null || challenge.realm !== realm) {
    throw notFound("session", "This sign-in was not started here. Start again.");
  }
  if (challenge.expiresAt <= deps.clock.now()) {
    throw new AppError("gone", "session_expired", "This sign-in took too long. Start again.");
  }
  return challenge;
}

/**
 * Consumes a challenge, whatever the result of the ceremony. One request. The key is the challenge's random value, not
 * the text of the session id, which may have several encodings.
 * @throws AppError gone if it was used before
 */
export async function consumeChallenge(deps: Deps, challenge: Challenge): Promise<void> {
  const key = await sha256(challenge.challenge);
  const use = deps.store.kvPut(buckets.challenges, key, "used", { expect: 0, ttl: REMEMBER_SECONDS });
  if ((await nullOnConflict(use)) === null)
    throw new AppError("gone", "session_used", "This sign-in was already used. Start again.");
}

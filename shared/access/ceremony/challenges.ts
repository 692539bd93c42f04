/**
 * WebAuthn challenges. The `sessionId` that the browser gets is the encrypted challenge, so the server stores nothing
 * until the browser's response arrives. Each challenge can be used once.
 */

import type { Deps } from "../../deps.ts";
import { AppError, notFound } from "../../kernel/errors.ts";
import { sha256 } from "../../kernel/ids.ts";
import { open, seal } from "../../kernel/seal.ts";
import { nullOnConflict } from "../../store/pages.ts";
import { buckets } from "../../store/subjects.ts";

export const CHALLENGE_SECONDS = 300;
const BINDING = "challenge";
/** Seconds for which used challenges are stored: twice their lifetime, because the clocks of hosts differ. */
const REMEMBER_SECONDS = CHALLENGE_SECONDS * 2;

export interface Challenge {
  realm: string;
  purpose: "login" | "register" | "signup" | "add" | "recover";
  /** Base64url, as in WebAuthn. */
  challenge: string;
  invitation: { key: string; hash: string } | null;
  /** Id of the account that will own the passkey. Null for a sign-in. */
  account: string | null;
  /** Id of the session that adds a passkey. When the session ends, the challenge becomes invalid. */
  session: string | null;
  /** For a recovery with a recovery code: the set of codes that contains it. */
  codes?: string | null | undefined;
  /** For a recovery: whether to remove the account's other passkeys. */
  removes?: boolean | undefined;
  name: string | null;
  /** Email of the new account. For a sign-in: the email that the account must have. */
  email: string | null;
  /** Milliseconds since the epoch. */
  expiresAt: number;
}

/** Returns the session id for the browser. It is the encrypted challenge. */
export function sealChallenge(deps: Deps, challenge: Omit<Challenge, "expiresAt">): Promise<string> {
  const expiresAt = deps.clock.now() + CHALLENGE_SECONDS * 1000;
  return seal(deps.config.encryptionKeys, JSON.stringify({ ...challenge, expiresAt }), BINDING);
}

/** Throws 404 if the session id is invalid, 410 if it has expired. */
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
 * Marks a challenge as used, and throws 410 if it was used before. Stores the mark under the challenge and not under
 * the session id, because several session ids can contain the same challenge.
 */
export function consumeChallenge(deps: Deps, challenge: Challenge): Promise<void> {
  return consumeOnce(deps, challenge.challenge, REMEMBER_SECONDS);
}

/**
 * Marks a one-time random value as used. Throws 410 if the value was used before.
 * @param seconds how long the value stays marked: twice its lifetime, because the clocks of hosts differ
 */
export async function consumeOnce(deps: Deps, text: string, seconds: number): Promise<void> {
  const key = await sha256(text);
  const use = deps.store.kvPut(buckets.challenges, key, "used", { expect: 0, ttl: seconds });
  if ((await nullOnConflict(use)) === null)
    throw new AppError("gone", "session_used", "This sign-in was already used. Start again.");
}

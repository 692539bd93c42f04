/**
 * Challenges between begin and complete. The session id that the client gets *is* the challenge with all that it is
 * bound to, sealed: nothing is stored until it comes back, and then it is consumed by a compare-and-set.
 */
import type { Deps } from "../../deps.ts";
import { AppError, notFound } from "../../kernel/errors.ts";
import { sha256 } from "../../kernel/ids.ts";
import { open, seal } from "../../kernel/seal.ts";
import { buckets } from "../../store/subjects.ts";
import { Conflict } from "../../store/types.ts";

/** Seconds that a challenge lives. */
export const CHALLENGE_SECONDS = 300;
const BINDING = "challenge";
/** A consumed challenge is remembered longer than any clock could still accept it. */
const REMEMBER_SECONDS = CHALLENGE_SECONDS * 2;

/** What a challenge is bound to. */
export interface Challenge {
  realm: string;
  purpose: "login" | "register" | "add";
  /** Base64url, as WebAuthn has it. */
  challenge: string;
  /** The invitation that lets register: where it is kept, and which one it was. */
  invitation: { key: string; hash: string } | null;
  /** The account that is being made, or that gets another passkey. */
  account: string | null;
  /** The session that adds a passkey to its account; it ends with that. */
  session: string | null;
  name: string | null;
  email: string | null;
  /** Milliseconds since the epoch. */
  expiresAt: number;
}

/** Makes the session id that carries a challenge. No request. */
export function sealChallenge(deps: Deps, challenge: Omit<Challenge, "expiresAt">): Promise<string> {
  const expiresAt = deps.clock.now() + CHALLENGE_SECONDS * 1000;
  return seal(deps.config.encryptionKeys, JSON.stringify({ ...challenge, expiresAt }), BINDING);
}

/**
 * Reads a session id. No request.
 * @throws AppError not_found when it is none of ours or of another realm, gone when it is too old
 */
export async function openChallenge(deps: Deps, realm: string, sessionId: string): Promise<Challenge> {
  const text = await open(deps.config.encryptionKeys, sessionId, BINDING);
  const challenge = text === null ? null : (JSON.parse(text) as Challenge);
  if (challenge === null || challenge.realm !== realm) {
    throw notFound("session", "This sign-in was not begun here. Begin again.");
  }
  if (challenge.expiresAt <= deps.clock.now()) {
    throw new AppError("gone", "session_expired", "This sign-in took too long. Begin again.");
  }
  return challenge;
}

/**
 * Uses a challenge up, whatever comes of it. One request.
 * It is known by its own random value, not by the text that carried it, which may have several spellings.
 * @throws AppError gone when it was used before
 */
export async function consumeChallenge(deps: Deps, challenge: Challenge): Promise<void> {
  try {
    await deps.store.kvPut(buckets.challenges, await sha256(challenge.challenge), "used", {
      expect: 0,
      ttl: REMEMBER_SECONDS,
    });
  } catch (error) {
    if (!(error instanceof Conflict)) throw error;
    throw new AppError("gone", "session_used", "This sign-in was completed or tried before. Begin again.");
  }
}

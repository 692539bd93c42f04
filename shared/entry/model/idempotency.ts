/**
 * Idempotency keys: if a client repeats a request with the same `Idempotency-Key` header, only the first request
 * writes, and the repeated ones get its response. The key is stored in the same atomic batch as the change, for 24
 * hours.
 */
import { type Actor, accountOf } from "../../access/actor.ts";
import type { Deps } from "../../deps.ts";
import { AppError, unavailable } from "../../kernel/errors.ts";
import { sha256 } from "../../kernel/ids.ts";
import { streams, subjects } from "../../store/subjects.ts";
import type { Append, StoredMessage } from "../../store/types.ts";
import { hmacs } from "./index-keys.ts";
import { nullIfMissing } from "./resolve.ts";
import { type EntrySnapshot, snapshotOf } from "./snapshot.ts";

const LIFETIME_SECONDS = 86_400;

/** The value of the `Idempotency-Key` header, and the method and path of the request. */
export interface Idempotency {
  key: string;
  route: string;
}

interface StoredClaim {
  v: 1;
  /**
   * HMAC of the request content. It shows whether a later request with the same key is the same request, without storing
   * its content.
   */
  body: string;
  /**
   * Sequence number of the revision that the request created, minus the sequence number of this message. The message is
   * written before its own number is known, so it stores the difference.
   */
  offset: number;
}

export interface IdempotencyClaim {
  subject: string;
  /**
   * HMACs of the request, one for each secret in `CLAIM_KEY`. The first one is stored. A later request counts as the
   * same request if any of its HMACs equals the stored one.
   */
  bodies: readonly string[];
}

export interface Replay {
  snapshot: EntrySnapshot;
  seq: number;
  replayed: true;
}

/** Returns JSON with sorted members, so that equal values give equal text. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const members = Object.entries(value)
    .filter(([, item]) => item !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, item]) => `${JSON.stringify(key)}:${canonical(item)}`);
  return `{${members.join(",")}}`;
}

export function checkKey(key: string): string {
  if (key.length > 0 && key.length <= 255) return key;
  throw new AppError(
    "malformed",
    "invalid_header",
    "The Idempotency-Key header must be 1 to 255 characters long.",
  );
}

/**
 * Returns the data to store for a request with an Idempotency-Key, or undefined if the client sent none.
 * @param subjectOf returns the subject to store the data on. Its argument is a hash of the caller, the route and the
 * key.
 */
export async function claimOf(
  deps: Deps,
  actor: Actor,
  subjectOf: (hash: string) => string,
  sent: Idempotency | undefined,
  request: unknown,
): Promise<IdempotencyClaim | undefined> {
  if (sent === undefined) return undefined;
  const key = checkKey(sent.key);
  return {
    subject: subjectOf(await sha256(JSON.stringify([accountOf(actor), sent.route, key]))),
    bodies: await hmacs(deps.config, `idempotency/${canonical(request)}`),
  };
}

export function idempotencyClaim(
  deps: Deps,
  actor: Actor,
  orb: string,
  sent: Idempotency | undefined,
  request: unknown,
): Promise<IdempotencyClaim | undefined> {
  return claimOf(deps, actor, (hash) => subjects.idempotency(orb, hash), sent, request);
}

/**
 * Returns the sequence number of the revision that an earlier request with the same Idempotency-Key created. Returns
 * null if there was no such request.
 */
export function answeredAt(claim: IdempotencyClaim, message: StoredMessage | null): number | null {
  if (message === null || message.data.length === 0) return null;
  const { body, offset } = message.json<StoredClaim>();
  if (claim.bodies.includes(body)) return message.seq + offset;
  const detail = "This Idempotency-Key was already used for a different request. Use a new key.";
  throw new AppError("invalid", "idempotency_mismatch", detail);
}

/**
 * Returns the response to an earlier request with the same Idempotency-Key, or null.
 * @throws AppError invalid `idempotency_mismatch` if the key was used for a different request
 * @throws AppError gone `answer_gone` if the response was purged
 */
export async function replay(
  deps: Deps,
  orb: string,
  claim: IdempotencyClaim | undefined,
): Promise<Replay | null> {
  if (claim === undefined) return null;
  const seq = answeredAt(claim, await nullIfMissing(deps.store.get(streams.orb(orb), claim.subject)));
  if (seq === null) return null;
  const snapshot = snapshotOf(await deps.store.getSeq(streams.orb(orb), seq));
  if (snapshot === null) {
    // A broker that is shutting down may wrongly report that there is no message. Believe the report only if the stream
    // has messages up to this sequence number.
    const info = await deps.store.streamInfo(streams.orb(orb));
    if (info === null || info.state.last_seq < seq) throw unavailable("the response is not readable yet");
    throw new AppError(
      "gone",
      "answer_gone",
      "The response to this Idempotency-Key has been erased together with its entry. Use a new key.",
    );
  }
  return { snapshot, seq, replayed: true };
}

export function claimMessage(claim: IdempotencyClaim, offset: number): Append {
  const body: StoredClaim = { v: 1, body: claim.bodies[0] ?? "", offset };
  return { subject: claim.subject, data: JSON.stringify(body), expect: { seq: 0 }, ttl: LIFETIME_SECONDS };
}

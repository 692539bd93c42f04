/**
 * Idempotency keys: if a client repeats a request with the same `Idempotency-Key` header, only the first request
 * writes, and the repeated ones get its response. The key is stored in the same atomic batch as the change, for 24
 * hours.
 */

import { type Actor, accountOf } from "../../access/actor.ts";
import type { Deps } from "../../deps.ts";
import { AppError, unavailable } from "../../kernel/errors.ts";
import { sha256 } from "../../kernel/ids.ts";
import { canonical } from "../../kernel/json.ts";
import { fingerprint } from "../../kernel/tags.ts";
import { nullIfMissing } from "../../store/pages.ts";
import { streams, subjects } from "../../store/subjects.ts";
import type { Append, StoredMessage } from "../../store/types.ts";
import { hmacs } from "./index-keys.ts";
import { withNames } from "./names.ts";
import { addressIn, type OrbContext, schemaOf } from "./resolve.ts";
import { type EntrySnapshot, snapshotOf } from "./snapshot.ts";

export const LIFETIME_SECONDS = 86_400;

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
  /** Subject of what the request wrote, if later writes replace it. The response is then what they have made of it. */
  replaced?: string;
}

export interface IdempotencyClaim {
  subject: string;
  /**
   * HMACs of the request, one for each secret in `CLAIM_KEY`. The first one is stored. A later request counts as the
   * same request if any of its HMACs equals the stored one.
   */
  bodies: readonly string[];
}

/**
 * A request with an Idempotency-Key and `If-Match`, as a header of the revision that it writes has it. The header stays as
 * long as the revision, so the HMACs include the key, which is not stored: without it, they say nothing about the
 * content of the request, even to a person who has the secrets in `CLAIM_KEY`.
 */
export interface RequestMark {
  /** A short hash of the caller, the route and the key. */
  key: string;
  /** HMACs of the request, as {@link IdempotencyClaim.bodies}. */
  bodies: readonly string[];
}

export interface Replay {
  snapshot: EntrySnapshot;
  seq: number;
  replayed: true;
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
  return {
    subject: await idempotencySubject(actor, sent, subjectOf),
    bodies: await hmacs(deps.config, `idempotency/${canonical(request)}`),
  };
}

/** Returns the subject of a key. @param subjectOf returns the subject for a hash of the caller, the route and the key */
export async function idempotencySubject(
  actor: Actor,
  { key, route }: Idempotency,
  subjectOf: (hash: string) => string,
): Promise<string> {
  return subjectOf(await sha256(JSON.stringify([accountOf(actor), route, checkKey(key)])));
}

/** Returns what the revision says of the request that wrote it, or undefined if the request has no Idempotency-Key. */
export async function requestMark(
  deps: Deps,
  actor: Actor,
  sent: Idempotency | undefined,
  request: unknown,
): Promise<RequestMark | undefined> {
  if (sent === undefined) return undefined;
  const by = [accountOf(actor), sent.route, checkKey(sent.key)];
  return {
    key: fingerprint(JSON.stringify(by)),
    bodies: await hmacs(deps.config, `request/${canonical([by, request])}`),
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
 * Returns what an earlier request with the same Idempotency-Key has stored, or null if there was none.
 * @throws AppError invalid `idempotency_mismatch`
 */
export function claimedIn<T extends { body: string }>(
  claim: IdempotencyClaim,
  message: StoredMessage | null,
): T | null {
  if (message === null || message.data.length === 0) return null;
  const stored = message.json<T>();
  return isOwnClaim(claim, stored) ? stored : null;
}

/**
 * Returns true if a stored claim with the same key is of the same request.
 * @throws AppError invalid `idempotency_mismatch` if it is of another one
 */
export function isOwnClaim(
  { bodies }: Pick<IdempotencyClaim, "bodies">,
  { body }: { body: string },
): boolean {
  if (bodies.includes(body)) return true;
  const detail = "This Idempotency-Key was already used for a different request. Use a new key.";
  throw new AppError("invalid", "idempotency_mismatch", detail);
}

/**
 * Returns the sequence number of the revision that an earlier request with the same Idempotency-Key created. Returns
 * null if there was no such request.
 */
export function answeredAt(claim: IdempotencyClaim, message: StoredMessage | null): number | null {
  const stored = claimedIn<StoredClaim>(claim, message);
  return stored === null || message === null ? null : message.seq + stored.offset;
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
  context: OrbContext | Promise<OrbContext>,
): Promise<Replay | null> {
  if (claim === undefined) return null;
  const message = await nullIfMissing(deps.store.get(streams.orb(orb), claim.subject));
  return answerIn(deps, context, claim, message);
}

async function answerIn(
  deps: Deps,
  context: OrbContext | Promise<OrbContext>,
  claim: IdempotencyClaim,
  message: StoredMessage | null,
): Promise<Replay | null> {
  const stored = claimedIn<StoredClaim>(claim, message);
  if (stored === null || message === null) return null;
  return answerAt(deps, context, message.seq + stored.offset, stored.replaced);
}

/**
 * Reads the revision that an earlier request wrote.
 * @param context the definition whose names the answer has
 * @param replaced subject of the revision, if a later write may have replaced it
 */
export async function answerAt(
  deps: Deps,
  context: OrbContext | Promise<OrbContext>,
  seq: number,
  replaced?: string,
): Promise<Replay> {
  const { orb, compiled } = await context;
  const stream = streams.orb(orb);
  const written = await deps.store.getSeq(stream, seq);
  const message =
    written === null && replaced !== undefined ? await deps.store.get(stream, replaced) : written;
  const stored = snapshotOf(message);
  if (message === null || stored === null) {
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
  const schema = schemaOf(compiled, addressIn(message.subject));
  return { snapshot: withNames(schema, stored), seq: message.seq, replayed: true };
}

/** Maximum bytes of a stored claim: a few short members. */
const CLAIM_BYTES = 512;

/**
 * Looks for the responses to earlier requests with the same idempotency keys, in one read. May miss recent ones: the
 * write of their claim then meets a conflict, and {@link replay} finds the response.
 * @returns a function that returns the response to an earlier request, or null; it throws the same errors as replay
 */
export async function replays(
  deps: Deps,
  context: OrbContext,
  claims: readonly IdempotencyClaim[],
): Promise<(claim: IdempotencyClaim) => Promise<Replay | null>> {
  const wanted = [...new Set(claims.map(({ subject }) => subject))];
  const maxBytes = CLAIM_BYTES * wanted.length;
  const read = deps.store.getMany(streams.orb(context.orb), wanted, { maxBytes, consistency: "stale" });
  const found = wanted.length === 0 ? null : await nullIfMissing(read);
  return async (claim) => answerIn(deps, context, claim, found?.get(claim.subject) ?? null);
}

/** @param replaced subject of what the request writes, if later writes replace it */
export function claimMessage(claim: IdempotencyClaim, offset: number, replaced?: string): Append {
  const body: StoredClaim = {
    v: 1,
    body: claim.bodies[0] ?? "",
    offset,
    ...(replaced === undefined ? {} : { replaced }),
  };
  return { subject: claim.subject, data: JSON.stringify(body), expect: { seq: 0 }, ttl: LIFETIME_SECONDS };
}

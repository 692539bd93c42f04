/**
 * Implements the header `Idempotency-Key` for changes of applications. The key is stored in the same atomic batch as
 * the new revision.
 */
import type { Actor } from "../access/actor.ts";
import { headOf, type OrbHead } from "../definition/stored/index.ts";
import type { Deps } from "../deps.ts";
import {
  answeredAt,
  claimMessage,
  claimOf,
  type Idempotency,
  type IdempotencyClaim,
} from "../entry/model/index.ts";
import { streams, subjects } from "../store/subjects.ts";
import type { Append } from "../store/types.ts";

/** Returns the data to store for the request's idempotency key, or undefined if the request has none. */
export function orbClaim(
  deps: Deps,
  actor: Actor,
  sent: Idempotency | undefined,
  request: unknown,
): Promise<IdempotencyClaim | undefined> {
  return claimOf(deps, actor, subjects.platformIdempotency, sent, request);
}

/** The revision that an earlier request with the same key created. */
type ReplayedHead = OrbHead & { readonly replayed: true };

export function isReplayed(head: OrbHead | ReplayedHead): head is ReplayedHead {
  return "replayed" in head;
}

/**
 * Returns the revision that an earlier request with the same key created; null for the first request.
 * @throws AppError invalid if the key was used for a different request
 */
export async function orbReplay(
  deps: Deps,
  claim: IdempotencyClaim | undefined,
): Promise<ReplayedHead | null> {
  if (claim === undefined) return null;
  const seq = answeredAt(claim, await deps.store.get(streams.platform, claim.subject));
  const revision = seq === null ? null : await deps.store.getSeq(streams.platform, seq);
  return revision === null ? null : { ...headOf(revision), replayed: true };
}

/** Adds the record of the request's idempotency key to the messages of a write. */
export function withKeyRecord(claim: IdempotencyClaim | undefined, also: readonly Append[]): Append[] {
  return claim === undefined ? [...also] : [claimMessage(claim, also.length + 1), ...also];
}

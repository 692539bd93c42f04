/**
 * `Idempotency-Key` for operations on orbs: the record of the key is created in the same atomic batch as the
 * revision.
 */
import type { Actor } from "../access/actor.ts";
import { headOf, type OrbHead } from "../definition/stored/history.ts";
import type { Deps } from "../deps.ts";
import {
  answeredAt,
  claimMessage,
  claimOf,
  type Idempotency,
  type IdempotencyClaim,
} from "../entry/model/idempotency.ts";
import { streams, subjects } from "../store/subjects.ts";
import type { Append } from "../store/types.ts";

/** Returns the record to create for a request, or undefined if the caller sent no key. */
export function orbClaim(
  deps: Deps,
  actor: Actor,
  sent: Idempotency | undefined,
  request: unknown,
): Promise<IdempotencyClaim | undefined> {
  return claimOf(deps, actor, subjects.platformIdempotency, sent, request);
}

/** A revision that is the response to an earlier request with the same key. */
type ReplayedHead = OrbHead & { readonly replayed: true };

/** Returns whether a result comes from an earlier request with the same key. */
export function isReplayed(head: OrbHead | ReplayedHead): head is ReplayedHead {
  return "replayed" in head;
}

/**
 * Returns the revision of an earlier request with the same key, or null for the first request.
 * @throws AppError invalid `idempotency_mismatch` when the key was used for a different request
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

/** Returns the messages of a write with the record of its key in front. The revision follows after `also`. */
export function withKeyRecord(claim: IdempotencyClaim | undefined, also: readonly Append[]): Append[] {
  return claim === undefined ? [...also] : [claimMessage(claim, also.length + 1), ...also];
}

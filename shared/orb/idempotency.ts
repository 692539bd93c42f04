/** `Idempotency-Key` of operations on orbs: a claim in the same atomic act as the revision. */
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

/** The claim of a request; undefined when its caller sent no key. */
export function orbClaim(
  deps: Deps,
  actor: Actor,
  sent: Idempotency | undefined,
  request: unknown,
): Promise<IdempotencyClaim | undefined> {
  return claimOf(deps, actor, subjects.platformIdempotency, sent, request);
}

/** A revision that is the answer to an earlier request with the same key. */
type ReplayedHead = OrbHead & { readonly replayed: true };

/** Whether what a verb answers was made by an earlier request with the same key. */
export function isReplayed(head: OrbHead | ReplayedHead): head is ReplayedHead {
  return "replayed" in head;
}

/**
 * The revision that the same request made before; null when this is the first.
 * @throws AppError invalid `idempotency_mismatch` when the key was used for another request
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

/** The messages of an act with its claim in front. The revision follows after `also`. */
export function withClaim(claim: IdempotencyClaim | undefined, also: readonly Append[]): Append[] {
  return claim === undefined ? [...also] : [claimMessage(claim, also.length + 1), ...also];
}

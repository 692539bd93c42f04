/** `Idempotency-Key` of operations on orbs: a claim in the same atomic act as the revision. */
import { type Actor, actorId } from "../access/actor.ts";
import type { Deps } from "../deps.ts";
import { hmacs } from "../entry/claims.ts";
import { canonical, type Idempotency } from "../entry/idempotency.ts";
import { AppError } from "../errors.ts";
import { sha256 } from "../ids.ts";
import { streams, subjects } from "../store/subjects.ts";
import type { Append } from "../store/types.ts";
import { headOf, type OrbHead } from "./history.ts";

const LIFETIME_SECONDS = 86_400;

/** A claim to be made with a revision. */
export interface OrbClaim {
  subject: string;
  /** HMACs of the request, one under each key: the first is stored, each is known again. */
  bodies: readonly string[];
}

interface StoredClaim {
  v: 1;
  body: string;
  /** How many messages later the revision lies. */
  offset: number;
}

/** The claim of a request; undefined when its caller sent no key. */
export async function orbClaim(
  deps: Deps,
  actor: Actor,
  sent: Idempotency | undefined,
  request: unknown,
): Promise<OrbClaim | undefined> {
  if (sent === undefined) return undefined;
  const caller = `${actor.kind}/${actorId(actor)}`;
  return {
    subject: subjects.platformIdempotency(await sha256(JSON.stringify([caller, sent.route, sent.key]))),
    bodies: await hmacs(deps.config, `idempotency/${canonical(request)}`),
  };
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
export async function orbReplay(deps: Deps, claim: OrbClaim | undefined): Promise<ReplayedHead | null> {
  if (claim === undefined) return null;
  const message = await deps.store.get(streams.platform, claim.subject);
  if (message === null) return null;
  const stored = message.json<StoredClaim>();
  if (!claim.bodies.includes(stored.body)) {
    throw new AppError(
      "invalid",
      "idempotency_mismatch",
      "This Idempotency-Key was used for another request.",
    );
  }
  const revision = await deps.store.getSeq(streams.platform, message.seq + stored.offset);
  return revision === null ? null : { ...headOf(revision), replayed: true };
}

/** The messages of an act with its claim in front. The revision follows after `also`. */
export function withClaim(claim: OrbClaim | undefined, also: readonly Append[]): Append[] {
  if (claim === undefined) return [...also];
  const stored: StoredClaim = { v: 1, body: claim.bodies[0] ?? "", offset: also.length + 1 };
  const message = {
    subject: claim.subject,
    data: JSON.stringify(stored),
    expect: { seq: 0 },
    ttl: LIFETIME_SECONDS,
  };
  return [message, ...also];
}

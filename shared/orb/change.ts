/**
 * Updates an existing orb: read, check If-Match, let the operation decide, append a revision, reconcile derived
 * state. Retries from the start on a write conflict.
 */

import { type Actor, actorId } from "../access/actor.ts";
import { requireOperator } from "../access/authorize.ts";
import type { OrbDocument } from "../definition/document/document.ts";
import { isOrbId } from "../definition/document/ids.ts";
import {
  type Act,
  appendRecord,
  type ExistingOrb,
  entryDefinitionOf,
  exists,
  nextRevision,
  type OrbHead,
  type OrbOperation,
  type OrbRecord,
  orbHead,
} from "../definition/stored/history.ts";
import { isReconciled, liveRecord } from "../definition/stored/live-record.ts";
import type { Deps } from "../deps.ts";
import type { Idempotency, IdempotencyClaim } from "../entry/model/idempotency.ts";
import { notFound, revisionMismatch, writeConflict } from "../kernel/errors.ts";
import { equal } from "../kernel/json.ts";
import { pause } from "../kernel/pause.ts";
import { nullOnConflict } from "../store/pages.ts";
import { Conflict } from "../store/types.ts";
import { orbClaim, orbReplay, withKeyRecord } from "./idempotency.ts";
import { beforeJudging, type Closed, close, reopen } from "./migrate/gate.ts";
import { enforce, planChange } from "./migrate/impact.ts";
import { reconcileOrb } from "./migrate/reconcile.ts";

/** The orb that an operation applies to, and the conditions of the operation. */
export interface OrbTarget {
  orb: string;
  /** The newest revision that the caller knows. */
  ifMatch?: number | undefined;
  idempotency?: Idempotency | undefined;
}

/** The content of a new revision. */
export interface Change extends Partial<OrbRecord> {
  /** The orb was closed to writers, so that the judgement of its entries stays true. */
  closed?: Closed | undefined;
}

/** How often an operation that met another one is decided anew. */
export const ATTEMPTS = 12;

/**
 * Reads an orb, after finishing the derived state that an earlier request has left unfinished. @throws AppError
 * not_found
 */
export async function readOrb(deps: Deps, orb: string): Promise<ExistingOrb> {
  if (!isOrbId(orb)) throw notFound("orb");
  const [head, live] = await Promise.all([orbHead(deps, orb), liveRecord(deps, orb)]);
  if (!exists(head)) throw notFound("orb");
  if (!isReconciled(head, live?.record ?? null)) await reconcileOrb(deps, orb, head);
  return head;
}

/**
 * Appends one revision to an orb.
 * @param decide returns the changes based on the newest revision; called again after a write conflict
 * @throws AppError not_found, precondition, conflict
 */
export async function changeOrb(
  deps: Deps,
  actor: Actor,
  target: OrbTarget,
  operation: OrbOperation,
  request: unknown,
  decide: (head: ExistingOrb) => Promise<Change>,
): Promise<ExistingOrb> {
  requireOperator(actor, "orbs.write");
  const claim = await orbClaim(deps, actor, target.idempotency, { ifMatch: target.ifMatch ?? null, request });
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const [head, before] = await Promise.all([readOrb(deps, target.orb), orbReplay(deps, claim)]);
    if (before !== null) return replayed(deps, target.orb, before);
    if (target.ifMatch !== undefined && target.ifMatch !== head.revision)
      throw revisionMismatch(head.revision);
    const act: Act = { operation, by: actorId(actor), now: deps.clock.now() };
    const decided = await nullOnConflict(decide(head));
    if (decided !== null) {
      const { closed, ...change } = decided;
      const made = await appended(deps, target.orb, nextRevision(head, act, change), { head, claim, closed });
      if (made !== null) return made;
    }
    if (attempt > 0) await pause(Math.random() * 20 * attempt);
  }
  throw writeConflict();
}

/** Appends the revision and reconciles derived state. Returns null on a write conflict. */
async function appended(
  deps: Deps,
  orb: string,
  record: OrbRecord,
  by: { head: ExistingOrb; claim: IdempotencyClaim | undefined; closed: Closed | undefined },
): Promise<ExistingOrb | null> {
  const { head, claim, closed } = by;
  const also = withKeyRecord(claim, closed === undefined ? [] : [closed.guard]);
  let seq: number;
  try {
    seq = await appendRecord(deps, orb, record, head.seq, also);
  } catch (error) {
    if (closed !== undefined) await reopen(deps, orb);
    if (error instanceof Conflict) return null;
    throw error;
  }
  const made: OrbHead = { ...record, seq };
  const { work, publishedRevision, basis } = record;
  const undone = work !== undefined || publishedRevision !== head.publishedRevision || basis !== head.basis;
  // It is committed: who comes next finishes what others kept from being finished now.
  if (
    undone &&
    (await nullOnConflict(reconcileOrb(deps, orb, made, closed?.fence).then(() => true))) === null
  )
    deps.log.warn("entries follow their definition later", { orb });
  return exists(made) ? made : null;
}

/** Returns the stored response to an earlier request, after finishing the derived state that it has left unfinished. */
export async function replayed(deps: Deps, orb: string, before: OrbHead): Promise<ExistingOrb> {
  if (!exists(before)) throw notFound("orb");
  const head = await orbHead(deps, orb);
  if (exists(head)) await reconcileOrb(deps, orb, head);
  return before;
}

/** Returns what a document would do to stored entries as the next revision. Changes nothing. */
export async function impactOf(
  deps: Deps,
  orb: string,
  head: ExistingOrb,
  document: OrbDocument,
  force: boolean,
) {
  const { document: from } = await entryDefinitionOf(deps, orb, head);
  const options = { revision: head.revision + 1, examine: true, force, retired: head.retired ?? [] };
  return (await planChange(deps, orb, from, document, options)).impact;
}

/**
 * Judges a document that comes into force with the next revision: because it goes live, or because nothing is live
 * and entries go by the newest one. Call it last: the orb may be closed to writers then, until the revision is appended.
 * @throws AppError conflict when stored entries stand against it
 */
export async function activate(
  deps: Deps,
  orb: string,
  head: ExistingOrb,
  document: OrbDocument,
  force: boolean,
): Promise<Change> {
  const revision = head.revision + 1;
  const { document: from } = await entryDefinitionOf(deps, orb, head);
  if (equal(from, document)) return { basis: revision };
  const before = await beforeJudging(deps, orb, from, document);
  const plan = await planChange(deps, orb, from, document, {
    revision,
    examine: false,
    force,
    retired: head.retired ?? [],
  });
  await enforce(deps, orb, document, revision, plan);
  const { work } = plan;
  const closed = before === null ? undefined : await close(deps, orb, { document, revision }, before, plan);
  const judged = { closed, basis: revision, retired: plan.retired.length === 0 ? undefined : plan.retired };
  return work.claims.length === 0 && work.moves.length === 0 ? judged : { ...judged, work };
}

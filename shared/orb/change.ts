/**
 * Changes applications. Each change appends a revision. If another request changes the same application first, the
 * operation starts again.
 */

import { type Actor, actorId } from "../access/actor.ts";
import { requireOperator } from "../access/authorize.ts";
import { orbRealm } from "../access/realms.ts";
import { holdersOf } from "../access/users.ts";
import { isOrbId, type OrbDocument } from "../definition/document/index.ts";
import type { Fence, StreamLoss } from "../definition/live-orb.ts";
import type { StoredNames } from "../definition/names/index.ts";
import {
  type Act,
  appendRecord,
  type CurrentLiveRecord,
  type EntryWork,
  type ExistingOrb,
  entryDefinitionOf,
  exists,
  fenceOf,
  isAwaiting,
  isReconciled,
  liveRecord,
  mayBeRunning,
  nextRevision,
  type OrbHead,
  type OrbOperation,
  type OrbRecord,
  orbHead,
  requireReadable,
  requireWhole,
  settleAwaited,
  unreadableAt,
} from "../definition/stored/index.ts";
import type { Deps } from "../deps.ts";
import type { Idempotency, IdempotencyClaim } from "../entry/model/index.ts";
import { AppError, notFound, revisionMismatch, writeConflict } from "../kernel/errors.ts";
import { equal } from "../kernel/json.ts";
import { pause } from "../kernel/pause.ts";
import { type RetryPolicy, retry } from "../kernel/retry.ts";
import { isConflict } from "../store/pages.ts";
import { Conflict } from "../store/types.ts";
import { orbClaim, orbReplay, withKeyRecord } from "./idempotency.ts";
import {
  type Before,
  beforeJudging,
  type Closed,
  catchUp,
  close,
  type Definition,
  enforce,
  eraseUnfinished,
  isObstructed,
  namesFor,
  orWithdraw,
  type Plan,
  planChange,
  reconcileOrb,
  reopen,
  stateNow,
} from "./migrate/index.ts";

export interface OrbTarget {
  orb: string;
  ifMatch?: number | undefined;
  idempotency?: Idempotency | undefined;
}

export interface Change extends Partial<OrbRecord> {
  /** Set if all writes of entries are blocked until this change is committed. */
  closed?: Closed | undefined;
}

/** A definition that was found to fit all stored entries. */
export interface Judged {
  /** Sequence number of the revision before. */
  head: number;
  to: Definition & { revision: number };
  plan: Plan;
  work: EntryWork;
  before: Before | null;
}

/**
 * State that the attempts of one request share. If a writer took a slow publication for a crashed one, the next attempt
 * checks only the entries that were written since, instead of all.
 */
export interface Attempts {
  judged?: Judged | undefined;
}

/** Attempts after which the publication of a change set with a definition is taken for crashed. */
export const PATIENCE = 8;

/** How often a change is decided again because another request has changed the application first. */
export const ORB_CONFLICTS: RetryPolicy = { attempts: 12, after: isConflict, failed: writeConflict };

/**
 * Returns an application's newest revision. If an earlier request was interrupted, first finishes its work. If a newer
 * version stored its definition, only reads it: an admin can see it, but nothing is overwritten.
 */
export async function readOrb(deps: Deps, orb: string): Promise<ExistingOrb> {
  return (await readState(deps, orb)).head;
}

/** Returns the newest revision of an application, and what its stream has lost. */
export async function readOrbAndLoss(
  deps: Deps,
  orb: string,
): Promise<{ head: ExistingOrb; loss: StreamLoss | undefined }> {
  const { head, live } = await readState(deps, orb);
  return { head, loss: live?.record.damaged };
}

interface State {
  head: ExistingOrb;
  live: CurrentLiveRecord;
  /** Why this version must not change the application, if a newer version stored its definition. */
  unreadable?: unknown;
}

/** Returns a function that returns the result of the work, or throws its error. */
function settled<T>(work: Promise<T>): Promise<() => T> {
  return work.then(
    (result) => () => result,
    (error: unknown) => () => {
      throw error;
    },
  );
}

/**
 * @param options.waits throws Conflict while the publication of a change set with a definition may be running. Without
 *   it, the orb is read as it is before that publication
 * @param options.isPatient whether such a publication may go on
 */
async function readState(
  deps: Deps,
  orb: string,
  options: { waits?: boolean; isPatient?: boolean } = {},
): Promise<State> {
  const { waits = false, isPatient = true } = options;
  if (!isOrbId(orb)) throw notFound("orb");
  const [head, read] = await Promise.all([orbHead(deps, orb), settled(liveRecord(deps, orb))]);
  if (!exists(head)) throw notFound("orb");
  try {
    requireReadable(orb, head.document);
    const live = read();
    const record = live?.record ?? null;
    if (isAwaiting(head, record)) {
      const isRunning = mayBeRunning(deps, head);
      const now = await settleAwaited(deps, orb, !(isRunning && isPatient));
      if (now?.seq !== head.seq || !isRunning) return await readState(deps, orb, options);
      if (waits) throw new Conflict();
      return { head, live };
    }
    if (!isReconciled(head, record)) await reconcileOrb(deps, orb, head);
    return { head, live };
  } catch (unreadable) {
    if (unreadableAt(unreadable) === undefined) throw unreadable;
    return { head, live: null, unreadable };
  }
}

/**
 * Changes an application.
 * @param decide returns the changes to the newest revision; called again after a write conflict
 */
export async function changeOrb(
  deps: Deps,
  actor: Actor,
  target: OrbTarget,
  operation: OrbOperation,
  request: unknown,
  decide: (head: ExistingOrb, attempts: Attempts) => Promise<Change>,
): Promise<ExistingOrb> {
  requireOperator(actor, "orbs.write", target.orb);
  const attempts: Attempts = {};
  const claim = await orbClaim(deps, actor, target.idempotency, { ifMatch: target.ifMatch ?? null, request });
  const pauseMs = (attempt: number) => Math.random() * 20 * attempt;
  return retry({ ...ORB_CONFLICTS, pauseMs }, async (attempt) => {
    const [{ head, live, unreadable }, before] = await Promise.all([
      readState(deps, target.orb, { waits: true, isPatient: attempt < PATIENCE }),
      orbReplay(deps, claim),
    ]);
    if (unreadable !== undefined) throw unreadable;
    if (before !== null) return replayed(deps, target.orb, before);
    if (live !== null) requireWhole(target.orb, fenceOf(live.record));
    if (target.ifMatch !== undefined && target.ifMatch !== head.revision)
      throw revisionMismatch(head.revision);
    const act: Act = { operation, by: actorId(actor), now: deps.clock.now() };
    const { closed, ...change } = await decide(head, attempts);
    return appended(deps, target.orb, nextRevision(head, act, change), { head, claim, closed });
  });
}

/**
 * Appends a revision.
 * @throws Conflict if another request has appended one first
 */
async function appended(
  deps: Deps,
  orb: string,
  record: OrbRecord,
  by: { head: ExistingOrb; claim: IdempotencyClaim | undefined; closed: Closed | undefined },
): Promise<ExistingOrb> {
  const { head, claim, closed } = by;
  const also = withKeyRecord(claim, closed === undefined ? [] : [closed.guard]);
  let seq: number;
  try {
    seq = await appendRecord(deps, orb, record, head.seq, also);
  } catch (error) {
    if (closed !== undefined) await reopen(deps, orb);
    throw error;
  }
  const made: OrbHead = { ...record, seq };
  const { work, publishedRevision, basis } = record;
  const undone = work !== undefined || publishedRevision !== head.publishedRevision || basis !== head.basis;
  if (undone) await follow(deps, orb, made, closed?.fence);
  if (!exists(made)) throw new Conflict();
  return made;
}

/** Milliseconds to wait before each further attempt to finish the work that follows a change. */
const FURTHER_ATTEMPTS = [500, 1_000, 2_000, 4_000, 8_000, 12_000];

/**
 * Does the work that follows a committed change, such as a migration of entries. On failure, repeats the work after the
 * response has been sent. If that fails too, the next management request for the application or the next start of the
 * platform finishes the work.
 */
async function follow(deps: Deps, orb: string, made: OrbHead, fence: Fence | undefined): Promise<void> {
  try {
    await reconcileOrb(deps, orb, made, fence);
  } catch (error) {
    deps.afterwards(finishLater(deps, orb));
    if (!isConflict(error)) throw error;
    deps.log.warn("stored entries do not match their new definition yet; the work is repeated", { orb });
  }
}

async function finishLater(deps: Deps, orb: string): Promise<void> {
  const over = (error: unknown) => error instanceof AppError && error.kind === "not_found";
  for (const ms of FURTHER_ATTEMPTS) {
    await pause(ms);
    if (await readOrb(deps, orb).then(() => true, over)) return;
  }
}

/** Returns the stored response to an earlier request with the same idempotency key. */
export async function replayed(deps: Deps, orb: string, before: OrbHead): Promise<ExistingOrb> {
  if (!exists(before)) throw notFound("orb");
  const head = await orbHead(deps, orb);
  if (exists(head)) await reconcileOrb(deps, orb, head);
  return before;
}

/**
 * Throws 409 if a definition removes roles that accounts or open invitations still have. This check may miss an account
 * that accepts an invitation at the same moment. Its role then does not exist, so it has only the rights that everyone
 * has.
 */
async function requireUnusedRoles(deps: Deps, from: OrbDocument, to: OrbDocument): Promise<void> {
  const realm = orbRealm(from);
  const kept = orbRealm(to)?.roles;
  const removed = [...(realm?.roles.keys() ?? [])].filter((role) => kept?.has(role) !== true);
  if (realm === null || removed.length === 0) return;
  const roles = (await holdersOf(deps, realm, removed)).filter((one) => one.accounts + one.invitations > 0);
  if (roles.length === 0) return;
  const told = roles.map(
    ({ role, accounts, invitations }) => `${role} (accounts: ${accounts}, open invitations: ${invitations})`,
  );
  throw new AppError(
    "conflict",
    "role_in_use",
    `The definition removes roles that are in use: ${told.join("; ")}. Give the accounts another role and revoke the invitations first.`,
    { data: { roles } },
  );
}

/** Throws 409 if a new definition removes roles that entries or accounts still use. */
export async function requireKeptRoles(
  deps: Deps,
  orb: string,
  head: ExistingOrb,
  document: OrbDocument,
): Promise<void> {
  const { document: from } = await entryDefinitionOf(deps, orb, head);
  await requireUnusedRoles(deps, from, document);
}

/** Returns how a new definition would affect stored entries. Changes nothing. */
export async function impactOf(
  deps: Deps,
  orb: string,
  head: ExistingOrb,
  document: OrbDocument,
  force: boolean,
) {
  const from = await entryDefinitionOf(deps, orb, head);
  const to = { document, names: await namesFor(deps, orb, document, from) };
  const options = { revision: head.revision + 1, examine: true, force, retired: head.retired ?? [] };
  return (await planChange(deps, orb, from, to, options)).impact;
}

/**
 * Checks that stored entries fit the new definition. Call this last: it may block writes of entries until the change is
 * committed.
 * @param attempts of the request; they share what they have found
 * @throws AppError conflict if they do not fit
 */
export async function activate(
  deps: Deps,
  orb: string,
  head: ExistingOrb,
  document: OrbDocument,
  force: boolean,
  attempts: Attempts = {},
): Promise<Change> {
  const judged = await judgeOnce(deps, orb, head, { document, force }, attempts);
  if (judged === null) return { basis: head.revision + 1 };
  const closed = await closeFor(deps, orb, judged);
  attempts.judged = judged;
  return { closed, ...changeFor(judged) };
}

/** A definition that is to be activated. */
interface Activated {
  document: OrbDocument;
  /** The names in stored data, if they are decided already. */
  names?: StoredNames | undefined;
  force: boolean;
}

/**
 * Checks that stored entries fit the new definition, and does all work that needs no writer to wait.
 * @param attempts of the request; they share what they have found
 * @returns null if the stored entries follow this definition already
 * @throws AppError conflict if they do not fit
 */
export async function judgeOnce(
  deps: Deps,
  orb: string,
  head: ExistingOrb,
  wanted: Activated,
  attempts: Attempts,
): Promise<Judged | null> {
  const { document } = wanted;
  const from = await entryDefinitionOf(deps, orb, head);
  if (equal(from.document, document)) return null;
  await requireUnusedRoles(deps, from.document, document);
  const kept = attempts.judged;
  attempts.judged = undefined;
  const isSame = kept?.head === head.seq && equal(kept.to.document, document);
  const judged =
    (isSame ? await judgedAgain(deps, orb, kept) : undefined) ?? (await judge(deps, orb, head, from, wanted));
  const { to, plan, before } = judged;
  if (before !== null) await orWithdraw(deps, plan, () => catchUp(deps, orb, to, before, plan));
  return judged;
}

/** Returns what an earlier attempt has found. Undefined if another process has taken it for interrupted. */
async function judgedAgain(deps: Deps, orb: string, kept: Judged): Promise<Judged | undefined> {
  // This comes before the look at the marks: whoever changes a mark then makes the commit fail.
  const before = kept.before && { ...kept.before, ...(await stateNow(deps, orb)) };
  for (const step of kept.plan.steps) if ((await step.isOwn?.()) === false) return undefined;
  return { ...kept, before };
}

/** Blocks writes of entries, if one could make the check of the stored entries wrong. */
export async function closeFor(
  deps: Deps,
  orb: string,
  { to, plan, before }: Judged,
): Promise<Closed | undefined> {
  if (before === null) return undefined;
  let closed: Closed | undefined;
  await orWithdraw(deps, plan, async () => {
    closed = await close(deps, orb, to, before, plan);
  });
  return closed;
}

/** Returns what the revision of an activated definition contains. */
export function changeFor({ to, plan, work }: Judged) {
  const retired = plan.retired.length === 0 ? undefined : plan.retired;
  const change = { basis: to.revision, retired, names: to.names };
  const isIdle = Object.values(work).every((list: unknown[]) => list.length === 0);
  return isIdle ? change : { ...change, work };
}

/**
 * Does the work that follows the publication of a definition together with a change set. The set is published, so a
 * failure is only logged, and the work repeated.
 */
export async function followPublication(deps: Deps, orb: string): Promise<void> {
  try {
    const head = await settleAwaited(deps, orb, false);
    if (head !== null) await reconcileOrb(deps, orb, head);
  } catch (error) {
    deps.afterwards(finishLater(deps, orb));
    deps.log.warn("the publication of a definition is not finished yet; the work is repeated", {
      orb,
      error: String(error),
    });
  }
}

/** Checks all stored entries against the new definition, and does the work that precedes it. */
async function judge(
  deps: Deps,
  orb: string,
  head: ExistingOrb,
  from: Definition & { revision: number },
  { document, names: decided, force }: Activated,
): Promise<Judged> {
  const revision = head.revision + 1;
  const names = decided ?? (await namesFor(deps, orb, document, from));
  const to = { document, names };
  const retired = head.retired ?? [];
  const before = await beforeJudging(deps, orb, from, to, retired);
  const plan = await planChange(deps, orb, from, to, {
    revision,
    examine: false,
    force,
    retired,
  });
  // What an interrupted publication has left must not stand in the way of another one. The mark of a finished one must
  // not outlive its schema: its entries would then look as if they had been left.
  if (isObstructed(plan) || plan.placed.some(({ severity }) => severity === "removal")) {
    const { erased } = await eraseUnfinished(deps, orb);
    if (erased) throw new Conflict();
  }
  const current = { head: head.seq, fence: before?.fence };
  const work = await enforce(deps, orb, { ...to, revision }, plan, current);
  return { head: head.seq, to: { ...to, revision }, plan, work, before };
}

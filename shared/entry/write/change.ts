/**
 * Updates an existing entry: read, authorise, check If-Match, apply the operation, commit. Retries from the start on a
 * write conflict.
 *
 * - Optimistic concurrency: each write fails if the newest revision is no longer the one that the write is based on.
 * - Unique values: a message names the entry that owns a value. A write reserves a value by storing this message,
 *   expecting that there is none. A later write releases the value when neither the newest nor the published revision
 *   has it.
 * - Fencing: each write expects the fence, a marker in the stream that each new definition replaces. So a write that
 *   was validated with an older definition fails.
 * - Once `validTo` has passed, the entry counts as unpublished. The next write first appends a revision that says so.
 */

import type { Actor } from "../../access/actor.ts";
import {
  isOwn,
  may,
  mayField,
  type Principal,
  principalIn,
  requireMay,
  requireScope,
} from "../../access/authorize.ts";
import type { EntryOperation as Act } from "../../access/credentials/index.ts";
import { refusal } from "../../access/refusals.ts";
import type { CompiledField, CompiledSchema } from "../../definition/compile.ts";
import { ADMINS_ONLY } from "../../definition/document/index.ts";
import { withNested } from "../../definition/walk.ts";
import type { Deps } from "../../deps.ts";
import { AppError, type Fault, notFound, revisionMismatch } from "../../kernel/errors.ts";
import { counted } from "../../quotas/write.ts";
import { nullIfMissing } from "../../store/pages.ts";
import { isToken, streams, subjects } from "../../store/subjects.ts";
import type { StoredMessage } from "../../store/types.ts";
import { type EntryKey, entryKeys, holdsKey, repairAfterCancel } from "../index/index.ts";
import {
  concealed,
  type EntrySnapshot,
  type EntryWrite,
  effective,
  existing,
  type Idempotency,
  idempotencyClaim,
  type LoadedEntry,
  loadHead,
  namedEntry,
  type OrbContext,
  parseEntry,
  refuseRecords,
  replay,
  requestMark,
  type StoredEntry,
  schemaOf,
  visible,
} from "../model/index.ts";
import { ShapeRefusal } from "../pinned/index.ts";
import { ownRevision, undoes } from "../read/index.ts";
import {
  type Change,
  cancels,
  changesNothing,
  type Decision,
  nextSnapshot,
  nextSnapshots,
  reserved,
  rolesOf,
  type State,
  writeOf,
} from "./change-write.ts";
import { commit, type Destination } from "./commit.ts";
import { hooked } from "./hooked.ts";
import { CONTENDED_ATTEMPTS, renewDefinition, retryOnConflict } from "./retry.ts";
import { inTurn } from "./turns.ts";

export interface Target {
  orbId: string;
  orb: OrbContext | Promise<OrbContext>;
  id: string;
  schema?: CompiledSchema | undefined;
  /** A value that the newest revision must have. Otherwise there is no such entry. */
  key?: EntryKey | undefined;
  ifMatch?: number | undefined;
  idempotency?: Idempotency | undefined;
  /** After a conflict, reads the application's definition again, because it may have changed. */
  renew?: (() => Promise<OrbContext>) | undefined;
  /**
   * Whether to return the result of the write without writing. A dry run calls no hooks and reserves no unique values.
   */
  dryRun?: boolean | undefined;
  /** Where the write goes instead of the entry. */
  into?: Destination | undefined;
}

export interface Written {
  snapshot: EntrySnapshot;
  seq: number;
  /** Whether this is the stored response to an earlier request with the same Idempotency-Key. */
  replayed: boolean;
  /** Whether nothing was written, because the newest revision already has what the request asks for. */
  unchanged?: boolean;
  /** References of the published revision whose targets are gone. Missing in a replayed response. */
  warnings?: readonly Fault[];
}

/** A write that was decided, and that is not stored yet. */
export interface Plan {
  /** The definition that the write was validated with. */
  by: OrbContext;
  write: EntryWrite;
  /** Whether other entries may own some of the index keys. Then {@link Plan.reserve} must find their owners. */
  doubtful: boolean;
  warnings: readonly Fault[];
  /**
   * Finds out which entries own the unique values of the write. Needed only after a failed attempt or if the write is
   * `doubtful`, because the commit fails if another entry owns one of them.
   * @throws AppError conflict `unique_conflict`
   */
  reserve(deps: Deps): Promise<EntryWrite>;
  /** Call this after the commit. */
  committed?: (deps: Deps) => Promise<void>;
}

/** An existing entry that the caller may change. */
export interface Admitted {
  caller: Principal;
  context: OrbContext;
  found: LoadedEntry;
}

/** Checks that the entry exists, and that the caller may change it. */
export function admitChange(
  deps: Deps,
  actor: Actor,
  context: OrbContext,
  stored: StoredEntry | null,
  { acts, upkeep, revives }: Pick<Change, "acts" | "upkeep" | "revives">,
): Admitted {
  const entry = namedEntry(context.compiled, stored);
  const caller = principalIn(actor, context.orb, context.compiled);
  const allowed = authorised(deps, caller, context, entry, acts);
  const found = revives === true ? allowed : existing(allowed);
  if (upkeep !== true) refuseRecords(found.address.type);
  return { caller, context, found };
}

/**
 * Decides a change of an entry. Returns the result instead if there is nothing to write.
 * @param guardSeq sequence of the message that a new reference to the entry replaces
 */
export async function planChange(
  deps: Deps,
  { caller, context, found }: Admitted,
  target: Pick<Target, "ifMatch" | "key" | "dryRun">,
  change: Change,
  guardSeq: number | undefined,
): Promise<Plan | Written> {
  const now = deps.clock.now();
  const base = effective(found.head, now);
  if (target.key !== undefined && !holdsKey(target.key, base.values)) throw notFound("entry");
  if (target.ifMatch !== undefined && target.ifMatch !== base.revision) throw revisionMismatch(base.revision);
  const schema = schemaOf(context.compiled, found.address);
  const held = await entryKeys(deps, context, schema, found);
  const state: State = { caller, context, schema, entry: found, base, held, now, guardSeq };
  try {
    const decided = await change.decide(state);
    const skips = change.skipsUnchanged === true && !sendsHidden(state, change);
    if (skips && changesNothing(state, decided))
      return { snapshot: base, seq: found.seq, replayed: false, unchanged: true };
    if (target.dryRun === true)
      return { snapshot: newestOf(nextSnapshots(state, decided)), seq: found.seq, replayed: false };
    const decision = change.upkeep === true ? decided : await askHooks(deps, state, change, decided);
    const made = nextSnapshots(state, decision);
    const { write, doubtful } = await writeOf(deps, state, decision, made, change);
    return {
      by: context,
      write,
      doubtful,
      warnings: decision.warnings ?? [],
      async reserve(within) {
        try {
          return await reserved(within, state, decision, made, change, write);
        } catch (error) {
          throw asSeenBy(error, state, change);
        }
      },
      async committed(after) {
        if (!cancels(state, decision)) return;
        for (const role of rolesOf(schema)) await repairAfterCancel(after, found.address, role, found.head);
      },
    };
  } catch (error) {
    throw asSeenBy(error, state, change);
  }
}

/** Returns what to store of a request with an Idempotency-Key: with its revision (`request`), or as a record (`claim`). */
async function keyOf(deps: Deps, actor: Actor, target: Target, change: Change) {
  const { orbId, idempotency, ifMatch, into } = target;
  const sent = { ...(ifMatch === undefined ? {} : { ifMatch }), request: change.request };
  return ifMatch === undefined || into !== undefined
    ? { claim: await idempotencyClaim(deps, actor, orbId, idempotency, sent) }
    : { request: await requestMark(deps, actor, idempotency, sent) };
}

export async function changeEntry(deps: Deps, actor: Actor, target: Target, given: Change): Promise<Written> {
  const { into } = target;
  const change = into === undefined ? given : { ...given, acts: into.acts(given.acts) };
  refuseEarly(actor, target, change.acts);
  const contended = change.contended === true;
  const { request, claim } = await keyOf(deps, actor, target, change);
  const findReplay = () => replay(deps, target.orbId, claim, target.orb);
  const run = async (attempt: number): Promise<Written> => {
    const stream = streams.orb(target.orbId);
    const [context, message, before, guardMessage] = await Promise.all([
      attempt === 0 ? target.orb : renewDefinition(deps, target),
      loadHead(deps, target.orbId, target.id, target.schema),
      findReplay(),
      change.guarded === true && isToken(target.id)
        ? nullIfMissing(deps.store.get(stream, subjects.referenceGuard(target.orbId, target.id)))
        : (null as StoredMessage | null),
    ]);
    const admitted = admitChange(deps, actor, context, parseEntry(message), change);
    if (before !== null) return before;
    const { found } = admitted;
    const undid = undoes(message);
    // The revision on which the request is based is the newest one again, under another number.
    const isBack = undid !== undefined && undid === target.ifMatch;
    const ifMatch = isBack ? found.head.revision : target.ifMatch;
    if (request !== undefined && ifMatch !== undefined) {
      const earlier = await ownRevision(deps, context, found, message, request, ifMatch);
      if (earlier !== null) return earlier;
    }
    const guardSeq = change.guarded === true ? (guardMessage?.seq ?? 0) : undefined;
    const plan = await planChange(deps, admitted, { ...target, ifMatch }, change, guardSeq);
    if (!("write" in plan)) return plan;
    const write = attempt > 0 || plan.doubtful || into !== undefined ? await plan.reserve(deps) : plan.write;
    const { warnings } = plan;
    const whole = { ...write, idempotency: claim, request, undid };
    if (into !== undefined) return { ...(await into.store(deps, context, whole)), replayed: false, warnings };
    // A contended change must not stay if it fails, because the next attempt would make it a second time.
    const seq = await commit(deps, context, whole, { atomic: contended });
    await plan.committed?.(deps);
    return { snapshot: newestIn(write), seq, replayed: false, warnings };
  };
  const turns = contended ? [`${target.orbId}/${target.id}`] : [];
  const policy = contended ? { attempts: CONTENDED_ATTEMPTS } : {};
  return counted(deps, actor, target.orbId, () =>
    inTurn(turns, () => retryOnConflict(deps, target.orbId, run, findReplay, policy)),
  );
}

/** Returns the newest revision that a write appends. */
export function newestIn({ snapshots }: EntryWrite): EntrySnapshot {
  const snapshot = snapshots.at(-1);
  if (snapshot !== undefined) return snapshot;
  throw new AppError("internal", "internal_error", "The write contained no revision.");
}

const newestOf = (made: ReturnType<typeof nextSnapshots>) => made.at(-1) ?? made[0];

/** Calls the hooks before a write: for the revision that it publishes, and for a draft that stays beside it. */
async function askHooks(
  deps: Deps,
  state: State,
  { acts, creates }: Change,
  decided: Decision,
): Promise<Decision> {
  const { caller, context, schema, base, held } = state;
  const decision = await hooked(deps, caller, context, schema, {
    acts,
    decided,
    previous: creates === true ? null : base,
    held: held.claims,
    publish: decided.live === "publish",
    next: (proposed) => nextSnapshot(state, proposed),
  });
  if (decision.draft === undefined) return decision;
  const draft = await hooked(deps, caller, context, schema, {
    acts: ["update"],
    decided: decision.draft,
    previous: base,
    held: [...held.claims, ...(decision.claims ?? [])],
    publish: false,
    next: (proposed) => newestOf(nextSnapshots(state, { ...decision, draft: proposed })),
  });
  return { ...decision, draft };
}

/**
 * Returns whether the request sends a value for a field whose stored value the caller cannot see. The response to such
 * a write must not say that nothing changed, because this would confirm a guessed value.
 */
function sendsHidden({ schema, base, caller }: State, { sent = [] }: Change): boolean {
  if (schema === undefined) return false;
  const own = isOwn(caller.actor, base.createdBy);
  const isHidden = ({ sensitive, access }: CompiledField) =>
    sensitive || !mayField(caller, "read", { access, own });
  return sent.flatMap(Object.keys).some((name) => {
    const field = schema.fields.get(name);
    return field === undefined || withNested(field).some(isHidden);
  });
}

/** Returns an error that does not mention any field that the caller may not see. */
function asSeenBy(error: unknown, { schema, base, caller }: State, { sent = [] }: Change): unknown {
  // The faults of a shape have the names of another revision, and concern only what the caller may see or set.
  if (schema?.narrowed.read !== true || error instanceof ShapeRefusal) return error;
  const own = isOwn(caller.actor, base.createdBy);
  return concealed(error, schema, ({ access }) => mayField(caller, "read", { access, own }), sent);
}

/** Throws without reading anything if the caller may change no entry, not even their own. */
function refuseEarly(actor: Actor, target: Target, acts: readonly Act[]): void {
  const { schema, orb } = target;
  for (const act of acts) requireScope(actor, act, target.orbId);
  if (schema === undefined || orb instanceof Promise) return;
  const principal = principalIn(actor, target.orbId, orb.compiled);
  for (const act of acts) requireMay(principal, act, { access: schema.access, own: true });
}

/**
 * Returns the entry, which may be deleted.
 * @throws AppError 401 for an anonymous caller, 403 if the caller can read the entry, and otherwise 404
 */
function authorised(
  deps: Deps,
  caller: Principal,
  context: OrbContext,
  entry: LoadedEntry | null,
  acts: readonly Act[],
): LoadedEntry {
  const { actor } = caller;
  if (entry === null) throw notFound("entry");
  const access = schemaOf(context.compiled, entry.address)?.access ?? ADMINS_ONLY;
  const { createdBy, status, updatedBy } = entry.head;
  // Authors who may delete their own entries do not bring back what others have deleted.
  const own = isOwn(actor, createdBy) && (status !== "DELETED" || isOwn(actor, updatedBy));
  const on = { access, own };
  if (!acts.every((act) => may(caller, act, on))) {
    const seen = may(caller, "read", on) && visible(entry.head, deps.clock.now());
    throw seen || actor.kind === "anonymous" ? refusal(actor) : notFound("entry");
  }
  return entry;
}

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
import { isOwn, may, principalIn, requireMay, requireScope } from "../../access/authorize.ts";
import type { EntryOperation as Act } from "../../access/credentials/operations.ts";
import { refusal } from "../../access/refusals.ts";
import type { CompiledSchema } from "../../definition/compile.ts";
import { ADMINS_ONLY } from "../../definition/document/access.ts";
import type { Deps } from "../../deps.ts";
import { notFound, revisionMismatch } from "../../kernel/errors.ts";
import { counted } from "../../quotas/write.ts";
import { isToken, streams, subjects } from "../../store/subjects.ts";
import type { StoredMessage } from "../../store/types.ts";
import { entryKeys } from "../index/entry-keys.ts";
import { repairAfterCancel } from "../index/schedules.ts";
import { concealed, readableIn } from "../model/fields.ts";
import { type Idempotency, idempotencyClaim, replay } from "../model/idempotency.ts";
import {
  existing,
  type LoadedEntry,
  loadEntry,
  nullIfMissing,
  type OrbContext,
  refuseRecords,
  schemaOf,
} from "../model/resolve.ts";
import { type EntrySnapshot, effective, visible } from "../model/snapshot.ts";
import {
  type Change,
  cancels,
  changesNothing,
  nextSnapshot,
  rolesOf,
  type State,
  writeOf,
} from "./change-write.ts";
import { commit } from "./commit.ts";
import { hooked } from "./hooked.ts";
import { renewDefinition, retryOnConflict } from "./retry.ts";

export interface Target {
  orbId: string;
  orb: OrbContext | Promise<OrbContext>;
  id: string;
  schema?: CompiledSchema | undefined;
  ifMatch?: number | undefined;
  idempotency?: Idempotency | undefined;
  /** After a conflict, reads the application's definition again, because it may have changed. */
  renew?: (() => Promise<OrbContext>) | undefined;
  /**
   * Whether to return the result of the write without writing. A dry run calls no hooks and reserves no unique values.
   */
  dryRun?: boolean | undefined;
}

export interface Written {
  snapshot: EntrySnapshot;
  seq: number;
  /** Whether this is the stored response to an earlier request with the same Idempotency-Key. */
  replayed: boolean;
  /** Whether nothing was written, because the newest revision already has what the request asks for. */
  unchanged?: boolean;
}

export async function changeEntry(
  deps: Deps,
  actor: Actor,
  target: Target,
  change: Change,
): Promise<Written> {
  refuseEarly(actor, target, change.acts);
  const claim = await idempotencyClaim(deps, actor, target.orbId, target.idempotency, {
    ...(target.ifMatch === undefined ? {} : { ifMatch: target.ifMatch }),
    request: change.request,
  });
  const findReplay = () => replay(deps, target.orbId, claim);
  const run = async (attempt: number): Promise<Written> => {
    const stream = streams.orb(target.orbId);
    const [context, entry, before, guardMessage] = await Promise.all([
      attempt === 0 ? target.orb : renewDefinition(deps, target),
      loadEntry(deps, target.orbId, target.id, target.schema),
      findReplay(),
      change.guarded === true && isToken(target.id)
        ? nullIfMissing(deps.store.get(stream, subjects.referenceGuard(target.orbId, target.id)))
        : (null as StoredMessage | null),
    ]);
    const found = authorised(deps, actor, context, entry, change.acts);
    if (change.upkeep !== true) refuseRecords(found.address.type);
    if (before !== null) return before;
    const now = deps.clock.now();
    const base = effective(found.head, now);
    if (target.ifMatch !== undefined && target.ifMatch !== base.revision)
      throw revisionMismatch(base.revision);
    const schema = schemaOf(context.compiled, found.address);
    const held = await entryKeys(deps, context, schema, found);
    const state: State = {
      context,
      schema,
      entry: found,
      base,
      held,
      now,
      guardSeq: change.guarded === true ? (guardMessage?.seq ?? 0) : undefined,
    };
    try {
      const decided = await change.decide(state);
      const skips = change.skipsUnchanged === true && !sendsHidden(actor, state, change);
      if (skips && changesNothing(state, decided))
        return { snapshot: base, seq: found.seq, replayed: false, unchanged: true };
      if (target.dryRun === true)
        return { snapshot: nextSnapshot(state, decided, actor), seq: found.seq, replayed: false };
      const decision =
        change.upkeep === true
          ? decided
          : await hooked(deps, actor, context, schema, {
              acts: change.acts,
              decided,
              previous: base,
              held: held.claims,
              publish: decided.live === "publish",
              next: (proposed) => nextSnapshot(state, proposed, actor),
            });
      const next = nextSnapshot(state, decision, actor);
      const write = await writeOf(deps, state, decision, next, attempt, change);
      const seq = await commit(deps, context, { ...write, idempotency: claim });
      if (cancels(state, decision)) {
        for (const role of rolesOf(schema)) await repairAfterCancel(deps, found.address, role, found.head);
      }
      return { snapshot: next, seq, replayed: false };
    } catch (error) {
      throw asSeenBy(error, actor, state, change);
    }
  };
  return counted(deps, actor, target.orbId, () => retryOnConflict(deps, target.orbId, run, findReplay));
}

/**
 * Returns whether the request sends a value for a field whose stored value the caller cannot see. The response to such
 * a write must not say that nothing changed, because this would confirm a guessed value.
 */
function sendsHidden(actor: Actor, { schema, base, context }: State, { sent = [] }: Change): boolean {
  if (schema === undefined) return false;
  const view = readableIn(schema, principalIn(actor, context.orb, context.compiled), base.createdBy);
  return sent.some((name) => view.fields.get(name)?.sensitive !== false);
}

/** Returns an error that does not mention any field that the caller may not see. */
function asSeenBy(
  error: unknown,
  actor: Actor,
  { schema, base, context }: State,
  { sent = [] }: Change,
): unknown {
  if (schema?.narrowed.read !== true) return error;
  const caller = principalIn(actor, context.orb, context.compiled);
  const view = readableIn(schema, caller, base.createdBy);
  return concealed(error, schema, new Set([...view.fields.keys(), ...sent]));
}

/** Throws without reading anything if the caller may change no entry, not even their own. */
function refuseEarly(actor: Actor, target: Target, acts: readonly Act[]): void {
  const { schema, orb } = target;
  for (const act of acts) requireScope(actor, act, target.orbId);
  if (schema === undefined || orb instanceof Promise) return;
  const principal = principalIn(actor, target.orbId, orb.compiled);
  for (const act of acts) requireMay(principal, act, { access: schema.access, own: true });
}

/** Throws 401 for an anonymous caller, 403 if the caller can read the entry, and otherwise 404. */
function authorised(
  deps: Deps,
  actor: Actor,
  context: OrbContext,
  entry: LoadedEntry | null,
  acts: readonly Act[],
): LoadedEntry {
  const principal = principalIn(actor, context.orb, context.compiled);
  if (entry === null) throw notFound("entry");
  const access = schemaOf(context.compiled, entry.address)?.access ?? ADMINS_ONLY;
  const on = { access, own: isOwn(actor, entry.head.createdBy) };
  if (!acts.every((act) => may(principal, act, on))) {
    const seen = may(principal, "read", on) && visible(entry.head, deps.clock.now());
    throw seen || actor.kind === "anonymous" ? refusal(actor) : notFound("entry");
  }
  return existing(entry);
}

/**
 * Updates an existing entry: read, authorise, check If-Match, let the verb decide, commit. Retries from the start on
 * a write conflict.
 *
 * Invariants:
 * - The head is the truth. The head is the last message of the entry's log. Each write expects the head's sequence,
 *   so no write is based on a revision that is no longer the newest.
 * - Live copies, index keys and schedules are derived from the head. They change in the same atomic batch as the
 *   head. Where they do not, they are hints: readers verify them against the head.
 * - A unique value has one owner. Its reservation is a message that names the owner. A write takes it by
 *   compare-and-set, and releases it when neither the newest nor the live revision has the value.
 * - When an entry stops being live, a tombstone replaces its live copy, so that subscribers notice.
 * - A write is committed only under the definition that decided it. Each write expects the fence of its definition,
 *   and activating another definition moves the fence.
 * - A validity window that has closed counts as a revision (`effective`). The next write appends that revision before
 *   its own.
 */
import type { Actor } from "../../access/actor.ts";
import {
  type EntryOperation as Act,
  isOwn,
  may,
  refusal,
  requireMay,
  roleIn,
} from "../../access/authorize.ts";
import type { CompiledSchema } from "../../definition/compile.ts";
import type { Deps } from "../../deps.ts";
import { notFound, revisionMismatch } from "../../kernel/errors.ts";
import { counted } from "../../quotas/write.ts";
import { isToken, streams, subjects } from "../../store/subjects.ts";
import type { StoredMessage } from "../../store/types.ts";
import { entryKeys } from "../index/entry-keys.ts";
import { repairAfterCancel } from "../index/schedules.ts";
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
import { type Change, cancels, nextSnapshot, rolesOf, type State, writeOf } from "./change-write.ts";
import { commit } from "./commit.ts";
import { renewDefinition, retryOnConflict } from "./retry.ts";

/** The entry that a write applies to, and the conditions of the write. */
export interface Target {
  orbId: string;
  /** The definition. A promise is awaited concurrently with the read of the entry. */
  orb: OrbContext | Promise<OrbContext>;
  id: string;
  /** The schema that the entry must belong to, if the request's address names one. */
  schema?: CompiledSchema | undefined;
  /** The newest revision that the caller knows. */
  ifMatch?: number | undefined;
  idempotency?: Idempotency | undefined;
  /** Reads the definition again after a write conflict. Defaults to {@link definitionFor}. */
  renew?: (() => Promise<OrbContext>) | undefined;
}

/** The result of a write. */
export interface Written {
  /** The revision that the write has created. */
  snapshot: EntrySnapshot;
  /** Sequence of its message. */
  seq: number;
  /** Whether this is the stored response to an earlier request with the same Idempotency-Key. */
  replayed: boolean;
}

/** Appends one revision to an existing entry. */
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
    const decision = await change.decide(state);
    const next = nextSnapshot(state, decision, actor);
    const write = await writeOf(deps, state, decision, next, attempt, change);
    const seq = await commit(deps, context, { ...write, idempotency: claim });
    if (cancels(state, decision)) {
      for (const role of rolesOf(schema)) await repairAfterCancel(deps, found.address, role, found.head);
    }
    return { snapshot: next, seq, replayed: false };
  };
  return counted(deps, actor, target.orbId, () => retryOnConflict(deps, target.orbId, run, findReplay));
}

/** Refuses a caller before any read if the operation is not even allowed on the caller's own entries. */
function refuseEarly(actor: Actor, target: Target, acts: readonly Act[]): void {
  const { schema, orb } = target;
  if (schema === undefined || orb instanceof Promise) return;
  const role = roleIn(actor, target.orbId, orb.compiled);
  for (const act of acts) requireMay(actor, role, act, { access: schema.access, own: true });
}

/**
 * Returns the entry if the actor may perform the operations. Otherwise throws 401 for an anonymous actor, 403 if the
 * actor can read the entry, and 404 if not.
 */
function authorised(
  deps: Deps,
  actor: Actor,
  context: OrbContext,
  entry: LoadedEntry | null,
  acts: readonly Act[],
): LoadedEntry {
  const role = roleIn(actor, context.orb, context.compiled);
  if (entry === null) throw notFound("entry");
  const access = schemaOf(context.compiled, entry.address)?.access ?? { read: "admin", write: "admin" };
  const on = { access, own: isOwn(actor, entry.head.createdBy) };
  if (!acts.every((act) => may(role, act, on))) {
    const seen = may(role, "read", on) && visible(entry.head, deps.clock.now());
    throw seen || actor.kind === "anonymous" ? refusal(actor) : notFound("entry");
  }
  return existing(entry);
}

/** Converts the result of an operation, such as update or publish, into the messages of one write. */
import { type Actor, actorId, throughOf } from "../../access/actor.ts";
import type { EntryOperation as Act } from "../../access/credentials/operations.ts";
import type { CompiledSchema } from "../../definition/compile.ts";
import type { Deps } from "../../deps.ts";
import { equal } from "../../kernel/json.ts";
import { SMALL_BYTES } from "../../store/budget.ts";
import { type EntryAddress, type LiveRole, streams } from "../../store/subjects.ts";
import type { Append } from "../../store/types.ts";
import { type EntryKeys, lookUpReservations } from "../index/entry-keys.ts";
import { cancelMessages, liveTombstone } from "../index/schedules.ts";
import { isOrderedKey, isUniqueKey, keySubject, parseKey } from "../model/index-keys.ts";
import { keyChange } from "../model/key-messages.ts";
import type { EntryWrite, Guard } from "../model/messages.ts";
import type { LoadedEntry, OrbContext } from "../model/resolve.ts";
import type { EntrySnapshot, StoredValue } from "../model/snapshot.ts";
import { indexesOf } from "../ordered/remove.ts";

export interface State {
  context: OrbContext;
  /** The entry's schema, or undefined if the definition no longer has it. */
  schema: CompiledSchema | undefined;
  entry: LoadedEntry;
  /**
   * The revision to change: the newest one. If its `validTo` has passed, the unpublished revision that follows from
   * this, even if it is not stored yet.
   */
  base: EntrySnapshot;
  held: EntryKeys;
  /** Milliseconds since the epoch. */
  now: number;
  guardSeq: number | undefined;
}

export interface Decision {
  operation: EntrySnapshot["operation"];
  status: EntrySnapshot["status"];
  values?: Record<string, StoredValue>;
  claims?: string[];
  validFrom?: string | null;
  validTo?: string | null;
  guards?: readonly Guard[];
  /**
   * How the operation affects the published revision: `publish` replaces it with the new one, `withdraw` removes it, `keep`
   * leaves it unchanged.
   */
  live: "publish" | "withdraw" | "keep";
  index?: "remove";
  /** Whether a `publish` operation also changes the values. */
  updates?: boolean;
}

export interface Change {
  /** Operations that the caller must be permitted to do. */
  acts: readonly Act[];
  /** Content of the request. A later request with the same Idempotency-Key must have the same content. */
  request: unknown;
  /** Names of the fields that the request contains. */
  sent?: readonly string[];
  /**
   * Whether the write only encrypts values again. Such a write may also change records that are otherwise read-only.
   */
  upkeep?: boolean;
  /** Whether the write must fail if another entry adds a reference to the changed entry at the same time. */
  guarded?: boolean;
  /** Whether to write nothing if the newest revision already has the values, `validFrom` and `validTo`. */
  skipsUnchanged?: boolean;
  decide(state: State): Promise<Decision>;
  publishing?: (state: State, next: EntrySnapshot, role: LiveRole) => Append[];
}

const ALL_ROLES: readonly LiveRole[] = ["public", "user", "admin"];

export function rolesOf(schema: CompiledSchema | undefined): readonly LiveRole[] {
  return schema === undefined ? ALL_ROLES : [schema.liveRole];
}

/**
 * Returns whether a write replaces or removes the published revision. If so, the messages that the broker is to publish
 * at the revision's `validFrom` and `validTo` must be cancelled.
 */
export function cancels(state: State, decision: Decision): boolean {
  return decision.live !== "keep" || state.base !== state.entry.head;
}

/** Returns whether a write would append a revision that only repeats the newest one. */
export function changesNothing(
  { base, entry }: State,
  { live, values, validFrom, validTo }: Decision,
): boolean {
  const isLive = base.status === "PUBLISHED" && base.publishedRevision === base.revision;
  return (
    base === entry.head &&
    (live === "keep" || (live === "publish" && isLive)) &&
    (values === undefined || equal(values, base.values)) &&
    (validFrom === undefined || validFrom === base.validFrom) &&
    (validTo === undefined || validTo === base.validTo)
  );
}

export function nextSnapshot(state: State, decision: Decision, actor: Actor): EntrySnapshot {
  const { held, entry } = state;
  const { updated: _, ...base } = state.base;
  const revision = base.revision + 1;
  const at = new Date(state.now).toISOString();
  const window = {
    validFrom: decision.validFrom === undefined ? base.validFrom : decision.validFrom,
    validTo: decision.validTo === undefined ? base.validTo : decision.validTo,
  };
  const next: EntrySnapshot = {
    ...base,
    ...window,
    schema: state.schema?.id ?? base.schema,
    operation: decision.operation,
    ...(decision.updates === true ? { updated: true } : {}),
    status: decision.status,
    revision,
    publishedRevision: null,
    publishedSeq: null,
    liveFrom: null,
    liveTo: null,
    updatedAt: at,
    updatedBy: actorId(actor),
    through: throughOf(actor),
    values: decision.values ?? base.values,
    claims: decision.claims ?? held.claims,
    liveClaims: null,
    defRevision: decision.claims !== undefined || held.stale ? state.context.revision : base.defRevision,
  };
  if (decision.live === "publish") {
    return { ...next, publishedRevision: revision, liveFrom: window.validFrom, liveTo: window.validTo };
  }
  if (decision.live === "withdraw" || base.publishedRevision === null) return next;
  const isLive = base.publishedSeq === null;
  return {
    ...next,
    publishedRevision: base.publishedRevision,
    publishedSeq: isLive ? entry.seq : base.publishedSeq,
    liveFrom: base.liveFrom,
    liveTo: base.liveTo,
    liveClaims: isLive ? held.claims : held.liveClaims,
  };
}

/**
 * Returns whether a key belongs to an erased index. A write must not add such keys, because the log of the index would
 * grow again.
 */
function isOfErasedIndex(schema: CompiledSchema | undefined, key: string): boolean {
  return isOrderedKey(key) && (schema === undefined || !indexesOf(schema).includes(parseKey(key).field));
}

export async function writeOf(
  deps: Deps,
  state: State,
  decision: Decision,
  next: EntrySnapshot,
  attempt: number,
  change: Change,
): Promise<EntryWrite> {
  const { entry, base, schema, held, context } = state;
  const { address, head } = entry;
  const after = new Set([...next.claims, ...(next.liveClaims ?? [])]);
  const guards: Guard[] = [...(decision.guards ?? [])];
  // After `validTo`, other entries may take the unique values of the published revision. So its keys no longer count.
  const closed = base !== head;
  const claims = keyChange(new Set([...head.claims, ...(closed ? [] : (head.liveClaims ?? []))]), after);
  const known = new Map<string, number>();
  // If the keys were computed under an earlier definition, or `validTo` has passed, other entries may own some of them.
  // So look up the owners.
  const sure = !held.stale && !closed;
  if (!sure && schema !== undefined) {
    for (const key of [...held.claims, ...(held.liveClaims ?? []), ...(head.liveClaims ?? [])]) {
      if (!after.has(key) && !claims.frees.includes(key)) claims.frees.push(key);
    }
    const own = await reallyOwn(deps, address, claims.frees);
    claims.frees = own.frees;
    for (const [key, seq] of own.known) known.set(key, seq);
  }
  claims.frees = claims.frees.filter((key) => !isOfErasedIndex(schema, key));
  let made = next;
  if (schema !== undefined && (attempt > 0 || !sure)) {
    const keeping = change.upkeep === true ? undefined : { entry, next };
    const looked = await lookUpReservations(deps, context, schema, address, claims.adds, keeping);
    for (const [key, seq] of looked.known) known.set(key, seq);
    guards.push(...looked.guards);
    const free = (key: string) => !looked.taken.has(key);
    claims.adds = claims.adds.filter(free);
    made = {
      ...next,
      claims: next.claims.filter(free),
      liveClaims: next.liveClaims?.filter(free) ?? null,
    };
  }
  const live: Append[] = [];
  if (cancels(state, decision)) {
    live.push(...cancelMessages(address, head));
    const { publishing } = change;
    if (decision.live === "publish" && publishing !== undefined && schema !== undefined) {
      live.push(...publishing(state, next, schema.liveRole));
    } else if (head.publishedRevision !== null) {
      const at = base === head ? next.updatedAt : base.updatedAt;
      for (const role of rolesOf(schema)) live.push(liveTombstone(address, role, next, at));
    }
  }
  return {
    address,
    headSeq: entry.seq,
    before: head,
    snapshots: base === head ? [made] : [{ ...base, defRevision: head.defRevision }, made],
    claims,
    known,
    guards,
    live,
    ...(decision.index === undefined ? {} : { index: decision.index }),
  };
}

/** Returns the index keys that a write may delete. Omits unique values that another entry has taken. */
async function reallyOwn(
  deps: Deps,
  address: EntryAddress,
  keys: readonly string[],
): Promise<{ frees: string[]; known: Map<string, number> }> {
  const known = new Map<string, number>();
  const doubtful = keys.filter(isUniqueKey);
  if (doubtful.length === 0) return { frees: [...keys], known };
  const messages = await deps.store.getMany(
    streams.orb(address.orb),
    doubtful.map((key) => keySubject(address, key)),
    { maxBytes: SMALL_BYTES },
  );
  for (const key of doubtful) {
    const message = messages.get(keySubject(address, key));
    if (message?.text() === address.id) known.set(key, message.seq);
  }
  return { frees: keys.filter((key) => !isUniqueKey(key) || known.has(key)), known };
}

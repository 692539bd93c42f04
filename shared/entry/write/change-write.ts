/** Converts the result of an operation, such as update or publish, into the messages of one write. */
import { writerOf } from "../../access/actor.ts";
import type { Principal } from "../../access/authorize.ts";
import type { EntryOperation as Act } from "../../access/credentials/index.ts";
import type { CompiledSchema } from "../../definition/compile.ts";
import type { Deps } from "../../deps.ts";
import type { Fault } from "../../kernel/errors.ts";
import { equal } from "../../kernel/json.ts";
import { SMALL_BYTES } from "../../store/budget.ts";
import { type EntryAddress, type LiveRole, streams } from "../../store/subjects.ts";
import type { Append } from "../../store/types.ts";
import { cancelMessages, type EntryKeys, liveTombstone, lookUpReservations } from "../index/index.ts";
import {
  type EntrySnapshot,
  type EntryWrite,
  type Guard,
  hasOrigin,
  isOrderedKey,
  isUniqueKey,
  JUST_BEFORE,
  keyChange,
  keySubject,
  type LoadedEntry,
  type OrbContext,
  type Origin,
  parseKey,
  remembered,
  type StoredSnapshot,
  type StoredValue,
  withStoredNames,
} from "../model/index.ts";
import { indexesOf } from "../ordered/index.ts";
import type { Window } from "../values/index.ts";

export interface State {
  /** The caller, with its rights under the definition of `context`. */
  caller: Principal;
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
  /** Index keys of values that the platform chose. */
  made?: readonly string[] | undefined;
  /** What the response tells about the published values, although it does not block the write. */
  warnings?: readonly Fault[];
  /**
   * How the operation affects the published revision: `publish` replaces it with the new one, `withdraw` removes it, `keep`
   * leaves it unchanged.
   */
  live: "publish" | "withdraw" | "keep";
  index?: "add" | "remove";
  /** Id of the change set that this write publishes. */
  change?: string | undefined;
  /** Whether a `publish` operation also changes the values. */
  updates?: boolean;
  /** With `publish`: the draft that stays the newest revision, after the published one. */
  draft?: Draft;
  /** Where an import says that the entry comes from. */
  origin?: Origin | undefined;
}

/** The content of a draft, and the conditions under which it may be stored. */
export interface Draft extends Window {
  values: Record<string, StoredValue>;
  claims: string[];
  guards: readonly Guard[];
  made?: readonly string[] | undefined;
  /** Whether the write changes neither the draft nor the published revision. */
  unchanged: boolean;
}

export interface Change {
  /** Operations that the caller must be permitted to do. */
  acts: readonly Act[];
  /** Content of the request. A later request with the same Idempotency-Key must have the same content. */
  request: unknown;
  /** Objects with the values that the request contains, by field name. */
  sent?: readonly Readonly<Record<string, unknown>>[];
  /**
   * Whether the write only encrypts values again. Such a write may also change records that are otherwise read-only.
   */
  upkeep?: boolean;
  /** Whether the write must fail if another entry adds a reference to the changed entry at the same time. */
  guarded?: boolean;
  /** Whether to write nothing if the newest revision already has the values, `validFrom` and `validTo`. */
  skipsUnchanged?: boolean;
  /**
   * Whether many clients may make this change of the entry at the same time, and each of them must count once. The writes
   * of a process then take turns, and each is an atomic batch.
   */
  contended?: boolean;
  /** Whether the change also brings back a deleted entry. Other changes find no such entry. */
  revives?: boolean;
  /** Whether the entry does not exist yet. Its base revision is then only a stand-in. */
  creates?: boolean;
  decide(state: State): Promise<Decision>;
  publishing?: (state: State, next: StoredSnapshot, role: LiveRole) => Append[];
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
  { live, values, validFrom, validTo, draft, origin = {} }: Decision,
): boolean {
  if (!hasOrigin(base, origin)) return false;
  if (draft !== undefined) return draft.unchanged;
  const isLive = base.status === "PUBLISHED" && base.publishedRevision === base.revision;
  return (
    base === entry.head &&
    (live === "keep" || (live === "publish" && isLive)) &&
    (values === undefined || equal(values, base.values)) &&
    (validFrom === undefined || validFrom === base.validFrom) &&
    (validTo === undefined || validTo === base.validTo)
  );
}

export function nextSnapshot(state: State, decision: Decision): EntrySnapshot {
  const { held, entry } = state;
  const { updated: _, imported: __, change: ___, token: ____, ...base } = state.base;
  const { createdAt = base.createdAt, createdBy = base.createdBy } = decision.origin ?? {};
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
    ...(decision.origin === undefined ? {} : { imported: true }),
    ...(decision.change === undefined ? {} : { change: decision.change }),
    createdAt,
    createdBy,
    status: decision.status,
    revision,
    publishedRevision: null,
    publishedSeq: null,
    liveFrom: null,
    liveTo: null,
    updatedAt: at,
    ...writerOf(state.caller.actor),
    values: decision.values === undefined ? base.values : remembered(decision.values, base.values),
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

/** Returns the revision that follows a published one in the same write, and contains the draft of the entry. */
function draftAfter(published: EntrySnapshot, { values, claims, validFrom, validTo }: Draft): EntrySnapshot {
  const { updated: _, change, token, ...base } = published;
  // The draft beside the publication of a change set is not written by the one who publishes.
  const author = change !== undefined || token === undefined ? {} : { token };
  return {
    ...base,
    ...author,
    operation: "update",
    revision: published.revision + 1,
    publishedSeq: JUST_BEFORE,
    validFrom,
    validTo,
    values: remembered(values, published.values),
    claims,
    liveClaims: published.claims,
  };
}

/** Returns the revisions that a write appends, oldest first. */
export function nextSnapshots(state: State, decision: Decision): [EntrySnapshot, ...EntrySnapshot[]] {
  const next = nextSnapshot(state, decision);
  return decision.draft === undefined ? [next] : [next, draftAfter(next, decision.draft)];
}

/**
 * Returns whether a key belongs to an erased index. A write must not add such keys, because the log of the index would
 * grow again.
 */
function isOfErasedIndex(schema: CompiledSchema | undefined, key: string): boolean {
  return isOrderedKey(key) && (schema === undefined || !indexesOf(schema).includes(parseKey(key).field));
}

/**
 * Converts a decision into a write. `doubtful`: other entries may own some of its index keys, because they were computed
 * under an earlier definition, or because `validTo` has passed.
 */
export async function writeOf(
  deps: Deps,
  state: State,
  decision: Decision,
  made: readonly [EntrySnapshot, ...EntrySnapshot[]],
  change: Change,
): Promise<{ write: EntryWrite; doubtful: boolean }> {
  const { entry, base, schema, held } = state;
  const { address, head } = entry;
  const [first] = made;
  const next = made.at(-1) ?? first;
  const after = new Set([...next.claims, ...(next.liveClaims ?? [])]);
  // After `validTo`, other entries may take the unique values of the published revision. So its keys no longer count.
  const closed = base !== head;
  const claims = keyChange(new Set([...head.claims, ...(closed ? [] : (head.liveClaims ?? []))]), after);
  const known = new Map<string, number>();
  const doubtful = (held.stale || closed) && schema !== undefined;
  if (doubtful) {
    for (const key of [...held.claims, ...(held.liveClaims ?? []), ...(head.liveClaims ?? [])]) {
      if (!after.has(key) && !claims.frees.includes(key)) claims.frees.push(key);
    }
    const own = await reallyOwn(deps, address, claims.frees);
    claims.frees = own.frees;
    for (const [key, seq] of own.known) known.set(key, seq);
  }
  claims.frees = claims.frees.filter((key) => !isOfErasedIndex(schema, key));
  const write: EntryWrite = {
    address,
    schema,
    headSeq: entry.seq,
    before: head,
    snapshots: [...(base === head ? [] : [{ ...base, defRevision: head.defRevision }]), ...made],
    claims,
    known,
    guards: [...(decision.guards ?? []), ...(decision.draft?.guards ?? [])],
    live: liveMessages(state, decision, first, next, change),
    made: [...(decision.made ?? []), ...(decision.draft?.made ?? [])],
    ...(decision.index === undefined ? {} : { index: decision.index }),
  };
  return { write, doubtful };
}

/** Returns the messages that replace or remove the published copy. */
function liveMessages(
  state: State,
  decision: Decision,
  first: EntrySnapshot,
  next: EntrySnapshot,
  { publishing }: Change,
): Append[] {
  if (!cancels(state, decision)) return [];
  const { base, schema } = state;
  const { address, head } = state.entry;
  const live = cancelMessages(address, head);
  if (decision.live === "publish" && publishing !== undefined && schema !== undefined) {
    live.push(...publishing(state, withStoredNames(schema, first), schema.liveRole));
  } else if (head.publishedRevision !== null) {
    const at = base === head ? next.updatedAt : base.updatedAt;
    for (const role of rolesOf(schema)) live.push(liveTombstone(address, role, next, at));
  }
  return live;
}

/** Finds out which entries own the unique values of a write, as {@link Plan.reserve} says. */
export async function reserved(
  deps: Deps,
  { context, schema, entry }: State,
  decision: Decision,
  made: readonly [EntrySnapshot, ...EntrySnapshot[]],
  { upkeep }: Change,
  write: EntryWrite,
): Promise<EntryWrite> {
  if (schema === undefined) return write;
  const next = made.at(-1) ?? made[0];
  const keeping = upkeep === true ? undefined : { entry, next };
  const chosen = [...(decision.made ?? []), ...(decision.draft?.made ?? [])];
  const { adds, frees } = write.claims;
  const looked = await lookUpReservations(deps, context, schema, entry.address, adds, {
    keeping,
    made: chosen,
  });
  const free = (key: string) => !looked.taken.has(key);
  const before = write.snapshots.slice(0, write.snapshots.length - made.length);
  const after = made.map((snapshot) => ({
    ...snapshot,
    claims: snapshot.claims.filter(free),
    liveClaims: snapshot.liveClaims?.filter(free) ?? null,
  }));
  return {
    ...write,
    snapshots: [...before, ...after],
    claims: { adds: adds.filter(free), frees },
    known: new Map([...(write.known ?? []), ...looked.known]),
    guards: [...(write.guards ?? []), ...looked.guards],
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

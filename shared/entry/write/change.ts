/**
 * The common course of every write to an entry that exists: read, authorise, judge If-Match, decide, commit; and all of
 * it again when somebody else wrote in between.
 */
import { type Actor, actorId } from "../../access/actor.ts";
import { type EntryOperation as Act, may, refusal, requireMay, roleIn } from "../../access/authorize.ts";
import type { CompiledSchema } from "../../definition/compile.ts";
import type { Deps } from "../../deps.ts";
import { notFound, revisionMismatch } from "../../kernel/errors.ts";
import { counted } from "../../quotas/write.ts";
import { SMALL_BYTES } from "../../store/budget.ts";
import { type EntryAddress, isToken, type LiveRole, streams, subjects } from "../../store/subjects.ts";
import type { Append, StoredMessage } from "../../store/types.ts";
import { type Holdings, holdings, lookUpClaims } from "../index/held.ts";
import { isOwn } from "../index/references.ts";
import { cancelMessages, leave, lookAgain } from "../index/schedules.ts";
import { claimChange, isUniqueKey, keySubject } from "../model/claims.ts";
import { type Idempotency, idempotencyClaim, replay } from "../model/idempotency.ts";
import type { EntryWrite, Guard } from "../model/messages.ts";
import {
  existing,
  type LoadedEntry,
  loadEntry,
  type OrbContext,
  orNull,
  refuseRecords,
  schemaOf,
} from "../model/resolve.ts";
import { type EntrySnapshot, effective, type StoredValue, visible } from "../model/snapshot.ts";
import { attempts, renewed } from "./attempts.ts";
import { commit } from "./commit.ts";

/** Which entry a verb is about, and under what conditions. */
export interface Target {
  orbId: string;
  /** The definition; as a promise it is awaited beside the entry's own read. */
  orb: OrbContext | Promise<OrbContext>;
  id: string;
  /** The schema that the entry must be of, where the address says it. */
  schema?: CompiledSchema | undefined;
  /** The newest revision's number as the caller knows it. */
  ifMatch?: number | undefined;
  idempotency?: Idempotency | undefined;
  /** Reads the definition again when the write met another one; {@link definitionFor} when left out. */
  renew?: (() => Promise<OrbContext>) | undefined;
}

/** What a write answers. */
export interface Written {
  /** The revision that was made. */
  snapshot: EntrySnapshot;
  /** Sequence of its message. */
  seq: number;
  /** Whether this is the answer to an earlier request with the same Idempotency-Key. */
  replayed: boolean;
}

/** Everything that a decision may look at. */
export interface State {
  context: OrbContext;
  /** Undefined when the definition has dropped the schema. */
  schema: CompiledSchema | undefined;
  entry: LoadedEntry;
  /** The newest revision as it stands now: after the closing of its window, if that has come. */
  base: EntrySnapshot;
  /** What the newest revision and what is live hold by this definition. */
  held: Holdings;
  /** Milliseconds. */
  now: number;
  /** Last sequence of the reference guard, read before anything else; undefined where it was not asked for. */
  guardSeq: number | undefined;
}

/** What a write is to do. */
export interface Decision {
  operation: EntrySnapshot["operation"];
  status: EntrySnapshot["status"];
  values?: Record<string, StoredValue>;
  /** What the values hold, where they were prepared anew. */
  claims?: string[];
  validFrom?: string | null;
  validTo?: string | null;
  guards?: readonly Guard[];
  /** `publish` makes this revision live, `withdraw` ends what is live, `keep` leaves it beside. */
  live: "publish" | "withdraw" | "keep";
  index?: "remove";
}

/** How a verb differs from the others. */
export interface Change {
  /** What the actor must be allowed to do. */
  acts: readonly Act[];
  /** The request as the idempotency claim knows it. */
  request: unknown;
  /** Changes nothing that anybody wrote: allowed on records that are otherwise never changed. */
  upkeep?: boolean;
  /** Reads the reference guard before the referrers are looked for. */
  guarded?: boolean;
  decide(state: State): Promise<Decision>;
  /** What a publication puts onto the live subject. */
  publishing?: (state: State, next: EntrySnapshot, role: LiveRole) => Append[];
}

const ALL_ROLES: readonly LiveRole[] = ["public", "user", "admin"];

/** Makes one revision of an existing entry. */
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
  const again = () => replay(deps, target.orbId, claim);
  const run = async (attempt: number): Promise<Written> => {
    const stream = streams.orb(target.orbId);
    const [context, entry, before, guardMessage] = await Promise.all([
      attempt === 0 ? target.orb : renewed(deps, target),
      loadEntry(deps, target.orbId, target.id, target.schema),
      again(),
      change.guarded === true && isToken(target.id)
        ? orNull(deps.store.get(stream, subjects.referenceGuard(target.orbId, target.id)))
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
    const held = await holdings(deps, context, schema, found);
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
      for (const role of rolesOf(schema)) await lookAgain(deps, found.address, role, found.head);
    }
    return { snapshot: next, seq, replayed: false };
  };
  return counted(deps, actor, target.orbId, () => attempts(deps, target.orbId, run, again));
}

/** A caller who could not do it even with his own entry is refused before anything is read. */
function refuseEarly(actor: Actor, target: Target, acts: readonly Act[]): void {
  const { schema, orb } = target;
  if (schema === undefined || orb instanceof Promise) return;
  const role = roleIn(actor, target.orbId, orb.compiled);
  for (const act of acts) requireMay(actor, role, act, { access: schema.access, own: true });
}

/** The entry, if the actor may do this to it. One that he may not even see does not exist for him. */
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

function rolesOf(schema: CompiledSchema | undefined): readonly LiveRole[] {
  return schema === undefined ? ALL_ROLES : [schema.liveRole];
}

/** Whether a write takes away what is live, and with it what was scheduled. */
function cancels(state: State, decision: Decision): boolean {
  return decision.live !== "keep" || state.base !== state.entry.head;
}

/** The revision that a decision makes. */
function nextSnapshot(state: State, decision: Decision, actor: Actor): EntrySnapshot {
  const { base, held, entry } = state;
  const revision = base.revision + 1;
  const at = new Date(state.now).toISOString();
  const window = {
    validFrom: decision.validFrom === undefined ? base.validFrom : decision.validFrom,
    validTo: decision.validTo === undefined ? base.validTo : decision.validTo,
  };
  const next: EntrySnapshot = {
    ...base,
    ...window,
    operation: decision.operation,
    status: decision.status,
    revision,
    publishedRevision: null,
    publishedSeq: null,
    liveFrom: null,
    liveTo: null,
    updatedAt: at,
    updatedBy: actorId(actor),
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

/** The messages of a decision. */
async function writeOf(
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
  // What only the live revision held may be another entry's since its window closed: it counts as not held.
  const closed = base !== head;
  const claims = claimChange(new Set([...head.claims, ...(closed ? [] : (head.liveClaims ?? []))]), after);
  const known = new Map<string, number>();
  // Sure of its claims is only who wrote them under this very definition and never lost them to a closed window.
  const sure = !held.stale && !closed;
  if (!sure && schema !== undefined) {
    for (const key of [...held.claims, ...(held.liveClaims ?? []), ...(head.liveClaims ?? [])]) {
      if (!after.has(key) && !claims.frees.includes(key)) claims.frees.push(key);
    }
    const own = await reallyOwn(deps, address, claims.frees);
    claims.frees = own.frees;
    for (const [key, seq] of own.known) known.set(key, seq);
  }
  let made = next;
  if (schema !== undefined && (attempt > 0 || !sure)) {
    const keeping = change.upkeep === true ? undefined : { entry, next };
    const looked = await lookUpClaims(deps, context, schema, address, claims.adds, keeping);
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
      for (const role of rolesOf(schema)) live.push(leave(address, role, next, at));
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

/**
 * Of claims that may have passed to another entry, those that are still this one's; index messages always are. A claim is
 * freed only as it was read here: abandoned, it may pass to another entry while this one's head stands still.
 */
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

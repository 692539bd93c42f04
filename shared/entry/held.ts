/** Who holds a unique value: what is looked up when a claim met another one. */
import type { Deps } from "../deps.ts";
import { AppError, type Fault } from "../errors.ts";
import type { CompiledSchema } from "../orb/compile.ts";
import { ReadBudget, SMALL_BYTES } from "../store/budget.ts";
import { type EntryAddress, streams, subjects } from "../store/subjects.ts";
import type { Consistency } from "../store/types.ts";
import { claimsOf, isUniqueKey, keySubject, parseKey, secretOf } from "./claims.ts";
import type { EntryWrite, Guard } from "./messages.ts";
import { inParts } from "./parts.ts";
import { addressOf, type LoadedEntry, loaded, type OrbContext } from "./resolve.ts";
import { openValues } from "./sealing.ts";
import { type EntrySnapshot, effective, snapshotOf } from "./snapshot.ts";

/** What an entry holds by the definition and the claim keys at hand. */
export interface Holdings {
  /** Of the newest revision. */
  claims: string[];
  /** Of what is live, when that is another revision. */
  liveClaims: string[] | null;
  /** Whether they are not what the entry was written with, as the definition or the keys have changed since. */
  stale: boolean;
}

/** The revision that is live, out of the log; null when none is, or when it was purged meanwhile. */
export async function publishedOf(
  deps: Pick<Deps, "store">,
  { head, address }: Pick<LoadedEntry, "head" | "address">,
  consistency: Consistency = "leader",
): Promise<EntrySnapshot | null> {
  if (head.publishedRevision === null) return null;
  if (head.revision === head.publishedRevision) return head;
  if (head.publishedSeq === null) return null;
  return snapshotOf(await deps.store.getSeq(streams.orb(address.orb), head.publishedSeq, { consistency }));
}

/** Undefined when a key that sealed a value is gone: what was held before then counts. */
async function holds(
  deps: Deps,
  schema: CompiledSchema,
  snapshot: EntrySnapshot,
): Promise<string[] | undefined> {
  try {
    const plain = await openValues(deps.config, schema, snapshot.id, snapshot.values);
    return await claimsOf(deps.config, schema, plain);
  } catch (error) {
    if (error instanceof AppError && error.code === "sealed_value_lost") return undefined;
    throw error;
  }
}

/**
 * What an entry holds. Reads nothing, unless a draft lies beside what is live and either the definition changed or what
 * is claimed is secret: then nothing but the values tells whether the keys are still the same.
 */
export async function holdings(
  deps: Deps,
  context: OrbContext,
  schema: CompiledSchema | undefined,
  entry: LoadedEntry,
): Promise<Holdings> {
  const { head } = entry;
  const follows = head.defRevision === context.revision;
  const secret =
    schema !== undefined && secretOf(schema, [...head.claims, ...(head.liveClaims ?? [])]).length > 0;
  if (schema === undefined || head.status === "DELETED" || (follows && !secret)) {
    return { claims: head.claims, liveClaims: head.liveClaims, stale: false };
  }
  const published = head.liveClaims === null ? null : await publishedOf(deps, entry);
  const claims = (await holds(deps, schema, head)) ?? head.claims;
  const liveClaims = published === null ? null : ((await holds(deps, schema, published)) ?? head.liveClaims);
  const same = equal(claims, head.claims) && equal(liveClaims, head.liveClaims);
  return { claims, liveClaims, stale: !follows || !same };
}

const equal = (a: readonly string[] | null, b: readonly string[] | null) => a?.join() === b?.join();

/** What looking up claims found. */
export interface ClaimState {
  /** Sequence of the last message of each claim that has one. */
  known: Map<string, number>;
  /** Heads of entries whose abandoned claims are taken over: they must not move meanwhile. */
  guards: Guard[];
  /** Claims that are already theirs who want them. */
  own: Set<string>;
  /** Claims that another entry holds, and which. */
  taken: Map<string, string>;
}

/**
 * Looks up claims of unique values. Two requests at most.
 * @param wanted keys of the schema, each with the entry that wants it
 */
export async function claimState(
  deps: Deps,
  context: OrbContext,
  schema: CompiledSchema,
  wanted: ReadonlyMap<string, string>,
): Promise<ClaimState> {
  const state: ClaimState = { known: new Map(), guards: [], own: new Set(), taken: new Map() };
  if (wanted.size === 0) return state;
  const stream = streams.orb(context.orb);
  const subjectOf = (key: string, id: string) => keySubject(addressOf(schema, id), key);
  const messages = await deps.store.getMany(
    stream,
    [...wanted].map(([key, id]) => subjectOf(key, id)),
    { maxBytes: SMALL_BYTES },
  );
  const others = new Map<string, string>();
  for (const [key, id] of wanted) {
    const message = messages.get(subjectOf(key, id));
    if (message === undefined) continue;
    state.known.set(key, message.seq);
    const owner = message.text();
    if (owner === id) state.own.add(key);
    else if (owner !== "") others.set(key, owner);
  }
  if (others.size === 0) return state;
  const logOf = (id: string) => subjects.entryLog(addressOf(schema, id));
  const keysBy = Map.groupBy(others.keys(), (key) => logOf(others.get(key) ?? ""));
  const budget = new ReadBudget(Number.POSITIVE_INFINITY);
  const store = budget.charging(deps.store);
  const read = (logs: readonly string[], maxBytes: number) => store.getMany(stream, logs, { maxBytes });
  for await (const { wanted: logs, result } of inParts(budget, [...keysBy.keys()], read)) {
    for (const log of logs) {
      const message = result.get(log);
      const entry = loaded(message);
      for (const key of keysBy.get(log) ?? []) {
        const owner = others.get(key) ?? "";
        if (entry !== null && (await holdsNow(deps, context, schema, entry, key)))
          state.taken.set(key, owner);
        // The claim was left behind (its window closed, say): it may be taken, while its owner does not move.
        else state.guards.push({ subject: log, seq: message?.seq ?? 0 });
      }
    }
  }
  return state;
}

/**
 * Looks up claims of unique values that an entry wants.
 * @throws AppError conflict `unique_conflict` naming every field whose value another entry holds
 */
export async function lookUpClaims(
  deps: Deps,
  context: OrbContext,
  schema: CompiledSchema,
  address: EntryAddress,
  keys: readonly string[],
): Promise<ClaimState> {
  const wanted = keys.filter(isUniqueKey).map((key) => [key, address.id] as const);
  const state = await claimState(deps, context, schema, new Map(wanted));
  if (state.taken.size > 0) throw uniqueConflict([...state.taken.keys()].map(taken));
  return state;
}

/**
 * A write with the claims that it adds looked up, as one that met another must be.
 * @throws AppError conflict `unique_conflict` naming every field whose value another entry holds
 */
export async function withKnownClaims(
  deps: Deps,
  context: OrbContext,
  schema: CompiledSchema,
  write: EntryWrite,
): Promise<EntryWrite> {
  const { known, guards } = await lookUpClaims(deps, context, schema, write.address, write.claims.adds);
  return { ...write, known, guards: [...(write.guards ?? []), ...guards] };
}

async function holdsNow(
  deps: Deps,
  context: OrbContext,
  schema: CompiledSchema,
  entry: LoadedEntry,
  key: string,
): Promise<boolean> {
  const held = await holdings(deps, context, schema, entry);
  if (held.claims.includes(key)) return true;
  const isLive = effective(entry.head, deps.clock.now()).publishedRevision !== null;
  return isLive && held.liveClaims?.includes(key) === true;
}

function taken(key: string): Fault {
  const { field } = parseKey(key);
  return { path: `/values/${field}`, code: "unique", message: "Another entry has this value." };
}

/** 409 with the fields whose values others hold. */
function uniqueConflict(errors: Fault[]): AppError {
  const paths = [...new Map(errors.map((fault) => [fault.path, fault])).values()];
  return new AppError("conflict", "unique_conflict", "A unique value is another entry's already.", {
    errors: paths,
  });
}

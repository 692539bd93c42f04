/** Who holds a unique value: what is looked up when a claim met another one. */
import type { CompiledSchema } from "../../definition/compile.ts";
import type { Values } from "../../definition/validate.ts";
import type { Config, Deps } from "../../deps.ts";
import { AppError, type Fault } from "../../kernel/errors.ts";
import { ReadBudget, SMALL_BYTES } from "../../store/budget.ts";
import { type EntryAddress, streams, subjects } from "../../store/subjects.ts";
import type { Consistency } from "../../store/types.ts";
import {
  claimsOf,
  formKeys,
  hasForms,
  isUniqueKey,
  keySubject,
  mayLackForms,
  parseKey,
  secretOf,
} from "../model/claims.ts";
import type { EntryWrite, Guard } from "../model/messages.ts";
import { addressOf, type LoadedEntry, loaded, type OrbContext } from "../model/resolve.ts";
import { openValues } from "../model/sealing.ts";
import { type EntrySnapshot, effective, snapshotOf } from "../model/snapshot.ts";
import { inParts } from "./parts.ts";

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
async function ofValues<T>(
  { config }: Pick<Deps, "config">,
  schema: CompiledSchema,
  snapshot: EntrySnapshot,
  keysOf: (config: Config, schema: CompiledSchema, plain: Readonly<Values>) => Promise<T>,
): Promise<T | undefined> {
  try {
    return await keysOf(config, schema, await openValues(config, schema, snapshot.id, snapshot.values));
  } catch (error) {
    if (error instanceof AppError && error.code === "sealed_value_lost") return undefined;
    throw error;
  }
}

/**
 * The keys that an entry holds. Reads nothing, unless a draft lies beside what is live and the definition changed, or what
 * is claimed is secret or may lack its normal form: then only the values tell whether the keys are still the same.
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
  const certain = follows && !secret && !(schema !== undefined && mayLackForms(schema, head));
  if (schema === undefined || head.status === "DELETED" || certain) {
    return { claims: head.claims, liveClaims: head.liveClaims, stale: false };
  }
  const published = head.liveClaims === null ? null : await publishedOf(deps, entry);
  const claims = (await ofValues(deps, schema, head, claimsOf)) ?? head.claims;
  const liveClaims =
    published === null ? null : ((await ofValues(deps, schema, published, claimsOf)) ?? head.liveClaims);
  const same = equal(claims, head.claims) && equal(liveClaims, head.liveClaims);
  return { claims, liveClaims, stale: !follows || !same };
}

/** Keys of the normal forms of an entry's unique values, newest and live, as {@link formKeys} tells them. */
export async function formsOf(
  deps: Deps,
  schema: CompiledSchema,
  entry: LoadedEntry,
): Promise<Map<string, string[]>> {
  const forms = new Map<string, string[]>();
  if (!hasForms(schema)) return forms;
  const published = entry.head.liveClaims === null ? null : await publishedOf(deps, entry);
  for (const snapshot of [entry.head, ...(published === null ? [] : [published])]) {
    const some = await ofValues(deps, schema, snapshot, formKeys);
    for (const [key, written] of some ?? []) forms.set(key, written);
  }
  return forms;
}

/** Those of the keys of {@link formsOf} whose values the entry claimed as they were written. */
export async function formsBefore(deps: Deps, schema: CompiledSchema, entry: LoadedEntry): Promise<string[]> {
  const forms = await formsOf(deps, schema, entry);
  return [...forms].filter(([, written]) => holdsAll(entry, written)).map(([key]) => key);
}

function holdsAll({ head }: LoadedEntry, keys: readonly string[] | undefined): boolean {
  return keys?.every((key) => head.claims.includes(key) || head.liveClaims?.includes(key) === true) === true;
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

/** An entry that is written, and the revision that it gets. */
export interface Keeping {
  entry: LoadedEntry;
  next: EntrySnapshot;
}

/**
 * Looks up claims of unique values that an entry wants.
 * @param keeping where the entry exists: a value that it keeps may go on without its normal form, which another entry
 * holds since before there was one. `taken` of the answer has those
 * @throws AppError conflict `unique_conflict` naming every field whose value another entry holds
 */
export async function lookUpClaims(
  deps: Deps,
  context: OrbContext,
  schema: CompiledSchema,
  address: EntryAddress,
  keys: readonly string[],
  keeping?: Keeping,
): Promise<ClaimState> {
  const wanted = keys.filter(isUniqueKey).map((key) => [key, address.id] as const);
  const state = await claimState(deps, context, schema, new Map(wanted));
  if (state.taken.size === 0) return state;
  const kept = keeping === undefined ? undefined : await sharedBefore(deps, schema, keeping);
  const refused = [...state.taken.keys()].filter((key) => kept?.has(key) !== true);
  if (refused.length > 0) throw uniqueConflict(refused.map(taken));
  return state;
}

/** Keys of normal forms of the values that an entry was written with and keeps as they are. */
async function sharedBefore(
  deps: Deps,
  schema: CompiledSchema,
  { entry, next }: Keeping,
): Promise<Set<string>> {
  const before = await formsBefore(deps, schema, entry);
  const now = await ofValues(deps, schema, next, formKeys);
  // The new revision has the value in a form that the entry held, or has it no longer, and only the live one does.
  const kept = before.filter((key) => !next.claims.includes(key) || holdsAll(entry, now?.get(key)));
  return new Set(kept);
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
  return { path: `/values/${field}`, code: "unique", message: "is already used by another entry" };
}

/** 409 with the fields whose values others hold. */
function uniqueConflict(errors: Fault[]): AppError {
  const paths = [...new Map(errors.map((fault) => [fault.path, fault])).values()];
  return new AppError("conflict", "unique_conflict", "A unique value is another entry's already.", {
    errors: paths,
  });
}

/** Lets stored entries hold what a new definition says that they hold, a group at a time and beside other writers. */
import type { CompiledSchema } from "../../definition/compile.ts";
import type { Deps } from "../../deps.ts";
import { ReadBudget } from "../../store/budget.ts";
import { type EntryAddress, streams, subjects } from "../../store/subjects.ts";
import { Conflict } from "../../store/types.ts";
import { claimState, holdings } from "../index/held.ts";
import { inParts } from "../index/parts.ts";
import { claimMessages, isUniqueKey, lateMarks } from "../model/claims.ts";
import { guard } from "../model/messages.ts";
import { type LoadedEntry, loaded, type OrbContext } from "../model/resolve.ts";
import { effective } from "../model/snapshot.ts";
import { attempts } from "./attempts.ts";

/** Keys of one batch: each brings three messages at most, guards among them. */
const GROUP = 300;

/** A key that an entry holds by the definition and was not written with. */
export interface Lack {
  address: EntryAddress;
  /** Sequence of the head that says so. */
  seq: number;
  key: string;
}

/** What an entry holds by the definition: of its newest revision and, while its window is not closed, of what is live. */
export async function keysOf(
  deps: Deps,
  context: OrbContext,
  schema: CompiledSchema,
  entry: LoadedEntry,
): Promise<Set<string>> {
  const { claims, liveClaims } = await holdings(deps, context, schema, entry);
  const isLive = effective(entry.head, deps.clock.now()).publishedRevision !== null;
  return new Set([...claims, ...((isLive ? liveClaims : null) ?? [])]);
}

/** Those of an entry's keys that it was not written with. */
export function lacksOf({ address, head, seq }: LoadedEntry, keys: ReadonlySet<string>): Lack[] {
  const stored = new Set([...head.claims, ...(head.liveClaims ?? [])]);
  return [...keys].filter((key) => !stored.has(key)).map((key) => ({ address, seq, key }));
}

/** What writing keys came to. */
export interface Claiming {
  /** Messages that were written. */
  written: number;
  /** Unique values that two entries hold, with both: the later ones could not claim them. */
  shared: Map<string, Set<string>>;
}

/** Whoever made a field unique is told, in the log, of values that were written meanwhile. */
export function warnOfShared(deps: Pick<Deps, "log">, { orb, id }: CompiledSchema): void {
  deps.log.warn("entries written while a field became unique share values", { orb, schema: id });
}

/** What is written, for what definition, and what became of it so far. */
interface Run {
  deps: Deps;
  context: OrbContext;
  schema: CompiledSchema;
  result: Claiming;
  /** Sequence of an entry's head when another entry was first seen to hold the value that it wants. */
  doubts: Map<string, number>;
}

/**
 * Writes claims and index messages that are not there yet. A claim is written only while its entry stands as it was read.
 * @throws AppError conflict `write_conflict` when others kept writing one of these entries
 */
export async function claimLacking(
  deps: Deps,
  context: OrbContext,
  schema: CompiledSchema,
  lacks: readonly Lack[],
): Promise<Claiming> {
  const run: Run = { deps, context, schema, result: { written: 0, shared: new Map() }, doubts: new Map() };
  for (let i = 0; i < lacks.length; i += GROUP) {
    await claimAgain(run, await claimEach(run, lacks.slice(i, i + GROUP)));
  }
  return run.result;
}

/** Writes keys group by group. @returns those that must be looked at again: their entries moved, or seem to share a value */
async function claimEach(run: Run, lacks: readonly Lack[]): Promise<Lack[]> {
  const again: Lack[] = [];
  for (let i = 0; i < lacks.length; i += GROUP) {
    const group = lacks.slice(i, i + GROUP);
    try {
      again.push(...(await claimGroup(run, group)));
    } catch (error) {
      if (!(error instanceof Conflict)) throw error;
      again.push(...group);
    }
  }
  return again;
}

/** Half by half, each read anew, down to the single entries that somebody else is writing. */
async function claimAgain(run: Run, lacks: readonly Lack[]): Promise<void> {
  const ids = [...new Set(lacks.map(({ address }) => address.id))];
  if (ids.length <= 1) {
    if (lacks.length > 0) await claimAlone(run, lacks);
    return;
  }
  const first = new Set(ids.slice(0, ids.length / 2));
  for (const one of [true, false]) {
    const half = lacks.filter(({ address }) => first.has(address.id) === one);
    await claimAgain(run, await claimEach(run, await readAnew(run, half)));
  }
}

function claimAlone(run: Run, lacks: readonly Lack[]): Promise<void> {
  return attempts(run.deps, run.context.orb, async () => {
    const again = await claimEach(run, await readAnew(run, lacks));
    if (again.length > 0) throw new Conflict();
  });
}

/** What the entries lack by now. */
async function readAnew({ deps, context, schema }: Run, lacks: readonly Lack[]): Promise<Lack[]> {
  const logs = [...new Set(lacks.map(({ address }) => subjects.entryLog(address)))];
  const anew: Lack[] = [];
  const budget = new ReadBudget(Number.POSITIVE_INFINITY);
  const store = budget.charging(deps.store);
  const read = (some: readonly string[], maxBytes: number) =>
    store.getMany(streams.orb(context.orb), some, { maxBytes });
  for await (const { result } of inParts(budget, logs, read)) {
    for (const message of result.values()) {
      const entry = loaded(message);
      if (entry === null || entry.head.status === "DELETED") continue;
      anew.push(...lacksOf(entry, await keysOf(deps, context, schema, entry)));
    }
  }
  return anew;
}

/**
 * Writes the keys of a group.
 * @returns those that are to be looked at once more: another entry seems to hold the same value
 * @throws Conflict when one of the entries moved: nothing was written
 */
async function claimGroup(run: Run, group: readonly Lack[]): Promise<Lack[]> {
  const { deps, context, schema, result, doubts } = run;
  const wanted = new Map<string, string>();
  for (const { address, key } of group) {
    if (isUniqueKey(key) && !wanted.has(key)) wanted.set(key, address.id);
  }
  const { known, guards, own, taken } = await claimState(deps, context, schema, wanted);
  const holderOf = (key: string) => taken.get(key) ?? wanted.get(key);
  const free: Lack[] = [];
  const doubtful: Lack[] = [];
  for (const lack of group) {
    const { key, seq } = lack;
    const { id } = lack.address;
    const holder = holderOf(key);
    if (holder === undefined || holder === id) {
      free.push(lack);
    } else if (doubts.get(`${id} ${key}`) === seq) {
      // It did not move since another was seen to hold the value: both did, then and there.
      result.shared.set(key, (result.shared.get(key) ?? new Set()).add(holder).add(id));
    } else {
      doubts.set(`${id} ${key}`, seq);
      doubtful.push(lack);
    }
  }
  const messages = free.flatMap(({ address, key }) => {
    if (own.has(key)) return [];
    const change = { adds: [key], frees: [] };
    return [...claimMessages(address, change, known), ...lateMarks(address, change)];
  });
  // A reference guard may be touched once in a batch only.
  const once = [...new Map(messages.map((message) => [message.subject, message])).values()];
  const [first] = free;
  if (first === undefined || once.length === 0) return doubtful;
  // Index messages are hints, which readers verify: those of an entry that moved do no harm.
  const heads = free
    .filter(({ key }) => isUniqueKey(key))
    .map(({ address, seq }) => ({ subject: subjects.entryLog(address), seq }));
  await deps.store.batch(streams.orb(context.orb), guard(first.address, once, [...heads, ...guards]));
  result.written += once.length;
  return doubtful;
}

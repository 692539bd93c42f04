/**
 * Backfill: adds stored entries to the indexes that a new definition needs, while other processes continue to write.
 */

import type { CompiledSchema } from "../../definition/compile.ts";
import type { Deps } from "../../deps.ts";
import { inParallel } from "../../kernel/parallel.ts";
import { ReadBudget } from "../../store/budget.ts";
import { type EntryAddress, streams, subjects } from "../../store/subjects.ts";
import { type Append, Conflict } from "../../store/types.ts";
import { entryKeys, inBatches, readReservations } from "../index/index.ts";
import {
  effective,
  guard,
  isOrderedKey,
  isUniqueKey,
  keyMessages,
  type LoadedEntry,
  lateMarks,
  namedEntry,
  type OrbContext,
  parseEntry,
  parseKey,
} from "../model/index.ts";
import { retryOnConflict } from "../write/index.ts";

/** Maximum messages in one atomic batch: fewer than the 1,000 that a batch holds, because guards come in addition. */
const BATCH = 900;
/** Batches that are under way at the same time. Two with the same unique value conflict, and are written again by halves. */
const AT_ONCE = 4;
/** Maximum messages that an index key needs. A key of an ordered index needs one. */
const PER_KEY = 3;
/** Maximum entries whose words are in one atomic batch. */
const GROUP = 300;
/** Maximum characters of all words that one batch writes. */
const WORDS_SIZE = 1024 * 1024;

/** An index key that an entry needs but that its index does not have yet. */
export interface MissingKey {
  address: EntryAddress;
  seq: number;
  key: string;
}

/** Returns the index keys that an entry needs, for its newest and its published revision. */
export async function keysOf(
  deps: Deps,
  context: OrbContext,
  schema: CompiledSchema,
  entry: LoadedEntry,
): Promise<Set<string>> {
  const { claims, liveClaims } = await entryKeys(deps, context, schema, entry);
  const isLive = effective(entry.head, deps.clock.now()).publishedRevision !== null;
  return new Set([...claims, ...((isLive ? liveClaims : null) ?? [])]);
}

/**
 * @param fresh indexes that replaced an erased index with the same name. Stored keys of the erased index do not count,
 *   so all keys are missing
 */
export function missingKeys(
  { address, head, seq }: LoadedEntry,
  keys: ReadonlySet<string>,
  fresh?: ReadonlySet<string>,
): MissingKey[] {
  const stored = new Set([...head.claims, ...(head.liveClaims ?? [])]);
  const isFresh = (key: string) => fresh !== undefined && isOrderedKey(key) && fresh.has(parseKey(key).field);
  return [...keys].filter((key) => !stored.has(key) || isFresh(key)).map((key) => ({ address, seq, key }));
}

export interface BackfillResult {
  written: number;
  /**
   * Values of a unique field that several entries share: the index key of each, and the ids of the entries. The first
   * entry owns the value.
   */
  shared: Map<string, Set<string>>;
}

export function warnOfShared(deps: Pick<Deps, "log">, { orb, id }: CompiledSchema): void {
  deps.log.warn("entries were written with the same value while their field became unique", {
    orb,
    schema: id,
  });
}

interface Run {
  deps: Deps;
  context: OrbContext;
  schema: CompiledSchema;
  fresh: ReadonlySet<string> | undefined;
  result: BackfillResult;
  doubts: Map<string, number>;
}

/**
 * Writes missing index keys. A unique value is reserved for an entry only if the entry has not changed since it was
 * read.
 */
export async function backfillKeys(
  deps: Deps,
  context: OrbContext,
  schema: CompiledSchema,
  missing: readonly MissingKey[],
  fresh?: ReadonlySet<string>,
): Promise<BackfillResult> {
  const result: BackfillResult = { written: 0, shared: new Map() };
  const run: Run = { deps, context, schema, fresh, result, doubts: new Map() };
  const write = async (group: readonly MissingKey[]) => retryByHalves(run, await backfillEach(run, group));
  await inParallel([...batchesOf(missing)], write, AT_ONCE);
  return run.result;
}

/** Splits index keys into groups that fit into one atomic batch each. */
function* batchesOf(missing: readonly MissingKey[]): Generator<MissingKey[]> {
  let group: MissingKey[] = [];
  let size = 0;
  for (const one of missing) {
    const messages = isOrderedKey(one.key) ? 1 : PER_KEY;
    if (size + messages > BATCH) {
      yield group;
      group = [];
      size = 0;
    }
    group.push(one);
    size += messages;
  }
  if (group.length > 0) yield group;
}

/** Adds missing words of entries to the word index, with one message for each entry. Returns the number of messages. */
export async function backfillWords(
  { store }: Pick<Deps, "store">,
  { orb }: OrbContext,
  missing: readonly MissingKey[],
): Promise<number> {
  const messages = [...Map.groupBy(missing, ({ address }) => address.id).values()].flatMap((some) =>
    some[0] === undefined
      ? []
      : keyMessages(some[0].address, { adds: some.map(({ key }) => key), frees: [] }),
  );
  let batch: Append[] = [];
  let size = 0;
  const write = async () => {
    if (batch.length > 0) await store.batch(streams.orb(orb), batch);
    batch = [];
    size = 0;
  };
  for (const message of messages) {
    batch.push(message);
    size += message.data.length;
    if (batch.length >= GROUP || size >= WORDS_SIZE) await write();
  }
  await write();
  return messages.length;
}

async function backfillEach(run: Run, missing: readonly MissingKey[]): Promise<MissingKey[]> {
  const toRetry: MissingKey[] = [];
  for (const group of batchesOf(missing)) {
    try {
      toRetry.push(...(await backfillGroup(run, group)));
    } catch (error) {
      if (!(error instanceof Conflict)) throw error;
      toRetry.push(...group);
    }
  }
  return toRetry;
}

/**
 * If a batch meets a conflict, splits its entries in halves and retries each half. In the end, only the entries that
 * other processes are changing remain.
 */
async function retryByHalves(run: Run, missing: readonly MissingKey[]): Promise<void> {
  const ids = [...new Set(missing.map(({ address }) => address.id))];
  if (ids.length <= 1) {
    if (missing.length > 0) await retryAlone(run, missing);
    return;
  }
  const first = new Set(ids.slice(0, ids.length / 2));
  for (const one of [true, false]) {
    const half = missing.filter(({ address }) => first.has(address.id) === one);
    await retryByHalves(run, await backfillEach(run, await readMissing(run, half)));
  }
}

function retryAlone(run: Run, missing: readonly MissingKey[]): Promise<void> {
  return retryOnConflict(run.deps, run.context.orb, async () => {
    const toRetry = await backfillEach(run, await readMissing(run, missing));
    if (toRetry.length > 0) throw new Conflict();
  });
}

async function readMissing(
  { deps, context, schema, fresh }: Run,
  missing: readonly MissingKey[],
): Promise<MissingKey[]> {
  const logs = [...new Set(missing.map(({ address }) => subjects.entryLog(address)))];
  const missingNow: MissingKey[] = [];
  const budget = new ReadBudget(Number.POSITIVE_INFINITY);
  const store = budget.charging(deps.store);
  const read = (some: readonly string[], maxBytes: number) =>
    store.getMany(streams.orb(context.orb), some, { maxBytes });
  for await (const { result } of inBatches(budget, logs, read)) {
    for (const message of result.values()) {
      const entry = namedEntry(context.compiled, parseEntry(message));
      if (entry === null || entry.head.status === "DELETED") continue;
      missingNow.push(...missingKeys(entry, await keysOf(deps, context, schema, entry), fresh));
    }
  }
  return missingNow;
}

/**
 * A batch can contain at most one message per subject that replaces the subject's messages (`rollup`) or expects a
 * sequence number. So keeps only one of each.
 */
function distinct(messages: readonly Append[]): Append[] {
  const appended = ({ rollup, expect }: Append) => rollup !== true && expect === undefined;
  const once = new Map(messages.filter((m) => !appended(m)).map((message) => [message.subject, message]));
  return [...once.values(), ...messages.filter(appended)];
}

/**
 * Writes a group of index keys. Returns the keys to try again, because another entry seems to have the same unique
 * value.
 * @throws Conflict if one of the entries changed; nothing was written
 */
async function backfillGroup(run: Run, group: readonly MissingKey[]): Promise<MissingKey[]> {
  const { deps, context, schema, result, doubts } = run;
  const wanted = new Map<string, string>();
  for (const { address, key } of group) {
    if (isUniqueKey(key) && !wanted.has(key)) wanted.set(key, address.id);
  }
  const { known, guards, own, taken } = await readReservations(
    deps,
    context,
    schema,
    wanted,
    new ReadBudget(Number.POSITIVE_INFINITY),
  );
  const holderOf = (key: string) => taken.get(key) ?? wanted.get(key);
  const free: MissingKey[] = [];
  const doubtful: MissingKey[] = [];
  for (const one of group) {
    const { key, seq } = one;
    const { id } = one.address;
    const holder = holderOf(key);
    if (holder === undefined || holder === id) {
      free.push(one);
    } else if (doubts.get(`${id} ${key}`) === seq) {
      // The entry is unchanged since the other owner of the value was found. So both entries really have the value.
      result.shared.set(key, (result.shared.get(key) ?? new Set()).add(holder).add(id));
    } else {
      doubts.set(`${id} ${key}`, seq);
      doubtful.push(one);
    }
  }
  const messages = free.flatMap(({ address, key }) => {
    if (own.has(key)) return [];
    const change = { adds: [key], frees: [] };
    return [...keyMessages(address, change, known), ...lateMarks(address, change)];
  });
  const once = distinct(messages);
  const [first] = free;
  if (first === undefined || once.length === 0) return doubtful;
  // The batch must fail if an entry to which it adds a unique key has changed. Other index keys need no such condition,
  // because readers compare them with the entry.
  const heads = free
    .filter(({ key }) => isUniqueKey(key))
    .map(({ address, seq }) => ({ subject: subjects.entryLog(address), seq }));
  await deps.store.batch(streams.orb(context.orb), guard(first.address, once, [...heads, ...guards]));
  result.written += once.length;
  return doubtful;
}

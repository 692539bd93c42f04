import type { CompiledSchema } from "../../definition/compile.ts";
import type { Values } from "../../definition/validate.ts";
import type { Config, Deps } from "../../deps.ts";
import { AppError, type Fault } from "../../kernel/errors.ts";
import { ReadBudget, SMALL_BYTES } from "../../store/budget.ts";
import { type EntryAddress, streams, subjects } from "../../store/subjects.ts";
import { Conflict, type Consistency } from "../../store/types.ts";
import {
  addressOf,
  type EntrySnapshot,
  type EntryWrite,
  effective,
  formKeys,
  type Guard,
  hasForms,
  indexKeysOf,
  isUniqueKey,
  keySubject,
  type LoadedEntry,
  mayNeedForms,
  namedEntry,
  nameOfToken,
  type OrbContext,
  openValues,
  parseEntry,
  parseKey,
  type RevisionState,
  type StoredEntry,
  type StoredSnapshot,
  secretOf,
  snapshotOf,
  withNames,
} from "../model/index.ts";
import { inBatches } from "./batches.ts";

export interface EntryKeys {
  /** Index keys of the newest revision: strings under which the indexes list the entry. */
  claims: string[];
  liveClaims: string[] | null;
  stale: boolean;
}

/**
 * Reads the published revision from the entry's log of revisions. Returns null if the entry is not published, or if the
 * revision was purged.
 */
export async function publishedOf(
  deps: Pick<Deps, "store">,
  schema: CompiledSchema | undefined,
  { head, address }: Pick<LoadedEntry, "head" | "address">,
  consistency: Consistency = "leader",
): Promise<EntrySnapshot | null> {
  if (head.publishedRevision === null) return null;
  if (head.revision === head.publishedRevision) return head;
  const older = await olderPublished(deps, { head, address }, consistency);
  return older === null ? null : withNames(schema, older);
}

/** Returns the published revision as it is stored. */
export async function storedPublished(
  deps: Pick<Deps, "store">,
  { head, address }: Pick<StoredEntry, "head" | "address">,
): Promise<StoredSnapshot | null> {
  if (head.publishedRevision === null) return null;
  if (head.revision === head.publishedRevision) return head;
  return olderPublished(deps, { head, address }, "leader");
}

async function olderPublished(
  deps: Pick<Deps, "store">,
  { head, address }: { head: RevisionState; address: EntryAddress },
  consistency: Consistency,
): Promise<StoredSnapshot | null> {
  if (head.publishedSeq === null) return null;
  return snapshotOf(await deps.store.getSeq(streams.orb(address.orb), head.publishedSeq, { consistency }));
}

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
 * Returns the keys under which indexes list an entry. Each revision stores its keys. If the definition has changed
 * since, computes the keys from the values.
 */
export async function entryKeys(
  deps: Deps,
  context: OrbContext,
  schema: CompiledSchema | undefined,
  entry: LoadedEntry,
): Promise<EntryKeys> {
  const { head } = entry;
  const follows = head.defRevision === context.revision;
  const secret =
    schema !== undefined && secretOf(schema, [...head.claims, ...(head.liveClaims ?? [])]).length > 0;
  const certain = follows && !secret && !(schema !== undefined && mayNeedForms(schema, head));
  if (schema === undefined || head.status === "DELETED" || certain) {
    return { claims: head.claims, liveClaims: head.liveClaims, stale: false };
  }
  const published = head.liveClaims === null ? null : await publishedOf(deps, schema, entry);
  const claims = (await ofValues(deps, schema, head, indexKeysOf)) ?? head.claims;
  const liveClaims =
    published === null ? null : ((await ofValues(deps, schema, published, indexKeysOf)) ?? head.liveClaims);
  const same = equal(claims, head.claims) && equal(liveClaims, head.liveClaims);
  return { claims, liveClaims, stale: !follows || !same };
}

/** Returns the newest revision of an entry, and the published one if it is another. */
async function shownRevisions(
  deps: Deps,
  schema: CompiledSchema,
  entry: LoadedEntry,
): Promise<EntrySnapshot[]> {
  const published = entry.head.liveClaims === null ? null : await publishedOf(deps, schema, entry);
  return published === null ? [entry.head] : [entry.head, published];
}

/**
 * Finds the unique values that change when they are normalized (white space, invisible characters, Unicode form).
 * Returns a map from the index key of each normalized value to the keys of the value as written.
 */
export async function formsOf(
  deps: Deps,
  schema: CompiledSchema,
  entry: LoadedEntry,
): Promise<Map<string, string[]>> {
  const forms = new Map<string, string[]>();
  if (!hasForms(schema)) return forms;
  for (const snapshot of await shownRevisions(deps, schema, entry)) {
    const some = await ofValues(deps, schema, snapshot, formKeys);
    for (const [key, written] of some ?? []) forms.set(key, written);
  }
  return forms;
}

export async function formsBefore(deps: Deps, schema: CompiledSchema, entry: LoadedEntry): Promise<string[]> {
  const forms = await formsOf(deps, schema, entry);
  return [...forms].filter(([, written]) => holdsAll(entry, written)).map(([key]) => key);
}

function holdsAll({ head }: LoadedEntry, keys: readonly string[] | undefined): boolean {
  return keys?.every((key) => head.claims.includes(key) || head.liveClaims?.includes(key) === true) === true;
}

/** Compares lists of keys. A line break can separate keys, because no key contains one. */
const equal = (a: readonly string[] | null, b: readonly string[] | null) => a?.join("\n") === b?.join("\n");

export interface ReservationState {
  known: Map<string, number>;
  /**
   * Conditions under which the write may commit. Example: the write takes a unique value from an entry whose `validTo`
   * has passed. Then that entry must not change before the commit.
   */
  guards: Guard[];
  own: Set<string>;
  /** Keys of unique values that other entries own, each with the id of the owner. */
  taken: Map<string, string>;
}

const FEWER_VALUES = "Change fewer unique fields in one request.";

/**
 * Finds out which entries own unique values.
 * @param wanted key of each value, with the id of the entry that wants it
 * @throws AppError invalid `too_broad` if the owning entries are too large to read within the budget
 */
export async function readReservations(
  deps: Deps,
  context: OrbContext,
  schema: CompiledSchema,
  wanted: ReadonlyMap<string, string>,
  budget = new ReadBudget(),
): Promise<ReservationState> {
  const state: ReservationState = { known: new Map(), guards: [], own: new Set(), taken: new Map() };
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
  const store = budget.charging(deps.store);
  const charged = { ...deps, store };
  const read = (logs: readonly string[], maxBytes: number) => store.getMany(stream, logs, { maxBytes });
  for await (const { wanted: logs, result } of inBatches(budget, [...keysBy.keys()], read)) {
    budget.require(FEWER_VALUES);
    for (const log of logs) {
      const message = result.get(log);
      const entry = namedEntry(context.compiled, parseEntry(message));
      for (const key of keysBy.get(log) ?? []) {
        const owner = others.get(key) ?? "";
        if (entry !== null && (await ownsNow(charged, context, schema, entry, key)))
          state.taken.set(key, owner);
        // The entry that owns the value does not need it now, for example because its `validTo` has passed. Another
        // entry may take the value, provided that the owner does not change before the commit.
        else state.guards.push({ subject: log, seq: message?.seq ?? 0 });
      }
    }
  }
  return state;
}

export interface KeptEntry {
  entry: LoadedEntry;
  next: EntrySnapshot;
}

/** What a look-up of reservations knows of the write. */
interface Writing {
  /**
   * The entry as stored. Older versions allowed two entries to have the same value in different Unicode forms. Such an
   * entry may keep its value.
   */
  keeping?: KeptEntry | undefined;
  /** Keys of values that the platform chose. If another entry took one, another attempt chooses another value. */
  made?: readonly string[] | undefined;
}

/**
 * Returns which other entries own the unique values that a write gives an entry.
 * @throws AppError conflict `unique_conflict` if other entries own some of the values
 * @throws Conflict if other entries have taken values that the platform chose
 */
export async function lookUpReservations(
  deps: Deps,
  context: OrbContext,
  schema: CompiledSchema,
  address: EntryAddress,
  keys: readonly string[],
  { keeping, made = [] }: Writing = {},
): Promise<ReservationState> {
  const wanted = keys.filter(isUniqueKey).map((key) => [key, address.id] as const);
  const state = await readReservations(deps, context, schema, new Map(wanted));
  if (state.taken.size === 0) return state;
  const kept = keeping === undefined ? undefined : await sharedBefore(deps, schema, keeping);
  const refused = [...state.taken.keys()].filter((key) => kept?.has(key) !== true);
  if (refused.some((key) => made.includes(key))) throw new Conflict();
  if (refused.length > 0) throw refusedValues(schema, refused);
  return state;
}

async function sharedBefore(
  deps: Deps,
  schema: CompiledSchema,
  { entry, next }: KeptEntry,
): Promise<Set<string>> {
  const before = await formsBefore(deps, schema, entry);
  const now = await ofValues(deps, schema, next, formKeys);
  const kept = before.filter((key) => !next.claims.includes(key) || holdsAll(entry, now?.get(key)));
  return new Set(kept);
}

/**
 * Finds out which entries own the unique values that a write adds. Call this only after a failed attempt, because the
 * first attempt succeeds without these reads if no entry owns the values.
 */
export async function withReservations<T extends EntryWrite & Pick<Writing, "made">>(
  deps: Deps,
  context: OrbContext,
  schema: CompiledSchema,
  write: T,
): Promise<T> {
  const { address, claims, made } = write;
  const { known, guards } = await lookUpReservations(deps, context, schema, address, claims.adds, { made });
  return { ...write, known, guards: [...(write.guards ?? []), ...guards] };
}

async function ownsNow(
  deps: Deps,
  context: OrbContext,
  schema: CompiledSchema,
  entry: LoadedEntry,
  key: string,
): Promise<boolean> {
  const held = await entryKeys(deps, context, schema, entry);
  if (held.claims.includes(key)) return true;
  const isLive = effective(entry.head, deps.clock.now()).publishedRevision !== null;
  return isLive && held.liveClaims?.includes(key) === true;
}

/** Returns the error for a write that gives an entry unique values of other entries. */
export function refusedValues(schema: CompiledSchema | undefined, keys: readonly string[]): AppError {
  return uniqueConflict(keys.map((key) => taken(schema, key)));
}

function taken(schema: CompiledSchema | undefined, key: string): Fault {
  const field = nameOfToken(schema, parseKey(key).field);
  return {
    path: `/values/${field.replaceAll(".", "/")}`,
    code: "unique",
    message: "is already used by another entry",
  };
}

function uniqueConflict(errors: Fault[]): AppError {
  const paths = [...new Map(errors.map((fault) => [fault.path, fault])).values()];
  return new AppError(
    "conflict",
    "unique_conflict",
    "A unique value is already used by another entry. Change the fields listed in errors.",
    {
      errors: paths,
    },
  );
}

import type { Deps } from "../../deps.ts";
import { BoundedMap } from "../../kernel/bounded-map.ts";
import { AppError, notFound } from "../../kernel/errors.ts";
import { READ_BYTES } from "../../store/budget.ts";
import { isDeletionMarker, kvEntry } from "../../store/client/index.ts";
import { scanPages } from "../../store/pages.ts";
import { readsAhead } from "../../store/policy.ts";
import { buckets, type Home, kvSubject, streams } from "../../store/subjects.ts";
import type { Consistency, KvEntry } from "../../store/types.ts";
import { isOrbId, runsAfter } from "../document/index.ts";
import type { Fence, LiveOrb } from "../live-orb.ts";
import { compiled } from "./compiled.ts";
import { decidedFence } from "./fence.ts";
import { type EntryDefinition, type ExistingOrb, entryDefinitionOf, exists, orbHead } from "./history.ts";
import { isUnusable, requireReadable, unreadable, unreadableAt } from "./readable.ts";
import { decided, fenceOf, type LiveRecord, type NextDefinition } from "./record.ts";

/**
 * Returns a 404 error. It is the same for missing and unpublished applications, so that callers cannot learn which
 * exist.
 */
export function noLiveOrb(): AppError {
  return notFound("orb", "There is no such orb, or it is not published.");
}

const RECENT = 256;
const recent = new BoundedMap<string, Recent>(RECENT);
interface Recent {
  revision: number;
  time: number;
  live: LiveOrb | null;
  fence: Fence | undefined;
  pending: readonly Home[] | undefined;
  /** A stored record with a definition that waits for the publication of a change set. */
  waiting?: LiveRecord & { next: NextDefinition };
  /** The definition that has waited, once its set is published. */
  decided?: Recent;
}

/** Returns the last definition that this process read. */
export function lastLive(orb: string): LiveOrb | undefined {
  const last = recent.get(orb);
  return (last?.decided ?? last)?.live ?? undefined;
}

/**
 * Returns the definition with which a request can start its work while the current one is being read. Returns undefined
 * if that saves no time.
 */
export function liveAhead({ store }: Pick<Deps, "store">, orb: string): LiveOrb | undefined {
  return readsAhead(store) ? lastLive(orb) : undefined;
}

/** Returns the published definition of an application, or null. */
export async function liveOrb(
  deps: Pick<Deps, "store">,
  orb: string,
  consistency: Consistency = "leader",
): Promise<LiveOrb | null> {
  return (await readLive(deps, orb, consistency))?.live ?? null;
}

/**
 * Returns the published definition of an application. Null if there is none, or if it cannot be used: because it is
 * damaged, or because a newer version stored it.
 */
export async function usableOrb(
  deps: Pick<Deps, "store">,
  orb: string,
  consistency: Consistency = "leader",
): Promise<LiveOrb | null> {
  try {
    return await liveOrb(deps, orb, consistency);
  } catch (error) {
    if (isUnusable(error)) return null;
    throw error;
  }
}

/** Returns the published definition, read from the broker's leader. */
export async function requireLive(deps: Pick<Deps, "store">, orb: string): Promise<LiveOrb> {
  const live = await liveOrb(deps, orb);
  if (live === null) throw noLiveOrb();
  return live;
}

async function readLive(
  deps: Pick<Deps, "store">,
  orb: string,
  consistency: Consistency,
): Promise<Recent | null> {
  if (!isOrbId(orb)) return null;
  const entry = await deps.store.kvGet(buckets.orbs, orb, { consistency });
  if (entry === null) return null;
  const { revision, time } = entry;
  const known = recent.get(orb);
  // The stored definition has not changed, so do not parse it again.
  if (known !== undefined && known.revision === revision && known.time === time)
    return known.waiting === undefined ? known : nowOf(deps, known, known.waiting, consistency);
  const live = tryLive(entry);
  if (live !== null && "reason" in live) throw damagedDefinition(live);
  const record = entry.json<LiveRecord>();
  const { next } = record;
  const waiting = next === undefined ? undefined : { ...record, next };
  const read: Recent = {
    ...{ revision, time, live, fence: fenceOf(record), pending: record.work?.claims },
    ...(waiting === undefined ? {} : { waiting }),
  };
  recent.set(orb, read);
  return waiting === undefined ? read : nowOf(deps, read, waiting, consistency);
}

/**
 * Returns the definition that serves while another one waits for the publication of a change set: the one before, until
 * the set is published. The caller reads the entries with the same consistency, and later.
 */
async function nowOf(
  deps: Pick<Deps, "store">,
  read: Recent,
  record: NonNullable<Recent["waiting"]>,
  consistency: Consistency,
): Promise<Recent> {
  if (read.decided !== undefined) return read.decided;
  const fence = await decidedFence(deps, record, consistency);
  if (fence === undefined) return read;
  // The entries that were published together with the definition must not come from memory as they were before.
  await deps.store.reached?.(streams.orb(record.orb), fence.seq + 1);
  const now = decided(record, record.next, fence);
  const { revision, time } = read;
  read.decided ??= {
    ...{ revision, time, live: liveFrom(now), fence: fenceOf(now), pending: now.work?.claims },
  };
  return read.decided;
}

/**
 * Returns the record of the definition that serves: that of a change set, if the set is published and the process that
 * published it has not stored the record yet.
 */
export async function servingRecord(deps: Pick<Deps, "store">, record: LiveRecord): Promise<LiveRecord> {
  if (record.next === undefined) return record;
  const fence = await decidedFence(deps, record);
  return fence === undefined ? record : decided(record, record.next, fence);
}

function damagedDefinition({ orb, reason, at }: DamagedOrb): AppError {
  if (reason === "newer_version") return unreadable(orb, at ?? "");
  return new AppError(
    "unavailable",
    "definition_damaged",
    "The orb's stored definition is damaged. Read the orb with the management API to restore it.",
    {
      cause: `${orb} ${reason}`,
    },
  );
}

export interface DamagedOrb {
  orb: string;
  keyRevision: number;
  /**
   * Why the stored data cannot be used. Contains none of that data, because the reason is logged. `newer_version`: a
   * newer version of the platform stored it.
   */
  reason: "not_json" | "not_a_definition" | "newer_version";
  /** For `newer_version`: JSON pointer of the first property that this version does not know. */
  at?: string;
}

/** Definitions in one read of the bucket. */
const PER_READ = 256;

/** Yields the stored definitions in the order of their last change, also deleted ones. Reads a few at a time. */
export async function* storedDefinitions(
  { store }: Pick<Deps, "store">,
  fromSeq = 1,
): AsyncGenerator<{ entry: KvEntry; deleted: boolean }> {
  const filter = kvSubject(buckets.orbs, "*");
  const page = { limit: PER_READ, maxBytes: READ_BYTES };
  const read = (from: number) => store.scan(streams.kv(buckets.orbs), filter, { fromSeq: from, ...page });
  for await (const messages of scanPages(read, { fromSeq })) {
    for (const message of messages)
      yield { entry: kvEntry(buckets.orbs, message), deleted: isDeletionMarker(message) };
  }
}

/** Yields the published definitions that are not damaged. Keeps only a few in memory. */
export async function* publishedDefinitions(deps: Pick<Deps, "store">): AsyncGenerator<LiveOrb> {
  for await (const { entry, deleted } of storedDefinitions(deps)) {
    const found = deleted ? null : tryLive(entry);
    if (found !== null && !("reason" in found)) yield found;
  }
}

/** The part of a stored definition that lists of all applications show. */
export interface LiveSummary {
  orb: string;
  name: string | undefined;
  /** The hooks that run after writes, and the schedules. */
  queues: readonly QueueSummary[];
}

export interface QueueSummary {
  id: string;
  /** The hook runs only for later revisions in the stream. Undefined for a schedule. */
  since: number | undefined;
}

/** Version of the stored record. A newer version of the platform may store records with a higher one. */
const STORED_VERSION = 5;

function requireVersion(orb: string, { v }: { v: number }): void {
  if (v > STORED_VERSION) throw unreadable(orb, "/v");
}

/**
 * Returns a stored record.
 * @throws AppError unavailable `definition_unreadable` if a newer version stored it
 */
export function readableRecord(orb: string, record: LiveRecord): LiveRecord {
  requireVersion(orb, record);
  if (record.document !== null) requireReadable(orb, record.document);
  return record;
}

/**
 * Reads a stored definition with `read`, which returns undefined if the record is none.
 * @returns the damage if the message is not JSON, or if `read` fails
 */
function readRecord<T>(entry: KvEntry, read: (record: LiveRecord) => T | undefined): T | DamagedOrb {
  const damaged = (reason: DamagedOrb["reason"]) => ({ orb: entry.key, keyRevision: entry.revision, reason });
  let record: LiveRecord;
  try {
    record = entry.json<LiveRecord>();
  } catch {
    return damaged("not_json");
  }
  try {
    requireVersion(entry.key, record);
    const found = read(record);
    return found === undefined ? damaged("not_a_definition") : found;
  } catch (error) {
    const at = unreadableAt(error);
    return at === undefined ? damaged("not_a_definition") : { ...damaged("newer_version"), at };
  }
}

/**
 * Returns the summary of a stored definition, or null if none is published. Does not compile the definition, because
 * that would take most of the time of a list of all applications.
 */
export function summaryOf(entry: KvEntry): LiveSummary | DamagedOrb | null {
  return readRecord(entry, ({ orb, document, since = {}, fence }) => {
    if (document === null) return null;
    if (orb !== entry.key || !Array.isArray(document.modules)) return undefined;
    const { name, hooks = [], schedules = [] } = document;
    const after = hooks.filter(runsAfter).map(({ id }) => ({ id, since: since[id] ?? fence?.seq ?? 0 }));
    return { orb, name, queues: [...after, ...schedules.map(({ id }) => ({ id, since: undefined }))] };
  });
}

/** Which definition is stored, and which versions activated it and those before. */
export type Activation = Pick<LiveRecord, "orb" | "revision" | "forms" | "damaged">;

/** Returns what is known of the activation of a stored definition. Does not compile the definition. */
export function activationOf(entry: KvEntry): Activation | DamagedOrb {
  return readRecord(entry, ({ orb, revision, forms, damaged }) =>
    orb === entry.key ? { orb, revision, forms, damaged } : undefined,
  );
}

/** Compiles a stored definition. Returns its damage, or undefined if it can be used. */
export function checkLive(entry: KvEntry): DamagedOrb | undefined {
  const found = tryLive(entry);
  return found !== null && "reason" in found ? found : undefined;
}

function tryLive(entry: KvEntry): LiveOrb | DamagedOrb | null {
  return readRecord(entry, (record) => {
    const live = liveFrom(record);
    return live === null || live.orb === entry.key ? live : undefined;
  });
}

/** Used in place of damaged data. Any definition can replace it, because its revision is 0. */
const NOTHING_KNOWN = { v: 1, revision: 0, at: "", document: null } as const;

/**
 * Returns the stored definition, or a placeholder if it is damaged.
 * @throws AppError unavailable `definition_unreadable` if a newer version stored it: no placeholder may replace it
 */
export function recordOf(entry: KvEntry): LiveRecord {
  const found = tryLive(entry);
  const damaged = found !== null && "reason" in found;
  if (damaged && found.reason === "newer_version") throw damagedDefinition(found);
  return damaged
    ? { ...NOTHING_KNOWN, orb: entry.key, work: { claims: [], moves: [] } }
    : entry.json<LiveRecord>();
}

/** For applications without a published definition: the definition that validated the stored entries. */
const bases = new BoundedMap<string, EntryDefinition>(RECENT);

/** Returns the definition that validated the stored entries. It can be older than the newest draft. */
async function basisFor(deps: Pick<Deps, "store">, orb: string, head: ExistingOrb): Promise<EntryDefinition> {
  if (head.basis === head.revision) return { ...head, names: head.names };
  const key = `${orb}/${head.basis}/${head.seq}/${head.at}`;
  const known = bases.get(key);
  if (known !== undefined) return known;
  const basis = await entryDefinitionOf(deps, orb, head);
  bases.set(key, basis);
  return basis;
}

/**
 * Returns the definition that validates entries: the published definition. If none is published, returns the definition
 * with which the stored entries were last validated. Null if the application does not exist.
 */
export async function definitionFor(
  deps: Pick<Deps, "store">,
  orb: string,
  consistency: Consistency = "leader",
): Promise<LiveOrb | null> {
  if (!isOrbId(orb)) return null;
  const read = await readLive(deps, orb, consistency);
  if (read?.live) return read.live;
  const head = await orbHead(deps, orb);
  if (!exists(head)) return null;
  const { revision, document, names } = await basisFor(deps, orb, head);
  const waiting = { fence: read?.fence, pending: read?.pending };
  return { orb, revision, document, compiled: compiled(orb, revision, document, names), ...waiting };
}

function liveFrom(record: LiveRecord): LiveOrb | null {
  const { orb, revision, document, names, scheduled, work } = record;
  if (document === null) return null;
  const fence = fenceOf(record);
  const pending = work?.claims;
  const found = compiled(orb, revision, document, names);
  return { orb, revision, document, compiled: found, fence, pending, scheduled };
}

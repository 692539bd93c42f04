/** Live definitions, which runtime requests read first. One request. */
import type { Deps } from "../../deps.ts";
import { BoundedMap } from "../../kernel/bounded-map.ts";
import { AppError, notFound } from "../../kernel/errors.ts";
import { BUCKET_BYTES } from "../../store/budget.ts";
import { buckets } from "../../store/subjects.ts";
import type { Consistency, KvEntry } from "../../store/types.ts";
import type { OrbDocument } from "../document/document.ts";
import { isOrbId } from "../document/ids.ts";
import type { Fence, LiveOrb } from "../live-orb.ts";
import { compiled } from "./compiled.ts";
import {
  type EntryDefinition,
  type EntryWork,
  type ExistingOrb,
  entryDefinitionOf,
  exists,
  orbHead,
} from "./history.ts";

/** The record of an orb in the bucket `orbs`. */
export interface LiveRecord {
  v: 1;
  orb: string;
  /** Revision of the history message that it comes from. Only a higher revision replaces it. */
  revision: number;
  /** ISO 8601. */
  at: string;
  /** Null if nothing is live. */
  document: OrbDocument | null;
  /** Unfinished work on stored entries. */
  work?: EntryWork | undefined;
  /** The fence that was moved for this record. Missing in records of versions without fences. */
  fence?: Fence | undefined;
}

/** 404 that does not reveal whether an unpublished orb exists, but reminds its author to publish it. */
export function noLiveOrb(): AppError {
  return notFound("orb", "There is no such orb, or it is not published.");
}

const RECENT = 256;
/** The last record read of each orb, with the position of its message. Plain values only. */
const recent = new BoundedMap<string, Recent>(RECENT);
interface Recent {
  revision: number;
  time: number;
  live: LiveOrb | null;
  fence: Fence | undefined;
}

/**
 * Returns the definition that was live at this process's last read, for speculative work while {@link liveOrb}
 * confirms it. If nothing has changed, `liveOrb` returns the same object.
 */
export function lastLive(orb: string): LiveOrb | undefined {
  return recent.get(orb)?.live ?? undefined;
}

/** Returns the live definition of a published orb, or null. One request. */
export async function liveOrb(
  deps: Pick<Deps, "store">,
  orb: string,
  consistency: Consistency = "leader",
): Promise<LiveOrb | null> {
  return (await readLive(deps, orb, consistency))?.live ?? null;
}

/** Reads the live definition from the leader, for the retry of a write. @throws AppError not_found */
export async function requireLive(deps: Pick<Deps, "store">, orb: string): Promise<LiveOrb> {
  const live = await liveOrb(deps, orb);
  if (live === null) throw noLiveOrb();
  return live;
}

/** Reads an orb's record in the bucket, or null. One request. */
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
  // The message is the same, so parsing it again is not needed.
  if (known !== undefined && known.revision === revision && known.time === time) return known;
  const live = tryLive(entry);
  if (live !== null && "reason" in live) throw damagedDefinition(live);
  const read = { revision, time, live, fence: live?.fence ?? entry.json<LiveRecord>().fence };
  recent.set(orb, read);
  return read;
}

/** 503 until an admin reads the orb, which writes its record again. */
function damagedDefinition({ orb, reason }: DamagedOrb): AppError {
  return new AppError(
    "unavailable",
    "definition_damaged",
    "The orb's stored definition is damaged. Read the orb with the management API to restore it.",
    {
      cause: `${orb} ${reason}`,
    },
  );
}

/** A stored live definition that cannot be used. */
export interface DamagedOrb {
  orb: string;
  /** Revision of the key in the bucket `orbs`. */
  keyRevision: number;
  /** The kind of damage. Contains no stored data. */
  reason: "not_json" | "not_a_definition";
}

/**
 * Returns all usable live definitions, ordered by id, and the damaged ones, which it also logs. One request for each
 * 256 orbs.
 */
export async function liveDefinitions(
  deps: Pick<Deps, "store" | "log">,
): Promise<{ orbs: LiveOrb[]; damaged: DamagedOrb[] }> {
  const entries = await deps.store.kvList(buckets.orbs, "*", { maxBytes: BUCKET_BYTES });
  const orbs: LiveOrb[] = [];
  const damaged: DamagedOrb[] = [];
  for (const entry of entries.toSorted((a, b) => (a.key < b.key ? -1 : 1))) {
    const found = tryLive(entry);
    if (found === null) continue;
    if ("reason" in found) {
      damaged.push(found);
      deps.log.error("stored definition is damaged", { orb: found.orb, reason: found.reason });
    } else orbs.push(found);
  }
  return { orbs, damaged };
}

function tryLive(entry: KvEntry): LiveOrb | DamagedOrb | null {
  const damaged = (reason: DamagedOrb["reason"]) => ({ orb: entry.key, keyRevision: entry.revision, reason });
  let record: LiveRecord;
  try {
    record = entry.json<LiveRecord>();
  } catch {
    return damaged("not_json");
  }
  try {
    const live = liveFrom(record);
    return live === null || live.orb === entry.key ? live : damaged("not_a_definition");
  } catch {
    return damaged("not_a_definition");
  }
}

/** Stands for a damaged record. Its work is unknown, so its orb never counts as reconciled. */
const NOTHING_KNOWN = { v: 1, revision: 0, at: "", document: null } as const;

/** Returns an orb's record, or for a damaged one a placeholder that makes reconciling write it again. */
export function recordOf(entry: KvEntry): LiveRecord {
  const found = tryLive(entry);
  const damaged = found !== null && "reason" in found;
  return damaged
    ? { ...NOTHING_KNOWN, orb: entry.key, work: { claims: [], moves: [] } }
    : entry.json<LiveRecord>();
}

/** Returns all usable live definitions, ordered by id. */
export async function liveOrbs(deps: Pick<Deps, "store" | "log">): Promise<LiveOrb[]> {
  return (await liveDefinitions(deps)).orbs;
}

/** The last bases looked up for orbs without a live definition, by head and basis. Plain values only. */
const bases = new BoundedMap<string, EntryDefinition>(RECENT);

/** Returns the basis of an orb. A newer draft that was never validated against stored entries does not count. */
async function basisFor(deps: Pick<Deps, "store">, orb: string, head: ExistingOrb): Promise<EntryDefinition> {
  if (head.basis === head.revision) return head;
  const key = `${orb}/${head.basis}/${head.seq}/${head.at}`;
  const known = bases.get(key);
  if (known !== undefined) return known;
  const basis = await entryDefinitionOf(deps, orb, head);
  bases.set(key, basis);
  return basis;
}

/**
 * Returns the definition that entries are validated against: the live one, else the newest one that was validated
 * against them. Null if there is no such orb. One request if it is live, two otherwise; more the first time if a
 * newer draft exists.
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
  const { revision, document } = await basisFor(deps, orb, head);
  return { orb, revision, document, compiled: compiled(orb, revision, document), fence: read?.fence };
}

function liveFrom(record: LiveRecord): LiveOrb | null {
  const { orb, revision, document, fence } = record;
  if (document === null) return null;
  return { orb, revision, document, compiled: compiled(orb, revision, document), fence };
}

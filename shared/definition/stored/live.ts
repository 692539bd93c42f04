/** What is live: the definitions that runtime requests read first, with one request. */
import type { Deps } from "../../deps.ts";
import { AppError, notFound } from "../../kernel/errors.ts";
import { BUCKET_BYTES } from "../../store/budget.ts";
import { buckets } from "../../store/subjects.ts";
import type { Consistency, KvEntry } from "../../store/types.ts";
import type { OrbDocument } from "../document/document.ts";
import { isOrbId } from "../document/ids.ts";
import type { Fence, LiveOrb } from "../live-orb.ts";
import { compiled } from "./compiled.ts";
import { type Basis, basisOf, type EntryWork, type ExistingOrb, exists, orbHead } from "./history.ts";

/** What the bucket `orbs` holds under an orb's id. */
export interface LiveRecord {
  v: 1;
  orb: string;
  /** Revision of the history message that made it so; only ever replaced by a higher one. */
  revision: number;
  /** ISO 8601. */
  at: string;
  /** Null while nothing is live. */
  document: OrbDocument | null;
  /** What stored entries still have to follow. */
  work?: EntryWork | undefined;
  /** The fence that was moved for this record; missing in records from before there were fences. */
  fence?: Fence | undefined;
}

/** 404: whoever forgot to publish is told what to look for, and nobody which of the two it is. */
export function noLiveOrb(): AppError {
  return notFound("orb", "There is no such orb, or it is not published.");
}

/** What was read last of each orb, with the place of the message that said so. Pure values only. */
const recent = new Map<string, Recent>();
interface Recent {
  revision: number;
  time: number;
  live: LiveOrb | null;
  fence: Fence | undefined;
}
const RECENT = 256;

/**
 * The definition that was live when this process last looked; what to begin with while {@link liveOrb} looks again.
 * The very same object is answered by `liveOrb` when nothing has changed.
 */
export function lastLive(orb: string): LiveOrb | undefined {
  return recent.get(orb)?.live ?? undefined;
}

/** The live definition of a published orb, or null. One request. */
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

/** Reads an orb's record in the bucket; null when there is none. One request. */
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
  // The same message: neither parsed nor compared again.
  if (known !== undefined && known.revision === revision && known.time === time) return known;
  const live = tryLive(entry);
  if (live !== null && "reason" in live) throw damagedDefinition(live);
  const read = { revision, time, live, fence: live?.fence ?? entry.json<LiveRecord>().fence };
  recent.delete(orb);
  recent.set(orb, read);
  const oldest = recent.size > RECENT ? recent.keys().next().value : undefined;
  if (oldest !== undefined) recent.delete(oldest);
  return read;
}

/** 503: nothing of the orb can be served until somebody who manages it reads it, which puts it anew. */
function damagedDefinition({ orb, reason }: DamagedOrb): AppError {
  return new AppError("unavailable", "definition_damaged", "The orb's stored definition is damaged.", {
    cause: `${orb} ${reason}`,
  });
}

/** A live definition that cannot be used: what is stored is not what was written. */
export interface DamagedOrb {
  orb: string;
  /** Revision of the key in the bucket `orbs`. */
  keyRevision: number;
  /** Which kind of damage, without a word of what is stored. */
  reason: "not_json" | "not_a_definition";
}

/** Every live definition in the order of their ids, and those that are damaged, each logged. One request for each 256 orbs. */
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

/** Nothing is known of what is damaged, not even what entries had to follow: so nothing of its orb is settled. */
const NOTHING_KNOWN = { v: 1, revision: 0, at: "", document: null } as const;

/** What the bucket holds of an orb, to judge by what is undone; in place of what is damaged, what no history says. */
export function recordOf(entry: KvEntry): LiveRecord {
  const found = tryLive(entry);
  const damaged = found !== null && "reason" in found;
  return damaged
    ? { ...NOTHING_KNOWN, orb: entry.key, work: { claims: [], moves: [] } }
    : entry.json<LiveRecord>();
}

/** Every live definition that can be used, in the order of their ids. */
export async function liveOrbs(deps: Pick<Deps, "store" | "log">): Promise<LiveOrb[]> {
  return (await liveDefinitions(deps)).orbs;
}

/** What was looked up last for orbs of which nothing is live, by head and basis. Pure values only. */
const bases = new Map<string, Basis>();

/** A draft that was never judged by what is stored does not count, though it is newer. */
async function basisFor(deps: Pick<Deps, "store">, orb: string, head: ExistingOrb): Promise<Basis> {
  if (head.basis === head.revision) return head;
  const key = `${orb}/${head.basis}/${head.seq}/${head.at}`;
  const known = bases.get(key);
  if (known !== undefined) return known;
  const basis = await basisOf(deps, orb, head);
  if (bases.size >= RECENT) bases.clear();
  bases.set(key, basis);
  return basis;
}

/**
 * The definition that entries are checked against: the live one, else the newest that was judged by them; null when there
 * is no such orb. One request when it is live, two otherwise; more the first time where a draft lies above it.
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

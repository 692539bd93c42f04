import type { Deps } from "../../deps.ts";
import { BoundedMap } from "../../kernel/bounded-map.ts";
import { AppError, notFound } from "../../kernel/errors.ts";
import { BUCKET_BYTES } from "../../store/budget.ts";
import { buckets, type Home } from "../../store/subjects.ts";
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

export interface LiveRecord {
  v: 1;
  orb: string;
  /** Revision in the application's history. Only a higher revision can replace the definition. */
  revision: number;
  at: string;
  /** Null if no definition is published. */
  document: OrbDocument | null;
  work?: EntryWork | undefined;
  /**
   * The fence (see {@link Fence}) that belongs to this definition. Missing if the definition was stored before fences
   * existed.
   */
  fence?: Fence | undefined;
  /**
   * For each hook that runs after writes, the stream's sequence number when the hook was published. The hook runs only
   * for later revisions.
   */
  since?: Record<string, number> | undefined;
}

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
}

/**
 * Returns the last definition that this process read. A request can start its work with it while the current definition
 * is being read.
 */
export function lastLive(orb: string): LiveOrb | undefined {
  return recent.get(orb)?.live ?? undefined;
}

/** Returns the published definition of an application, or null. */
export async function liveOrb(
  deps: Pick<Deps, "store">,
  orb: string,
  consistency: Consistency = "leader",
): Promise<LiveOrb | null> {
  return (await readLive(deps, orb, consistency))?.live ?? null;
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
  if (known !== undefined && known.revision === revision && known.time === time) return known;
  const live = tryLive(entry);
  if (live !== null && "reason" in live) throw damagedDefinition(live);
  const { fence, work } = entry.json<LiveRecord>();
  const read = { revision, time, live, fence, pending: work?.claims };
  recent.set(orb, read);
  return read;
}

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

export interface DamagedOrb {
  orb: string;
  keyRevision: number;
  /** Why the stored data is damaged. Contains none of that data, because the reason is logged. */
  reason: "not_json" | "not_a_definition";
}

/** Returns all published definitions ordered by id, and the ids of the damaged ones. */
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

/** Used in place of damaged data. Any definition can replace it, because its revision is 0. */
const NOTHING_KNOWN = { v: 1, revision: 0, at: "", document: null } as const;

/** Returns the stored definition, or a placeholder if it is damaged. */
export function recordOf(entry: KvEntry): LiveRecord {
  const found = tryLive(entry);
  const damaged = found !== null && "reason" in found;
  return damaged
    ? { ...NOTHING_KNOWN, orb: entry.key, work: { claims: [], moves: [] } }
    : entry.json<LiveRecord>();
}

/** Returns all published definitions ordered by id. */
export async function liveOrbs(deps: Pick<Deps, "store" | "log">): Promise<LiveOrb[]> {
  return (await liveDefinitions(deps)).orbs;
}

/** For applications without a published definition: the definition that validated the stored entries. */
const bases = new BoundedMap<string, EntryDefinition>(RECENT);

/** Returns the definition that validated the stored entries. It can be older than the newest draft. */
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
  const { revision, document } = await basisFor(deps, orb, head);
  const waiting = { fence: read?.fence, pending: read?.pending };
  return { orb, revision, document, compiled: compiled(orb, revision, document), ...waiting };
}

function liveFrom(record: LiveRecord): LiveOrb | null {
  const { orb, revision, document, fence, work } = record;
  if (document === null) return null;
  const pending = work?.claims;
  return { orb, revision, document, compiled: compiled(orb, revision, document), fence, pending };
}

/** What is live: the definitions that runtime requests read first, with one request. */
import type { Deps } from "../deps.ts";
import { buckets } from "../store/subjects.ts";
import type { Consistency, KvEntry } from "../store/types.ts";
import { compiled } from "./cache.ts";
import type { CompiledOrb } from "./compile.ts";
import type { OrbDocument } from "./document.ts";
import { type EntryWork, type ExistingOrb, exists, orbHead } from "./history.ts";
import { isOrbId } from "./ids.ts";

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
}

/** A definition, ready for use. */
export interface LiveOrb {
  orb: string;
  /** Revision of the document. */
  revision: number;
  document: OrbDocument;
  compiled: CompiledOrb;
}

/** The live definition of a published orb, or null. One request. */
export async function liveOrb(
  deps: Pick<Deps, "store">,
  orb: string,
  consistency: Consistency = "leader",
): Promise<LiveOrb | null> {
  if (!isOrbId(orb)) return null;
  const entry = await deps.store.kvGet(buckets.orbs, orb, { consistency });
  return entry === null ? null : liveFrom(entry.json<LiveRecord>());
}

/** Every live definition, in no particular order. */
export async function liveOrbs(deps: Pick<Deps, "store">): Promise<LiveOrb[]> {
  const entries = await deps.store.kvList(buckets.orbs, "*");
  return entries.map((entry: KvEntry) => liveFrom(entry.json<LiveRecord>())).filter((live) => live !== null);
}

/** The newest definition of an orb that exists, live or not; null otherwise. One request. */
export async function newestOrb(
  deps: Pick<Deps, "store">,
  orb: string,
): Promise<(LiveOrb & { head: ExistingOrb }) | null> {
  if (!isOrbId(orb)) return null;
  const head = await orbHead(deps, orb);
  if (!exists(head)) return null;
  const { revision, document } = head;
  return { orb, revision, document, compiled: compiled(orb, revision, document), head };
}

/**
 * The definition that entries are checked against: the live one, else the newest; null when there is no such orb.
 * One request when it is live, two otherwise.
 */
export async function definitionFor(deps: Pick<Deps, "store">, orb: string): Promise<LiveOrb | null> {
  if (!isOrbId(orb)) return null;
  return (await liveOrb(deps, orb)) ?? newestOrb(deps, orb);
}

function liveFrom(record: LiveRecord): LiveOrb | null {
  const { orb, revision, document } = record;
  if (document === null) return null;
  return { orb, revision, document, compiled: compiled(orb, revision, document) };
}

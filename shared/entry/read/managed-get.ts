/** Reads one entry for the management API. */
import type { Actor } from "../../access/actor.ts";
import { requireOperator } from "../../access/authorize.ts";
import type { Deps } from "../../deps.ts";
import { notFound } from "../../kernel/errors.ts";
import type { EntryAddress } from "../../store/subjects.ts";
import { publishedOf } from "../index/entry-keys.ts";
import { currentView } from "../model/known.ts";
import { loadEntry, type OrbContext, schemaOf } from "../model/resolve.ts";
import { type EntrySnapshot, type EntryView, effective, entryView } from "../model/snapshot.ts";
import { entryAt, readMoment } from "./at.ts";

export interface ManagedGet {
  orbId: string;
  /** The definition. If it is a promise, the entry is read concurrently. */
  orb: OrbContext | Promise<OrbContext>;
  id: string;
  /** Whether to read the published revision instead of the newest one. */
  published?: boolean | undefined;
  /** The value of `?at=`, not yet parsed. */
  at?: string | undefined;
}

export interface ManagedEntry {
  context: OrbContext;
  address: EntryAddress;
  /** The requested revision as stored. */
  snapshot: EntrySnapshot;
  /** The requested revision as the client sees it. */
  view: EntryView;
  /** Whether the revision is from the past, so that it includes values that the definition no longer has. */
  past: boolean;
  /** Number of the newest revision, for the ETag. */
  newest: number;
}

/**
 * Reads one entry: its newest or published revision, or the one at a time in the past.
 * @throws AppError not_found `entry_not_found`, `revision_not_found`; malformed; forbidden, unauthenticated
 */
export async function getManaged(deps: Deps, actor: Actor, input: ManagedGet): Promise<ManagedEntry> {
  requireOperator(actor, "entries.manage");
  const at = input.at === undefined ? undefined : readMoment(input.at);
  const [context, entry] = await Promise.all([input.orb, loadEntry(deps, input.orbId, input.id)]);
  if (entry === null) throw notFound("entry");
  const now = deps.clock.now();
  const newest = effective(entry.head, now);
  const base = { context, address: entry.address, newest: newest.revision };
  const schema = schemaOf(context.compiled, entry.address);
  const current = (snapshot: EntrySnapshot): ManagedEntry => {
    return { ...base, snapshot, view: currentView(snapshot, schema), past: false };
  };
  if (at !== undefined && at < now) {
    const past = await entryAt(deps, entry.address, at);
    if (past === null) throw notFound("entry", "The entry did not exist at that time.");
    return { ...base, snapshot: past.snapshot, view: entryView(past.snapshot, schema), past: true };
  }
  if (newest.status === "DELETED") throw notFound("entry");
  if (input.published !== true) return current(newest);
  const live = await publishedOf(deps, { head: newest, address: entry.address });
  if (live === null) throw notFound("revision", "No revision of the entry is published.");
  return current(live);
}

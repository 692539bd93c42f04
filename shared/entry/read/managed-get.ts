import type { Actor } from "../../access/actor.ts";
import { requireOperator } from "../../access/authorize.ts";
import type { CompiledSchema } from "../../definition/compile.ts";
import type { Deps } from "../../deps.ts";
import { notFound } from "../../kernel/errors.ts";
import type { EntryAddress } from "../../store/subjects.ts";
import { publishedOf } from "../index/index.ts";
import {
  currentView,
  type EntrySnapshot,
  type EntryView,
  effective,
  entryView,
  loadEntry,
  namedEntry,
  type OrbContext,
  schemaOf,
  withNames,
} from "../model/index.ts";
import { entryAt, readMoment } from "./at.ts";

export interface ManagedGet {
  orbId: string;
  orb: OrbContext | Promise<OrbContext>;
  id: string;
  /** `published`: the live revision. Otherwise the newest one. */
  revision?: "published" | "latest" | undefined;
  at?: string | undefined;
}

export interface ManagedEntry {
  context: OrbContext;
  address: EntryAddress;
  schema: CompiledSchema | undefined;
  snapshot: EntrySnapshot;
  view: EntryView;
  /** Whether to include values of fields that the application's definition no longer has. */
  past: boolean;
  newest: number;
}

/** Returns the schema of an entry, which it keeps. Undefined if there is no such entry, or no such schema any more. */
export async function schemaOfEntry(
  deps: Deps,
  { orb, compiled }: OrbContext,
  id: string,
): Promise<CompiledSchema | undefined> {
  const entry = await loadEntry(deps, orb, id);
  return entry === null ? undefined : schemaOf(compiled, entry.address);
}

/** Reads one entry for the management API: its newest or published revision, or the revision at a past time. */
export async function getManaged(deps: Deps, actor: Actor, input: ManagedGet): Promise<ManagedEntry> {
  requireOperator(actor, "entries.read", input.orbId);
  const at = input.at === undefined ? undefined : readMoment(input.at, input.revision);
  const [context, stored] = await Promise.all([input.orb, loadEntry(deps, input.orbId, input.id)]);
  if (stored === null) throw notFound("entry");
  deps.sawDefinition?.(stored.head.defRevision);
  const entry = namedEntry(context.compiled, stored);
  const now = deps.clock.now();
  const newest = effective(entry.head, now);
  const schema = schemaOf(context.compiled, entry.address);
  const base = { context, address: entry.address, schema, newest: newest.revision };
  const current = (snapshot: EntrySnapshot): ManagedEntry => {
    return { ...base, snapshot, view: currentView(snapshot, schema), past: false };
  };
  if (at !== undefined && at < now) {
    const past = await entryAt(deps, entry.address, at);
    if (past === null) throw notFound("entry", "The entry did not exist at that time.");
    const snapshot = withNames(schema, past.snapshot);
    return { ...base, snapshot, view: entryView(snapshot, schema), past: true };
  }
  if (newest.status === "DELETED") throw notFound("entry");
  if (input.revision !== "published") return current(newest);
  const live = await publishedOf(deps, schema, { head: newest, address: entry.address });
  if (live === null) throw notFound("revision", "No revision of the entry is published.");
  return current(live);
}

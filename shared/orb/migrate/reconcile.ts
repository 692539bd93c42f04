/**
 * Repairs everything that derives from an application's history, such as the active definition and the indexes. A
 * change is committed as soon as it is in the history. The steps that follow can be repeated. After an interruption,
 * the next management request or the next start of the platform completes them.
 */
import { eraseRealm } from "../../access/users.ts";
import { homeKey, type OrbDocument } from "../../definition/document/index.ts";
import { type Fence, stopsWrites } from "../../definition/live-orb.ts";
import type { StoredNames } from "../../definition/names/index.ts";
import {
  activateRecord,
  addedTo,
  appendRecord,
  type CurrentLiveRecord,
  compileStored,
  concernsOneOrb,
  type EntryWork,
  entryDefinitionOf,
  exists,
  headOf,
  isAlive,
  isAwaiting,
  isReconciled,
  isUnusable,
  type LiveRecord,
  liveRecord,
  nextRevision,
  type OrbHead,
  orbHead,
  putDeleted,
  recordOf,
  type StoredLiveRecord,
  settleAwaited,
  storedDefinitions,
  wantedRecord,
  withoutWork,
} from "../../definition/stored/index.ts";
import type { Deps } from "../../deps.ts";
import { inBatches } from "../../entry/index/index.ts";
import { backfillExisting, cancelScheduled, moveLive, warnOfShared } from "../../entry/migrate/index.ts";
import { compactSchemas, indexesOf, isUntouched, removeIndex } from "../../entry/ordered/index.ts";
import { indexBytes, ReadBudget } from "../../store/budget.ts";
import { eraseUnsaved, unsavedKeys } from "../../store/editing.ts";
import { fileStream } from "../../store/file-subjects.ts";
import { nullOnConflict, scanPages } from "../../store/pages.ts";
import { buckets, streams, subjects } from "../../store/subjects.ts";
import { StreamMissing } from "../../store/types.ts";

/**
 * Activates an application's newest published definition, and migrates the stored entries to it. For an application
 * that is being deleted, finishes the deletion. Does nothing if an earlier call has done all of it.
 * @param moved the fence (the marker that writes expect unchanged), if the caller has already changed it for this
 *   revision
 */
export async function reconcileOrb(deps: Deps, orb: string, head: OrbHead, moved?: Fence): Promise<void> {
  if (head.operation === "deleting") return finishDeletion(deps, orb, head);
  const current = await liveRecord(deps, orb);
  if (isAwaiting(head, current?.record ?? null)) {
    const now = await settleAwaited(deps, orb, true);
    return now === null ? undefined : reconcileOrb(deps, orb, now);
  }
  if (isReconciled(head, current?.record ?? null) || stopsWrites(current?.record.damaged)) return;
  const record = await wantedRecord(deps, orb, head);
  if (record !== null) await followUp(deps, await activateRecord(deps, record, current, moved), head);
}

/** Migrates stored entries to the active definition, then marks the migration as done. */
async function followUp(deps: Deps, current: CurrentLiveRecord, head: OrbHead): Promise<void> {
  if (current?.record.work === undefined) return;
  const { work } = current.record;
  const done = withoutWork(current.record);
  const { orb, revision } = done;
  const basis = done.document === null && exists(head) ? await entryDefinitionOf(deps, orb, head) : null;
  const { document, names } = done.document === null ? (basis ?? done) : done;
  await doWork(deps, current, work, { revision, document, names });
  // A conflict means that another process has finished the migration or activated another definition.
  await nullOnConflict(
    deps.store.kvPut(buckets.orbs, done.orb, JSON.stringify(done), { expect: current.revision }),
  );
}

async function doWork(
  deps: Deps,
  current: StoredLiveRecord,
  work: EntryWork,
  definition: { revision: number; document: OrbDocument | null; names: StoredNames | undefined },
): Promise<void> {
  const { orb } = current.record;
  for (const { from, to, ...home } of work.moves) {
    if (to !== null) await moveLive(deps, orb, home, { from, to, fence: current.record.fence });
    else if (from !== null) {
      await cancelScheduled(deps, orb, home, current.record.fence);
      await erase(deps, current, subjects.schemaLive({ orb, ...home }, from));
    }
  }
  const { claims, removed = [] } = work;
  // Without work, do not compile the definition. A damaged definition cannot be compiled, but an admin must still be
  // able to read the application.
  if (claims.length === 0 && removed.length === 0) return;
  const compiled =
    definition.document === null ? undefined : compileStored(orb, definition.document, definition.names);
  for (const { field, ...home } of removed) {
    const schema = compiled?.byHome.get(homeKey(home));
    if (schema !== undefined && indexesOf(schema).includes(field)) continue;
    await removeIndex(deps, { orb, ...home, field }, current.record.fence, (filter) =>
      erase(deps, current, filter),
    );
  }
  if (compiled === undefined) return;
  for (const { since, first, roots, ...home } of claims) {
    const schema = compiled.byHome.get(homeKey(home));
    if (schema === undefined) continue;
    const isBuilt =
      since !== undefined && (await isUntouched(deps, { orb, ...home }, { since, first, roots }));
    const { duplicates } = await backfillExisting(
      deps,
      { orb, revision: definition.revision, compiled },
      schema,
      { fresh: addedTo(work, home), ...(isBuilt ? { since } : {}) },
    );
    if (duplicates.length > 0) warnOfShared(deps, schema);
    await compactSchemas(deps, current.record, [schema]);
  }
}

/**
 * Erases the published copies of a removed schema, or a removed index. Does nothing if the stored definition has
 * changed, because a new schema or index may have the same name.
 */
async function erase(deps: Deps, { record, revision }: StoredLiveRecord, filter: string): Promise<void> {
  const stream = streams.orb(record.orb);
  const info = await deps.store.streamInfo(stream);
  if (info === null || (await liveRecord(deps, record.orb))?.revision !== revision) return;
  try {
    await deps.store.purge(stream, filter, { beforeSeq: info.state.last_seq + 1 });
  } catch (error) {
    if (!(error instanceof StreamMissing)) throw error;
  }
}

/** Marks an application as being deleted. {@link finishDeletion} erases its data. */
export async function beginDeletion(deps: Deps, orb: string, head: OrbHead, by: string): Promise<OrbHead> {
  const act = { operation: "deleting", by, now: deps.clock.now() } as const;
  const gone = { status: null, publishedRevision: null, document: null, summary: [`deleted orb ${orb}`] };
  const record = nextRevision(head, act, gone);
  return { ...record, seq: await appendRecord(deps, orb, record, head.seq) };
}

/**
 * Erases a deleted application. Begins with the definition, because requests without it get no data that is being
 * erased. Frees the id last, so that a new application cannot get old data.
 */
export async function finishDeletion(deps: Deps, orb: string, head: OrbHead): Promise<void> {
  await putDeleted(deps, orb, head);
  const underWay = async () => (await orbHead(deps, orb))?.seq === head.seq;
  if (!(await underWay())) return;
  await deps.store.deleteStream(streams.orb(orb));
  await deps.store.deleteStream(fileStream(orb));
  if (!(await underWay())) return;
  await eraseRealm(deps, orb);
  await Promise.all([eraseDeliveries(deps, orb), eraseUnsaved(deps.store, unsavedKeys.ofOrb(orb))]);
  const done = nextRevision(
    head,
    { operation: "deleted", by: head.by, now: deps.clock.now() },
    { summary: ["deleted"] },
  );
  // A conflict means that another call has finished the deletion.
  await nullOnConflict(appendRecord(deps, orb, done, head.seq, [placeTombstone(orb)]));
}

async function eraseDeliveries(deps: Deps, orb: string): Promise<void> {
  try {
    await deps.store.purge(streams.hooks, subjects.hooksOf(orb));
  } catch (error) {
    // The stream is missing if an earlier version of the platform set up the broker.
    if (!(error instanceof StreamMissing)) throw error;
  }
}

/** Erases an interrupted import. Returns false if the import is still running, even if on another host. */
export async function eraseAbandoned(deps: Deps, orb: string, head: OrbHead): Promise<boolean> {
  if (await isAlive(deps, orb, head)) return false;
  // A conflict means that another process erased the application, or that its import has just finished.
  const erasing = beginDeletion(deps, orb, head, head.by).then((began) => finishDeletion(deps, orb, began));
  return (await nullOnConflict(erasing)) !== null;
}

/** Returns the message that removes an application from the list of applications. */
export function placeTombstone(orb: string) {
  return { subject: subjects.orbPlace(orb), data: "", rollup: true, ttl: 1 };
}

/** Returns the stored definitions of all applications. `undefined`: a newer version stored it. */
async function liveRecords(deps: Deps): Promise<Map<string, LiveRecord | undefined>> {
  const live = new Map<string, LiveRecord | undefined>();
  for await (const { entry, deleted } of storedDefinitions(deps)) {
    if (deleted) continue;
    try {
      live.set(entry.key, recordOf(entry));
    } catch (error) {
      if (!isUnusable(error)) throw error;
      deps.log.error("the stored definition of an application is unreadable", {
        orb: entry.key,
        error: String(error),
      });
      live.set(entry.key, undefined);
    }
  }
  return live;
}

/** Repairs one application. Returns whether it needed a repair. */
async function mend(deps: Deps, orb: string, head: OrbHead, live: LiveRecord | null): Promise<boolean> {
  try {
    if (head.operation === "importing") return await eraseAbandoned(deps, orb, head);
    if (head.operation !== "deleting" && isReconciled(head, live)) return false;
    await reconcileOrb(deps, orb, head);
    return true;
  } catch (error) {
    // One application must not stop the start of all others.
    if (!concernsOneOrb(error)) throw error;
    deps.log.error("an application could not be repaired; the next start tries again", {
      orb,
      error: String(error),
    });
    return false;
  }
}

/** Repairs all applications when the platform starts. Returns how many needed a repair. */
export async function reconcileAll(deps: Deps): Promise<number> {
  let mended = 0;
  const budget = new ReadBudget(Number.POSITIVE_INFINITY);
  const store = budget.charging(deps.store);
  const live = await liveRecords(deps);
  const places = scanPages((fromSeq) =>
    deps.store.scan(streams.platform, subjects.allOrbPlaces, {
      fromSeq,
      limit: 100,
      maxBytes: indexBytes(100),
    }),
  );
  for await (const messages of places) {
    const orbs = messages.map((message) => message.subject.split(".").at(-1) ?? "");
    const read = (some: readonly string[], maxBytes: number) =>
      store.getMany(streams.platform, some.map(subjects.orbHistory), { maxBytes });
    for await (const { wanted, result } of inBatches(budget, orbs, read)) {
      for (const orb of wanted) {
        const message = result.get(subjects.orbHistory(orb));
        if (message === undefined) continue;
        const head = headOf(message);
        const isUnreadable = live.has(orb) && live.get(orb) === undefined;
        if (isUnreadable && head.operation !== "deleting") continue;
        if (await mend(deps, orb, head, live.get(orb) ?? null)) mended++;
      }
    }
  }
  return mended;
}

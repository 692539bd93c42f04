/**
 * Brings everything that is derived from an orb's history into line with it. Across streams nothing is atomic, so the
 * history is the commit point, and each step here can be repeated by whoever finds it undone: the call that began it,
 * the next one, or the next start.
 */
import { eraseRealm } from "../../access/users.ts";
import { compileOrb } from "../../definition/compile.ts";
import type { OrbDocument } from "../../definition/document/document.ts";
import type { Fence } from "../../definition/live-orb.ts";
import {
  appendRecord,
  basisOf,
  type EntryWork,
  exists,
  following,
  headOf,
  type OrbHead,
  orbHead,
} from "../../definition/stored/history.ts";
import { isAlive } from "../../definition/stored/importing.ts";
import { type LiveRecord, recordOf } from "../../definition/stored/live.ts";
import {
  type Current,
  type Found,
  liveRecord,
  putGone,
  putInForce,
  settled,
  wantedRecord,
} from "../../definition/stored/live-record.ts";
import type { Deps } from "../../deps.ts";
import { inParts } from "../../entry/index/parts.ts";
import { cancelScheduled, claimExisting, moveLive } from "../../entry/migrate/publishing.ts";
import { warnOfShared } from "../../entry/write/claiming.ts";
import { orbStreamConfig } from "../../store/broker/provision.ts";
import { BUCKET_BYTES, indexBytes, ReadBudget } from "../../store/budget.ts";
import { buckets, streams, subjects } from "../../store/subjects.ts";
import { Conflict, StreamMissing } from "../../store/types.ts";

/**
 * Finishes what is undone of an orb. Does nothing, and reads once, when all is done.
 * @param moved the fence that was moved for this very revision already
 */
export async function settle(deps: Deps, orb: string, head: OrbHead, moved?: Fence): Promise<void> {
  if (head.operation === "deleting") return finishDeletion(deps, orb, head);
  const current = await liveRecord(deps, orb);
  if (settled(head, current?.record ?? null)) return;
  const record = await wantedRecord(deps, orb, head);
  if (record !== null) await followUp(deps, await putInForce(deps, record, current, moved), head);
}

/**
 * Lets stored entries follow the definition that came into force, and then says that they did.
 */
async function followUp(deps: Deps, current: Current, head: OrbHead): Promise<void> {
  if (current?.record.work === undefined) return;
  const { work, ...done } = current.record;
  const { orb, revision } = done;
  const basis = done.document === null && exists(head) ? await basisOf(deps, orb, head) : null;
  await doWork(deps, current, work, { revision, document: done.document ?? basis?.document ?? null });
  try {
    await deps.store.kvPut(buckets.orbs, done.orb, JSON.stringify(done), { expect: current.revision });
  } catch (error) {
    if (!(error instanceof Conflict)) throw error; // somebody else finished it, or went on from it
  }
}

/** What entries have to follow. Every part of it can be repeated. */
async function doWork(
  deps: Deps,
  current: Found,
  work: EntryWork,
  definition: { revision: number; document: OrbDocument | null },
): Promise<void> {
  const { orb } = current.record;
  for (const { from, to, ...home } of work.moves) {
    if (to !== null) await moveLive(deps, orb, home, { from, to, fence: current.record.fence });
    else if (from !== null) {
      await cancelScheduled(deps, orb, home, current.record.fence);
      await eraseLive(deps, current, subjects.schemaLive({ orb, ...home }, from));
    }
  }
  if (definition.document === null || work.claims.length === 0) return;
  const compiled = compileOrb(definition.document);
  for (const home of work.claims) {
    const schema = compiled.byType.get(`${home.type}/${home.schema}`);
    if (schema === undefined) continue;
    const { duplicates } = await claimExisting(
      deps,
      { orb, revision: definition.revision, compiled },
      schema,
    );
    if (duplicates.length > 0) warnOfShared(deps, schema);
  }
}

/**
 * Erases the live copies of a schema that is gone: those that are there while it is gone. Somebody else may have done the
 * work meanwhile, and the schema may have come back.
 */
async function eraseLive(deps: Deps, { record, revision }: Found, filter: string): Promise<void> {
  const stream = streams.orb(record.orb);
  const info = await deps.store.streamInfo(stream);
  if (info === null || (await liveRecord(deps, record.orb))?.revision !== revision) return;
  try {
    await deps.store.purge(stream, filter, { beforeSeq: info.state.last_seq + 1 });
  } catch (error) {
    if (!(error instanceof StreamMissing)) throw error;
  }
}

/** Creates the stream that holds an orb's entries; it may exist. @throws SubjectsTaken */
export function createOrbStream(deps: Deps, orb: string): Promise<void> {
  return deps.store.createStream(orbStreamConfig(orb, deps.config.replicas));
}

/** Commits a deletion; its steps follow. @throws Conflict */
export async function beginDeletion(deps: Deps, orb: string, head: OrbHead, by: string): Promise<OrbHead> {
  const act = { operation: "deleting", by, now: deps.clock.now() } as const;
  const gone = { status: null, publishedRevision: null, document: null, summary: [`deleted orb ${orb}`] };
  const record = following(head, act, gone);
  return { ...record, seq: await appendRecord(deps, orb, record, head.seq) };
}

/**
 * The steps of a deletion after `deleting` was appended. The live definition goes first, so that no request is served
 * from what is being erased; `deleted` comes last, so that nobody creates the orb anew before all is gone. Of two calls
 * at once the slower one stops where the other has finished: what is there then may be somebody's new orb.
 */
export async function finishDeletion(deps: Deps, orb: string, head: OrbHead): Promise<void> {
  await putGone(deps, orb, head);
  const underWay = async () => (await orbHead(deps, orb))?.seq === head.seq;
  if (!(await underWay())) return;
  await deps.store.deleteStream(streams.orb(orb));
  if (!(await underWay())) return;
  await eraseRealm(deps, orb);
  const done = following(
    head,
    { operation: "deleted", by: head.by, now: deps.clock.now() },
    { summary: ["deleted"] },
  );
  try {
    await appendRecord(deps, orb, done, head.seq, [leavePlace(orb)]);
  } catch (error) {
    if (!(error instanceof Conflict)) throw error; // another call finished it
  }
}

/** Erases an import that nobody is at any more: half an orb is none. False while somebody is, maybe another host. */
export async function eraseAbandoned(deps: Deps, orb: string, head: OrbHead): Promise<boolean> {
  if (await isAlive(deps, orb, head)) return false;
  try {
    await finishDeletion(deps, orb, await beginDeletion(deps, orb, head, head.by));
    return true;
  } catch (error) {
    if (!(error instanceof Conflict)) throw error;
    return false; // somebody else did, or it was finished in this very moment
  }
}

/** The tombstone over an orb's place in the list. */
export function leavePlace(orb: string) {
  return { subject: subjects.orbPlace(orb), data: "", rollup: true, ttl: 1 };
}

/** Finishes whatever is undone of all orbs: called where the platform starts. Answers how many needed it. */
export async function settleAll(deps: Deps): Promise<number> {
  let mended = 0;
  const budget = new ReadBudget(Number.POSITIVE_INFINITY);
  const store = budget.charging(deps.store);
  const live = new Map<string, LiveRecord>();
  for (const entry of await deps.store.kvList(buckets.orbs, "*", { maxBytes: BUCKET_BYTES }))
    live.set(entry.key, recordOf(entry));
  for (let fromSeq = 1; ; ) {
    const page = await deps.store.scan(streams.platform, subjects.allOrbPlaces, {
      fromSeq,
      limit: 100,
      maxBytes: indexBytes(100),
    });
    const orbs = page.messages.map((message) => message.subject.split(".").at(-1) ?? "");
    const read = (some: readonly string[], maxBytes: number) =>
      store.getMany(streams.platform, some.map(subjects.orbHistory), { maxBytes });
    for await (const { wanted, result } of inParts(budget, orbs, read)) {
      for (const orb of wanted) {
        const message = result.get(subjects.orbHistory(orb));
        if (message === undefined) continue;
        const head = headOf(message);
        if (head.operation === "importing") {
          if (await eraseAbandoned(deps, orb, head)) mended++;
          continue;
        }
        if (head.operation !== "deleting" && settled(head, live.get(orb) ?? null)) continue;
        await settle(deps, orb, head);
        mended++;
      }
    }
    const last = page.messages.at(-1);
    if (page.pending === 0 || last === undefined) return mended;
    fromSeq = last.seq + 1;
  }
}

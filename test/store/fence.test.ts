/**
 * The fence of an orb: the broker stores no write that was decided under an outdated definition, from any host and at
 * any speed.
 */

import { expect, test } from "vitest";
import { homeOf } from "../../shared/definition/document/home.ts";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import { definitionFor } from "../../shared/definition/stored/live.ts";
import { liveRecord } from "../../shared/definition/stored/live-record.ts";
import { createEntry, loadEntry, updateEntry } from "../../shared/entry/index.ts";
import { liveCopyOf, snapshotOf } from "../../shared/entry/model/snapshot.ts";
import { AppError } from "../../shared/kernel/errors.ts";
import { createOrb } from "../../shared/orb/create.ts";
import { deleteOrb, publishOrb, unpublishOrb } from "../../shared/orb/operate.ts";
import { updateOrb } from "../../shared/orb/update.ts";
import { openStore } from "../../shared/store/broker/store.ts";
import { cachedStore } from "../../shared/store/cache/cached-store.ts";
import { buckets, streams, subjects } from "../../shared/store/subjects.ts";
import { Conflict } from "../../shared/store/types.ts";
import {
  admin,
  failureOf,
  fileDeps,
  storedValues,
  type TestDeps,
  testDeps,
  user,
} from "../support/entries.ts";

const { broker, store, deps } = await fileDeps();

let number = 0;
const fresh = () => `fenced-${++number}`;
const document = (id: string, access: object = { read: "public", write: "user" }, more: object = {}) => ({
  id,
  modules: [
    {
      id: "news",
      type: "CONTENT",
      schemas: [{ id: "article", access, fields: [{ name: "title", type: "string", ...more }] }],
    },
  ],
});
async function inForce(orb: string, by = deps): Promise<LiveOrb> {
  const found = await definitionFor(by, orb, "cached");
  if (found === null) throw new Error("there is no such orb");
  return found;
}
const create = (by: LiveOrb, title: string, publish = false, actor = admin, on = deps) =>
  createEntry(on, actor, { orbId: by.orb, orb: by, module: "news", values: { title }, publish });
const logOf = (orb: string, id: string) => subjects.entryLog({ orb, ...homeOf("CONTENT", "article"), id });
const endOf = async (orb: string) => (await store.streamInfo(streams.orb(orb)))?.state.last_seq ?? 0;

test("decides a write again under the active definition, which refuses it", async () => {
  const orb = fresh();
  await createOrb(deps, admin, { document: document(orb), publish: true });
  const member = user("ann");
  const old = await inForce(orb);
  const { snapshot } = await create(old, "mine", false, member);
  await updateOrb(deps, admin, {
    orb,
    document: document(orb, { read: "public", write: "owner" }),
    publish: true,
  });
  const before = await endOf(orb);
  for (const publish of [false, true])
    expect((await failureOf(create(old, "late", publish, member))).code).toBe("forbidden");
  // A refused create leaves at most hints, which readers ignore.
  const { messages } = await store.scan(streams.orb(orb), subjects.allLogs(orb), {
    fromSeq: before + 1,
    limit: 9,
    maxBytes: 64 * 1024 * 1024,
  });
  expect(messages).toEqual([]);
  const change = { orbId: orb, orb: old, id: snapshot.id, values: { title: "late" } };
  // A draft that its author can no longer write does not exist for them.
  expect((await failureOf(updateEntry(deps, member, change))).code).toBe("entry_not_found");
  // A draft is a single message, so it was reverted by another one.
  const head = (await loadEntry(deps, orb, snapshot.id))?.head;
  expect(head).toMatchObject({
    revision: 3,
    operation: "revert",
    updatedBy: "system",
    values: { title: "mine" },
  });
});

test("does not revert a draft that was stored before the fence moved", async () => {
  const orb = fresh();
  await createOrb(deps, admin, { document: document(orb), publish: true });
  const old = await inForce(orb);
  const { snapshot } = await create(old, "first");
  let moved = false;
  // The definition changes between the write of the head and the check of the fence.
  const slow: TestDeps = {
    ...deps,
    store: {
      ...store,
      async append(stream, message) {
        if (message.subject.includes("._guard.") && !moved) {
          moved = true;
          await updateOrb(deps, admin, { orb, document: document(orb, { read: "admin" }), publish: true });
        }
        return store.append(stream, message);
      },
    },
  };
  const made = await updateEntry(slow, admin, {
    orbId: orb,
    orb: old,
    id: snapshot.id,
    values: { title: "b" },
  });
  expect(moved).toBe(true);
  expect(made.snapshot).toMatchObject({ revision: 2, defRevision: 1 });
  expect((await loadEntry(deps, orb, snapshot.id))?.seq).toBe(made.seq);
});

test("refuses writes decided under a deleted orb after it was recreated", async () => {
  const orb = fresh();
  await createOrb(deps, admin, { document: document(orb), publish: true });
  const old = await inForce(orb);
  const unfenced = { ...old, fence: undefined };
  await deleteOrb(deps, admin, { orb });
  const closed = document(orb, { read: "admin", write: "owner" });
  await createOrb(deps, admin, { document: closed, publish: true });
  const before = await endOf(orb);
  for (const by of [old, unfenced])
    for (const publish of [true, false])
      expect((await failureOf(create(by, "late", publish, user("ann")))).code).toBe("forbidden");
  const { messages } = await store.scan(streams.orb(orb), subjects.allLogs(orb), {
    fromSeq: before + 1,
    limit: 9,
    maxBytes: 64 * 1024 * 1024,
  });
  expect(messages).toEqual([]);
});

test("accepts writes to an orb from before fences existed, and adds a fence at its next change", async () => {
  const orb = fresh();
  await createOrb(deps, admin, { document: document(orb) });
  await publishOrb(deps, admin, { orb });
  // Restore the record as it was stored then.
  await store.deleteStream(streams.orb(orb));
  const found = await liveRecord(deps, orb);
  const { fence: _, ...record } = found?.record ?? { fence: undefined };
  await store.kvPut(buckets.orbs, orb, JSON.stringify(record), { expect: found?.revision ?? 0 });
  const old = await inForce(orb);
  expect(old.fence).toBeUndefined();
  const { snapshot } = await create(old, "first", true);
  await updateEntry(deps, admin, { orbId: orb, orb: old, id: snapshot.id, values: { title: "second" } });
  await unpublishOrb(deps, admin, { orb });
  const late = await create(old, "late");
  expect((await liveRecord(deps, orb))?.record.fence?.seq).toBeGreaterThan(0);
  expect(late.seq).toBeGreaterThan((await liveRecord(deps, orb))?.record.fence?.seq ?? 0);
});

test("a writer repairs a live record that does not name the current fence", async () => {
  const orb = fresh();
  await createOrb(deps, admin, { document: document(orb), publish: true });
  const by = await inForce(orb);
  const fence = by.fence ?? { incarnation: 0, seq: 0 };
  const parts = Array.from({ length: 256 }, (_, part) => ({
    subject: subjects.fence(orb, fence.incarnation, part),
    data: "",
    rollup: true,
  }));
  await store.batch(streams.orb(orb), parts);
  const made = await Promise.all(["a", "b", "c", "d"].map((title) => create(by, title, title < "c")));
  expect(made).toHaveLength(4);
  expect((await inForce(orb)).fence?.seq).toBeGreaterThan(fence.seq);
});

test("stores 300 parallel writes of one definition without a retry", async () => {
  const orb = fresh();
  await createOrb(deps, admin, { document: document(orb, undefined, { unique: true }), publish: true });
  // A retry after a timeout would be counted, too.
  const patient = { reconnect: true, requestTimeoutMs: 60_000, silentMs: 60_000 };
  const host = cachedStore(openStore({ ...broker.access(), ...patient }), {
    replicas: 1,
    maxBytes: 1 << 20,
  });
  await using _ = { [Symbol.asyncDispose]: () => host.store.close() };
  const on = testDeps(host.store);
  const by = await inForce(orb, on);
  let batches = 0;
  const counting: TestDeps = {
    ...on,
    store: {
      ...host.store,
      batch(stream, messages) {
        batches++;
        return host.store.batch(stream, messages);
      },
    },
  };
  const titles = Array.from({ length: 300 }, (_, index) => `title ${index}`);
  const made = await Promise.all(titles.map((title) => create(by, title, true, admin, counting)));
  // None of them was decided twice.
  expect(batches).toBe(titles.length);
  expect(new Set(made.map(({ seq }) => seq)).size).toBe(titles.length);
});

/** Publishes a definition. Retries because constant writers can prevent the backfill of stored entries. */
async function publishBeside(orb: string, next: object): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    try {
      await updateOrb(deps, admin, { orb, document: next, publish: true });
      return;
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== "write_conflict" || attempt > 5) throw error;
    }
  }
}

test("writers that race with definition changes leave nothing that the last definition forbids", async () => {
  const hosts = [0, 1].map(() =>
    cachedStore(openStore({ ...broker.access(), reconnect: true }), { replicas: 1, maxBytes: 1 << 20 }),
  );
  await using _ = {
    [Symbol.asyncDispose]: () => Promise.all(hosts.map((host) => host.store.close())) as never,
  };
  const places = [deps, deps, ...hosts.map((host) => ({ ...testDeps(host.store), config: deps.config }))];
  const orb = fresh();
  await createOrb(deps, admin, { document: document(orb), publish: true });
  const member = user("ann");
  const acknowledged: { id: string; seq: number; publish: boolean; title: string }[] = [];
  let over = false;
  const writers = places.flatMap((on, place) =>
    [0].map(async (one) => {
      for (let n = 0; !over; n++) {
        const title = `w${place}${one} ${n}`;
        const publish = n % 3 === 0;
        try {
          const by = await inForce(orb, on);
          const made = await create(by, title, publish, member, on);
          acknowledged.push({ id: made.snapshot.id, seq: made.seq, publish, title });
          if (n % 2 === 0) {
            const change = { orbId: orb, orb: by, id: made.snapshot.id, values: { title: `${title}b` } };
            const next = await updateEntry(on, member, change);
            acknowledged.push({ id: made.snapshot.id, seq: next.seq, publish: false, title: `${title}b` });
          }
          // Write less often as entries accumulate. Otherwise publishing may never index all of them on a slow machine.
          await new Promise((resolve) => setTimeout(resolve, 5 + acknowledged.length / 20));
        } catch (error) {
          const known =
            error instanceof AppError &&
            ["forbidden", "write_conflict", "entry_not_found"].includes(error.code);
          if (!known && !(error instanceof Conflict)) throw error;
          // A refusal from the cache never yields to the event loop.
          await new Promise((resolve) => setTimeout(resolve, 2));
        }
      }
    }),
  );
  const definitions = [
    document(orb, { read: "admin", write: "user" }),
    document(orb, { read: "public", write: "user" }, { unique: true }),
    document(orb, { read: "admin", write: "owner" }, { unique: true }),
  ];
  /** The sequence at which each revision was activated, and whether members could write under it. */
  const fences: { seq: number; revision: number; open: boolean }[] = [];
  const note = async (open: boolean) => {
    const { fence, revision = 0 } = (await liveRecord(deps, orb))?.record ?? {};
    fences.push({ seq: fence?.seq ?? 0, revision, open });
  };
  try {
    await note(true);
    for (const next of definitions) {
      await new Promise((resolve) => setTimeout(resolve, 60));
      await publishBeside(orb, next);
      await note(
        next.modules[0]?.schemas[0]?.access !== undefined && JSON.stringify(next).includes('"write":"user"'),
      );
    }
  } finally {
    over = true;
  }
  await Promise.all(writers);
  expect(acknowledged.length).toBeGreaterThan(20);
  // Every acknowledged write is stored, and was decided under the definition active at its sequence, or a newer one.
  for (const { id, seq, title } of acknowledged) {
    const message = await store.getSeq(streams.orb(orb), seq);
    expect(message?.subject).toBe(logOf(orb, id));
    const snapshot = snapshotOf(message);
    expect(snapshot?.values).toEqual({ title });
    const last = fences.findLast((fence) => fence.seq < seq);
    expect(snapshot?.defRevision).toBeGreaterThanOrEqual(last?.revision ?? 0);
    const next = fences.find((fence) => fence.revision === snapshot?.defRevision);
    expect(next?.open).toBe(true);
  }
  // Live copies are under the subject of their readers, and each value is reserved.
  const { messages } = await store.scan(streams.orb(orb), `${orb}.content.>`, {
    fromSeq: 1,
    limit: 10_000,
    maxBytes: 64 * 1024 * 1024,
  });
  const live = messages.filter((message) => !message.subject.includes(".owner."));
  for (const message of live)
    if (liveCopyOf(message) !== null) expect(message.subject).toContain(".content.admin.");
  const heads = new Map(
    messages
      .filter((message) => message.subject.includes(".owner."))
      .map((message) => [message.subject, message]),
  );
  const values = [...heads.values()].map((message) => storedValues(snapshotOf(message)).title);
  const claims = await store.scan(streams.orb(orb), `${orb}._uq.>`, {
    fromSeq: 1,
    limit: 10_000,
    maxBytes: 64 * 1024 * 1024,
  });
  expect(new Set(values).size).toBe(values.length);
  expect(claims.messages.filter(({ size }) => size > 0).length).toBeGreaterThanOrEqual(values.length);
});

/** Stops operations on orbs before each of their steps. The next call or start finishes them. */

import { describe, expect, test, vi } from "vitest";
import { homeOf } from "../../shared/definition/document/home.ts";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import { exists, orbHead } from "../../shared/definition/stored/history.ts";
import { definitionFor, liveOrb } from "../../shared/definition/stored/live.ts";
import { createEntry, publishEntry } from "../../shared/entry/index.ts";
import { createOrb } from "../../shared/orb/create.ts";
import { reconcileAll } from "../../shared/orb/migrate/reconcile.ts";
import { archiveOrb, deleteOrb, publishOrb, unpublishOrb } from "../../shared/orb/operate.ts";
import { getOrb, getOrbRevision, listOrbRevisions, listOrbs } from "../../shared/orb/read.ts";
import { importOrb } from "../../shared/orb/transfer/import.ts";
import { updateOrb } from "../../shared/orb/update.ts";
import { orbStreamConfig } from "../../shared/store/broker/provision.ts";
import { buckets, streams, subjects } from "../../shared/store/subjects.ts";
import type { Store } from "../../shared/store/types.ts";
import { type Counted, countingStore, Stopped, stoppingStore } from "../support/counting.ts";
import { admin, failureOf, fileDeps, type TestDeps } from "../support/entries.ts";

let serial = 0;

const { broker, store, deps } = await fileDeps();

/** Returns dependencies whose store fails from its n-th call on. */
const stoppingAt = (step: number) => ({ ...deps, store: stoppingStore(store, step) });

function document(id: string, read: "public" | "user" = "public") {
  return {
    id,
    modules: [
      {
        id: "news",
        type: "CONTENT",
        schemas: [{ id: "article", access: { read }, fields: [{ name: "title", type: "string" }] }],
      },
    ],
  };
}

const fresh = () => `crash-${++serial}`;
const create = (orb: string, publish = false) => createOrb(deps, admin, { document: document(orb), publish });

/**
 * Runs an operation on a new orb for each step and stops it there. `check` then asserts the state.
 * @returns the number of steps of the operation
 */
async function atEachStep(
  prepare: (orb: string) => Promise<unknown>,
  run: (deps: TestDeps, orb: string) => Promise<unknown>,
  check: (orb: string, began: boolean) => Promise<void>,
): Promise<number> {
  for (let step = 0; step < 40; step++) {
    const orb = fresh();
    await prepare(orb);
    const before = (await orbHead(deps, orb))?.revision ?? 0;
    try {
      await run(stoppingAt(step), orb);
      await check(orb, true);
      return step;
    } catch (error) {
      if (!(error instanceof Stopped)) throw error;
    }
    const after = (await orbHead(deps, orb))?.revision ?? 0;
    await check(orb, after > before);
  }
  throw new Error("the operation never succeeded");
}

describe("crash before every step", () => {
  test("create leaves either no orb or a complete one", async () => {
    const steps = await atEachStep(
      async () => {},
      (with_, orb) => createOrb(with_, admin, { document: document(orb), publish: true }),
      async (orb, began) => {
        if (!began) {
          expect(await failureOf(getOrb(deps, admin, { orb }))).toMatchObject({ code: "orb_not_found" });
          expect(await store.streamNames(subjects.orbAll(orb))).toEqual([]);
          expect((await create(orb)).revision).toBe(1);
          return;
        }
        expect((await getOrb(deps, admin, { orb })).orb).toMatchObject({ revision: 1, status: "PUBLISHED" });
        expect(await liveOrb(deps, orb)).toMatchObject({ revision: 1 });
        const live = await definitionFor(deps, orb);
        if (live === null) throw new Error("no definition");
        const made = await createEntry(deps, admin, {
          orbId: orb,
          orb: live,
          module: "news",
          values: { title: "x" },
        });
        expect(made.snapshot.revision).toBe(1);
      },
    );
    expect(steps).toBeGreaterThan(4);
  });

  test("publish has no effect or is finished by the next call", async () => {
    await atEachStep(
      (orb) => create(orb),
      (with_, orb) => publishOrb(with_, admin, { orb }),
      async (orb, began) => {
        const { orb: head } = await getOrb(deps, admin, { orb });
        expect(head.status).toBe(began ? "PUBLISHED" : "SAVED");
        expect((await liveOrb(deps, orb))?.revision).toBe(began ? 2 : undefined);
      },
    );
  });

  test("publish blocks no writer, and writers follow the active definition", async () => {
    let stale = 0;
    let before: LiveOrb | null = null;
    const steps = await atEachStep(
      async (orb) => {
        await create(orb, true);
        before = await definitionFor(deps, orb);
      },
      (d, orb) => updateOrb(d, admin, { orb, document: document(orb, "user"), publish: true }),
      async (orb) => {
        const old = before;
        if (old === null) throw new Error("there is no such orb");
        const made = await createEntry(deps, admin, {
          orbId: orb,
          orb: old,
          module: "news",
          values: { title: "a" },
          publish: true,
        });
        const now = await liveOrb(deps, orb);
        const schema = now?.compiled.schema("news");
        if (now === null || schema === undefined) throw new Error("nothing is live");
        if (now.revision === 1) stale++;
        expect(made.snapshot.defRevision).toBe(now.revision);
        const home = { orb, ...homeOf("CONTENT", "article"), id: made.snapshot.id } as const;
        expect(await store.get(streams.orb(orb), subjects.entryLive(home, schema.liveRole))).not.toBeNull();
      },
    );
    expect(steps).toBeGreaterThan(4);
    expect(stale).toBeGreaterThan(0);
  });

  test("publish is finished by the next start", async () => {
    const steps = await atEachStep(
      (orb) => create(orb),
      (with_, orb) => publishOrb(with_, admin, { orb }),
      async (orb, began) => {
        await reconcileAll(deps);
        expect((await liveOrb(deps, orb))?.revision).toBe(began ? 2 : undefined);
        expect(await reconcileAll(deps)).toBe(0);
      },
    );
    expect(steps).toBeGreaterThan(4);
  });

  test.each([
    ["unpublishing", unpublishOrb, "UNPUBLISHED"],
    ["archiving", archiveOrb, "ARCHIVED"],
  ] as const)("%s has no effect or makes the orb unavailable", async (_name, verb, status) => {
    await atEachStep(
      (orb) => create(orb, true),
      (with_, orb) => verb(with_, admin, { orb }),
      async (orb, began) => {
        const { orb: head } = await getOrb(deps, admin, { orb });
        expect(head.status).toBe(began ? status : "PUBLISHED");
        expect((await liveOrb(deps, orb)) === null).toBe(began);
      },
    );
  });

  test("delete has no effect or is finished by the next call, and the orb cannot be created until then", async () => {
    const steps = await atEachStep(
      (orb) => create(orb, true),
      (with_, orb) => deleteOrb(with_, admin, { orb }),
      async (orb, began) => {
        if (!began) {
          expect((await getOrb(deps, admin, { orb })).orb.status).toBe("PUBLISHED");
          return;
        }
        expect(await failureOf(getOrb(deps, admin, { orb }))).toMatchObject({ code: "orb_not_found" });
        if ((await orbHead(deps, orb))?.operation === "deleting") {
          expect(await failureOf(create(orb))).toMatchObject({ code: "deletion_unfinished" });
          await deleteOrb(deps, admin, { orb });
        }
        expect(await liveOrb(deps, orb)).toBeNull();
        expect(await store.streamNames(subjects.orbAll(orb))).toEqual([]);
        expect((await create(orb)).revision).toBe(4);
      },
    );
    expect(steps).toBeGreaterThan(6);
  });

  test("delete is finished by the next start", async () => {
    await atEachStep(
      (orb) => create(orb, true),
      (with_, orb) => deleteOrb(with_, admin, { orb }),
      async (orb, began) => {
        await reconcileAll(deps);
        const head = await orbHead(deps, orb);
        expect(head?.operation).toBe(began ? "deleted" : "create");
        expect(await store.streamNames(subjects.orbAll(orb))).toEqual(began ? [] : [streams.orb(orb)]);
      },
    );
  });

  test("entries move to their new readers after a crash at any step", async () => {
    const subjectOf = (orb: string, id: string, role: "public" | "user") =>
      subjects.entryLive({ orb, ...homeOf("CONTENT", "article"), id }, role);
    const ids = new Map<string, string>();
    const steps = await atEachStep(
      async (orb) => {
        await create(orb, true);
        const live = await definitionFor(deps, orb);
        if (live === null) throw new Error("no definition");
        const made = await createEntry(deps, admin, {
          orbId: orb,
          orb: live,
          module: "news",
          values: { title: "x" },
        });
        await publishEntry(deps, admin, { orbId: orb, orb: live, id: made.snapshot.id });
        ids.set(orb, made.snapshot.id);
        await updateOrb(deps, admin, { orb, document: document(orb, "user") });
      },
      (with_, orb) => publishOrb(with_, admin, { orb }),
      async (orb, began) => {
        await getOrb(deps, admin, { orb });
        const id = ids.get(orb) ?? "";
        const wanted = [subjectOf(orb, id, "public"), subjectOf(orb, id, "user")];
        const found = await store.getMany(streams.orb(orb), wanted, { maxBytes: 1e8 });
        const body = (role: "public" | "user") =>
          found.get(subjectOf(orb, id, role))?.json<Record<string, unknown>>();
        expect(body(began ? "user" : "public")).toMatchObject({ id, values: { title: "x" } });
        expect(began ? body("public") : body("user")).toEqual(
          began ? expect.objectContaining({ tombstone: true }) : undefined,
        );
      },
    );
    expect(steps).toBeGreaterThan(8);
  });
});

test("a recreated stream is empty, however soon after its deletion", async () => {
  // The broker removes files in the background. A stream of the same name that is deleted meanwhile stays on disk.
  for (let round = 0; round < 120; round++) {
    const name = streams.orb("anew");
    await store.createStream(orbStreamConfig("anew", 1));
    const { messages } = (await store.streamInfo(name))?.state ?? { messages: -1 };
    expect(messages).toBe(0);
    for (let i = 0; i < 5; i++) await store.append(name, { subject: `anew._test.${i}`, data: "old" });
    await store.deleteStream(name);
  }
});

/** Returns the lines of an export: the orb, its entries, and the end. */
function exportOf(orb: string, entries = 1): string[] {
  const at = "2026-01-01T00:00:00.000Z";
  const head = {
    v: 1,
    orb,
    module: "news",
    schema: "article",
    operation: "create",
    status: "SAVED",
    revision: 3,
    publishedRevision: null,
    validFrom: null,
    validTo: null,
    liveFrom: null,
    liveTo: null,
    createdAt: at,
    createdBy: "a",
    updatedAt: at,
    updatedBy: "a",
    values: { title: "imported" },
  };
  return [
    {
      kind: "orb",
      v: 1,
      document: document(orb),
      status: "PUBLISHED",
      revision: 9,
      publishedRevision: 9,
      published: null,
      exportedAt: at,
    },
    ...Array.from({ length: entries }, (_, i) => ({
      kind: "entry",
      head: { ...head, id: `0lz3k2abcdefghijk${100 + i}` },
      published: null,
    })),
    { kind: "end", entries },
  ].map((line) => JSON.stringify(line));
}

/** Imports lines, and runs `before.act` before the line with the index `before.line` is read. */
function importLines(
  with_: TestDeps,
  lines: readonly string[],
  before: { line: number; act: () => Promise<unknown> } | null = null,
) {
  async function* each() {
    for (const [index, line] of lines.entries()) {
      if (index === before?.line) await before.act();
      yield line;
    }
  }
  return importOrb(with_, admin, { lines: each(), parse: (line): unknown => JSON.parse(line) });
}

/** Removes the import's lease, as its TTL of 60 s does. */
const aMinuteLater = (orb: string) =>
  broker.store("operator").purge(streams.platform, `platform.imports.${orb}.*`);

test("an interrupted import leaves either no orb or a complete one", async () => {
  const steps = await atEachStep(
    async () => {},
    (with_, orb) => importLines(with_, exportOf(orb)),
    async (orb, began) => {
      const head = await orbHead(deps, orb);
      if (head?.operation === "importing") {
        expect(await failureOf(getOrb(deps, admin, { orb }))).toMatchObject({ code: "orb_not_found" });
        expect(await failureOf(create(orb))).toMatchObject({ code: "import_unfinished" });
        await aMinuteLater(orb);
        expect(await reconcileAll(deps)).toBe(1);
        expect(await store.streamNames(subjects.orbAll(orb))).toEqual([]);
        expect((await importLines(deps, exportOf(orb))).entries).toBe(1);
      }
      if (began) expect((await getOrb(deps, admin, { orb })).orb.document.id).toBe(orb);
    },
  );
  expect(steps).toBeGreaterThan(6);
});

test("an import does not take over an account that was registered during the deletion of the former orb", async () => {
  const orb = fresh();
  await create(orb);
  await deleteOrb(deps, admin, { orb });
  await store.kvPut(buckets.orbUsers, `${orb}.late`, "{}");
  await importLines(deps, exportOf(orb));
  expect(await store.kvGet(buckets.orbUsers, `${orb}.late`)).toBeNull();
});

test("a crashed import blocks its id for at most a minute", async () => {
  const orb = fresh();
  const failed = importLines(stoppingAt(8), exportOf(orb));
  await expect(failed).rejects.toBeInstanceOf(Stopped);
  expect(await failureOf(create(orb))).toMatchObject({ code: "import_unfinished" });
  await aMinuteLater(orb);
  expect((await create(orb)).revision).toBe(4);
  const page = await store.scan(streams.orb(orb), subjects.allLogs(orb), {
    fromSeq: 1,
    limit: 10,
    maxBytes: 1e8,
  });
  expect(page.messages).toEqual([]);
});

test("a running import renews its lease, and a host that starts meanwhile leaves it alone", async () => {
  const orb = fresh();
  const sign = async () => (await store.get(streams.platform, subjects.orbImport(orb, 1)))?.seq ?? Number.NaN;
  const act = async () => {
    const first = await sign();
    expect(await reconcileAll(deps)).toBe(0);
    await vi.waitFor(async () => expect(await sign()).toBeGreaterThan(first), { timeout: 15_000 });
    expect(await reconcileAll(deps)).toBe(0);
    const kept = await store.get(streams.platform, subjects.orbImport(orb, 1));
    expect(kept?.header("Nats-TTL")).toBe("60s");
  };
  expect((await importLines(deps, exportOf(orb), { line: 2, act })).entries).toBe(1);
});

describe("an import whose orb is deleted and recreated meanwhile", () => {
  /** Ends the import as another admin, and creates an orb with an entry and a user under the same id. */
  async function takeOver(orb: string): Promise<string> {
    await deleteOrb(deps, admin, { orb });
    await create(orb, true);
    await store.kvPut(buckets.orbUsers, `${orb}.somebody`, "{}");
    const live = await definitionFor(deps, orb);
    if (live === null) throw new Error("no definition");
    const values = { title: "theirs" };
    return (await createEntry(deps, admin, { orbId: orb, orb: live, module: "news", values })).snapshot.id;
  }
  const faulty = (orb: string) => [...exportOf(orb).slice(0, 2), JSON.stringify({ kind: "entry" })];
  test.each([
    ["has entries to write", (orb: string) => exportOf(orb), 1],
    ["has a pending batch", (orb: string) => exportOf(orb), 2],
    ["has written 500 of 700 entries", (orb: string) => exportOf(orb, 700), 500],
    ["has an invalid line further on", faulty, 2],
  ])("that %s leaves the new orb unchanged", async (_name, linesOf, line) => {
    const orb = fresh();
    const ids: string[] = [];
    const act = async () => ids.push(await takeOver(orb));
    const failed = await failureOf(importLines(deps, linesOf(orb), { line, act }));
    expect(failed).toMatchObject({ kind: "conflict", code: "write_conflict" });
    expect((await getOrb(deps, admin, { orb })).orb).toMatchObject({ status: "PUBLISHED", revision: 4 });
    const page = await store.scan(streams.orb(orb), subjects.allLogs(orb), {
      fromSeq: 1,
      limit: 1000,
      maxBytes: 1e8,
    });
    expect(page.messages.map(({ subject }) => subject.split(".").at(-1))).toEqual(ids);
    expect(await store.kvGet(buckets.orbUsers, `${orb}.somebody`)).not.toBeNull();
  });

  test("does not write into another import of the same file", async () => {
    const orb = fresh();
    const act = async () => {
      await deleteOrb(deps, admin, { orb });
      await importLines(deps, exportOf(orb));
    };
    const failed = await failureOf(importLines(deps, exportOf(orb), { line: 2, act }));
    expect(failed).toMatchObject({ code: "write_conflict" });
    const { messages } = await store.scan(streams.orb(orb), `${orb}.>`, {
      fromSeq: 1,
      limit: 1000,
      maxBytes: 1e8,
    });
    expect(messages.filter(({ subject }) => subject.includes(".owner."))).toHaveLength(1);
    expect((await getOrb(deps, admin, { orb })).orb.status).toBe("PUBLISHED");
  });

  test("does not publish the new orb", async () => {
    const orb = fresh();
    const racing: Store = {
      ...store,
      async batch(stream, messages) {
        const seq = await store.batch(stream, messages);
        // All entries are stored. The next step of the import is to publish the orb.
        if (stream === streams.platform && String(messages.at(-1)?.data).includes('"operation":"create"')) {
          await deleteOrb(deps, admin, { orb });
          await create(orb);
        }
        return seq;
      },
    };
    const failed = await failureOf(importLines({ ...deps, store: racing }, exportOf(orb)));
    expect(failed).toMatchObject({ code: "write_conflict" });
    expect((await getOrb(deps, admin, { orb })).orb).toMatchObject({ status: "SAVED", revision: 5 });
  });
});

test("an import that cannot be erased returns its own error and logs the other one", async () => {
  const orb = fresh();
  const told: unknown[] = [];
  let broken = false;
  const counted = countingStore(store, () => {
    if (broken) throw new Stopped();
  });
  const log = { ...deps.log, error: (...line: unknown[]) => told.push(line) };
  const act = async () => {
    broken = true;
  };
  const lines = [...exportOf(orb).slice(0, 2), JSON.stringify({ kind: "entry" })];
  const failed = await failureOf(
    importLines({ ...deps, log, store: counted.store }, lines, { line: 2, act }),
  );
  expect(failed).toMatchObject({ kind: "invalid" });
  expect(told).toEqual([["a failed import could not be erased", expect.objectContaining({ orb })]]);
});

test("the slower of two parallel deletions leaves a recreated orb unchanged", async () => {
  const orb = fresh();
  await create(orb, true);
  let done = false;
  const slow: Store = {
    ...store,
    async kvPut(bucket, key, value, write) {
      const revision = await store.kvPut(bucket, key, value, write);
      if (bucket === buckets.orbs && !done) {
        done = true;
        await deleteOrb(deps, admin, { orb });
        await create(orb, true);
        await store.kvPut(buckets.orbUsers, `${orb}.somebody`, "{}");
      }
      return revision;
    },
  };
  await deleteOrb({ ...deps, store: slow }, admin, { orb });
  expect((await getOrb(deps, admin, { orb })).orb).toMatchObject({ status: "PUBLISHED", revision: 4 });
  expect(await store.streamNames(subjects.orbAll(orb))).toEqual([streams.orb(orb)]);
  expect(await store.kvGet(buckets.orbUsers, `${orb}.somebody`)).not.toBeNull();
});

test("a former live definition never replaces a newer one", async () => {
  const orb = fresh();
  await create(orb, true);
  await Promise.all(
    Array.from({ length: 8 }, async (_, index) => {
      const verb = index % 2 === 0 ? unpublishOrb : publishOrb;
      await verb(deps, admin, { orb }).catch(() => undefined);
    }),
  );
  const head = await orbHead(deps, orb);
  expect((await liveOrb(deps, orb))?.revision).toBe(
    exists(head) && head.publishedRevision !== null ? head.publishedRevision : undefined,
  );
});

describe("round trips", () => {
  const trips = async (run: (deps: TestDeps) => Promise<unknown>): Promise<number> => {
    const counted: Counted = countingStore(store, undefined, 30);
    await run({ ...deps, store: counted.store });
    return counted.trips;
  };
  test("takes the expected number of round trips per operation", async () => {
    const orb = fresh();
    const all = {
      create: await trips((d) => createOrb(d, admin, { document: document(orb) })),
      get: await trips((d) => getOrb(d, admin, { orb })),
      update: await trips((d) => updateOrb(d, admin, { orb, document: document(orb) })),
      publish: await trips((d) => publishOrb(d, admin, { orb })),
      draft: await trips((d) => updateOrb(d, admin, { orb, document: document(orb) })),
      revisions: await trips((d) => listOrbRevisions(d, admin, { orb, limit: 50, descending: true })),
      revision: await trips((d) => getOrbRevision(d, admin, { orb, revision: 4 })),
      list: await trips((d) => listOrbs(d, admin, { limit: 200 })),
      unpublish: await trips((d) => unpublishOrb(d, admin, { orb })),
      delete: await trips((d) => deleteOrb(d, admin, { orb })),
    };
    expect(all).toEqual({
      create: 7,
      get: 1,
      update: 5,
      publish: 5,
      draft: 2,
      revisions: 2,
      revision: 1,
      list: 2,
      unpublish: 5,
      delete: 12,
    });
  });
});

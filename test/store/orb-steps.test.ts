/** Stops operations on orbs before each of their steps. The next call or start finishes them. */

import { describe, expect, test } from "vitest";
import { homeOf } from "../../shared/definition/document/home.ts";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import { exists, orbHead } from "../../shared/definition/stored/history.ts";
import { definitionFor, liveOrb } from "../../shared/definition/stored/live.ts";
import { createEntry, publishEntry } from "../../shared/entry/index.ts";
import { createOrb } from "../../shared/orb/create.ts";
import { reconcileAll } from "../../shared/orb/migrate/reconcile.ts";
import { archiveOrb, deleteOrb, publishOrb, unpublishOrb } from "../../shared/orb/operate.ts";
import { getOrb, getOrbRevision, listOrbRevisions, listOrbs } from "../../shared/orb/read.ts";
import { updateOrb } from "../../shared/orb/update.ts";
import { orbStreamConfig } from "../../shared/store/broker/provision.ts";
import { buckets, streams, subjects } from "../../shared/store/subjects.ts";
import type { Store } from "../../shared/store/types.ts";
import { type Counted, countingStore } from "../support/counting.ts";
import { admin, failureOf, fileDeps, type TestDeps } from "../support/entries.ts";
import { rounds } from "../support/random.ts";
import { document, steppedOrbs } from "../support/stepped-orbs.ts";

const { deps, store } = await fileDeps();
const { atEachStep, create, fresh } = steppedOrbs("crash", store, deps);

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
  for (let round = 0; round < rounds(40); round++) {
    const name = streams.orb("anew");
    await store.createStream(orbStreamConfig("anew", 1));
    const { messages } = (await store.streamInfo(name))?.state ?? { messages: -1 };
    expect(messages).toBe(0);
    for (let i = 0; i < 5; i++) await store.append(name, { subject: `anew._test.${i}`, data: "old" });
    await store.deleteStream(name);
  }
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
      // One trip finds out whether the bucket of API tokens exists, because an older version provisions none. Another
      // deletes the content of files, which an orb has only after its first upload.
      delete: 16,
    });
  });
});

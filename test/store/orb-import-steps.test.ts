/** Imports that are stopped, raced or left behind. */
import { describe, expect, test, vi } from "vitest";
import { orbHead } from "../../shared/definition/stored/history.ts";
import { definitionFor } from "../../shared/definition/stored/live.ts";
import { createEntry } from "../../shared/entry/index.ts";
import { reconcileAll } from "../../shared/orb/migrate/reconcile.ts";
import { deleteOrb } from "../../shared/orb/operate.ts";
import { getOrb } from "../../shared/orb/read.ts";
import { importOrb } from "../../shared/orb/transfer/import.ts";
import { buckets, streams, subjects } from "../../shared/store/subjects.ts";
import type { Store } from "../../shared/store/types.ts";
import { countingStore, Stopped } from "../support/counting.ts";
import { admin, failureOf, fileDeps, type TestDeps } from "../support/entries.ts";
import { document, steppedOrbs } from "../support/stepped-orbs.ts";

const { broker, deps, store } = await fileDeps();
const { atEachStep, create, fresh, stoppingAt } = steppedOrbs("import", store, deps);

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
    await vi.waitFor(async () => expect(await sign()).toBeGreaterThan(first), { timeout: 60_000 });
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

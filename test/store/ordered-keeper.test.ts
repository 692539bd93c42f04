/** Compaction of ordered indexes without readers: by the writers, and by the keeper of a long-lived process. */
import { setTimeout as delay } from "node:timers/promises";
import { expect, it } from "vitest";
import { homeOf } from "../../shared/definition/document/home.ts";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import { bulkWrite, createEntry } from "../../shared/entry/index.ts";
import { choose } from "../../shared/entry/model/localize.ts";
import { WORDS } from "../../shared/entry/model/word-keys.ts";
import { compact, LIMITS } from "../../shared/entry/ordered/compact.ts";
import { IndexKeeper } from "../../shared/entry/ordered/keeper.ts";
import { openIndex } from "../../shared/entry/ordered/open.ts";
import type { OrderedField } from "../../shared/entry/ordered/pages.ts";
import { LONG_LOG } from "../../shared/entry/ordered/upkeep.ts";
import { openWords } from "../../shared/entry/ordered/word-scan.ts";
import { parseListQuery } from "../../shared/entry/query/query.ts";
import { listEntries } from "../../shared/entry/read/list.ts";
import { streams, subjects } from "../../shared/store/subjects.ts";
import { admin, fileDeps, installOrb, readAs, type TestDeps, testDeps } from "../support/entries.ts";

const { deps, broker } = await fileDeps();
const operator = broker.store("operator");

const documentOf = (id: string) => ({
  id,
  modules: [
    {
      id: "catalog",
      type: "CONTENT" as const,
      schemas: [
        {
          id: "item",
          access: { read: ["public"] },
          fields: [
            { name: "n", type: "integer" as const, index: "ordered" as const },
            { name: "title", type: "string" as const, search: true },
          ],
        },
      ],
    },
  ],
});

const indexOf = (orb: string, field = "n"): OrderedField => ({ orb, ...homeOf("CONTENT", "item"), field });

/** Returns how many changes of an index are not in its pages. */
async function logged(index: OrderedField): Promise<number | undefined> {
  if (index.field !== WORDS) return (await openIndex(deps.store, index))?.logged;
  return (await openWords(deps.store, index))?.logged;
}

async function upload(on: TestDeps, orb: LiveOrb, count: number): Promise<void> {
  async function* lines(): AsyncGenerator<string> {
    for (let i = 0; i < count; i++) {
      const values = { n: (i * 7919) % count, title: `word${i % 100}` };
      yield JSON.stringify({ module: "catalog", schema: "item", publish: true, values });
    }
  }
  const parse = (line: string) => JSON.parse(line);
  for await (const result of bulkWrite(on, admin, { orbId: orb.orb, orb, lines: lines(), parse }))
    expect(result).not.toHaveProperty("error");
}

/** Writes entries like a process that crashes right after each write. */
async function write(orb: LiveOrb, count: number): Promise<void> {
  const place = { orbId: orb.orb, orb, module: "catalog", schema: "item" };
  for (let i = 0; i < count; i++) {
    const values = { n: count - i, title: `word${i}` };
    await createEntry(deps, admin, { ...place, values, publish: true });
  }
}

it("two parallel uploads leave a short log and an index that serves the list, before any read", async () => {
  const orb = await installOrb(operator, documentOf("uploads"));
  const writers = [testDeps(broker.store("fn")), testDeps(broker.store("fn"))];
  await Promise.all(writers.map((on) => upload(on, orb, 3_000)));
  await Promise.all(writers.map((on) => on.settled()));
  // A process may leave fewer than 256 changes, and hold back those of fewer than 256 writes. Both writers of this test
  // are one process.
  expect(await logged(indexOf("uploads"))).toBeLessThan(2 * 256);
  const schema = orb.compiled.schema("catalog", "item");
  if (schema === undefined) throw new Error("no schema");
  const query = parseListQuery(new URLSearchParams("sort=n&limit=5&explain=true"), schema, []);
  const page = await listEntries(deps, {
    reading: readAs(admin, orb, schema),
    choice: choose(schema, {}),
    query,
  });
  expect(page.items.map(({ values }) => values.n)).toEqual([0, 0, 1, 1, 2]);
  expect(page.explain).toMatchObject({ index: "ordered", order: "index" });
});

it("the keeper compacts what writers have left, also words, and what was written before it started", async () => {
  const before = await installOrb(operator, documentOf("before"));
  await write(before, 100);
  const keeper = new IndexKeeper(deps);
  const after = await installOrb(operator, documentOf("after"));
  try {
    // The first look finds long logs, the second one that no other process has compacted them.
    for (let look = 0; look < 2; look++) await keeper.look();
    await write(after, 100);
    for (const { orb } of [before, after]) {
      for (const index of [indexOf(orb), indexOf(orb, WORDS)]) {
        for (let wait = 0; wait < 100 && (await logged(index)) !== 0; wait++) {
          await keeper.look();
          await delay(20);
        }
        expect(await logged(index), `${orb} ${index.field}`).toBe(0);
      }
    }
    // Fewer changes stay in the log until there are more.
    await write(after, LONG_LOG - 1);
    for (let look = 0; look < 3; look++) await keeper.look();
    expect(await logged(indexOf("after"))).toBe(LONG_LOG - 1);
  } finally {
    await keeper.stop();
  }
});

it("the keeper leaves an index to another process as long as that one compacts it", async () => {
  const orb = await installOrb(operator, documentOf("others"));
  await write(orb, 200);
  const keeper = new IndexKeeper(deps);
  const index = indexOf("others");
  const limits = { ...LIMITS, changes: 30, recent: 10, page: 10 };
  try {
    await keeper.look();
    for (const left of [170, 140]) {
      await compact({ deps, index, fence: orb.fence, limits }, 1);
      await keeper.look();
      expect(await logged(index)).toBe(left);
    }
    await keeper.look();
    expect(await logged(index)).toBe(0);
  } finally {
    await keeper.stop();
  }
});

it("the keeper leaves erased indexes alone", async () => {
  const orb = await installOrb(operator, documentOf("erased"));
  const other = indexOf("erased", "gone");
  const log = subjects.orderedLog(other, other.field);
  const keeper = new IndexKeeper(deps);
  try {
    await keeper.look();
    for (let i = 0; i < 100; i++)
      await deps.store.append(streams.orb(orb.orb), { subject: log, data: JSON.stringify([`id${i}`, [i]]) });
    for (let look = 0; look < 5; look++) {
      await keeper.look();
      await delay(20);
    }
    expect(await deps.store.get(streams.orb(orb.orb), subjects.orderedRoot(other, other.field))).toBeNull();
  } finally {
    await keeper.stop();
  }
});

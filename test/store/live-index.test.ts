/** The index of published entries against a model in memory: lists, counts, compactions, builds and passing times. */
import { describe, expect, it } from "vitest";
import { homeOf } from "../../shared/definition/document/home.ts";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import {
  archiveEntry,
  createEntry,
  deleteEntry,
  publishEntry,
  restoreEntry,
  unpublishEntry,
  updateEntry,
} from "../../shared/entry/index.ts";
import { buildLive } from "../../shared/entry/listed/build.ts";
import { compactLive, LIVE_LIMITS } from "../../shared/entry/listed/compact.ts";
import { isCounted } from "../../shared/entry/listed/pages.ts";
import { openLive } from "../../shared/entry/listed/scan.ts";
import { completeLive } from "../../shared/entry/listed/upkeep.ts";
import { LIVE } from "../../shared/entry/model/listing.ts";
import { choose } from "../../shared/entry/model/localize.ts";
import type { CompactionLimits } from "../../shared/entry/ordered/compact.ts";
import type { OrderedField } from "../../shared/entry/ordered/pages.ts";
import { parseListQuery } from "../../shared/entry/query/query.ts";
import { listEntries } from "../../shared/entry/read/list.ts";
import { listManaged } from "../../shared/entry/read/managed.ts";
import { AppError } from "../../shared/kernel/errors.ts";
import { openCachedStore } from "../../shared/store/cache/cached-store.ts";
import { streams, subjects } from "../../shared/store/subjects.ts";
import { type Append, Conflict } from "../../shared/store/types.ts";
import { countingStore, Stopped, stoppingStore } from "../support/counting.ts";
import { admin, fileDeps, installOrb, readAs, type TestDeps, testDeps } from "../support/entries.ts";
import { type Random, testRandom } from "../support/random.ts";

const { deps, broker } = await fileDeps();
const host = openCachedStore({ ...broker.access("fn"), replicas: 1 });
const hostDeps = testDeps(host);
/** Moves the clock of all dependencies. The broker's own clock does not move, so it executes no schedules. */
let ahead = 0;
deps.clock.now = () => Date.now() + ahead;
hostDeps.clock.now = deps.clock.now;

/** Limits so low that a few entries need many pages. */
const SMALL: CompactionLimits = { changes: 25, recent: 6, page: 5, dead: 20 };

const MINUTE = 60_000;

const document = (id: string) => ({
  id,
  modules: [
    {
      id: "news",
      type: "CONTENT" as const,
      schemas: [
        {
          id: "post",
          access: { read: "public" as const, write: "admin" as const },
          fields: [
            { name: "title", type: "string" as const },
            { name: "rank", type: "integer" as const },
          ],
        },
      ],
    },
  ],
});

/** The model's copy of an entry. */
interface Known {
  status: "SAVED" | "PUBLISHED" | "UNPUBLISHED" | "ARCHIVED" | "DELETED";
  live: { from: number; to: number; rank: number } | null;
  rank: number;
}

const indexOf = (orb: LiveOrb): OrderedField => ({
  orb: orb.orb,
  ...homeOf("CONTENT", "post"),
  field: LIVE,
});

function schemaOf(orb: LiveOrb) {
  const schema = orb.compiled.schema("news", "post");
  if (schema === undefined) throw new Error("no such schema");
  return schema;
}

async function list(of: TestDeps, orb: LiveOrb, query: string) {
  const schema = schemaOf(orb);
  const parsed = parseListQuery([...new URLSearchParams(query)], schema, []);
  return listEntries(of, { reading: readAs(admin, orb, schema), choice: choose(schema, {}), query: parsed });
}

async function allPages(of: TestDeps, orb: LiveOrb, query: string, between?: () => Promise<unknown>) {
  const ids: string[] = [];
  const totals = new Set<number | undefined>();
  for (let cursor = ""; ; ) {
    const page = await list(of, orb, `${query}${cursor}`);
    ids.push(...page.items.map(({ id }) => id));
    if (cursor === "") totals.add(page.total);
    if (page.nextCursor === null) return { ids, totals: [...totals] };
    cursor = `&cursor=${page.nextCursor}`;
    await between?.();
  }
}

const targetOf = (orb: LiveOrb, id: string) => ({ orbId: orb.orb, orb, id });

/** Makes one random change, in the platform and in the model. */
async function step(of: TestDeps, orb: LiveOrb, random: Random, known: Map<string, Known>): Promise<void> {
  const rank = random.below(3);
  const now = of.clock.now();
  const window = () => {
    const kind = random.below(4);
    const from = kind === 1 || kind === 3 ? now + (1 + random.below(30)) * MINUTE : 0;
    const to = kind >= 2 ? Math.max(from, now) + (1 + random.below(30)) * MINUTE : Number.POSITIVE_INFINITY;
    const text = (time: number) => (time === 0 || time === Infinity ? null : new Date(time).toISOString());
    return { times: { from, to }, input: { validFrom: text(from), validTo: text(to) } };
  };
  const { times, input } = window();
  if (known.size < 10 || random.below(4) === 0) {
    const publish = random.below(2) === 0;
    const entry = { module: "news", schema: "post", values: { title: "t", rank }, publish, ...input };
    const { snapshot } = await createEntry(of, admin, { orbId: orb.orb, orb, ...entry });
    const status = publish ? "PUBLISHED" : "SAVED";
    known.set(snapshot.id, { status, live: publish ? { ...times, rank } : null, rank });
    return;
  }
  const id = random.pick([...known.keys()]);
  const entry = known.get(id);
  if (entry === undefined) return;
  const target = targetOf(orb, id);
  try {
    switch (random.below(8)) {
      case 0:
      case 1: {
        const { snapshot } = await updateEntry(of, admin, { ...target, values: { title: "d", rank } });
        entry.rank = snapshot.values.rank as number;
        break;
      }
      case 2: {
        await updateEntry(of, admin, { ...target, values: { rank }, publish: true, ...input });
        Object.assign(entry, { status: "PUBLISHED", live: { ...times, rank }, rank });
        break;
      }
      case 3: {
        const { snapshot } = await publishEntry(of, admin, target);
        const from = snapshot.liveFrom === null ? 0 : Date.parse(snapshot.liveFrom);
        const to = snapshot.liveTo === null ? Number.POSITIVE_INFINITY : Date.parse(snapshot.liveTo);
        entry.live = { from, to, rank: snapshot.values.rank as number };
        break;
      }
      case 4:
        await unpublishEntry(of, admin, target);
        entry.live = null;
        break;
      case 5:
        await archiveEntry(of, admin, target);
        entry.live = null;
        break;
      case 6:
        await restoreEntry(of, admin, target);
        entry.live = null;
        break;
      default:
        await deleteEntry(of, admin, { ...target, force: true, purge: random.below(2) === 0 });
        entry.live = null;
        known.delete(id);
    }
  } catch (error) {
    // Not every operation is possible in every state, and a draft whose `validTo` has passed cannot be published.
    const isImpossible = ["wrong_state", "validation_failed"];
    if (!(error instanceof AppError) || !isImpossible.includes(error.code)) throw error;
  }
}

const visible = (known: ReadonlyMap<string, Known>, rank?: number) =>
  [...known].flatMap(([id, { live }]) => {
    const now = deps.clock.now();
    const isShown = live !== null && live.from <= now && live.to > now;
    return isShown && (rank === undefined || live.rank === rank) ? [id] : [];
  });

/** Compares lists and counts of the platform with the model. */
async function compare(orb: LiveOrb, known: ReadonlyMap<string, Known>, random: Random): Promise<void> {
  const ids = visible(known);
  for (const of of [deps, hostDeps]) {
    const limit = 1 + random.below(12);
    expect(await allPages(of, orb, `limit=${limit}&count=true`)).toEqual({ ids, totals: [ids.length] });
    const newest = await allPages(of, orb, `limit=${limit}&sort=-createdAt&count=true`);
    expect(newest).toEqual({ ids: ids.toReversed(), totals: [ids.length] });
    const ranked = visible(known, 1);
    const found = await allPages(of, orb, `limit=${limit}&filter[rank]=1&count=true`);
    expect(found).toEqual({ ids: ranked, totals: [ranked.length] });
    const sorted = await allPages(of, orb, "limit=200&sort=-rank");
    expect(sorted.ids.toSorted()).toEqual(ids.toSorted());
  }
}

/** Leaves out the message of a log. Its condition moves to the next message that has none. */
function withoutLog(messages: readonly Append[], log: string): Append[] {
  const { expect: lost } = messages.find(({ subject }) => subject === log) ?? {};
  const rest = messages.filter(({ subject }) => subject !== log);
  if (lost === undefined || rest.length === messages.length) return rest;
  const guard = { subject: `${log.split(".", 1)[0]}._guard.older.0`, data: "", ttl: 1, expect: lost };
  return [guard, ...rest];
}

describe("the live index", () => {
  it("lists and counts what a model lists, over random histories", async () => {
    const random = testRandom();
    const orb = await installOrb(broker.store("operator"), document("model"));
    const index = indexOf(orb);
    const known = new Map<string, Known>();
    const compaction = { deps, index, fence: orb.fence, limits: SMALL };
    // These entries are as an older version wrote them: the index does not know them.
    for (let i = 0; i < 30; i++) await step(deps, orb, random, known);
    await broker.store("operator").purge(streams.orb(orb.orb), subjects.orderedLog(index, LIVE));
    await compare(orb, known, random);
    for (const of of [deps, hostDeps]) await of.settled();
    expect(await openLive(deps.store, index)).toMatchObject({ root: expect.anything() });
    for (let round = 0; round < 25; round++) {
      for (let i = random.below(12); i > 0; i--)
        await step(random.pick([deps, hostDeps]), orb, random, known);
      if (random.below(3) === 0) ahead += random.below(20) * MINUTE;
      if (random.below(3) > 0) while ((await compactLive(compaction, { least: 1 })) === SMALL.changes);
      if (random.below(6) === 0) await compactLive(compaction, { least: 100, renew: true });
      if (random.below(10) === 0) expect(await buildLive(compaction)).toBe(true);
      await compare(orb, known, random);
    }
  });

  it("is complete if entries are written while it is built", async () => {
    const random = testRandom();
    const orb = await installOrb(broker.store("operator"), document("building"));
    const known = new Map<string, Known>();
    for (let i = 0; i < 20; i++) await step(deps, orb, random, known);
    const index = indexOf(orb);
    let writes = Promise.resolve();
    const slow = countingStore(deps.store, async () => {
      // One write before each read of the build.
      writes = writes.then(() => step(deps, orb, random, known));
      await writes;
    });
    const compaction = { deps: { ...deps, store: slow.store }, index, fence: orb.fence, limits: SMALL };
    let built = false;
    for (let attempt = 0; attempt < 10 && !built; attempt++) built = await buildLive(compaction);
    expect(built).toBe(true);
    await compare(orb, known, random);
  });

  it("is the same after a compaction or a build that stopped at any step", async () => {
    const random = testRandom();
    const orb = await installOrb(broker.store("operator"), document("stopped"));
    const known = new Map<string, Known>();
    const index = indexOf(orb);
    for (let steps = 0; steps < 24; steps++) {
      for (let i = 0; i < 6; i++) await step(deps, orb, random, known);
      const stopping = { ...deps, store: stoppingStore(deps.store, steps % 12) };
      const compaction = { deps: stopping, index, fence: orb.fence, limits: SMALL };
      const work = steps < 12 ? buildLive(compaction) : compactLive(compaction, { least: 1 });
      await work.catch((error: unknown) => {
        if (!(error instanceof Stopped)) throw error;
      });
      await compare(orb, known, random);
    }
  });

  it("gets the entries that an older version has published, and loses those that it has deleted", async () => {
    const random = testRandom();
    const orb = await installOrb(broker.store("operator"), document("older"));
    const known = new Map<string, Known>();
    const log = subjects.orderedLog(indexOf(orb), LIVE);
    // An older version writes the same messages, except for those of the live index.
    const older = {
      ...deps,
      store: {
        ...deps.store,
        batch: (stream: string, messages: readonly Append[]) =>
          deps.store.batch(stream, withoutLog(messages, log)),
      },
    };
    for (const since of [undefined, 0, "last"] as const) {
      const start = (await deps.store.streamInfo(streams.orb(orb.orb)))?.state.last_seq ?? 0;
      for (let i = 0; i < 30; i++) await step(since === undefined ? deps : older, orb, random, known);
      await completeLive(deps, orb, [schemaOf(orb)], since === "last" ? start : since);
      const ids = visible(known);
      for (const of of [deps, hostDeps])
        expect(await allPages(of, orb, "limit=7&count=true")).toEqual({ ids, totals: [ids.length] });
    }
  });

  it("keeps one of two compactions and builds that run at the same time", async () => {
    const random = testRandom();
    const orb = await installOrb(broker.store("operator"), document("twice"));
    const known = new Map<string, Known>();
    const compaction = { deps, index: indexOf(orb), fence: orb.fence, limits: SMALL };
    for (let round = 0; round < 6; round++) {
      for (let i = 0; i < 12; i++) await step(deps, orb, random, known);
      const works = [buildLive(compaction), compactLive(compaction, { least: 1 }), buildLive(compaction)];
      const results = await Promise.allSettled(works);
      for (const result of results)
        if (result.status === "rejected") expect(result.reason).toBeInstanceOf(Conflict);
      await compare(orb, known, random);
    }
  });

  it("is renewed by lists, without a count, when many entries have expired", async () => {
    const orb = await installOrb(broker.store("operator"), document("expired"));
    const validTo = new Date(deps.clock.now() + MINUTE).toISOString();
    const entry = { orbId: "expired", orb, module: "news", schema: "post", publish: true };
    for (let i = 0; i < 90; i++)
      await createEntry(deps, admin, { ...entry, values: { title: "t" }, ...(i < 85 ? { validTo } : {}) });
    const index = indexOf(orb);
    expect(await buildLive({ deps, index, fence: orb.fence, limits: SMALL })).toBe(true);
    const uncounted = async () => {
      const state = await openLive(deps.store, index);
      if (typeof state === "string") throw new Error(state);
      return state.root.pages.filter((page) => !isCounted(page, deps.clock.now())).length;
    };
    ahead += 3 * MINUTE;
    expect(await uncounted()).toBeGreaterThanOrEqual(8);
    expect((await list(deps, orb, "limit=20&sort=-createdAt")).items).toHaveLength(5);
    await deps.settled();
    expect(await uncounted()).toBe(0);
    expect((await list(deps, orb, "limit=20")).items).toHaveLength(5);
  });

  it("reads as much for a page behind many hidden entries as without them", async () => {
    const orb = await installOrb(broker.store("operator"), document("hidden"));
    const add = async (publish: boolean) =>
      (
        await createEntry(deps, admin, {
          orbId: "hidden",
          orb,
          module: "news",
          schema: "post",
          values: { title: "t" },
          publish,
        })
      ).snapshot.id;
    const shown: string[] = [];
    for (let i = 0; i < 30; i++) shown.push(await add(true));
    await completeLive(deps, orb, [schemaOf(orb)]);
    const counted = countingStore(deps.store);
    const cost = async (query: string) => {
      const of = { ...deps, store: counted.store };
      await list(of, orb, query);
      await deps.settled();
      // After a compaction, one list reads the new root.
      await list(of, orb, query);
      counted.reset();
      const page = await list(of, orb, query);
      return { calls: counted.calls.length, trips: counted.trips, ids: page.items.map(({ id }) => id) };
    };
    const queries = ["limit=20", "limit=20&sort=-createdAt", "limit=20&count=true"];
    const before = [];
    for (const query of queries) before.push(await cost(query));
    for (let i = 0; i < 300; i++) {
      const id = await add(i % 3 > 0);
      if (i % 3 === 1) await archiveEntry(deps, admin, targetOf(orb, id));
      if (i % 3 === 2) await unpublishEntry(deps, admin, targetOf(orb, id));
    }
    for (const [at, query] of queries.entries()) expect(await cost(query)).toEqual(before[at]);
    expect(LIVE_LIMITS.recent).toBeGreaterThan(300);
  });

  it("serves management lists of published entries, with upcoming ones and without ended ones", async () => {
    const orb = await installOrb(broker.store("operator"), document("managed"));
    const at = (ms: number) => new Date(deps.clock.now() + ms).toISOString();
    const add = async (more: { publish: boolean; validFrom?: string; validTo?: string }) => {
      const made = { orbId: "managed", orb, module: "news", schema: "post", values: { title: "t" }, ...more };
      return (await createEntry(deps, admin, made)).snapshot.id;
    };
    const wanted = [await add({ publish: true })];
    for (let i = 0; i < 60; i++) await add({ publish: false });
    wanted.push(await add({ publish: true, validFrom: at(60 * MINUTE) }));
    const ending = await add({ publish: true, validTo: at(30 * MINUTE) });
    await completeLive(deps, orb, [schemaOf(orb)]);
    wanted.push(await add({ publish: true, validFrom: at(60 * MINUTE) }), await add({ publish: true }));
    let read = 0;
    const getMany: typeof deps.store.getMany = (stream, names, options) => {
      read += names.length;
      return deps.store.getMany(stream, names, options);
    };
    const listed = async (status: string) => {
      read = 0;
      const parameters: [string, string][] = [
        ["module", "news"],
        ["status", status],
        ["count", "true"],
      ];
      const page = await listManaged({ ...deps, store: { ...deps.store, getMany } }, admin, {
        orb,
        parameters,
      });
      return { ids: page.items.map(({ id }) => id).sort(), total: page.total };
    };
    const published = [...wanted, ending].sort();
    expect(await listed("PUBLISHED")).toEqual({ ids: published, total: published.length });
    // Once for the page, once for the total, and the places of entries that the pages of the index lack.
    expect(read).toBeLessThan(20);
    const before = ahead;
    ahead += 40 * MINUTE;
    try {
      expect(await listed("PUBLISHED")).toEqual({ ids: wanted.sort(), total: wanted.length });
      expect(await listed("UNPUBLISHED")).toEqual({ ids: [ending], total: 1 });
    } finally {
      ahead = before;
    }
  });
});

/** The levels of an ordered index: what compactions write for each change, and indexes of the first version. */
import { expect, it } from "vitest";
import { homeOf } from "../../shared/definition/document/home.ts";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import { changeBody } from "../../shared/entry/model/ordered-value.ts";
import { compact, LIMITS, type OrderedLimits } from "../../shared/entry/ordered/compact.ts";
import { openIndex } from "../../shared/entry/ordered/open.ts";
import type { OrderedField } from "../../shared/entry/ordered/pages.ts";
import { scanOrdered } from "../../shared/entry/ordered/scan.ts";
import { streams, subjects } from "../../shared/store/subjects.ts";
import type { Append, Store } from "../../shared/store/types.ts";
import { fileDeps, installOrb } from "../support/entries.ts";
import { testRandom } from "../support/random.ts";

const { deps, broker } = await fileDeps();

/** A tenth of the limits of the platform, so that an index of 10,000 pairs has as many pages as one of 100,000. */
const TENTH: OrderedLimits = { ...LIMITS, recent: LIMITS.recent / 10, page: LIMITS.page / 10 };
/** Changes that each compaction moves. */
const EACH = 50;

const documentOf = (id: string) => ({
  id,
  modules: [
    {
      id: "catalog",
      type: "CONTENT" as const,
      schemas: [{ id: "item", fields: [{ name: "n", type: "integer" as const, index: "ordered" as const }] }],
    },
  ],
});

const indexOf = (orb: string): OrderedField => ({ orb, ...homeOf("CONTENT", "item"), field: "n" });

/** Wraps a store, and counts the bytes of the batches. */
function weighed(store: Store): { store: Store; written: () => number } {
  let bytes = 0;
  return {
    written: () => bytes,
    store: {
      ...store,
      batch(stream: string, messages: readonly Append[]) {
        for (const { data } of messages) bytes += data.length;
        return store.batch(stream, messages);
      },
    },
  };
}

/** Adds pairs to the log of an index, and compacts it after every 50. Calls `after` with their number so far. */
async function fill(
  { orb, fence }: LiveOrb,
  values: readonly number[],
  store: Store = deps.store,
  after?: (count: number) => void,
): Promise<void> {
  const index = indexOf(orb);
  const subject = subjects.orderedLog(index, index.field);
  for (let at = 0; at < values.length; at += EACH) {
    const changes = values.slice(at, at + EACH).map((value) => ({
      subject,
      data: changeBody({ id: deps.newId(), adds: [value], drops: [] }),
    }));
    await deps.store.batch(streams.orb(orb), changes);
    await compact({ deps: { store }, index, fence, limits: TENTH }, 1);
    after?.(at + EACH);
  }
}

/** Fills an index. Returns the bytes that compactions have written for each of the last fifth of the changes. */
async function costOf(live: LiveOrb, values: readonly number[]): Promise<number> {
  const { store, written } = weighed(deps.store);
  const rest = values.length / 5;
  let before = 0;
  await fill(live, values, store, (count) => {
    if (count === values.length - rest) before = written();
  });
  return (written() - before) / rest;
}

async function listed(orb: string): Promise<unknown[]> {
  const state = await openIndex(deps.store, indexOf(orb));
  if (state === undefined) throw new Error("no index");
  const values: unknown[] = [];
  for await (const pairs of scanOrdered(deps.store, indexOf(orb), state, {}, false))
    values.push(...pairs.map(({ value }) => value));
  return values;
}

const ascending = (values: readonly number[]) => values.toSorted((a, b) => a - b);

it("a change costs little more in a large index, for values in random order", async () => {
  const random = testRandom();
  const costs: number[] = [];
  for (const size of [1_000, 10_000]) {
    const orb = await installOrb(broker.store("operator"), documentOf(`cost-${size}`));
    const values = Array.from({ length: size }, () => random.below(1_000_000));
    costs.push(await costOf(orb, values));
    expect(await listed(orb.orb)).toEqual(ascending(values));
    // A list reads one page of each level.
    expect((await openIndex(deps.store, indexOf(orb.orb)))?.root.levels.length).toBeLessThanOrEqual(3);
  }
  const [small = 0, large = 0] = costs;
  expect(small).toBeGreaterThan(0);
  // With a single level, it would be more than six times as much.
  expect(large / small).toBeLessThan(4);
});

it("an index of the first version, with a single level, stays complete", async () => {
  const random = testRandom();
  const live = await installOrb(broker.store("operator"), documentOf("first"));
  const some = (count: number) => Array.from({ length: count }, () => random.below(1_000_000));
  const values = some(700);
  await fill(live, values);
  const index = indexOf(live.orb);
  const subject = subjects.orderedRoot(index, index.field);
  const root = await deps.store.get(streams.orb(live.orb), subject);
  if (root === null) throw new Error("no root");
  const { levels, ...rest } = root.json<{ levels: unknown[][] }>();
  expect(levels).toHaveLength(1);
  const data = JSON.stringify({ ...rest, v: 1, pages: levels[0] });
  await deps.store.append(streams.orb(live.orb), { subject, data, rollup: true });
  expect(await listed(live.orb)).toEqual(ascending(values));
  const more = some(1_500);
  await fill(live, more);
  expect(await listed(live.orb)).toEqual(ascending([...values, ...more]));
  expect((await openIndex(deps.store, index))?.root.levels.length).toBeGreaterThan(1);
});

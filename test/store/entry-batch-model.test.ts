/** Random batches, also racing and interrupted ones, lead to the same entries as a model of them. */
import { expect, it } from "vitest";
import type { OrbDocumentInput } from "../../shared/definition/document/document.ts";
import { homeOf } from "../../shared/definition/document/home.ts";
import { liveOrb } from "../../shared/definition/stored/live.ts";
import { type BatchItem, liveCopyOf, loadEntry, writeBatch } from "../../shared/entry/index.ts";
import { AppError } from "../../shared/kernel/errors.ts";
import { createOrb } from "../../shared/orb/create.ts";
import { streams, subjects } from "../../shared/store/subjects.ts";
import { verifyAll } from "../../shared/verify/verify.ts";
import { Stopped, stoppingStore } from "../support/counting.ts";
import { admin, fileDeps, storedValues, type TestDeps } from "../support/entries.ts";
import { type Random, rounds, testRandom } from "../support/random.ts";

const { broker, deps, store } = await fileDeps();
// Another process takes no turns with this one.
const other: TestDeps = { ...deps, store: broker.store("fn") as TestDeps["store"] };
const document: OrbDocumentInput = {
  id: "shop",
  modules: [
    {
      id: "stock",
      type: "CONTENT",
      schemas: [
        {
          id: "thing",
          fields: [
            { name: "sku", type: "string", unique: true },
            { name: "count", type: "integer", min: 0, max: 9, default: 0 },
            { name: "near", type: "reference", ref: "shop/stock/thing", list: true },
          ],
        },
      ],
    },
  ],
};
await createOrb(deps, admin, { document, publish: true });
const orb = (await liveOrb(deps, "shop")) ?? expect.fail("the orb is not published");

interface Values {
  sku: string;
  count: number;
  /** Missing until a write names it: a draft with an empty list differs from a publication without one. */
  near?: string[];
}
interface Thing {
  revision: number;
  draft: Values;
  live: Values | null;
  hasDraft: boolean;
}
type State = ReadonlyMap<string, Thing>;

const same = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);
const fits = ({ count }: Values) => count >= 0 && count <= 9;

class Refused extends Error {}

/** The entry after an update. */
function updated(thing: Thing, values: Partial<Values>, add: number, publish: boolean): Thing {
  const patched = (from: Values): Values => ({ ...from, ...values, count: from.count + add });
  const draft = patched(thing.draft);
  if (!publish) return { ...thing, draft, revision: thing.revision + 1, hasDraft: true };
  const live = thing.live !== null && thing.hasDraft ? patched(thing.live) : draft;
  const beside = !same(live, draft);
  return { draft, live, hasDraft: beside, revision: thing.revision + (beside ? 2 : 1) };
}

interface Step {
  item: BatchItem;
  /** Returns the new state of the entry, or null if it is deleted. */
  apply(before: Thing | undefined): Thing | null;
  /** Id of the entry; for a new one, its name. */
  id: string;
  /** Whether the item publishes, so that its references must be live. */
  publish: boolean;
  /** The references that the item names. */
  near: readonly string[];
}

/** Returns the state after a batch. Throws if the platform must refuse it. */
function modelled(state: State, steps: readonly Step[]): Map<string, Thing> {
  const next = new Map(state);
  if (new Set(steps.map(({ id }) => id)).size < steps.length) throw new Refused();
  for (const { id, apply } of steps) {
    const thing = apply(state.get(id));
    if (thing === null) next.delete(id);
    else next.set(id, thing);
  }
  const owners = new Map<string, string>();
  for (const [id, { draft, live }] of next) {
    if (!fits(draft) || (live !== null && !fits(live))) throw new Refused();
    for (const { sku, near } of live === null ? [draft] : [draft, live]) {
      if ((owners.get(sku) ?? id) !== id || near?.some((target) => !next.has(target))) throw new Refused();
      owners.set(sku, id);
    }
  }
  for (const { id, publish } of steps) {
    const { live } = next.get(id) ?? { live: null };
    if (publish && live?.near?.some((target) => target !== id && next.get(target)?.live === null))
      throw new Refused();
  }
  return next;
}

let serial = 0;
const removed = (_: Thing) => null;

function stepFor(random: Random, ids: readonly string[], names: readonly string[], name: string): Step {
  const publish = random.below(2) === 0;
  const values: Partial<Values> = {};
  if (random.below(3) === 0) values.sku = `s${random.below(5)}`;
  const known = [...ids, ...names];
  if (random.below(2) === 0 && known.length > 0)
    values.near = random.below(3) === 0 ? [] : [random.pick(known)];
  const sent = {
    ...values,
    ...(values.near === undefined
      ? {}
      : { near: values.near.map((one) => (names.includes(one) ? { $ref: one } : one)) }),
  };
  const near = values.near ?? [];
  if (names.includes(name)) {
    const made: Values = { sku: `n${++serial}`, count: 0, ...values };
    return {
      id: name,
      item: { create: "stock/thing", as: name, publish, values: { sku: made.sku, ...sent } },
      apply: () => ({ revision: 1, draft: made, live: publish ? made : null, hasDraft: !publish }),
      publish,
      near,
    };
  }
  const at = `stock/thing/${name}`;
  const most = random.below(10);
  const rule = { "<=": [{ var: "values.count" }, most] };
  const when = random.below(3) === 0 ? { if: rule } : {};
  const judged = (thing: Thing | undefined): Thing => {
    if (thing === undefined || ("if" in when && thing.draft.count > most)) throw new Refused();
    return thing;
  };
  if (random.below(5) === 0) {
    const item = { delete: at, ...when };
    return { id: name, item, apply: (thing) => removed(judged(thing)), publish: false, near: [] };
  }
  const add = random.below(4) - 1;
  return {
    id: name,
    item: { update: at, values: sent, add: { count: add }, publish, ...when },
    apply: (thing) => updated(judged(thing), values, add, publish),
    publish,
    near,
  };
}

function stepsFor(random: Random, ids: readonly string[]): Step[] {
  const names = Array.from({ length: random.below(3) }, () => `new${++serial}`);
  const old = Array.from({ length: random.below(4) }, () => random.pick(["0", ...ids]));
  const all = [...names, ...old].sort(() => random.next() - 0.5);
  return all.map((name) => stepFor(random, ids, names, name));
}

/** Runs a batch. Returns the ids of its new entries by name, or undefined if it was refused. */
async function run(steps: readonly Step[], by: TestDeps): Promise<Map<string, string> | undefined> {
  try {
    const items = steps.map(({ item }) => item);
    const result = await writeBatch(by, admin, { orbId: "shop", orb, items, routed: true });
    return new Map(steps.map(({ id }, at) => [id, result.items[at]?.id ?? ""]));
  } catch (error) {
    if (!(error instanceof AppError) || error.data?.item === undefined) throw error;
    return undefined;
  }
}

const renamed = (state: State, ids: ReadonlyMap<string, string>): Map<string, Thing> => {
  const of = (id: string) => ids.get(id) ?? id;
  const values = ({ near, ...one }: Values): Values => (near ? { ...one, near: near.map(of) } : one);
  return new Map(
    [...state].map(([id, { live, ...thing }]) => [
      of(id),
      { ...thing, draft: values(thing.draft), live: live === null ? null : values(live) },
    ]),
  );
};

/** Returns what is stored of the entries, as the model has it. */
async function stored(ids: Iterable<string>): Promise<Map<string, unknown>> {
  const shown = (values: Record<string, unknown>) => [values.sku, values.count ?? 0, values.near ?? []];
  const found = await Promise.all(
    [...ids].map(async (id): Promise<[string, unknown][]> => {
      const head = (await loadEntry(deps, "shop", id))?.head;
      if (head === undefined || head.status === "DELETED") return [];
      const address = { orb: "shop", ...homeOf("CONTENT", "thing"), id };
      const copy = liveCopyOf(await store.get(streams.orb("shop"), subjects.entryLive(address, "public")));
      return [
        [id, [head.revision, shown(storedValues(head)), copy === null ? null : shown(storedValues(copy))]],
      ];
    }),
  );
  return new Map(found.flat());
}

const expected = (state: State) => {
  const shown = ({ sku, count, near = [] }: Values) => [sku, count, near];
  return new Map(
    [...state].map(([id, { revision, draft, live }]) => [
      id,
      [revision, shown(draft), live === null ? null : shown(live)],
    ]),
  );
};

/** Returns the state after a batch, or undefined if the platform must refuse it. */
function after(state: State, steps: readonly Step[]): Map<string, Thing> | undefined {
  try {
    return modelled(state, steps);
  } catch (error) {
    if (error instanceof Refused) return undefined;
    throw error;
  }
}

it("lead to the entries of a model, and leave no contradiction behind", { timeout: 120_000 }, async () => {
  const random = testRandom();
  let state: State = new Map();
  const met = new Set<string>();
  let accepted = 0;
  for (let round = 0; round < rounds(100); round++) {
    const ids = [...state.keys()];
    const [one, two] = [stepsFor(random, ids), stepsFor(random, ids)];
    const way = random.below(3);
    if (one.length === 0 || two.length === 0) continue;
    const story = JSON.stringify({
      round,
      one: one.map(({ item }) => item),
      two: two.map(({ item }) => item),
    });
    if (way === 0) {
      const next = after(state, one);
      const made = await run(one, deps);
      expect(made !== undefined, story).toBe(next !== undefined);
      if (next !== undefined && made !== undefined) state = renamed(next, made);
    } else if (way === 1) {
      const made = await Promise.all([run(one, deps), run(two, other)]);
      const orders = [
        [one, two],
        [two, one],
      ].map((order) => {
        let now: State = state;
        for (const steps of order) {
          const done = made[steps === one ? 0 : 1];
          const next = after(now, steps);
          if ((next !== undefined) !== (done !== undefined)) return undefined;
          if (next !== undefined && done !== undefined) now = renamed(next, done);
        }
        return now;
      });
      const found = await stored(new Set([...ids, ...made.flatMap((each) => [...(each?.values() ?? [])])]));
      const fitting = orders.find(
        (now) => now !== undefined && same([...expected(now)].sort(), [...found].sort()),
      );
      expect(fitting, story).toBeDefined();
      state = fitting ?? state;
    } else {
      const step = random.below(12);
      const ids: string[] = [];
      const newId = () => {
        ids.push(deps.newId());
        return ids.at(-1) ?? "";
      };
      const stopping = { ...deps, newId, store: stoppingStore(store, step) as TestDeps["store"] };
      const next = after(state, one);
      try {
        const made = await run(one, stopping);
        expect(made !== undefined, story).toBe(next !== undefined);
        if (next !== undefined && made !== undefined) state = renamed(next, made);
      } catch (error) {
        if (!(error instanceof Stopped)) throw error;
        const found = await stored(new Set([...state.keys(), ...ids]));
        // The batch is stored, or it is not.
        const isStored = next !== undefined && !same([...expected(state)].sort(), [...found].sort());
        const names = one.filter(({ item }) => "create" in item).map(({ id }) => id);
        if (isStored) state = renamed(next, new Map(names.map((name, at) => [name, ids[at] ?? ""])));
      }
    }
    for (const id of state.keys()) met.add(id);
    const found = await stored(met);
    expect([...found].sort(), story).toEqual([...expected(state)].sort());
    accepted += 1;
  }
  expect(accepted).toBeGreaterThan(50);
  expect(state.size).toBeGreaterThan(0);
  await deps.settled();
  const damages: unknown[] = [];
  await verifyAll(deps, (_what, found) => void damages.push(...found));
  expect(damages).toEqual([]);
});

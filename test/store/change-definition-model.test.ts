/** Random change sets with definitions, other definitions, live edits and crashes, compared with a model. */
import { inspect } from "node:util";
import { expect, it } from "vitest";
import {
  contentOf,
  publishSet,
  readingIn,
  revertSet,
  writingInto,
} from "../../shared/changes/content/index.ts";
import { contextIn } from "../../shared/changes/definition/index.ts";
import { proposeDefinition, rebaseDefinition } from "../../shared/changes/proposal/index.ts";
import { requireSet } from "../../shared/changes/record/index.ts";
import { openSet, type ReadContent } from "../../shared/changes/review/index.ts";
import { requireLive } from "../../shared/definition/stored/index.ts";
import { createEntry, loadEntry, updateEntry } from "../../shared/entry/index.ts";
import { namedEntry, type OrbContext } from "../../shared/entry/model/index.ts";
import { AppError } from "../../shared/kernel/errors.ts";
import { createOrb } from "../../shared/orb/create.ts";
import { reconcileAll } from "../../shared/orb/migrate/index.ts";
import { updateOrb } from "../../shared/orb/update.ts";
import { Stopped, stoppingStore } from "../support/counting.ts";
import { admin, callerIn, fileDeps, type TestDeps } from "../support/entries.ts";
import { type Random, rounds, testRandom } from "../support/random.ts";

const { deps, store } = await fileDeps();
const later: TestDeps = { ...deps, clock: { now: () => deps.clock.now() + 60_000 } };

type Values = Record<string, number>;

/** A definition has the fields `f1` to `f<size>`. Some need all stored entries to be checked. */
const document = (orb: string, size: number) => ({
  id: orb,
  modules: [
    {
      id: "stock",
      type: "CONTENT",
      schemas: [
        {
          id: "item",
          fields: Array.from({ length: size }, (_, at) => ({
            name: `f${at + 1}`,
            type: "integer",
            ...(at % 3 === 1 ? { index: "ordered" } : {}),
          })),
        },
      ],
    },
  ],
});

interface ModelSet {
  state: "OPEN" | "PUBLISHED";
  /** The definition that it proposes, and the number of the live definition before it. */
  definition?: { size: number; base: number };
  versions: Map<string, { base: Values; values: Values }>;
}

interface Model {
  orb: string;
  size: number;
  /** Counts the definitions that were published. */
  published: number;
  entries: Map<string, Values>;
  sets: Map<string, ModelSet>;
}

const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "ok",
    (error: unknown) => {
      if (error instanceof AppError) return error.code;
      throw error;
    },
  );

const live = ({ orb }: Model) => requireLive(deps, orb);
const withinOf = async (model: Model, set: string): Promise<OrbContext> =>
  contextIn(deps, await live(model), set);

/** Three-way merge. A conflict takes the values of the set, as reads within it do. */
function merged(base: Values, theirs: Values, mine: Values) {
  const values: Values = {};
  let isConflict = false;
  for (const name of new Set([...Object.keys(theirs), ...Object.keys(mine)])) {
    const [old, other, own] = [base[name], theirs[name], mine[name]];
    const value = own === old ? other : own;
    if (own !== old && other !== old && own !== other) isConflict = true;
    if (value !== undefined) values[name] = value;
  }
  return { values, isConflict };
}

const fits = (values: Values, size: number) =>
  Object.keys(values).every((name) => Number(name.slice(1)) <= size);

async function patchLive(model: Model, id: string, values: Values): Promise<void> {
  const context = { orbId: model.orb, orb: await live(model) };
  const outcome = await codeOf(
    updateEntry(deps, admin, { ...context, id, values, merge: true, publish: true }),
  );
  expect(outcome, `live ${inspect(values)}`).toBe(fits(values, model.size) ? "ok" : "validation_failed");
  if (outcome === "ok") model.entries.set(id, { ...model.entries.get(id), ...values });
}

async function publishLive(model: Model): Promise<void> {
  const size = model.size + 1;
  await updateOrb(deps, admin, { orb: model.orb, document: document(model.orb, size), publish: true });
  model.size = size;
  model.published++;
}

const readContent: ReadContent = (given, context, { id }) => contentOf(given, context, id);

async function open(model: Model): Promise<void> {
  const orb = await live(model);
  const { set } = await openSet(deps, admin, { orbId: model.orb, orb, title: "Release" }, readContent);
  model.sets.set(set.id, { state: "OPEN", versions: new Map() });
}

async function propose(model: Model, id: string, more: number): Promise<void> {
  const set = model.sets.get(id) as ModelSet;
  const size = Math.max(model.size, set.definition?.size ?? 0) + more;
  const proposed = { document: document(model.orb, size) };
  const outcome = await codeOf(proposeDefinition(deps, admin, { orb: model.orb, set: id, proposed }));
  expect(outcome, `propose ${size}`).toBe(set.state === "OPEN" ? "ok" : "wrong_state");
  if (outcome !== "ok") return;
  set.definition = { size, base: set.definition?.base ?? model.published };
  if (set.definition.base !== model.published) await rebase(model, id, set.definition);
}

/** Both sides only add fields, which are the same on both. */
async function rebase(model: Model, id: string, definition: { size: number; base: number }): Promise<void> {
  const outcome = await codeOf(rebaseDefinition(deps, admin, { orb: model.orb, set: id, keep: {} }));
  expect(outcome, `rebase ${definition.size}`).toBe("ok");
  definition.size = Math.max(definition.size, model.size);
  definition.base = model.published;
}

async function patchIn(model: Model, id: string, entry: string, values: Values): Promise<void> {
  const set = model.sets.get(id) as ModelSet;
  const context = await withinOf(model, id);
  const work = writingInto(deps, callerIn(admin, context), context, id).then((to) =>
    updateEntry(to.deps, admin, {
      ...{ orbId: model.orb, orb: context, id: entry, values, merge: true, into: to.into },
    }),
  );
  const size = set.definition?.size ?? model.size;
  const isBehind = set.definition !== undefined && set.definition.base !== model.published;
  const result = fits(values, size) ? "ok" : "validation_failed";
  const expected = set.state !== "OPEN" ? "wrong_state" : isBehind ? "definition_conflict" : result;
  expect(await codeOf(work), `in ${inspect(values)}`).toBe(expected);
  if (expected !== "ok") return;
  const now = model.entries.get(entry) ?? {};
  const known = set.versions.get(entry) ?? { base: now, values: now };
  set.versions.set(entry, { base: known.base, values: { ...known.values, ...values } });
}

/** Returns how the publication of a set ends. Changes the model if it succeeds. */
function applyPublish(model: Model, set: ModelSet): string {
  if (set.state !== "OPEN") return "wrong_state";
  if (set.versions.size === 0 && set.definition === undefined) return "change_empty";
  const { definition } = set;
  if (definition !== undefined && definition.base !== model.published) return "definition_conflict";
  const results = [...set.versions].map(([entry, { base, values }]) => ({
    entry,
    ...merged(base, model.entries.get(entry) ?? {}, values),
  }));
  if (results.some(({ isConflict }) => isConflict)) return "change_conflict";
  for (const { entry, values } of results) model.entries.set(entry, values);
  if (definition !== undefined && definition.size !== model.size) {
    model.size = definition.size;
    model.published++;
  }
  set.state = "PUBLISHED";
  return "ok";
}

/** @param steps the broker calls after which the process stops */
async function publish(model: Model, id: string, steps: number | undefined): Promise<void> {
  const set = model.sets.get(id) as ModelSet;
  const with_ = steps === undefined ? deps : { ...deps, store: stoppingStore(store, steps) };
  const input = { orbId: model.orb, orb: await live(model), set: id };
  let outcome: string;
  try {
    outcome = await codeOf(publishSet(with_, admin, input));
  } catch (error) {
    if (!(error instanceof Stopped)) throw error;
    outcome =
      (await requireSet(deps, model.orb, id)).set.state === "PUBLISHED" && set.state === "OPEN"
        ? "ok"
        : "stopped";
    // What a crash has left is never seen, even before something repairs it.
    if (outcome === "ok") expect(applyPublish(model, set)).toBe("ok");
    await compare(model);
    await reconcileAll(later);
    return;
  }
  expect(outcome, `publish ${inspect(set, { depth: 4 })}`).toBe(applyPublish(model, set));
}

/** Checks that readers see the model: in the orb, and within each open set. */
async function compare(model: Model): Promise<void> {
  const orb = await live(model);
  expect(orb.compiled.schema("stock")?.fields.size).toBe(model.size);
  for (const [id, values] of model.entries) {
    const entry = namedEntry(orb.compiled, await loadEntry(deps, model.orb, id));
    expect(entry?.head.values).toEqual(values);
  }
  for (const [id, set] of model.sets) {
    if (set.state !== "OPEN") continue;
    const context = await withinOf(model, id);
    expect(context.compiled.schema("stock")?.fields.size).toBe(set.definition?.size ?? model.size);
    const { deps: within } = await readingIn(deps, callerIn(admin, context), context, id);
    for (const [entry, values] of model.entries) {
      const version = set.versions.get(entry);
      const found = namedEntry(context.compiled, await loadEntry(within, model.orb, entry));
      const seen = version === undefined ? values : merged(version.base, values, version.values).values;
      const size = set.definition?.size ?? model.size;
      const shown = Object.fromEntries(
        Object.entries(seen).filter(([name]) => Number(name.slice(1)) <= size),
      );
      // Values of fields that the definition of the set does not have stay stored.
      const known = Object.entries(found?.head.values ?? {}).filter(([name]) => fits({ [name]: 0 }, size));
      expect(Object.fromEntries(known), `within ${inspect(set, { depth: 4 })}`).toEqual(shown);
    }
  }
}

async function act(model: Model, random: Random): Promise<void> {
  const sets = [...model.sets].filter(([, { state }]) => state === "OPEN" || random.below(6) === 0);
  const entry = random.pick([...model.entries.keys()]);
  const values = { [`f${1 + random.below(model.size + 2)}`]: random.below(3) };
  const kind = random.below(16);
  if (kind < 2 || sets.length === 0) return open(model);
  if (kind < 5) return patchLive(model, entry, values);
  if (kind === 5) return publishLive(model);
  const [id] = random.pick(sets);
  if (kind < 9) return propose(model, id, 1 + random.below(2));
  if (kind < 13) return patchIn(model, id, entry, values);
  return publish(model, id, random.below(2) === 0 ? undefined : random.below(40));
}

const RUNS = rounds(3);
const ACTS = 45;

it("equals a model of sets with definitions, with crashes", async () => {
  const random = testRandom();
  for (let run = 0; run < RUNS; run++) {
    const orb = `defmodel-${run}`;
    await createOrb(deps, admin, { document: document(orb, 2), publish: true });
    const model: Model = { orb, size: 2, published: 0, entries: new Map(), sets: new Map() };
    for (let at = 0; at < 3; at++) {
      const made = await createEntry(deps, admin, {
        ...{ orbId: orb, orb: await live(model), module: "stock", values: { f1: at }, publish: true },
      });
      model.entries.set(made.snapshot.id, { f1: at });
    }
    for (let at = 0; at < ACTS; at++) {
      await act(model, random);
      await compare(model);
    }
  }
}, 180_000);

it("takes back a definition and its entries", async () => {
  const orb = "defmodel-back";
  await createOrb(deps, admin, { document: document(orb, 2), publish: true });
  const model: Model = { orb, size: 2, published: 0, entries: new Map(), sets: new Map() };
  const made = await createEntry(deps, admin, {
    ...{ orbId: orb, orb: await live(model), module: "stock", values: { f1: 1 }, publish: true },
  });
  const { id } = made.snapshot;
  model.entries.set(id, { f1: 1 });
  await open(model);
  const [set = ""] = model.sets.keys();
  await propose(model, set, 1);
  await patchIn(model, set, id, { f1: 5, f3: 7 });
  await publish(model, set, undefined);
  await compare(model);
  const now = await live(model);
  const back = await revertSet(deps, callerIn(admin, now), now, { set });
  expect(await codeOf(publishSet(deps, admin, { orbId: orb, orb: now, set: back.id }))).toBe("ok");
  await compare({ ...model, size: 2, entries: new Map([[id, { f1: 1 }]]), sets: new Map() });
});

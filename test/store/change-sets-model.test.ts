/** Random change sets, live edits, rebases, publications, reverts and races, compared with a model. */
import { inspect } from "node:util";
import { expect, it } from "vitest";
import { diffSet } from "../../shared/changes/content/diff.ts";
import { publishSet } from "../../shared/changes/content/publish.ts";
import { type Keep, rebaseEntry } from "../../shared/changes/content/rebase.ts";
import { revertSet } from "../../shared/changes/content/revert.ts";
import { takeOut } from "../../shared/changes/content/take-out.ts";
import { writingInto } from "../../shared/changes/content/within.ts";
import { requireSet } from "../../shared/changes/record/record.ts";
import { openSet } from "../../shared/changes/review/change.ts";
import {
  createEntry,
  deleteEntry,
  loadEntry,
  unpublishEntry,
  updateEntry,
} from "../../shared/entry/index.ts";
import { AppError } from "../../shared/kernel/errors.ts";
import { admin, callerIn, fileOrb, storedValues } from "../support/entries.ts";
import { type Random, rounds, testRandom } from "../support/random.ts";

const NAMES = ["a", "b", "c"] as const;
const { deps, orb } = await fileOrb({
  id: "shop",
  modules: [
    {
      id: "stock",
      type: "CONTENT",
      schemas: [{ id: "item", fields: NAMES.map((name) => ({ name, type: "integer" as const })) }],
    },
  ],
});
const context = { orbId: "shop", orb };
const caller = callerIn(admin, orb);

type Values = Record<string, number>;
type Act = "publish" | "unpublish" | "delete" | "restore";

interface Entry {
  status: "PUBLISHED" | "UNPUBLISHED" | "DELETED";
  revision: number;
  values: Values;
}

interface Version {
  act: Act;
  base: { revision: number; live: boolean; values: Values } | null;
  values: Values;
  /** Whether the set also changes values of an entry that it does not publish. */
  edited: boolean;
}

/** What a publication did with an entry. */
interface Done {
  act: Act;
  revision: number;
  values: Values;
  before: Entry | null;
}

interface ModelSet {
  state: "OPEN" | "PUBLISHED" | "REVERTED";
  versions: Map<string, Version>;
  done: Map<string, Done>;
  reverts?: string;
  /** The entries that it takes back. */
  takes?: string[];
  /** The sets that took back some of its entries. */
  parts?: string[];
}

interface Model {
  entries: Map<string, Entry>;
  sets: Map<string, ModelSet>;
}

/** Something that a client does: on the platform, and in the model. Both return how it ended. */
interface Deed {
  name: string;
  run: () => Promise<string>;
  apply: (model: Model) => string;
}

const outcomeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "ok",
    (error: unknown) => {
      if (!(error instanceof AppError)) throw error;
      const paths = (error.errors ?? []).map(({ path }) => path).sort();
      return [error.code, ...paths].join(" ");
    },
  );

/** Three-way merge of flat values. */
function merged(base: Values, theirs: Values, mine: Values) {
  const conflicts: string[] = [];
  const values: Values = {};
  for (const name of NAMES) {
    const [old, other, own] = [base[name], theirs[name], mine[name]];
    const value = own === old ? other : own;
    if (own !== old && other !== old && own !== other) conflicts.push(`/values/${name}`);
    if (value !== undefined) values[name] = value;
  }
  return { values, conflicts };
}

/** Where the orb has changed an entry in a way that the publication of a version cannot merge. */
function conflictsOf(entry: Entry, { act, base, values, edited }: Version, reverts: boolean): string[] {
  if (entry.status === "DELETED") return act === "delete" || base === null ? [] : [""];
  if (base === null) return [""];
  const isLive = entry.status === "PUBLISHED";
  const isSame = entry.revision === base.revision;
  const isReached = act === "unpublish" && !isLive;
  if (act === "delete") return isSame ? [] : [""];
  if (act === "unpublish") {
    if (!isReached && reverts && !isSame) return [""];
    return edited ? merged(base.values, entry.values, values).conflicts : [];
  }
  if (!isLive) return base.live ? ["/status"] : isSame ? [] : [""];
  return merged(base.values, entry.values, values).conflicts;
}

/** Returns the entry after the publication of a version; undefined if it stays as it is. */
function published(entry: Entry | undefined, version: Version): Entry | undefined {
  const { act, base, values, edited } = version;
  const revision = (entry?.revision ?? 0) + 1;
  if (entry === undefined || entry.status === "DELETED") {
    if (act === "delete") return undefined;
    return { status: act === "publish" ? "PUBLISHED" : "UNPUBLISHED", revision, values };
  }
  if (act === "delete") return { status: "DELETED", revision, values: {} };
  const now = base === null ? values : merged(base.values, entry.values, values).values;
  if (act === "publish") return { status: "PUBLISHED", revision, values: now };
  if (!edited && entry.status !== "PUBLISHED") return undefined;
  return { status: "UNPUBLISHED", revision, values: edited ? now : entry.values };
}

const place = (id: string) => `/stock/item/${id}`;

/** Returns in which pass the platform decides a version: entries that are gone first, and deletions last. */
function passOf(entry: Entry | undefined, { act, base }: Version): number {
  if (entry === undefined || (entry.status === "DELETED") === (base !== null)) return 0;
  return act === "delete" ? 2 : 1;
}

function applyPublish(model: Model, id: string): string {
  const set = model.sets.get(id) as ModelSet;
  if (set.state !== "OPEN") return "wrong_state";
  if (set.versions.size === 0) return "change_empty";
  const reverts = set.reverts !== undefined;
  const found = [...set.versions].flatMap(([entry, version]) => {
    const known = model.entries.get(entry);
    const paths = known === undefined ? [] : conflictsOf(known, version, reverts);
    return paths.map((path) => ({ path: place(entry) + path, pass: passOf(known, version) }));
  });
  // The platform tells the conflicts of its first pass that finds some.
  const first = Math.min(...found.map(({ pass }) => pass));
  const told = found.filter(({ pass }) => pass === first).map(({ path }) => path);
  if (told.length > 0) return ["change_conflict", ...told.sort()].join(" ");
  for (const [entry, version] of set.versions) {
    const before = model.entries.get(entry);
    const after = published(before, version);
    if (after === undefined) continue;
    const { act } = version;
    const was = before === undefined || before.status === "DELETED" ? null : before;
    set.done.set(entry, { act, revision: after.revision, values: after.values, before: was });
    model.entries.set(entry, after);
  }
  set.state = "PUBLISHED";
  const other = set.reverts === undefined ? undefined : model.sets.get(set.reverts);
  if (other?.state !== "PUBLISHED") return "ok";
  const inOther = inEffect(model, other);
  const left = set.takes?.some((entry) => !set.versions.has(entry) && inOther.has(entry));
  if (left === true) other.parts = [...(other.parts ?? []), id];
  else other.state = "REVERTED";
  return "ok";
}

/** Returns what a set did with its entries, without those that published sets have taken back. */
function inEffect(model: Model, { done, parts = [] }: ModelSet): Map<string, Done> {
  const rest = new Map(done);
  for (const part of parts.map((id) => model.sets.get(id) as ModelSet))
    if (part.state === "PUBLISHED") for (const entry of inEffect(model, part).keys()) rest.delete(entry);
  return rest;
}

/** Returns the version that takes back what a publication did; undefined if there is nothing to do. */
function undoing(entry: Entry, { act, revision, values, before }: Done): Version | undefined {
  if (entry.status === "DELETED") {
    if (act !== "delete" || before === null) return undefined;
    const back = before.status === "PUBLISHED" ? "publish" : "restore";
    return { act: back, base: null, values: before.values, edited: false };
  }
  const base = { revision, live: act === "publish", values };
  if (before === null) return { act: "delete", base, values: {}, edited: false };
  const isSame = NAMES.every((name) => before.values[name] === values[name]);
  if (before.status !== "PUBLISHED" && isSame && entry.status !== "PUBLISHED") return undefined;
  if (before.status !== "PUBLISHED")
    return { act: "unpublish", base, values: before.values, edited: !isSame };
  if (act === "publish" && isSame) return undefined;
  return { act: "publish", base, values: before.values, edited: false };
}

const into = (set: string) => writingInto(deps, caller, orb, set);

function patchLive(id: string, values: Values): Deed {
  return {
    name: `live ${id} ${JSON.stringify(values)}`,
    run: () => outcomeOf(updateEntry(deps, admin, { ...context, id, values, merge: true, publish: true })),
    apply({ entries }) {
      const entry = entries.get(id) as Entry;
      if (entry.status === "DELETED") return "entry_not_found";
      entries.set(id, {
        status: "PUBLISHED",
        revision: entry.revision + 1,
        values: { ...entry.values, ...values },
      });
      return "ok";
    },
  };
}

function hideLive(id: string, act: "unpublish" | "delete"): Deed {
  const verb = act === "delete" ? deleteEntry : unpublishEntry;
  return {
    name: `live ${act} ${id}`,
    run: () => outcomeOf(verb(deps, admin, { ...context, id })),
    apply({ entries }) {
      const entry = entries.get(id) as Entry;
      if (entry.status === "DELETED") return "entry_not_found";
      if (act === "unpublish" && entry.status !== "PUBLISHED") return "wrong_state";
      const revision = entry.revision + 1;
      entries.set(
        id,
        act === "delete"
          ? { status: "DELETED", revision, values: {} }
          : { ...entry, status: "UNPUBLISHED", revision },
      );
      return "ok";
    },
  };
}

/** Returns the version with which a write into a set begins, or how the write ends without one. */
function begun({ entries, sets }: Model, id: string, entry: string): Version | string {
  const set = sets.get(id) as ModelSet;
  if (set.state !== "OPEN") return "wrong_state";
  const known = set.versions.get(entry);
  if (known !== undefined) return known.act === "delete" ? "entry_not_found" : known;
  const now = entries.get(entry);
  if (now === undefined || now.status === "DELETED") return "entry_not_found";
  const { revision, values, status } = now;
  return { act: "publish", base: { revision, values, live: status === "PUBLISHED" }, values, edited: false };
}

function patchIn(set: string, id: string, values: Values): Deed {
  return {
    name: `patch ${set} ${id} ${JSON.stringify(values)}`,
    run: () =>
      outcomeOf(
        into(set).then(({ deps: within, into: to }) =>
          updateEntry(within, admin, { ...context, id, values, merge: true, into: to }),
        ),
      ),
    apply(model) {
      const version = begun(model, set, id);
      if (typeof version === "string") return version;
      const edited = version.act !== "publish";
      model.sets.get(set)?.versions.set(id, { ...version, values: { ...version.values, ...values }, edited });
      return "ok";
    },
  };
}

function hideIn(set: string, id: string, act: "unpublish" | "delete"): Deed {
  return {
    name: `${act} ${set} ${id}`,
    run: () =>
      outcomeOf(
        into(set).then(async ({ deps: within, into: to }) => {
          await (act === "delete" ? deleteEntry : unpublishEntry)(within, admin, {
            ...context,
            id,
            into: to,
          });
        }),
      ),
    apply(model) {
      const version = begun(model, set, id);
      if (typeof version === "string") return version;
      const versions = model.sets.get(set)?.versions;
      if (act === "delete" && version.base === null) versions?.delete(id);
      else if (act === "delete") versions?.set(id, { ...version, act, values: {}, edited: false });
      else {
        const known = versions?.get(id);
        const isShown = known === undefined ? version.base?.live === true : known.act === "publish";
        if (!isShown) return "wrong_state";
        if (version.base === null) return "wrong_state";
        versions?.set(id, { ...version, act, edited: known !== undefined });
      }
      return "ok";
    },
  };
}

function leave(set: string, id: string): Deed {
  return {
    name: `take out ${set} ${id}`,
    run: () => outcomeOf(takeOut(deps, caller, orb, { set, entry: id })),
    apply({ sets }) {
      const found = sets.get(set) as ModelSet;
      if (found.state !== "OPEN") return "wrong_state";
      return found.versions.delete(id) ? "ok" : "entry_not_found";
    },
  };
}

function rebase(set: string, id: string, side: Keep): Deed {
  const keep = Object.fromEntries(NAMES.map((name) => [`/values/${name}`, side]));
  return {
    name: `rebase ${set} ${id} ${side}`,
    run: () => outcomeOf(rebaseEntry(deps, caller, orb, { set, entry: id, keep })),
    apply({ sets, entries }) {
      const found = sets.get(set) as ModelSet;
      if (found.state !== "OPEN") return "wrong_state";
      const version = found.versions.get(id);
      if (version === undefined || version.base === null) return "entry_not_found";
      const entry = entries.get(id) as Entry;
      if (entry.status === "DELETED") return "change_conflict ";
      const { revision, status, values: now } = entry;
      const base = { revision, live: status === "PUBLISHED", values: now };
      const { act, edited } = version;
      if (act === "delete") found.versions.set(id, { ...version, base });
      else if (act !== "publish" && !edited) found.versions.set(id, { ...version, base, values: now });
      else {
        const { values, conflicts } = merged(version.base.values, now, version.values);
        if (side === "live") for (const path of conflicts) copyOf(values, now, path);
        found.versions.set(id, { ...version, base, values });
      }
      return "ok";
    },
  };
}

function copyOf(to: Values, from: Values, path: string): void {
  const name = path.slice("/values/".length);
  const value = from[name];
  if (value === undefined) delete to[name];
  else to[name] = value;
}

function publication(set: string): Deed {
  return {
    name: `publish ${set}`,
    run: () => outcomeOf(publishSet(deps, admin, { ...context, set })),
    apply: (model) => applyPublish(model, set),
  };
}

/** Does what creates something on the platform, whose id the model needs. */
async function creating(model: Model, random: Random, set: string | undefined): Promise<void> {
  const values = valuesFor(random);
  const entry = { module: "stock", schema: "item", values };
  if (set === undefined) {
    const { snapshot } = await createEntry(deps, admin, { ...context, ...entry, publish: true });
    model.entries.set(snapshot.id, { status: "PUBLISHED", revision: 1, values });
    return;
  }
  const { deps: within, into: to } = await into(set);
  const { snapshot } = await createEntry(within, admin, { ...context, ...entry, into: to });
  model.sets.get(set)?.versions.set(snapshot.id, { act: "publish", base: null, values, edited: false });
}

async function reverting(model: Model, id: string): Promise<void> {
  const set = model.sets.get(id) as ModelSet;
  const versions = new Map<string, Version>();
  if (set.state === "PUBLISHED")
    for (const [entry, done] of inEffect(model, set)) {
      const version = undoing(model.entries.get(entry) as Entry, done);
      if (version !== undefined) versions.set(entry, version);
    }
  const expected = set.state !== "PUBLISHED" ? "wrong_state" : versions.size === 0 ? "change_empty" : "ok";
  const made = revertSet(deps, caller, orb, { set: id });
  expect(await outcomeOf(made), `revert ${id}`).toBe(expected);
  if (expected !== "ok") return;
  const takes = [...versions.keys()];
  model.sets.set((await made).id, { state: "OPEN", versions, done: new Map(), reverts: id, takes });
}

const valuesFor = (random: Random): Values => ({ [random.pick(NAMES)]: random.below(4) });

function anyAct(model: Model, random: Random): Deed | undefined {
  const ids = [...model.entries.keys()];
  const sets = [...model.sets].flatMap(([id, { state }]) =>
    state === "OPEN" || random.below(8) === 0 ? [id] : [],
  );
  if (ids.length === 0) return undefined;
  const id = random.pick(ids);
  const kind = random.below(20);
  if (kind < 3) return patchLive(id, valuesFor(random));
  if (kind === 3) return hideLive(id, random.below(3) === 0 ? "delete" : "unpublish");
  if (sets.length === 0) return undefined;
  const set = random.pick(sets);
  if (kind < 11) return patchIn(set, id, valuesFor(random));
  if (kind === 11) return hideIn(set, id, random.below(2) === 0 ? "delete" : "unpublish");
  const own = [...(model.sets.get(set)?.versions.keys() ?? [])];
  if (kind < 15 && own.length > 0)
    return rebase(set, random.pick(own), random.below(2) === 0 ? "change" : "live");
  if (kind === 15) return leave(set, own.length > 0 ? random.pick(own) : id);
  return publication(set);
}

/** The state of the platform, as the model has it. */
async function stateOf(model: Model) {
  const entries: [string, object | null][] = [];
  for (const id of new Set([...model.entries.keys(), ...versionsOf(model)])) {
    const head = (await loadEntry(deps, "shop", id))?.head;
    const { status, revision } = head ?? {};
    entries.push([id, head === undefined ? null : { status, revision, values: storedValues(head) }]);
  }
  const sets: [string, object][] = [];
  for (const id of model.sets.keys()) {
    const { state } = (await requireSet(deps, "shop", id)).set;
    sets.push([id, { state, items: state === "OPEN" ? await conflictsIn(id) : null }]);
  }
  return { entries: Object.fromEntries(entries), sets: Object.fromEntries(sets) };
}

const versionsOf = ({ sets }: Model) => [...sets.values()].flatMap(({ versions }) => [...versions.keys()]);

async function conflictsIn(set: string) {
  const { items } = await diffSet(deps, caller, orb, { set, limit: 100 });
  return Object.fromEntries(
    items.map(({ id, act, conflicts }) => [id, { act, conflicts: [...conflicts].sort() }]),
  );
}

/** The state of the model, in the same form. */
function expectedOf(model: Model) {
  const entries = [...new Set([...model.entries.keys(), ...versionsOf(model)])].map(
    (id) => [id, model.entries.get(id) ?? null] as const,
  );
  const sets = [...model.sets].map(([id, { state, versions, reverts }]) => {
    const items = [...versions].map(([entry, version]) => {
      const known = model.entries.get(entry);
      const conflicts = known === undefined ? [] : conflictsOf(known, version, reverts !== undefined);
      return [entry, { act: version.act, conflicts: conflicts.sort() }] as const;
    });
    return [id, { state, items: state === "OPEN" ? Object.fromEntries(items) : null }] as const;
  });
  return { entries: Object.fromEntries(entries), sets: Object.fromEntries(sets) };
}

it("are as the model says, whatever clients do one after the other", async () => {
  const random = testRandom();
  const model: Model = { entries: new Map(), sets: new Map() };
  const log: string[] = [];
  for (let step = 0; step < rounds(130); step++) {
    const kind = random.below(12);
    const open = [...model.sets].flatMap(([id, { state }]) => (state === "OPEN" ? [id] : []));
    if (model.entries.size < 3 || (kind === 0 && model.entries.size < 9))
      await creating(model, random, undefined);
    else if (open.length < 2) {
      const { set } = await openSet(deps, admin, { ...context, title: "Model" }, async () => ({
        ...{ hash: "", entries: 0, schemas: [], authors: [] },
      }));
      model.sets.set(set.id, { state: "OPEN", versions: new Map(), done: new Map() });
    } else if (kind === 1) await creating(model, random, random.pick(open));
    else if (kind === 2) await reverting(model, random.pick([...model.sets.keys()]));
    else {
      const act = anyAct(model, random);
      if (act === undefined) continue;
      log.push(act.name);
      const before = structuredClone(model);
      const ended = await act.run();
      const expected = act.apply(model);
      if (ended !== expected) console.error(inspect(before, { depth: 8 }));
      expect(ended, log.slice(-60).join("\n")).toBe(expected);
    }
    if (step % 5 === 0) expect(await stateOf(model), log.slice(-30).join("\n")).toEqual(expectedOf(model));
  }
  expect(await stateOf(model)).toEqual(expectedOf(model));
});

it("are as if two clients at the same moment had come one after the other", async () => {
  const random = testRandom();
  for (let round = 0; round < rounds(20); round++) {
    const model: Model = { entries: new Map(), sets: new Map() };
    for (let made = 0; made < 2; made++) await creating(model, random, undefined);
    const read = async () => ({ hash: "", entries: 0, schemas: [], authors: [] });
    const { set } = await openSet(deps, admin, { ...context, title: "Race" }, read);
    model.sets.set(set.id, { state: "OPEN", versions: new Map(), done: new Map() });
    for (let at = 0; at < 3; at++) {
      const act = patchIn(set.id, random.pick([...model.entries.keys()]), valuesFor(random));
      expect(await act.run()).toBe(act.apply(model));
    }
    const second = anyAct(model, random);
    // A repeated publication by the same account may get the answer of the first one.
    if (second === undefined || second.name === publication(set.id).name) continue;
    const pair = [publication(set.id), second] as const;
    const ended = await Promise.all(pair.map(({ run }) => run()));
    const orders = (
      [
        [0, 1],
        [1, 0],
      ] as const
    ).map((order) => {
      const after = structuredClone(model);
      const outcomes: string[] = [];
      for (const at of order) outcomes[at] = pair[at].apply(after);
      return { ended: outcomes, state: expectedOf(after) };
    });
    const found = { ended, state: await stateOf(model) };
    const where = pair.map(({ name }) => name).join(" and ");
    expect(orders, where).toContainEqual(found);
  }
});

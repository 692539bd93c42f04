/** An object becomes entries of another schema with a reference, and back, while clients write. */
import { expect, it } from "vitest";
import { homeOf } from "../../shared/definition/document/home.ts";
import { orbHead } from "../../shared/definition/stored/history.ts";
import { definitionFor } from "../../shared/definition/stored/live.ts";
import { publishedOf } from "../../shared/entry/index/entry-keys.ts";
import {
  archiveEntry,
  createEntry,
  deleteEntry,
  loadEntry,
  unpublishEntry,
  updateEntry,
} from "../../shared/entry/index.ts";
import { namedEntry } from "../../shared/entry/model/names.ts";
import { schemaOf } from "../../shared/entry/model/resolve.ts";
import { effective } from "../../shared/entry/model/snapshot.ts";
import { createOrb } from "../../shared/orb/create.ts";
import { eraseUnfinished } from "../../shared/orb/migrate/unfinished.ts";
import { tryUpdate, updateOrb } from "../../shared/orb/update.ts";
import { streams, subjects } from "../../shared/store/subjects.ts";
import { countingStore, Stopped, stoppingStore } from "../support/counting.ts";
import { admin, failureOf, fileDeps, type TestDeps } from "../support/entries.ts";
import { rounds, someSteps, testRandom } from "../support/random.ts";

const { deps, store } = await fileDeps();

type Field = { name: string; type: string } & Record<string, unknown>;
const title: Field = { name: "title", type: "string" };
const name: Field = { name: "name", type: "string", required: true };
const mail: Field = { name: "mail", type: "string" };
const info: Field = { name: "info", type: "object", fields: [name, mail] };
const infos: Field = { ...info, list: true };
const person = { id: "person", fields: [name, mail] };

/** @param more further schemas */
const document = (id: string, fields: Field[], more: object[] = [], access?: object) => ({
  id,
  modules: [
    {
      id: "news",
      type: "CONTENT",
      schemas: [{ id: "article", fields, ...(access === undefined ? {} : { access }) }, ...more],
    },
  ],
});
const reference = (id: string, more: object = {}): Field => ({
  name: "author",
  type: "reference",
  ref: `${id}/news/person`,
  from: { entry: "info" },
  ...more,
});
const whole = (id: string, list = false) => document(id, [title, list ? infos : info]);
const split = (id: string, list = false) =>
  document(id, [title, reference(id, list ? { list } : {})], [person]);

let number = 0;
const fresh = async (list = false) => {
  const id = `split-${++number}`;
  await createOrb(deps, admin, { document: whole(id, list), publish: true });
  return id;
};
const activate = (orb: string, to: object, on: TestDeps = deps, force = false) =>
  updateOrb(on, admin, { orb, document: to, publish: true, force });
const live = async (orb: string) => {
  const found = await definitionFor(deps, orb);
  if (found === null) throw new Error("the orb is published");
  return found;
};
const create = async (orb: string, values: object, publish = true) => {
  const made = await createEntry(deps, admin, {
    ...{ orbId: orb, orb: await live(orb), module: "news", schema: "article", values, publish },
  });
  return made.snapshot.id;
};
const target = async (orb: string, id: string) => ({ orbId: orb, orb: await live(orb), id });
const update = async (orb: string, id: string, values: object, publish = true) =>
  updateEntry(deps, admin, { ...(await target(orb, id)), values, merge: true, publish });

/** Returns the values that readers see of an entry, and those of its newest revision. */
async function shown(orb: string, id: string) {
  const { compiled } = await live(orb);
  const entry = namedEntry(compiled, await loadEntry(deps, orb, id));
  if (entry === null || entry.head.status === "DELETED") return undefined;
  const head = effective(entry.head, Date.now());
  const schema = schemaOf(compiled, entry.address);
  const published = await publishedOf(deps, schema, { ...entry, head });
  const known = (values: Record<string, unknown> | undefined) =>
    values && Object.fromEntries(Object.entries(values).filter(([one]) => schema?.fields.has(one)));
  return { live: known(published?.values), newest: known(head.values) };
}
const author = async (orb: string, id: string) => {
  const found = (await shown(orb, id))?.newest?.author;
  if (typeof found !== "string") throw new Error("the entry has an author");
  return found;
};

const authors = async (orb: string, id: string) =>
  [(await shown(orb, id))?.live?.author ?? []].flat().map(String);

it("makes an entry of each object, with the drafts, and refers to it without a new revision", async () => {
  const orb = await fresh();
  const both = await create(orb, { title: "A", info: { name: "Ann", mail: "a@x" } });
  await update(orb, both, { info: { name: "Anna" } }, false);
  const draft = await create(orb, { info: { name: "Bo" } }, false);
  const none = await create(orb, { title: "C" });
  const before = await loadEntry(deps, orb, both);
  const dry = await tryUpdate(deps, admin, { orb, document: split(orb) });
  expect(dry.refused).toBe(false);
  expect(dry.impact.changes.find(({ code }) => code === "split_field")).toMatchObject({ makes: 2 });
  await activate(orb, split(orb));
  expect((await loadEntry(deps, orb, both))?.seq).toBe(before?.seq);
  expect(await shown(orb, await author(orb, both))).toEqual({
    live: { name: "Ann", mail: "a@x" },
    newest: { name: "Anna", mail: "a@x" },
  });
  expect(await shown(orb, await author(orb, draft))).toEqual({ live: undefined, newest: { name: "Bo" } });
  expect((await shown(orb, none))?.newest).toEqual({ title: "C" });
  // The reference protects its entry.
  const failure = await failureOf(deleteEntry(deps, admin, await target(orb, await author(orb, both))));
  expect(failure.kind).toBe("conflict");
});

it("brings the values back with the earlier document, also those that were written meanwhile", async () => {
  const orb = await fresh();
  const kept = await create(orb, { title: "A", info: { name: "Ann" } });
  const edited = await create(orb, { title: "B", info: { name: "Bo" } });
  const written = await create(orb, { title: "C", info: { name: "Cy" } });
  const cleared = await create(orb, { title: "D", info: { name: "Di" } });
  await activate(orb, split(orb));
  const before = await loadEntry(deps, orb, kept);
  await update(orb, await author(orb, edited), { mail: "b@x" });
  await update(orb, written, { title: "C2" });
  await update(orb, await author(orb, written), { name: "Cyd" }, false);
  await update(orb, cleared, { author: null });
  const failure = await failureOf(activate(orb, whole(orb)));
  // The entry of the reference that was cleared has no place in the earlier document.
  expect(failure.code).toBe("incompatible_change");
  await activate(orb, whole(orb), deps, true);
  expect((await loadEntry(deps, orb, kept))?.seq).toBe(before?.seq);
  expect((await shown(orb, kept))?.live).toEqual({ title: "A", info: { name: "Ann" } });
  expect((await shown(orb, edited))?.live).toEqual({ title: "B", info: { name: "Bo", mail: "b@x" } });
  expect(await shown(orb, written)).toEqual({
    live: { title: "C2", info: { name: "Cy" } },
    newest: { title: "C2", info: { name: "Cyd" } },
  });
  expect((await shown(orb, cleared))?.newest).toEqual({ title: "D" });
  await update(orb, kept, { info: { name: "Ada" } });
  await activate(orb, split(orb));
  expect((await shown(orb, await author(orb, kept)))?.live).toEqual({ name: "Ada" });
  expect(await shown(orb, await author(orb, written))).toMatchObject({ newest: { name: "Cyd" } });
});

it("takes the schema away with the reference if all its entries become objects", async () => {
  const orb = await fresh();
  const id = await create(orb, { info: { name: "Ann" } });
  await activate(orb, split(orb));
  await activate(orb, whole(orb));
  expect((await shown(orb, id))?.live).toEqual({ info: { name: "Ann" } });
});

it("splits lists, and joins them with the keys of their items", async () => {
  const orb = await fresh(true);
  const items = [
    { _key: "k1", name: "Ann" },
    { _key: "k2", name: "Bo" },
  ];
  const id = await create(orb, { info: items });
  const turned = await create(orb, { info: items });
  await activate(orb, split(orb, true));
  const ids = await authors(orb, id);
  expect(ids).toHaveLength(2);
  await update(orb, ids[0] ?? "", { name: "Anna" });
  const others = (await authors(orb, turned)).toReversed();
  await update(orb, turned, { author: others });
  await activate(orb, whole(orb, true));
  expect((await shown(orb, id))?.live).toEqual({
    info: [
      { _key: "k1", name: "Anna" },
      { _key: "k2", name: "Bo" },
    ],
  });
  // A write after the split has dropped the objects, and so the keys.
  expect((await shown(orb, turned))?.live).toEqual({
    info: [
      { _key: others[0], name: "Bo" },
      { _key: others[1], name: "Ann" },
    ],
  });
});

it("makes entries of two objects in one schema", async () => {
  const orb = `split-${++number}`;
  const both = (fields: Field[], more: object[] = []) => document(orb, fields, more);
  const second = { ...info, name: "editorInfo" };
  await createOrb(deps, admin, { document: both([info, second]), publish: true });
  const id = await create(orb, { info: { name: "Ann" }, editorInfo: { name: "Ed" } });
  const editor = reference(orb, { name: "editor", from: { entry: "editorInfo" } });
  await activate(orb, both([reference(orb), editor], [person]));
  const { author: ann, editor: ed } = (await shown(orb, id))?.live ?? {};
  expect((await shown(orb, String(ann)))?.live).toEqual({ name: "Ann" });
  expect((await shown(orb, String(ed)))?.live).toEqual({ name: "Ed" });
});

it("joins entries that never were objects", async () => {
  const orb = `split-${++number}`;
  const plain = { name: "author", type: "reference", ref: `${orb}/news/person` };
  await createOrb(deps, admin, { document: document(orb, [title, plain], [person]), publish: true });
  const made = await createEntry(deps, admin, {
    ...{
      orbId: orb,
      orb: await live(orb),
      module: "news",
      schema: "person",
      values: { name: "Ann" },
      publish: true,
    },
  });
  const id = await create(orb, { author: made.snapshot.id });
  const joined = document(orb, [title, { ...info, from: { reference: "author" } }], [person]);
  await activate(orb, joined);
  expect((await shown(orb, id))?.live).toEqual({ info: { name: "Ann" } });
  expect((await shown(orb, made.snapshot.id))?.live).toEqual({ name: "Ann" });
});

it.each([
  [
    "readers of the new schema who may not read the object",
    (orb: string) => document(orb, [title, reference(orb)], [person], { read: "admin" }),
    /other callers could read/,
  ],
  [
    "a schema that is published already",
    (orb: string) => document(orb, [title, reference(orb, { ref: `${orb}/news/article` })]),
    /published already/,
  ],
  [
    "a schema that lacks a field of the object",
    (orb: string) => document(orb, [title, reference(orb)], [{ ...person, fields: [name] }]),
    /needs a field mail/,
  ],
  [
    "a list of references for one object",
    (orb: string) => document(orb, [title, reference(orb, { list: true })], [person]),
    /both must be lists/,
  ],
])("refuses %s", async (_, to, message) => {
  const orb = await fresh();
  await create(orb, { info: { name: "Ann" } });
  const failure = await failureOf(activate(orb, to(orb)));
  expect(failure.message).toMatch(message);
});

it("names the objects that cannot become entries, and makes none", async () => {
  const orb = await fresh();
  const ann = await create(orb, { info: { name: "Ann" } });
  const long = await create(orb, { info: { name: "Annabel" } });
  const short = { ...person, fields: [{ ...name, max: 3 }, mail] };
  const failure = await failureOf(activate(orb, document(orb, [title, reference(orb)], [short])));
  expect(failure.message).toContain(`${long} has an object that cannot become an entry of news/person: name`);
  const again = await create(orb, { info: { name: "Ann" } });
  const unique = { ...person, fields: [{ ...name, unique: true }, mail] };
  const shared = await failureOf(activate(orb, document(orb, [title, reference(orb)], [unique])));
  expect(shared.message).toContain("whose name another object has too");
  expect([ann, again].some((id) => shared.message.includes(id))).toBe(true);
});

/** An object whose members have readers of their own, also inside. */
const bank = (access?: object, sensitive?: true): Field => ({
  name: "bank",
  type: "object",
  fields: [{ name: "iban", type: "string", ...(access && { access }), ...(sensitive && { sensitive }) }],
});
const withBank = (access?: object, sensitive?: true): Field => ({
  ...info,
  fields: [name, bank(access, sensitive)],
});

it.each([
  [
    "who may change the new schema, and so read its drafts",
    info,
    { ...person, access: { update: ["user"], publish: ["admin"] } },
    /could read drafts of news\/person/,
  ],
  [
    "who may not read a field in an object of the object",
    withBank({ read: ["admin"] }),
    { ...person, fields: [name, bank()] },
    /could read bank\.iban in news\/person/,
  ],
  [
    "of a sensitive field in an object of the object",
    withBank(undefined, true),
    { ...person, fields: [name, bank(undefined, true)] },
    /needs a field bank of the same type.*not sensitive/,
  ],
])("makes no entries for callers %s", async (_, object, schema, message) => {
  const orb = `split-${++number}`;
  await createOrb(deps, admin, { document: document(orb, [title, object]), publish: true });
  await create(orb, { info: { name: "Ann" } });
  const failure = await failureOf(activate(orb, document(orb, [title, reference(orb)], [schema])));
  expect(failure.message).toMatch(message);
});

/** Creates an orb whose articles refer to persons, with one of each. */
async function referring(fields: Field[] = [name, mail], access?: object, articles?: object) {
  const orb = `split-${++number}`;
  const plain = { name: "author", type: "reference", ref: `${orb}/news/person` };
  const schema = { ...person, fields, ...(access && { access }) };
  await createOrb(deps, admin, {
    document: document(orb, [title, plain], [schema], articles),
    publish: true,
  });
  const ann = await createPerson(orb, { name: "Ann" });
  return { orb, ann, article: await create(orb, { author: ann }) };
}
const createPerson = async (orb: string, values: object, more: object = {}) => {
  const entry = { module: "news", schema: "person", values, publish: true, ...more };
  return (await createEntry(deps, admin, { orbId: orb, orb: await live(orb), ...entry })).snapshot.id;
};
const joined = (orb: string, object: Field = info, more: object[] = [], access?: object) =>
  document(orb, [title, { ...object, from: { reference: "author" } }], more, access);

it("joins no entries that only their creator may read with those of another one", async () => {
  const own = { read: "own" };
  const { orb } = await referring([name, mail], own, own);
  const failure = await failureOf(activate(orb, joined(orb, info, [{ ...person, access: own }], own)));
  expect(failure.message).toMatch(/other callers could read them than the entries/);
});

it("joins no drafts for callers who could not read them", async () => {
  const editors = { update: ["user"], publish: ["admin"] };
  const { orb } = await referring([name, mail], {}, editors);
  const failure = await failureOf(activate(orb, joined(orb, info, [person], editors)));
  expect(failure.message).toMatch(/than the drafts/);
});

it("joins no entry that is visible at other times", async () => {
  const { orb, article } = await referring();
  const later = await createPerson(orb, { name: "Bo" }, { validTo: "2999-01-01T00:00:00.000Z" });
  await update(orb, article, { author: later });
  const failure = await failureOf(activate(orb, joined(orb, info, [person])));
  expect(failure.message).toContain(
    `${article} refers to ${later} of news/person, which is visible at other times`,
  );
});

it("hides no entry instead of one that was deleted", async () => {
  const { orb, ann } = await referring();
  await deleteEntry(deps, admin, { ...(await target(orb, ann)), force: true });
  await createPerson(orb, { name: "Bo" });
  const failure = await failureOf(activate(orb, joined(orb)));
  expect(failure.message).toContain("Schema news/person is removed");
});

it("loses nothing that is written to the other schema while it joins", async () => {
  let refused = 0;
  for (const at of someSteps(2)) {
    const { orb, ann } = await referring();
    const onlyName = { ...info, fields: [name] };
    const writes = [() => update(orb, ann, { mail: "a@x" }), () => createPerson(orb, { name: "Bo" })];
    const write = writes[Math.floor(at / 2) % 2] ?? (async () => {});
    const outcome = await racing(orb, joined(orb, onlyName), write, at, false).catch(
      (error: unknown) => error,
    );
    if (outcome === undefined) break;
    if (outcome instanceof Error) refused++;
    // A write that was accepted has no place in the new document.
    expect(outcome).not.toBe(true);
  }
  expect(refused).toBeGreaterThan(0);
});

it("shows no leftover entry of an interrupted publication in another schema of that name", async () => {
  const orb = await fresh();
  const id = await create(orb, { info: { name: "Ann" } });
  const leftover = async () => {
    const index = subjects.schemaIndex({ orb, ...homeOf("CONTENT", "person") });
    const people = await store.scan(streams.orb(orb), index, { fromSeq: 1, limit: 10, maxBytes: 2 ** 20 });
    return people.messages.some(({ size }) => size > 0);
  };
  for (let step = 2; !(await leftover()); step += 2)
    await activate(orb, split(orb), { ...deps, store: stoppingStore(store, step) } as TestDeps).catch(
      () => {},
    );
  const definition = await live(orb);
  expect(definition.compiled.schema("news", "person")).toBeUndefined();
  const failure = await failureOf(activate(orb, document(orb, [title, info], [person]), deps, true));
  expect(failure.message).toContain("an interrupted publication has made entries");
  await activate(orb, document(orb, [title, info], [person]), later(), true);
  await activate(orb, whole(orb), deps, true);
  await activate(orb, split(orb));
  expect((await shown(orb, await author(orb, id)))?.live).toEqual({ name: "Ann" });
});

it.each(["deleted", "archived"])("makes an entry again that was %s", async (how) => {
  const orb = await fresh();
  const id = await create(orb, { info: { name: "Ann" } });
  await activate(orb, split(orb));
  const ann = await author(orb, id);
  if (how === "deleted") await deleteEntry(deps, admin, { ...(await target(orb, ann)), force: true });
  else await archiveEntry(deps, admin, { ...(await target(orb, ann)), force: true });
  await activate(orb, whole(orb), deps, true);
  await update(orb, id, { info: { name: "Anna" } });
  await activate(orb, split(orb));
  expect(await author(orb, id)).toBe(ann);
  expect(await shown(orb, ann)).toEqual({ live: { name: "Anna" }, newest: { name: "Anna" } });
  await update(orb, ann, { mail: "a@x" });
  expect((await shown(orb, ann))?.live).toEqual({ name: "Anna", mail: "a@x" });
});

it("tells in a dry run which objects refer to entries that are gone", async () => {
  const orb = `split-${++number}`;
  const friend: Field = { name: "friend", type: "reference", ref: `${orb}/news/article` };
  const object = { ...info, fields: [name, friend] };
  await createOrb(deps, admin, { document: document(orb, [title, object]), publish: true });
  const gone = await create(orb, { title: "A" });
  const id = await create(orb, { info: { name: "Ann", friend: gone } });
  await deleteEntry(deps, admin, { ...(await target(orb, gone)), force: true });
  const to = document(orb, [title, reference(orb)], [{ ...person, fields: [name, friend] }]);
  const dry = await tryUpdate(deps, admin, { orb, document: to });
  const change = dry.impact.changes.find(({ code }) => code === "split_field");
  expect(change?.lossy?.examples).toEqual([{ id, reason: expect.stringContaining("friend must be the id") }]);
});

it("names the entry whose object stops fitting while the publication runs", async () => {
  let refused: Error | undefined;
  for (let at = 0; refused === undefined; at += 2) {
    const orb = await fresh();
    const id = await create(orb, { info: { name: "Ann" } });
    const short = { ...person, fields: [{ ...name, max: 3 }, mail] };
    const to = document(orb, [title, reference(orb)], [short]);
    const write = () => update(orb, id, { info: { name: "Annabel" } });
    const outcome = await racing(orb, to, write, at).catch((error: unknown) => error);
    if (outcome === undefined) break;
    if (outcome instanceof Error && !outcome.message.includes("is incompatible")) refused = outcome;
    if (outcome instanceof Error)
      expect(outcome.message).toContain(
        `${id} has an object that cannot become an entry of news/person: name`,
      );
  }
  expect(refused).toBeDefined();
});

/** Runs a publication, and a write of a client before its call with a number. Returns whether the write was accepted. */
async function racing(orb: string, to: object, write: () => Promise<unknown>, at: number, force = true) {
  let written: Promise<boolean> | undefined;
  const counted = countingStore(store, async (_call, index) => {
    if (index < at) return;
    written ??= write().then(
      () => true,
      () => false,
    );
    await written;
  });
  await activate(orb, to, { ...deps, store: counted.store } as TestDeps, force);
  return written;
}

it("loses no write that meets the publication at any of its steps", async () => {
  for (const at of someSteps(4)) {
    const orb = await fresh();
    const id = await create(orb, { title: "A", info: { name: "Ann" } });
    const other = await create(orb, { title: "B", info: { name: "Bo" } });
    const split1 = await racing(orb, split(orb), () => update(orb, id, { info: { name: "Anna" } }), at);
    const ann = await author(orb, id);
    expect((await shown(orb, ann))?.live?.name).toBe(split1 === true ? "Anna" : "Ann");
    const joined = await racing(orb, whole(orb), () => update(orb, ann, { name: "Anne" }), at);
    const name = joined === true ? "Anne" : split1 === true ? "Anna" : "Ann";
    expect((await shown(orb, id))?.live?.info).toEqual({ name });
    const hide = async () => unpublishEntry(deps, admin, await target(orb, other));
    const hidden = await racing(orb, split(orb), hide, at);
    const bo = await shown(orb, await author(orb, other));
    expect(bo?.newest).toEqual({ name: "Bo" });
    // A client that unpublishes the article after the publication leaves its author public.
    if (hidden === undefined) expect(bo?.live).toEqual({ name: "Bo" });
    if (split1 === undefined && joined === undefined && hidden === undefined) return;
  }
});

it("erases what it has made of an entry that is purged at any of its steps", async () => {
  for (const at of someSteps(4)) {
    const orb = await fresh();
    await create(orb, { title: "A", info: { name: "Ann" } });
    const id = await create(orb, { title: "B", info: { name: "Bo" } });
    let isEarly = false;
    const purge = async () => {
      const input = { ...(await target(orb, id)), force: true, purge: true };
      await deleteEntry(deps, admin, input);
      isEarly = (await orbHead(deps, orb))?.revision === 1;
    };
    const purged = await racing(orb, split(orb), purge, at);
    if (isEarly) expect(await textsOf(orb), `purged before call ${at}`).not.toContain('"Bo"');
    expect(await textsOf(orb)).toContain('"Ann"');
    if (purged === undefined) return;
  }
});

it("erases what an interrupted publication has made of an entry that was purged since", async () => {
  const orb = await fresh();
  await create(orb, { info: { name: "Ann" } });
  const id = await create(orb, { info: { name: "Bo" } });
  for (let step = 2; !(await textsOf(orb)).includes('"Bo"'); step += 2)
    await activate(orb, split(orb), { ...deps, store: stoppingStore(store, step) } as TestDeps).catch(
      () => {},
    );
  await deleteEntry(deps, admin, { ...(await target(orb, id)), force: true, purge: true });
  await activate(orb, split(orb));
  expect(await textsOf(orb)).toContain('"Ann"');
  expect(await textsOf(orb)).not.toContain('"Bo"');
});

/** Returns all that is stored of the entries that objects became, with their history. */
async function textsOf(orb: string): Promise<string> {
  const logs = subjects.schemaLogs({ orb, ...homeOf("CONTENT", "person") });
  const found = await store.scan(streams.orb(orb), logs, { fromSeq: 1, limit: 100, maxBytes: 2 ** 20 });
  return found.messages.map((message) => message.text()).join();
}

const people = (orb: string) => ({ orb, ...homeOf("CONTENT", "person") });
/** Returns dependencies for a time at which every running publication looks interrupted. */
const later = (on: TestDeps = deps): TestDeps => ({ ...on, clock: { now: () => Date.now() + 3_600_000 } });

/** Returns all messages of the entries that objects became, and of their indexes. */
async function leftOf(orb: string): Promise<string[]> {
  const found = await store.scan(streams.orb(orb), `${orb}.>`, {
    ...{ fromSeq: 1, limit: 1_000, maxBytes: 2 ** 21 },
  });
  const { type, schema } = people(orb);
  // Ids stay in the list of the order of creation. The marks of erased entries expire.
  const isOf = (subject: string) =>
    subject.includes(`.${schema}.`) || subject.endsWith(`_split.${type}.${schema}`);
  return found.messages
    .filter(
      (message) => isOf(message.subject) && message.size > 0 && message.header("Nats-TTL") === undefined,
    )
    .map(({ subject }) => subject);
}
const stoppedAt = async (step: number, work: (on: TestDeps) => Promise<unknown>): Promise<boolean> => {
  try {
    await work({ ...deps, store: stoppingStore(store, step) } as TestDeps);
    return false;
  } catch (error) {
    if (!(error instanceof Stopped)) throw error;
    return true;
  }
};

it("erases what a publication has made that was interrupted at any of its steps", async () => {
  for (const step of someSteps(16)) {
    const orb = await fresh();
    const id = await create(orb, { title: "A", info: { name: "Ann" } });
    await create(orb, { info: { name: "Bo" } }, false);
    const stopped = await stoppedAt(step, (on) => activate(orb, split(orb), on));
    expect((await eraseUnfinished(deps, orb)).erased).toBe(false);
    // The erasure may stop too.
    if (step % 2 === 0) await stoppedAt(step % 11, (on) => eraseUnfinished(later(on), orb));
    await eraseUnfinished(later(), orb);
    const isPublished = JSON.stringify(await orbHead(deps, orb)).includes('"person"');
    if (!isPublished) expect(await leftOf(orb), `step ${step}`).toEqual([]);
    await activate(orb, split(orb));
    expect((await shown(orb, await author(orb, id)))?.live).toEqual({ name: "Ann" });
    await update(orb, id, { title: "B" });
    expect((await eraseUnfinished(later(), orb)).erased).toBe(false);
    expect((await shown(orb, await author(orb, id)))?.live).toEqual({ name: "Ann" });
    if (!stopped) return;
  }
});

it("lets a slow publication begin again that is taken for interrupted", async () => {
  // What was purged just now keeps the new entries waiting for seconds, so there are few rounds.
  for (const at of someSteps(24)) {
    if (at >= 24) return;
    const orb = await fresh();
    const id = await create(orb, { info: { name: "Ann" } });
    let erasing: Promise<unknown> | undefined;
    const counted = countingStore(store, async (_call, index) => {
      if (index < at) return;
      erasing ??= eraseUnfinished(later(), orb);
      await erasing;
    });
    await activate(orb, split(orb), { ...deps, store: counted.store } as TestDeps);
    await eraseUnfinished(later(), orb);
    expect((await shown(orb, await author(orb, id)))?.live, `call ${at}`).toEqual({ name: "Ann" });
    await update(orb, id, { title: "B" });
  }
});

it("erases at once what a refused publication has made", async () => {
  const orb = await fresh();
  for (const name of ["Ann", "Ann"]) await create(orb, { info: { name } });
  const unique = document(
    orb,
    [title, reference(orb)],
    [{ ...person, fields: [{ ...name, unique: true }, mail] }],
  );
  expect((await failureOf(activate(orb, unique))).code).toBe("incompatible_change");
  expect(await leftOf(orb)).toEqual([]);
});

it("keeps what was deleted of an earlier schema of that name", async () => {
  const orb = await fresh();
  const trashed = async (name: string) => {
    const made = await createEntry(deps, admin, {
      ...{ orbId: orb, orb: await live(orb), module: "news", schema: "person", values: { name } },
    });
    const { id } = made.snapshot;
    await deleteEntry(deps, admin, await target(orb, id));
    return id;
  };
  await activate(orb, document(orb, [title, info], [person]));
  await trashed("Old");
  await activate(orb, whole(orb), deps, true);
  const unique = document(
    orb,
    [title, reference(orb)],
    [{ ...person, fields: [{ ...name, unique: true }, mail] }],
  );
  const ids: string[] = [];
  for (const name of ["Ann", "Ann"]) ids.push(await create(orb, { info: { name } }));
  expect((await failureOf(activate(orb, unique))).code).toBe("incompatible_change");
  expect(await textsOf(orb)).toContain('"Old"');
  expect(await textsOf(orb)).not.toContain('"Ann"');

  // The mark of a publication that is over must not make what was deleted since look as if it had been left.
  await activate(orb, split(orb));
  await trashed("New");
  for (const id of ids) {
    const made = await author(orb, id);
    await update(orb, id, { author: null });
    await deleteEntry(deps, admin, { ...(await target(orb, made)), force: true });
  }
  await activate(orb, document(orb, [title]), deps, true);
  await eraseUnfinished(later(), orb);
  for (const name of ["Old", "New", "Ann"]) expect(await textsOf(orb)).toContain(`"${name}"`);
});

it("finishes a publication that crashed at any of its steps", async () => {
  for (const step of someSteps(4)) {
    const orb = await fresh();
    const id = await create(orb, { info: { name: "Ann" } });
    const gone = await create(orb, { info: { name: "Bo" } });
    const crashes = async (to: object) => {
      try {
        await activate(orb, to, { ...deps, store: stoppingStore(store, step) } as TestDeps, true);
        return false;
      } catch (error) {
        if (!(error instanceof Stopped)) throw error;
        return true;
      }
    };
    const crashed = await crashes(split(orb));
    // The next write finishes a publication that was committed. Then it has to use the new names.
    const isOld = await update(orb, id, { info: { name: "Anna" } }).then(
      () => true,
      () => false,
    );
    if (isOld) await deleteEntry(deps, admin, await target(orb, gone));
    await activate(orb, split(orb));
    const ann = await author(orb, id);
    const expected = (await shown(orb, ann))?.live?.name;
    expect(["Ann", "Anna"]).toContain(expected);
    const index = subjects.schemaIndex({ orb, ...homeOf("CONTENT", "person") });
    const people = await store.scan(streams.orb(orb), index, {
      ...{ fromSeq: 1, limit: 10, maxBytes: 2 ** 20 },
    });
    const there = people.messages.filter(({ size }) => size > 0).length;
    expect(there).toBe((await shown(orb, gone)) === undefined ? 1 : 2);
    await update(orb, ann, { mail: "a@x" });
    const crashedBack = await crashes(whole(orb));
    await activate(orb, whole(orb), deps, true);
    expect((await shown(orb, id))?.live?.info).toEqual({ name: expected, mail: "a@x" });
    if (!crashed && !crashedBack) return;
  }
});

/** An object field that becomes a reference, and back. */
interface Part {
  source: string;
  members: Field[];
  list: boolean;
  isSplit: boolean;
}
type Item = Record<string, unknown>;

const MEMBERS: readonly Field[] = [
  mail,
  { name: "rank", type: "integer" },
  { name: "price", type: "decimal", scale: 2 },
  { name: "isNew", type: "boolean" },
  { name: "since", type: "date" },
  { name: "kind", type: "string", enum: ["x", "y"] },
  { name: "tags", type: "string", list: true },
  { name: "text", type: "string", translatable: true },
  { name: "inner", type: "object", fields: [{ name: "deep", type: "string" }] },
];
const VALUES: Readonly<Record<string, (n: number) => unknown>> = {
  name: (n) => `name ${n}`,
  mail: (n) => `${n}@x`,
  rank: (n) => n,
  price: (n) => `${n}.50`,
  isNew: (n) => n % 2 === 0,
  since: (n) => `2026-01-${String(1 + (n % 28)).padStart(2, "0")}`,
  kind: (n) => (n % 2 === 0 ? "x" : "y"),
  tags: (n) => [`t${n}`, "t"],
  text: (n) => ({ en: `en ${n}`, de: `de ${n}` }),
  inner: (n) => ({ deep: `deep ${n}` }),
};

it("shows in each shape what was written in it, after random changes of the document", async () => {
  const random = testRandom();
  for (let run = 0; run < rounds(4); run++) {
    const orb = `split-${++number}`;
    const parts = ["info", "more"].slice(0, 1 + random.below(2)).map(
      (source): Part => ({
        source,
        members: [name, ...MEMBERS.filter(() => random.below(3) === 0)],
        list: random.below(2) === 0,
        isSplit: false,
      }),
    );
    const listed = ({ list }: Part) => (list ? { list } : {});
    const shape = () => ({
      ...document(
        orb,
        [
          title,
          ...parts.map((part): Field => {
            const { source, isSplit, members } = part;
            if (!isSplit) return { name: source, type: "object", fields: members, ...listed(part) };
            const ref = { type: "reference", ref: `${orb}/news/of-${source}`, from: { entry: source } };
            return { name: `${source}Of`, ...ref, ...listed(part) };
          }),
        ],
        parts.flatMap(({ source, isSplit, members }) =>
          isSplit ? [{ id: `of-${source}`, fields: members }] : [],
        ),
      ),
      languages: ["en", "de"],
    });
    const model = new Map<string, { title?: string; objects: Map<string, Item[]> }>();
    let count = 0;
    const item = ({ members }: Part): Item => {
      const some = members.filter((one) => one === name || random.below(2) === 0);
      return Object.fromEntries(some.map((one) => [one.name, VALUES[one.name]?.(++count)]));
    };
    const items = (part: Part) => Array.from({ length: part.list ? random.below(3) : 1 }, () => item(part));
    // An update keeps the members of a single object that it does not name.
    const given = ({ list, members }: Part, all: Item[]) =>
      list ? all : { ...Object.fromEntries(members.map((one) => [one.name, null])), ...all[0] };
    const shownIn = async (id: string) => {
      const values = (await shown(orb, id))?.live ?? {};
      const objects = await Promise.all(
        parts.map(async ({ source, isSplit }) => {
          if (!isSplit) return [source, [values[source] ?? []].flat()] as const;
          const ids = [values[`${source}Of`] ?? []].flat().map(String);
          return [source, await Promise.all(ids.map(async (one) => (await shown(orb, one))?.live))] as const;
        }),
      );
      const bare = (one: object | undefined) =>
        Object.entries(one ?? {}).filter(([key, value]) => key !== "_key" && value !== null);
      return {
        title: values.title,
        objects: objects.map(([source, all]) => [
          source,
          all.map((one) => Object.fromEntries(bare(one as object | undefined))),
        ]),
      };
    };
    await createOrb(deps, admin, { document: shape(), publish: true });
    for (let step = 0; step < 16; step++) {
      const act = random.below(5);
      const part = random.pick(parts);
      const id = model.size === 0 ? undefined : random.pick([...model.keys()]);
      const known = id === undefined ? undefined : model.get(id);
      if (act === 0) {
        for (const one of parts) if (one === part || random.below(3) === 0) one.isSplit = !one.isSplit;
        await activate(orb, shape(), deps, true);
        for (const [one, { title, objects }] of model)
          expect(await shownIn(one), `${run} ${step}`).toEqual({ title, objects: [...objects] });
      } else if (act === 1 || id === undefined || known === undefined) {
        const open = new Map(parts.map((one) => [one.source, one.isSplit ? [] : items(one)]));
        const values = parts.flatMap((one) =>
          one.isSplit ? [] : [[one.source, given(one, open.get(one.source) ?? [])] as const],
        );
        model.set(await create(orb, Object.fromEntries(values)), { objects: open });
      } else if (act === 2) {
        known.title = `t${step}`;
        await update(orb, id, { title: known.title });
      } else if (!part.isSplit) {
        const all = items(part);
        await update(orb, id, { [part.source]: given(part, all) });
        known.objects.set(part.source, all);
      } else {
        const [first] = [(await shown(orb, id))?.live?.[`${part.source}Of`] ?? []].flat().map(String);
        const [object] = known.objects.get(part.source) ?? [];
        if (first === undefined || object === undefined) continue;
        const changed = item(part);
        await update(orb, first, changed);
        Object.assign(object, changed);
      }
    }
  }
});

/**
 * Instances of the version before unique values were normalized, beside current ones. A value that both write in one
 * form has one holder at any time, and a backfill normalizes the values of the older instances.
 */

import { afterAll, beforeAll, expect, test } from "vitest";
import type { CompiledField, CompiledOrb, CompiledSchema } from "../../shared/definition/compile.ts";
import { homeKey, homeOf } from "../../shared/definition/document/home.ts";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import { requireLive } from "../../shared/definition/stored/live.ts";
import { liveRecord } from "../../shared/definition/stored/live-record.ts";
import { createEntry, deleteEntry, loadEntry, updateEntry } from "../../shared/entry/index.ts";
import { backfillForms } from "../../shared/entry/migrate/backfill-forms.ts";
import { backfillExisting } from "../../shared/entry/migrate/needed-keys.ts";
import { completeForms } from "../../shared/orb/backfill-forms.ts";
import { createOrb } from "../../shared/orb/create.ts";
import { updateOrb } from "../../shared/orb/update.ts";
import { buckets, streams } from "../../shared/store/subjects.ts";
import { startBroker, type TestBroker } from "../support/broker.ts";
import { countingStore } from "../support/counting.ts";
import { admin, definition, failureOf, installOrb, type TestDeps, testDeps } from "../support/entries.ts";

let broker: TestBroker;
let today: LiveOrb;
let before: LiveOrb;
let deps: TestDeps;

/** Compiles a definition like the earlier version: only identical values are equal. */
function withoutForms(compiled: CompiledOrb): CompiledOrb {
  const plain = (field: CompiledField): CompiledField => ({ ...field, equality: field.type.token });
  const schemaOf = (schema: CompiledSchema): CompiledSchema => ({
    ...schema,
    fields: new Map([...schema.fields].map(([name, field]) => [name, plain(field)])),
    unique: schema.unique.map(plain),
    indexed: schema.indexed.map(plain),
    sensitive: schema.sensitive.map(plain),
    translatable: schema.translatable.map(plain),
  });
  const byHome = new Map([...compiled.byHome].map(([name, schema]) => [name, schemaOf(schema)]));
  return {
    ...compiled,
    byHome,
    schema: (_module, id = "post") => byHome.get(homeKey(homeOf("CONTENT", id))),
  };
}

beforeAll(async () => {
  broker = await startBroker();
  today = await installOrb(broker.store("operator"), {
    id: "forms",
    modules: [
      {
        id: "news",
        type: "CONTENT",
        schemas: [
          {
            id: "post",
            fields: [
              { name: "slug", type: "string", unique: true },
              { name: "serial", type: "string", unique: true, sensitive: true },
            ],
          },
        ],
      },
    ],
  });
  before = { ...today, compiled: withoutForms(today.compiled) };
  deps = testDeps(broker.store("fn"));
});
afterAll(() => broker.stop());

const create = (orb: LiveOrb, values: object, publish = false) =>
  createEntry(deps, admin, { orbId: "forms", orb, module: "news", schema: "post", values, publish });
const change = (orb: LiveOrb, id: string, values: object, publish = false) =>
  updateEntry(deps, admin, { orbId: "forms", orb, id, values, publish });
const remove = (orb: LiveOrb, id: string) => deleteEntry(deps, admin, { orbId: "forms", orb, id });
const taken = async (work: Promise<unknown>) => expect((await failureOf(work)).code).toBe("unique_conflict");
const nfd = (text: string) => text.normalize("NFD");

/** Completes the keys of an application, as each start of this version does. Returns the calls of the store. */
async function startAgain(orb: string): Promise<string[]> {
  const counting = countingStore(broker.store("fn"));
  const record = (await liveRecord(deps, orb))?.record;
  if (record === undefined) throw new Error("no definition");
  expect(await completeForms({ ...deps, store: counting.store }, record)).toEqual([]);
  return counting.calls;
}

/** Counts the reservations. */
async function standing(): Promise<number> {
  const { messages } = await broker
    .store("operator")
    .scan(streams.orb("forms"), "forms._uq.>", { fromSeq: 1, limit: 1_000 });
  return messages.filter((message) => message.data.length > 0).length;
}

test.each(["slug", "serial"])(
  "one writer of a %s in one form succeeds, whatever its version",
  async (name) => {
    for (let round = 0; round < 5; round++) {
      const values = { [name]: nfd(`é${round}`) };
      const all = await Promise.allSettled([before, today, before, today].map((orb) => create(orb, values)));
      expect(all.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
      for (const one of all) if (one.status === "fulfilled") await remove(today, one.value.snapshot.id);
    }
    expect(await standing()).toBe(0);
  },
);

test.each(["slug", "serial"])(
  "the backfill reserves the normal form of a %s from an older version",
  async (name) => {
    const old = (await create(before, { [name]: nfd("é") })).snapshot;
    const live = (await create(before, { [name]: nfd("à") }, true)).snapshot;
    await change(before, live.id, { [name]: "draft" });
    // The reservation blocks the same form at once, and every other form after the backfill.
    await taken(create(today, { [name]: nfd("é") }));
    expect((await backfillForms(deps, today)).shared).toEqual([]);
    for (const text of ["é", "à", "e\u200b\u0301"]) await taken(create(today, { [name]: text }));
    expect((await backfillForms(deps, today)).shared).toEqual([]);
    // The backfill creates no revision. The next revision has the index keys.
    expect((await loadEntry(deps, "forms", old.id))?.head.revision).toBe(1);
    // An older instance that writes the entry again drops the normal form. A backfill reserves it again.
    await change(today, old.id, { [name]: nfd("é") });
    await change(before, old.id, { [name]: nfd("é") });
    await backfillForms(deps, today);
    await taken(create(today, { [name]: "é" }));
    for (const { id } of [old, live]) await remove(today, id);
    expect(await standing()).toBe(0);
  },
);

test("the backfill reports entries that share a value in different forms, and both keep their form", async () => {
  // No earlier test used this value: a retry would read the current definition.
  const first = (await create(before, { slug: nfd("ü") })).snapshot;
  const second = (await create(before, { slug: "ü" })).snapshot;
  const shared = { orb: "forms", module: "news", schema: "post", field: "slug" };
  const [told, ...more] = (await backfillForms(deps, today)).shared;
  expect([more, told?.ids.toSorted()]).toEqual([[], [first.id, second.id].sort()]);
  expect(told).toMatchObject(shared);
  // Both entries can be written, and neither can switch to the other's form.
  for (const publish of [true, false]) {
    await change(today, first.id, { slug: nfd("ü") }, publish);
    await change(today, second.id, { slug: "ü" }, publish);
  }
  await taken(change(today, first.id, { slug: "u\u200b\u0308" }));
  await taken(change(today, second.id, { slug: nfd("ü") }));
  // Deleting one entry does not release the other's value.
  await remove(today, first.id);
  await taken(create(today, { slug: nfd("ü") }));
  await remove(today, second.id);
  expect(await standing()).toBe(0);
  expect((await backfillForms(deps, today)).shared).toEqual([]);
});

test("plain text takes no additional request or reservation, another form takes one reservation", async () => {
  const counting = countingStore(broker.store("fn"));
  const counted = { ...deps, store: counting.store };
  const calls = async (values: object) => {
    counting.reset();
    const { snapshot } = await createEntry(counted, admin, {
      orbId: "forms",
      orb: today,
      module: "news",
      schema: "post",
      values,
    });
    await updateEntry(counted, admin, { orbId: "forms", orb: today, id: snapshot.id, values });
    const made = { calls: counting.calls.length, claims: await standing() };
    await remove(today, snapshot.id);
    return made;
  };
  const plain = await calls({ slug: "plain" });
  expect(plain.claims).toBe(1);
  expect(await calls({ slug: nfd("ö") })).toEqual({ calls: plain.calls, claims: 2 });
});

test("a return to an older version, and then to this one, leaves no value unreserved", async () => {
  await startAgain("forms");
  for (const round of [1, 2]) {
    const text = `â${round}`;
    // An older version creates an entry, and changes one of this version.
    const own = (await create(today, { slug: `own${round}` })).snapshot;
    const old = (await create(before, { slug: nfd(text) })).snapshot;
    await change(before, own.id, { slug: nfd(`ê${round}`) });
    await startAgain("forms");
    for (const form of [text, `ê${round}`]) await taken(create(today, { slug: form }));
    for (const { id } of [old, own]) await remove(today, id);
  }
  await startAgain("forms");
  expect(await startAgain("forms")).toEqual(["streamInfo", "get"]);
  expect(await standing()).toBe(0);
});

test("a field that an older version made unique has all reservations when this version runs again", async () => {
  const document = (unique: boolean) => ({
    id: "later",
    modules: [
      {
        id: "news",
        type: "CONTENT" as const,
        schemas: [{ id: "post", fields: [{ name: "slug", type: "string" as const, unique }] }],
      },
    ],
  });
  await createOrb(deps, admin, { document: document(false), publish: true });
  const place = { orbId: "later", module: "news", schema: "post" };
  const write = (orb: LiveOrb, slug: string) => createEntry(deps, admin, { ...place, orb, values: { slug } });
  const first = await liveRecord(deps, "later");
  const plain = await requireLive(deps, "later");
  for (const text of ["ä", "ë"]) await write(plain, nfd(text));
  await startAgain("later");

  // An older version stores no version of the forms, and reserves the values as written.
  const { compiled, document: published } = definition(document(true), 2);
  const { forms: _, ...record } = { ...first?.record, revision: 2, document: published };
  await broker.store("operator").kvPut(buckets.orbs, "later", JSON.stringify(record));
  const older = withoutForms(compiled);
  const schema = older.schema("news", "post");
  if (schema === undefined) throw new Error("no schema");
  await backfillExisting(deps, { orb: "later", revision: 2, compiled: older }, schema);
  const unique = await requireLive(deps, "later");

  await startAgain("later");
  for (const form of ["ä", "ë"]) await taken(write(unique, form));
  expect(await startAgain("later")).toEqual(["streamInfo", "get"]);
});

test("reads no entry again after a publication of this version", async () => {
  const field = { name: "slug", type: "string" as const, unique: true };
  const document = (name: string) => ({
    id: "chain",
    name,
    modules: [{ id: "news", type: "CONTENT" as const, schemas: [{ id: "post", fields: [field] }] }],
  });
  await createOrb(deps, admin, { document: document("one"), publish: true });
  const place = { orbId: "chain", module: "news", schema: "post", values: { slug: "a" } };
  await createEntry(deps, admin, { ...place, orb: await requireLive(deps, "chain") });
  expect(await startAgain("chain")).toContain("append");
  await updateOrb(deps, admin, { orb: "chain", document: document("two"), publish: true });
  expect(await startAgain("chain")).not.toContain("append");
});

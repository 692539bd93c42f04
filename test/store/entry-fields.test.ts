/** Verbs that no route of an orb's users serves yet must hide fields too: history, comparison and going back. */
import { describe, expect, it } from "vitest";
import { principalIn } from "../../shared/access/authorize.ts";
import { compileOrb } from "../../shared/definition/compile.ts";
import { type OrbDocument, orbDocumentSchema } from "../../shared/definition/document/document.ts";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import { storedNames } from "../../shared/definition/names/resolve.ts";
import {
  backfillExisting,
  compareRevisions,
  createEntry,
  deleteEntry,
  getRevision,
  revertEntry,
  updateEntry,
} from "../../shared/entry/index.ts";
import { readableBy } from "../../shared/entry/model/fields.ts";
import { getEntry } from "../../shared/entry/read/get.ts";
import { getManaged } from "../../shared/entry/read/managed-get.ts";
import { admin, failureOf, fileOrb, readAs, user } from "../support/entries.ts";

const access = { read: ["admin"], write: ["admin"] };
const { deps, orb } = await fileOrb({
  id: "ledgers",
  modules: [
    {
      id: "books",
      type: "CONTENT",
      schemas: [
        {
          id: "book",
          access: { read: ["user"], create: ["user"], update: ["user"], publish: ["user"], delete: ["user"] },
          fields: [
            { name: "title", type: "string" },
            { name: "cost", type: "number", access },
            { name: "pin", type: "string", sensitive: true, access },
            { name: "twin", type: "reference", ref: "ledgers/books/book", access },
          ],
        },
      ],
    },
  ],
});

const [ann, chief] = [user("ann"), user("chief", "admin")];
const at = (id: string) => ({ orbId: "ledgers", orb, id });
const place = { orbId: "ledgers", orb, module: "books", schema: "book" };
const current = async (id: string) => (await getManaged(deps, admin, at(id))).view.values;

async function book(): Promise<string> {
  const values = { title: "one", cost: 1, pin: "1111" };
  const { id } = (await createEntry(deps, chief, { ...place, values })).snapshot;
  await updateEntry(deps, chief, { ...at(id), values: { title: "two", cost: 2, pin: "2222" } });
  return id;
}

it("shows no hidden field in revisions and their comparison", async () => {
  const id = await book();
  expect((await getRevision(deps, ann, { ...at(id), revision: 1 })).values).toEqual({ title: "one" });
  expect(Object.keys((await getRevision(deps, chief, { ...at(id), revision: 1 })).values)).toEqual([
    "title",
    "cost",
    "pin",
  ]);
  const compared = { ...at(id), revision: 2, against: 1 };
  const paths = async (by: typeof ann) =>
    (await compareRevisions(deps, by, compared)).patch.map(({ path }) => path);
  expect(await paths(ann)).toEqual(["/values/title"]);
  expect(await paths(chief)).toEqual(["/values/title", "/values/cost", "/values/pin"]);
});

it("keeps hidden values when an older revision is restored", async () => {
  const id = await book();
  await revertEntry(deps, ann, { ...at(id), revision: 1 });
  expect(await current(id)).toMatchObject({ title: "one", cost: 2 });
  const reveal = true;
  const schema = orb.compiled.schema("books", "book");
  if (schema === undefined) throw new Error("the schema is missing");
  const choice = { languages: ["en"], markets: [], allLocales: false, negotiated: false };
  const query = { fields: undefined, expand: [] };
  const pin = async () =>
    (await getEntry(deps, { reading: readAs(admin, orb, schema, true), id, choice, query, reveal })).entry
      .values.pin;
  expect(await pin()).toBe("2222");
  await revertEntry(deps, chief, { ...at(id), revision: 1 });
  expect(await current(id)).toMatchObject({ title: "one", cost: 1 });
  expect(await pin()).toBe("1111");
});

it("names no entry that refers to another through a hidden field", async () => {
  const [one, two] = [await book(), await book()];
  await updateEntry(deps, chief, { ...at(two), values: { title: "two", twin: one } });
  const refused = await failureOf(deleteEntry(deps, ann, at(one)));
  expect(refused).toMatchObject({ code: "referenced", data: { referrers: [] } });
  const told = await failureOf(deleteEntry(deps, chief, at(one)));
  expect(told.data?.referrers).toEqual([{ module: "books", schema: "book", id: two, field: "twin" }]);
});

describe("a hidden reference from before a change of the definition", () => {
  const twin = { name: "twin", type: "reference", ref: "ledgers/books/book" };
  const note = { name: "note", type: "string" };
  const hidden = { ...twin, access };
  const links = {
    name: "links",
    type: "object",
    fields: [twin, note],
    from: { fields: { twin: "twin" } },
    access,
  };
  const emptied = { name: "links", type: "object", fields: [note] };
  const [start, inside, outside, gone, without] = [
    [hidden],
    [links],
    [hidden, emptied],
    [],
    [{ ...links, from: undefined, fields: [note], access: undefined }],
  ];

  function evolved(before: LiveOrb & { names?: ReturnType<typeof storedNames> }, fields: readonly object[]) {
    const title = { name: "title", type: "string" };
    const document: OrbDocument = orbDocumentSchema.parse({
      ...before.document,
      modules: before.document.modules.map((module) => ({
        ...module,
        schemas: module.schemas.map((schema) => ({ ...schema, fields: [title, ...fields] })),
      })),
    });
    const names = storedNames(document, before);
    return {
      ...before,
      revision: before.revision + 1,
      document,
      names,
      compiled: compileOrb(document, names),
    };
  }

  it.each([
    ["moved into an object", [start, inside], "links.twin"],
    ["moved out of an object", [start, inside, outside], "twin"],
    ["moved out of an object and into it again", [start, inside, outside, inside], "links.twin"],
    ["was removed", [start, gone], undefined],
    ["was removed from an object", [start, inside, without], undefined],
  ])("is named only to callers who may read it, when the field %s", async (_, fields, name) => {
    let [then, last] = [orb, orb];
    for (const one of fields) [then, last] = [last, evolved(last, one)];
    const by = (which: LiveOrb) => ({ orbId: "ledgers", orb: which, renew: async () => which });
    const create = async (values: object) =>
      (await createEntry(deps, chief, { ...by(then), module: "books", schema: "book", values })).snapshot.id;
    const target = await create({});
    const isFlat = then.compiled.schema("books", "book")?.fields.has("twin") === true;
    const id = await create(isFlat ? { twin: target } : { links: { twin: target } });
    const schema = last.compiled.schema("books", "book");
    if (schema === undefined) throw new Error("the schema is missing");
    await backfillExisting(deps, last, schema);
    const refused = async (actor: typeof ann | typeof admin) =>
      (await failureOf(deleteEntry(deps, actor, { ...by(last), id: target }))).data;
    const named = (field: string) => ({
      referrers: [{ module: "books", schema: "book", id, field }],
      total: 1,
    });
    const unseen = { referrers: [], total: 0, totalExact: false };
    expect(await refused(ann)).toEqual(unseen);
    expect(await refused(chief)).toEqual(name === undefined ? unseen : named(name));
    expect(await refused(admin)).toEqual(named(name ?? (isFlat ? "twin" : "links.twin")));
  });
});

it("costs callers who see all fields nothing: they share the compiled schema", async () => {
  const schema = orb.compiled.schema("books", "book");
  if (schema === undefined) throw new Error("the schema is missing");
  const caller = (by: typeof ann) => principalIn(by, "ledgers", orb.compiled);
  expect(readableBy(schema, caller(chief), false)).toBe(schema);
  const narrow = readableBy(schema, caller(ann), false);
  expect([...narrow.fields.keys()]).toEqual(["title"]);
  expect(readableBy(schema, caller(user("bob")), true)).toBe(narrow);
});

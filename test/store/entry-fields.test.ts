/** Verbs that no route of an orb's users serves yet must hide fields too: history, comparison and going back. */
import { expect, it } from "vitest";
import { principalIn } from "../../shared/access/authorize.ts";
import {
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
import { admin, failureOf, fileOrb, user } from "../support/entries.ts";

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
  const reveal = { latest: true, reveal: true };
  const schema = orb.compiled.schema("books", "book");
  if (schema === undefined) throw new Error("the schema is missing");
  const choice = { languages: ["en"], markets: [], allLocales: false, negotiated: false };
  const query = { fields: undefined, expand: [] };
  const pin = async () =>
    (await getEntry(deps, admin, { orb, schema, id, choice, query, ...reveal })).entry.values.pin;
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

it("costs callers who see all fields nothing: they share the compiled schema", async () => {
  const schema = orb.compiled.schema("books", "book");
  if (schema === undefined) throw new Error("the schema is missing");
  const caller = (by: typeof ann) => principalIn(by, "ledgers", orb.compiled);
  expect(readableBy(schema, caller(chief), false)).toBe(schema);
  const narrow = readableBy(schema, caller(ann), false);
  expect([...narrow.fields.keys()]).toEqual(["title"]);
  expect(readableBy(schema, caller(user("bob")), true)).toBe(narrow);
});

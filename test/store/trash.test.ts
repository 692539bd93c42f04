/** Deleted entries: their list, how they come back, and conflicts with what was written since. */
import { expect, it } from "vitest";
import { listTrash } from "../../shared/activity/trash.ts";
import {
  archiveEntry,
  createEntry,
  deleteEntry,
  listRevisions,
  publishEntry,
  restoreEntry,
  updateEntry,
} from "../../shared/entry/index.ts";
import { listManaged } from "../../shared/entry/read/managed.ts";
import { countingStore } from "../support/counting.ts";
import { admin, failureOf, fileOrb, testDeps, user } from "../support/entries.ts";

const { store, deps, orb } = await fileOrb({
  id: "bin",
  modules: [
    {
      id: "news",
      type: "CONTENT",
      schemas: [
        {
          id: "article",
          access: {
            read: ["public"],
            create: ["user"],
            update: ["own"],
            publish: ["admin"],
            delete: ["own"],
          },
          fields: [
            { name: "title", type: "string" },
            { name: "slug", type: "string", unique: true },
            { name: "code", type: "string", sensitive: true },
            { name: "next", type: "reference", ref: "bin/news/article" },
          ],
        },
      ],
    },
  ],
});
const at = (id: string) => ({ orbId: orb.orb, orb, id });
const ann = user("ann");

async function make(values: Record<string, unknown>, publish = false): Promise<string> {
  const made = await createEntry(deps, ann, { orbId: orb.orb, orb, module: "news", values });
  const { id } = made.snapshot;
  if (publish) await publishEntry(deps, admin, at(id));
  return id;
}
const trash = async () => (await listTrash(deps, admin, orb, { limit: 50 })).items;
const listed = async () =>
  (await listManaged(deps, admin, { orb, parameters: [["limit", "100"]] })).items.map(({ id }) => id);

it("lists deleted entries as they were, newest first, until they are restored or purged", async () => {
  const first = await make({ title: "First", code: "secret" }, true);
  const second = await make({ title: "Second" });
  await deleteEntry(deps, ann, at(second));
  await deleteEntry(deps, ann, at(first));
  const items = await trash();
  expect(items).toMatchObject([
    { id: first, module: "news", schema: "article", status: "PUBLISHED", deletedRevision: 3 },
    { id: second, status: "SAVED", deletedBy: { id: "ann" }, values: { title: "Second" } },
  ]);
  expect(JSON.stringify(items)).not.toContain("secret");
  expect((await failureOf(listTrash(deps, ann, orb, { limit: 5 }))).kind).toBe("forbidden");
  await restoreEntry(deps, ann, at(first));
  expect((await trash()).map(({ id }) => id)).toEqual([second]);
  await deleteEntry(deps, admin, { ...at(second), purge: true });
  expect(await trash()).toEqual([]);
});

it("brings an entry back as a draft with all its values, and lists it again", async () => {
  const id = await make({ title: "Back", slug: "back", code: "hidden" }, true);
  await updateEntry(deps, ann, { ...at(id), values: { title: "Draft", slug: "back" }, merge: true });
  await deleteEntry(deps, ann, at(id));
  expect(await listed()).not.toContain(id);
  const { snapshot } = await restoreEntry(deps, ann, { ...at(id), ifMatch: 4 });
  expect(snapshot).toMatchObject({
    status: "UNPUBLISHED",
    revision: 5,
    operation: "restore",
    createdBy: "ann",
  });
  expect(snapshot.values).toMatchObject({
    title: "Draft",
    slug: "back",
    code: { $sealed: expect.any(String) },
  });
  expect(await listed()).toContain(id);
  const { items } = await listRevisions(deps, admin, { ...at(id), order: "asc", limit: 10 });
  expect(items.map(({ operation }) => operation)).toEqual([
    "create",
    "publish",
    "update",
    "delete",
    "restore",
  ]);
  await publishEntry(deps, admin, at(id));
  expect((await failureOf(make({ slug: "back" }))).code).toBe("unique_conflict");
});

it("refuses an entry whose unique value another one has by now, and then leaves it deleted", async () => {
  const id = await make({ title: "Old", slug: "taken" });
  await deleteEntry(deps, ann, at(id));
  const other = await make({ slug: "taken" });
  expect(await failureOf(restoreEntry(deps, ann, at(id)))).toMatchObject({ code: "unique_conflict" });
  expect((await trash()).map((one) => one.id)).toContain(id);
  await deleteEntry(deps, ann, at(other));
  await restoreEntry(deps, ann, at(id));
  expect(await failureOf(restoreEntry(deps, ann, at(other)))).toMatchObject({ code: "unique_conflict" });
});

it("comes back once when two callers restore it at the same time, and not for those who may not", async () => {
  const id = await make({ title: "Twice", slug: "twice" });
  await archiveEntry(deps, ann, at(id));
  await deleteEntry(deps, ann, at(id));
  expect((await failureOf(restoreEntry(deps, user("bob"), at(id)))).code).toBe("entry_not_found");
  const outcomes = await Promise.allSettled([1, 2].map(() => restoreEntry(deps, ann, at(id))));
  expect(outcomes.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  const { items } = await listRevisions(deps, admin, { ...at(id), order: "desc", limit: 1 });
  expect(items).toMatchObject([{ status: "UNPUBLISHED", revision: 4 }]);
});

it("brings nothing back for an author whose entry someone else has deleted", async () => {
  const id = await make({ title: "Removed by an admin" });
  await deleteEntry(deps, admin, at(id));
  expect((await failureOf(restoreEntry(deps, ann, at(id)))).code).toBe("entry_not_found");
  expect((await restoreEntry(deps, user("boss", "admin"), at(id))).snapshot.revision).toBe(3);
});

it("reads few messages for a page, and pages reach every deleted entry once", async () => {
  const ids: string[] = [];
  for (let index = 0; index < 9; index++) {
    const id = await make({ title: `${index}` });
    await make({ title: `stays ${index}` });
    await deleteEntry(deps, ann, at(id));
    ids.unshift(id);
  }
  const found: string[] = [];
  let before: number | undefined;
  for (let pages = 0; pages < 9; pages++) {
    const counted = countingStore(store);
    const page = await listTrash(testDeps(counted.store), admin, orb, { limit: 4, before });
    expect(counted.calls.length).toBeLessThan(20);
    found.push(...page.items.map(({ id }) => id));
    if (page.next === null) break;
    before = page.next;
  }
  expect(found.slice(0, 9)).toEqual(ids);
  expect(new Set(found).size).toBe(found.length);
});

it("restores entries that refer to each other, and publishes them with a warning while another is gone", async () => {
  const first = await make({ title: "First" });
  const second = await make({ title: "Second", next: first });
  await updateEntry(deps, ann, { ...at(first), values: { title: "First", next: second } });
  for (const id of [first, second]) await deleteEntry(deps, ann, { ...at(id), force: true });
  await restoreEntry(deps, ann, at(first));
  const { snapshot, warnings } = await publishEntry(deps, admin, at(first));
  expect(snapshot.values).toMatchObject({ next: second });
  expect(warnings).toMatchObject([{ path: "/values/next", code: "unknown_reference" }]);
  await restoreEntry(deps, ann, at(second));
  expect((await failureOf(deleteEntry(deps, ann, at(second)))).code).toBe("referenced");
});

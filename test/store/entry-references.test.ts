import { describe, expect, it } from "vitest";
import {
  archiveEntry,
  bulkWrite,
  createEntry,
  deleteEntry,
  publishEntry,
  updateEntry,
} from "../../shared/entry/index.ts";
import { nullIfMissing } from "../../shared/store/pages.ts";
import { streams, subjects } from "../../shared/store/subjects.ts";
import type { Store } from "../../shared/store/types.ts";
import { admin, failureOf, fileOrb } from "../support/entries.ts";

const { store, deps, orb } = await fileOrb({
  id: "library",
  modules: [
    {
      id: "shelf",
      type: "CONTENT",
      schemas: [
        { id: "author", fields: [{ name: "name", type: "string" }] },
        {
          id: "book",
          fields: [
            { name: "author", type: "reference", ref: "library/shelf/author" },
            { name: "elsewhere", type: "reference", ref: "nowhere/shelf/book" },
            { name: "sequel", type: "reference", ref: "library/shelf/book" },
            { name: "cited", type: "reference", ref: "library/shelf/author", list: true },
          ],
        },
      ],
    },
  ],
});

const at = (id: string, more: object = {}) => ({ orbId: "library", orb, id, ...more });
const book = async (values: object) =>
  (await createEntry(deps, admin, { orbId: "library", orb, module: "shelf", schema: "book", values }))
    .snapshot.id;
const put = (id: string, values: object) => updateEntry(deps, admin, at(id, { values }));

describe("a reference whose target was deleted or archived by force", () => {
  const author = async () =>
    (
      await createEntry(deps, admin, {
        ...{ orbId: "library", orb, module: "shelf", schema: "author" },
        values: {},
        publish: true,
      })
    ).snapshot.id;
  const ways = {
    deleted: (id: string) => deleteEntry(deps, admin, at(id, { force: true })),
    archived: (id: string) => archiveEntry(deps, admin, at(id, { force: true })),
  };

  it.each(Object.entries(ways))("blocks no write that leaves it as it is: %s", async (_, remove) => {
    const [gone, other] = [await author(), await author()];
    const live = await book({ author: gone, cited: [gone] });
    const draft = await book({ author: gone });
    await publishEntry(deps, admin, at(live));
    await remove(gone);
    const { snapshot } = await publishEntry(deps, admin, at(draft));
    expect([snapshot.status, snapshot.values]).toEqual(["PUBLISHED", { author: gone }]);
    const patched = { values: { cited: [gone, other] }, merge: true, publish: true };
    const changed = await updateEntry(deps, admin, at(live, patched));
    expect(changed.snapshot.values).toEqual({ author: gone, cited: [gone, other] });
    await updateEntry(deps, admin, at(live, { values: { author: other }, merge: true }));
    await updateEntry(deps, admin, at(live, { values: { cited: [] }, merge: true, publish: true }));
    await publishEntry(deps, admin, at(live));
  });

  it.each(Object.entries(ways))("blocks a write that adds it: %s", async (_, remove) => {
    const gone = await author();
    const id = await book({ author: gone });
    await remove(gone);
    const touching = [
      () => put(id, { author: gone, cited: [gone] }),
      () => updateEntry(deps, admin, at(id, { values: { cited: [gone] }, merge: true, publish: true })),
      () => book({ author: gone }),
    ];
    for (const write of touching)
      expect((await failureOf(write())).errors).toMatchObject([{ code: "unknown_reference" }]);
  });

  it("still blocks the publication of a reference to a draft", async () => {
    const { id: target } = (
      await createEntry(deps, admin, { orbId: "library", orb, module: "shelf", schema: "author", values: {} })
    ).snapshot;
    const id = await book({ author: target });
    expect((await failureOf(publishEntry(deps, admin, at(id)))).code).toBe("reference_not_live");
  });
});

describe("self-reference", () => {
  it("is valid in a field that refers to the entry's own schema, and unknown in others", async () => {
    const id = await book({});
    expect((await put(id, { sequel: id })).snapshot.values).toEqual({ sequel: id });
    expect((await failureOf(put(id, { author: id, elsewhere: id }))).errors).toMatchObject(
      expect.arrayContaining([
        expect.objectContaining({ path: "/values/author", code: "unknown_reference" }),
        expect.objectContaining({ path: "/values/elsewhere", code: "unknown_reference" }),
      ]),
    );
  });
});

describe("entry with more references than one batch can release", () => {
  /** Creates authors, and a book that refers to all of them. */
  async function grown(count: number): Promise<{ id: string; cited: string[] }> {
    async function* lines() {
      for (let i = 0; i < count; i++) yield JSON.stringify({ module: "shelf", schema: "author", values: {} });
    }
    const cited: string[] = [];
    const results = bulkWrite(deps, admin, { orbId: "library", orb, lines: lines(), parse: JSON.parse });
    for await (const result of results) if ("snapshot" in result) cited.push(result.snapshot.id);
    expect(cited).toHaveLength(count);
    const id = await book({ cited: cited.slice(0, 300) });
    for (let some = 600; some < count + 300; some += 300) await put(id, { cited: cited.slice(0, some) });
    return { id, cited };
  }
  /** Counts the authors that are still marked as referenced. */
  async function hinted(ids: readonly string[]): Promise<number> {
    let count = 0;
    for (const id of ids) {
      const filter = subjects.referrers("library", id);
      const page = await nullIfMissing(
        store.scan(streams.orb("library"), filter, { fromSeq: 1, limit: 10, maxBytes: 1e8 }),
      );
      if (page?.messages.some(({ size }) => size > 0)) count++;
    }
    return count;
  }

  it("can be deleted and releases all its references", async () => {
    const { id, cited } = await grown(900);
    await deleteEntry(deps, admin, at(id));
    expect(await hinted(cited)).toBe(0);
    await deleteEntry(deps, admin, at(cited[0] ?? ""));
  });

  it("keeps references that it takes again while they are being released", async () => {
    const { id, cited } = await grown(700);
    const again = cited.slice(0, 200);
    let batches = 0;
    const meanwhile = new Proxy(store, {
      get(target, name, receiver) {
        if (name !== "batch") return Reflect.get(target, name, receiver);
        return async (...given: Parameters<Store["batch"]>) => {
          if (++batches === 2) await put(id, { cited: again });
          return target.batch(...given);
        };
      },
    });
    await updateEntry({ ...deps, store: meanwhile }, admin, at(id, { values: {} }));
    expect(batches).toBe(2);
    expect(await hinted(again)).toBe(again.length);
    expect((await failureOf(deleteEntry(deps, admin, at(again[0] ?? "")))).code).toBe("referenced");
  });
});

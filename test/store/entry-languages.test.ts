/** Publications of some languages of an entry. */
import { describe, expect, it } from "vitest";
import { diffSet } from "../../shared/changes/content/diff.ts";
import { publishSet } from "../../shared/changes/content/publish.ts";
import { revertSet } from "../../shared/changes/content/revert.ts";
import { writingInto } from "../../shared/changes/content/within.ts";
import { newSet, setMessage } from "../../shared/changes/record/record.ts";
import { publishedOf } from "../../shared/entry/index/entry-keys.ts";
import {
  createEntry,
  loadEntry,
  publishEntry,
  unpublishEntry,
  updateEntry,
} from "../../shared/entry/index.ts";
import { namedEntry } from "../../shared/entry/model/names.ts";
import { streams } from "../../shared/store/subjects.ts";
import { admin, callerIn, failureOf, fileOrb, user } from "../support/entries.ts";

const { deps, orb, store } = await fileOrb({
  id: "shop",
  languages: ["en", "de", "fr"],
  markets: ["US", "DE"],
  modules: [
    {
      id: "catalog",
      type: "CONTENT",
      schemas: [
        {
          id: "page",
          fields: [
            { name: "title", type: "string", translatable: true, required: "allLanguages" },
            { name: "slug", type: "string", translatable: true, unique: true },
            { name: "price", type: "number" },
            { name: "offer", type: "string", translatable: true, marketSpecific: true },
            {
              name: "seo",
              type: "object",
              fields: [
                { name: "words", type: "string", translatable: true },
                { name: "rank", type: "integer" },
              ],
            },
            {
              name: "notes",
              type: "object",
              list: true,
              fields: [{ name: "note", type: "string", translatable: true }],
            },
          ],
        },
        {
          id: "guarded",
          access: { read: ["user"], create: ["user"], update: ["user"], publish: ["user"], delete: ["user"] },
          fields: [
            { name: "title", type: "string", translatable: true },
            { name: "seal", type: "string", translatable: true, access: { write: ["admin"] } },
          ],
        },
        {
          id: "free",
          fields: [
            { name: "title", type: "string", translatable: true },
            { name: "count", type: "integer" },
          ],
        },
      ],
    },
  ],
} as never);
const at = { orbId: "shop", orb };
const all = (text: string) => ({ en: text, de: `${text} de`, fr: `${text} fr` });

async function create(values: object, name = "page", publish = true): Promise<string> {
  const made = await createEntry(deps, admin, { ...at, module: "catalog", schema: name, values, publish });
  return made.snapshot.id;
}
const change = (id: string, values: object) => updateEntry(deps, admin, { ...at, id, values, merge: true });
const publish = (id: string, locales?: string[]) => publishEntry(deps, admin, { ...at, id, locales });

async function shown(id: string) {
  const stored = await loadEntry(deps, "shop", id);
  const entry = namedEntry(orb.compiled, stored) ?? expect.fail("no entry");
  const schema = orb.compiled.schema("catalog", entry.head.schema);
  const live = await publishedOf(deps, schema, entry);
  return { live: live?.values ?? {}, draft: entry.head.values, head: entry.head };
}

describe("a publication of some languages", () => {
  it("shows the texts of these languages, and keeps everything else as it is live", async () => {
    const notes = [
      { _key: "a", note: all("A") },
      { _key: "b", note: all("B") },
    ];
    const before = {
      title: all("Old"),
      price: 1,
      offer: { US: all("Sale") },
      seo: { words: all("w"), rank: 1 },
      notes,
    };
    const id = await create(before);
    await change(id, {
      title: all("New"),
      price: 2,
      offer: { US: all("Now"), DE: all("Jetzt") },
      seo: { words: all("x"), rank: 2 },
      notes: [
        { _key: "c", note: all("C") },
        { _key: "b", note: all("BB") },
      ],
    });
    await publish(id, ["de"]);
    const now = await shown(id);
    expect(now.live).toEqual({
      title: { en: "Old", de: "New de", fr: "Old fr" },
      price: 1,
      offer: { US: { en: "Sale", de: "Now de", fr: "Sale fr" }, DE: { de: "Jetzt de" } },
      seo: { words: { en: "w", de: "x de", fr: "w fr" }, rank: 1 },
      notes: [
        { _key: "a", note: all("A") },
        { _key: "b", note: { en: "B", de: "BB de", fr: "B fr" } },
      ],
    });
    expect(now.draft).toMatchObject({ title: all("New"), price: 2, seo: { rank: 2 } });
    expect(now.head).toMatchObject({ status: "PUBLISHED", revision: 4, publishedRevision: 3 });
    await publish(id);
    expect((await shown(id)).live).toEqual(now.draft);
  });

  it("leaves no draft if the draft has no other changes", async () => {
    const id = await create({ title: all("Old") });
    await change(id, { title: { de: "Neu", fr: "Neuf" } });
    await publish(id, ["fr", "de"]);
    const { head, live } = await shown(id);
    expect([head.revision, head.publishedRevision]).toEqual([3, 3]);
    expect(live.title).toEqual({ en: "Old", de: "Neu", fr: "Neuf" });
  });

  it("writes nothing if the texts are live already", async () => {
    const id = await create({ title: all("Old") });
    await change(id, { title: { de: "Neu" } });
    expect(await publish(id, ["fr"])).toMatchObject({ unchanged: true });
    expect((await shown(id)).head.revision).toBe(2);
    await publish(id);
    expect(await failureOf(publish(id, ["fr"]))).toMatchObject({ code: "wrong_state" });
  });

  it("shows an entry that was not live in these languages only", async () => {
    const id = await create({ title: { en: "One", de: "Eins" }, count: 3 }, "free", false);
    await publish(id, ["de"]);
    expect(await shown(id)).toMatchObject({
      head: { status: "PUBLISHED", revision: 3, publishedRevision: 2 },
    });
    const { live, draft } = await shown(id);
    expect([live, draft]).toEqual([
      { title: { de: "Eins" }, count: 3 },
      { title: { en: "One", de: "Eins" }, count: 3 },
    ]);
    const page = await create({ title: { en: "One", de: "Eins" } }, "page", false);
    expect(await failureOf(publish(page, ["de"]))).toMatchObject({ code: "validation_failed" });
  });

  it("takes the removal of a text, and requires the languages that the field does", async () => {
    const id = await create({ title: { en: "One", de: "Eins" }, count: 1 }, "free");
    await change(id, { title: { de: null }, count: 2 });
    await publish(id, ["de"]);
    expect((await shown(id)).live).toEqual({ title: { en: "One" }, count: 1 });
    const page = await create({ title: all("Old") });
    await change(page, { title: { de: null } });
    const error = await failureOf(publish(page, ["de"]));
    expect(error.errors).toMatchObject([{ path: "/values/title/de", code: "required" }]);
  });

  it("reserves the unique values of these languages", async () => {
    const [first, other] = [
      await create({ title: all("Old"), slug: { de: "alt" } }),
      await create({ title: all("x") }),
    ];
    await change(first, { slug: { de: "neu", en: "new" } });
    await publish(first, ["de"]);
    expect(await failureOf(change(other, { slug: { de: "neu" } }))).toMatchObject({
      code: "unique_conflict",
    });
    await change(other, { slug: { de: "alt" } });
    expect((await shown(first)).live.slug).toEqual({ de: "neu" });
  });

  it("names only languages of the orb", async () => {
    const id = await create({ title: all("Old") });
    await change(id, { price: 3 });
    for (const locales of [["it"], ["de", ""], []])
      expect(await failureOf(publish(id, locales))).toMatchObject({ code: "invalid_parameter" });
  });
});

describe("in a change set, a publication of some languages", () => {
  async function opened(): Promise<string> {
    const set = newSet(deps, admin, { title: "German" });
    await store.append(streams.orb("shop"), setMessage("shop", set, 0));
    return set.id;
  }
  async function propose(set: string, id: string, locales: string[]) {
    const { deps: within, into } = await writingInto(deps, callerIn(admin, orb), orb, set);
    return publishEntry(within, admin, { ...at, id, locales, into });
  }

  it("is compared, published and taken back like any other version, and the draft stays", async () => {
    const id = await create({ title: all("Old"), price: 1 });
    await change(id, { title: all("New"), price: 2 });
    const set = await opened();
    await propose(set, id, ["de"]);
    const { items } = await diffSet(deps, callerIn(admin, orb), orb, { set, limit: 10 });
    expect(items.map(({ act, fields }) => [act, fields.map(({ name }) => name)])).toEqual([
      ["publish", ["title"]],
    ]);
    // Another publication meanwhile does not touch what the set changes.
    await updateEntry(deps, admin, {
      ...at,
      id,
      values: { title: { fr: "Autre" } },
      merge: true,
      publish: true,
    });
    await publishSet(deps, admin, { ...at, set });
    const now = await shown(id);
    expect(now.live).toEqual({ title: { en: "Old", de: "New de", fr: "Autre" }, price: 1 });
    expect(now.draft).toEqual({ title: { en: "New", de: "New de", fr: "Autre" }, price: 2 });
    const back = await revertSet(deps, callerIn(admin, orb), orb, { set });
    await publishSet(deps, admin, { ...at, set: back.id });
    expect((await shown(id)).live).toEqual({ title: { en: "Old", de: "Old de", fr: "Autre" }, price: 1 });
  });

  it("adds to what the set has changed, and conflicts with another text in the same language", async () => {
    const id = await create({ title: all("Old") });
    await change(id, { title: { de: "Neu" } });
    const set = await opened();
    const { deps: within, into } = await writingInto(deps, callerIn(admin, orb), orb, set);
    await updateEntry(within, admin, { ...at, id, values: { title: { fr: "Neuf" } }, merge: true, into });
    await propose(set, id, ["de"]);
    await updateEntry(deps, admin, {
      ...at,
      id,
      values: { title: { de: "Anders" } },
      merge: true,
      publish: true,
    });
    const error = await failureOf(publishSet(deps, admin, { ...at, set }));
    expect(error.errors).toMatchObject([
      { path: `/catalog/page/${id}/values/title/de`, code: "change_conflict" },
    ]);
    const { items } = await diffSet(deps, callerIn(admin, orb), orb, { set, limit: 10 });
    expect(items[0]?.conflicts).toEqual(["/values/title/de"]);
  });

  it("leaves the texts that the caller may not set", async () => {
    const id = await create({ title: all("Old"), seal: all("Old") }, "guarded");
    await change(id, { title: all("New"), seal: all("New") });
    const set = await opened();
    const ann = user("ann");
    const { deps: within, into } = await writingInto(deps, callerIn(ann, orb), orb, set);
    const { snapshot } = await publishEntry(within, ann, { ...at, id, locales: ["de"], into });
    expect(snapshot.values).toEqual({ title: { ...all("Old"), de: "New de" }, seal: all("Old") });
  });

  it("needs a live entry with a draft beside it", async () => {
    const set = await opened();
    const live = await create({ title: all("Old") });
    const draft = await create({ title: all("Old") }, "page", false);
    const hidden = await create({ title: all("Old") });
    await unpublishEntry(deps, admin, { ...at, id: hidden });
    for (const id of [live, draft, hidden])
      expect(await failureOf(propose(set, id, ["de"]))).toMatchObject({ code: "wrong_state" });
  });
});

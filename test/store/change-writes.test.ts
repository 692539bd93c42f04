/** Writes into change sets. */
import { describe, expect, it } from "vitest";
import { contentOf, EMPTY, type Item } from "../../shared/changes/content/content.ts";
import { diffSet } from "../../shared/changes/content/diff.ts";
import { withItem } from "../../shared/changes/content/pend.ts";
import { publishSet } from "../../shared/changes/content/publish.ts";
import { takeOut } from "../../shared/changes/content/take-out.ts";
import { readingIn, writingInto } from "../../shared/changes/content/within.ts";
import { newSet, setMessage } from "../../shared/changes/record/record.ts";
import {
  archiveEntry,
  createEntry,
  deleteEntry,
  loadEntry,
  publishEntry,
  rekeyEntries,
  restoreEntry,
  unpublishEntry,
  updateEntry,
} from "../../shared/entry/index.ts";
import { addressOf } from "../../shared/entry/model/resolve.ts";
import { needsReseal } from "../../shared/entry/model/sealing.ts";
import { snapshotOf } from "../../shared/entry/model/snapshot.ts";
import { streams, subjects } from "../../shared/store/subjects.ts";
import { fileSets } from "../support/change-sets.ts";
import { admin, callerIn, failureOf, installOrb, key, storedValues, testDeps } from "../support/entries.ts";

const {
  broker,
  deps,
  orb,
  store,
  context,
  schema,
  opened,
  into,
  publish,
  product,
  create,
  patch,
  head,
  valuesOf,
} = await fileSets();

describe("writes into a change set", () => {
  const acts = {
    unpublish: unpublishEntry,
    archive: archiveEntry,
    restore: restoreEntry,
    publish: publishEntry,
  };
  async function act(set: string, id: string, name: keyof typeof acts) {
    const within = await into(set);
    return (await acts[name](within.deps, admin, { ...context, id, into: within.into })).snapshot;
  }

  it("stay unpublished, archived or restored, whichever comes first", async () => {
    type Step = keyof typeof acts | "edit";
    const cases: [Step[], object][] = [
      [["unpublish", "edit"], { status: "UNPUBLISHED", values: { state: "used" } }],
      [["edit", "unpublish"], { status: "UNPUBLISHED", values: { state: "used" } }],
      [["edit", "archive"], { status: "ARCHIVED", values: { state: "used" } }],
      [["archive", "restore"], { status: "UNPUBLISHED", values: { state: "new" } }],
      [["edit", "archive", "restore"], { status: "UNPUBLISHED", values: { state: "used" } }],
      [["unpublish", "edit", "publish"], { status: "PUBLISHED", values: { state: "used" } }],
    ];
    const set = await opened();
    const ids: string[] = [];
    for (const [steps] of cases) {
      const id = await product();
      ids.push(id);
      for (const step of steps)
        await (step === "edit" ? patch(set, id, { state: "used" }) : act(set, id, step));
    }
    const { items } = await diffSet(deps, callerIn(admin, orb), orb, { set, limit: 10 });
    expect(items.map(({ act: name, fields }) => [name, fields.map((field) => field.name)])).toEqual([
      ["unpublish", ["state"]],
      ["unpublish", ["state"]],
      ["archive", ["state"]],
      ["unpublish", []],
      ["unpublish", ["state"]],
      ["publish", ["state"]],
    ]);
    // Others have changed something else meanwhile.
    await updateEntry(deps, admin, {
      ...{ ...context, id: ids[0] ?? "", merge: true, publish: true },
      values: { hot: true },
    });
    await publish(set);
    const found = await Promise.all(ids.map(head));
    expect(found).toMatchObject(cases.map(([, expected]) => expected));
    expect(found[0]).toMatchObject({ values: { hot: true } });
  });

  it("keep what they change in a draft if the entry is no longer live", async () => {
    const set = await opened();
    const id = await product();
    await patch(set, id, { state: "used" });
    await act(set, id, "unpublish");
    await unpublishEntry(deps, admin, { ...context, id });
    await publish(set);
    expect(await head(id)).toMatchObject({ status: "UNPUBLISHED", values: { state: "used" } });
  });

  it("never use a number twice, also if the entry leaves the set in between", async () => {
    const set = await opened();
    const id = await product();
    const first = await patch(set, id, { state: "used" });
    await takeOut(deps, callerIn(admin, orb), orb, { set, entry: id });
    const tag = async () => (await readingIn(deps, callerIn(admin, orb), orb, set)).tag();
    const without = await tag();
    const second = await patch(set, id, { hot: true });
    expect(second.revision).toBeGreaterThan(first.revision);
    expect(second.publishedRevision).toBe(second.revision);
    expect(await tag()).not.toBe(without);
    expect((await failureOf(patch(set, id, {}, first.revision))).code).toBe("revision_mismatch");
    await patch(set, id, { tags: ["a"] }, second.revision);
    await publish(set);
    expect(await head(id)).toMatchObject({ revision: 2, values: { state: "new", hot: true, tags: ["a"] } });
  });

  it("answer a repeated creation with the entry as it is in the set now", async () => {
    const set = await opened();
    const write = async () => {
      const within = await into(set);
      return createEntry(within.deps, admin, {
        ...context,
        ...{ module: "catalog", schema: "product", values: { title: { en: "New" } }, into: within.into },
        idempotency: { key: set, route: "POST /products" },
      });
    };
    const { id } = (await write()).snapshot;
    await patch(set, id, { state: "used" });
    const again = await write();
    expect(again).toMatchObject({ replayed: true, snapshot: { id, values: { state: "used" } } });
    await takeOut(deps, callerIn(admin, orb), orb, { set, entry: id });
    expect((await failureOf(write())).code).toBe("answer_gone");
  });

  it("choose a slug again if another entry has taken the one that was chosen", async () => {
    const fields = [
      { name: "title", type: "string" as const },
      { name: "slug", type: "slug" as const, from: "title", unique: true },
    ];
    const pages = { id: "pages", type: "CONTENT" as const, schemas: [{ id: "page", fields }] };
    const press = await installOrb(broker.store("operator"), { id: "press", modules: [pages] });
    const at = { orbId: "press", orb: press, module: "pages" };
    const set = newSet(deps, admin, { title: "Spring" });
    await store.append(streams.orb("press"), setMessage("press", set, 0));
    const write = async (values: object, inSet: boolean) => {
      if (!inSet) return (await createEntry(deps, admin, { ...at, values, publish: true })).snapshot.id;
      const within = await writingInto(deps, callerIn(admin, press), press, set.id);
      return (await createEntry(within.deps, admin, { ...at, values, into: within.into })).snapshot.id;
    };
    const title = "Spring";
    const ids = [await write({ title }, true), await write({ title }, true), await write({ title }, false)];
    await publishSet(deps, admin, { ...at, set: set.id });
    const pagesNow = await Promise.all(ids.map((id) => loadEntry(deps, "press", id)));
    expect(pagesNow.map((entry) => storedValues(entry?.head).slug)).toEqual([
      "spring-2",
      "spring-3",
      "spring",
    ]);
    // A slug that a client has sent is never replaced.
    const sent = newSet(deps, admin, { title: "Summer" });
    await store.append(streams.orb("press"), setMessage("press", sent, 0));
    const within = await writingInto(deps, callerIn(admin, press), press, sent.id);
    const values = { title, slug: "summer" };
    await createEntry(within.deps, admin, { ...at, values, into: within.into });
    await write({ title: "Summer" }, false);
    expect((await failureOf(publishSet(deps, admin, { ...at, set: sent.id }))).code).toBe("unique_conflict");
  });

  it("are refused beyond 1,000 entries or 100 MiB", () => {
    const item = { type: "content", schema: "product", act: "publish", revision: 1, hash: "h", bytes: 1 };
    const most = (more: Partial<Item>) => {
      let content = EMPTY;
      for (let at = 0; ; at++) {
        try {
          content = withItem(content, `${at}`, { ...(item as Item), ...more, id: `${at}` }, "ann");
        } catch (error) {
          expect(error).toMatchObject({ code: "change_too_large" });
          return at;
        }
      }
    };
    expect([most({}), most({ bytes: 1024 * 1024 })]).toEqual([1_000, 100]);
  });

  it("are encrypted again when the key changes", async () => {
    const set = await opened();
    const { id } = await create(set, { secret: "open sesame" });
    const subject = subjects.changeVersion(set, addressOf(schema, id));
    const before = await contentOf(deps, orb, set);
    const newKey = { kid: "k2", k: key() };
    const keys = [newKey, ...JSON.parse(deps.config.encryptionKeys)];
    const rotated = testDeps(store, { ...deps.config, encryptionKeys: JSON.stringify(keys) });
    for await (const _ of rekeyEntries(rotated, admin, { orb }));
    const kept = snapshotOf(await store.get(streams.orb("shop"), subject));
    expect(needsReseal(rotated.config, storedValues(kept))).toBe(false);
    expect(await contentOf(deps, orb, set)).toEqual(before);
    const lost = testDeps(store, {
      ...deps.config,
      encryptionKeys: JSON.stringify([{ kid: "k3", k: key() }]),
    });
    const failed: string[] = [];
    for await (const progress of rekeyEntries(lost, admin, { orb })) failed.push(...progress.failed);
    expect(failed).toContain(id);
  });

  it("change the hash if a deletion or archival becomes a forced one", async () => {
    const id = await product();
    const hashes = new Set<string>();
    for (const force of [false, true]) {
      for (const remove of [archiveEntry, deleteEntry]) {
        const set = await opened();
        const within = await into(set, admin, { force });
        await remove(within.deps, admin, { ...context, id, force, into: within.into });
        hashes.add((await contentOf(deps, orb, set)).hash);
      }
    }
    expect(hashes.size).toBe(4);
  });

  it("are erased together with the history of their entry", async () => {
    const [set, done, other] = [await opened(), await opened(), await product()];
    const id = await product();
    await patch(done, id, { tags: ["proof"] });
    await publish(done);
    await patch(set, id, { tags: ["proof"] });
    await patch(set, other, { tags: ["kept"] });
    await deleteEntry(deps, admin, { ...context, id, purge: true });
    const found = await store.scan(streams.orb("shop"), "shop._change.>", {
      fromSeq: 1,
      limit: 10_000,
      maxBytes: 10_000_000,
    });
    const texts = found.messages.map((message) => message.text()).join();
    expect(texts).toContain("kept");
    expect(texts).not.toContain("proof");
    // The set does not become another one than its reviewers have seen.
    const { code, errors } = await failureOf(publish(set));
    expect([code, errors?.map(({ path }) => path)]).toEqual(["change_conflict", [`/catalog/product/${id}`]]);
    await takeOut(deps, callerIn(admin, orb), orb, { set, entry: id });
    await publish(set);
    expect(await valuesOf(other)).toMatchObject({ tags: ["kept"] });
  });
});

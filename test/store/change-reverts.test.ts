/** Change sets that take published ones back. */
import { describe, expect, it } from "vitest";
import { readContent } from "../../shared/changes/content/content.ts";
import { revertSet } from "../../shared/changes/content/revert.ts";
import { takeOut } from "../../shared/changes/content/take-out.ts";
import { requireSet } from "../../shared/changes/record/record.ts";
import { createEntry, deleteEntry, unpublishEntry, updateEntry } from "../../shared/entry/index.ts";
import { parseListQuery } from "../../shared/entry/query/query.ts";
import { listEntries } from "../../shared/entry/read/list.ts";
import { fileSets } from "../support/change-sets.ts";
import { admin, callerIn, failureOf, NO_QUOTAS, readAs, user } from "../support/entries.ts";

const { deps, orb, context, choice, opened, into, publish, product, create, patch, head, valuesOf, seen } =
  await fileSets();

describe("a change set", () => {
  it("takes everything back in another set, except what others have changed since", async () => {
    const set = await opened();
    const [changed, gone, hidden] = [await product({ hot: true }), await product(), await product()];
    const draft = await product({}, { publish: false });
    await patch(set, changed, { state: "used", hot: false });
    await patch(set, draft, { state: "used" });
    const made = await create(set, {});
    const forced = await into(set);
    await deleteEntry(forced.deps, admin, { ...context, id: gone, into: forced.into });
    await unpublishEntry(forced.deps, admin, { ...context, id: hidden, into: forced.into });
    await publish(set);
    await updateEntry(deps, admin, {
      ...context,
      id: changed,
      values: { title: { en: "Since" } },
      merge: true,
      publish: true,
    });
    const back = await revertSet(deps, callerIn(admin, orb), orb, { set });
    expect((await seen(back.id, changed)).values).toMatchObject({ state: "new", hot: true });
    await publish(back.id);
    expect((await seen(undefined, changed)).values).toMatchObject({
      title: { en: "Since" },
      state: "new",
      hot: true,
    });
    expect((await head(draft))?.status).toBe("UNPUBLISHED");
    expect((await head(made.id))?.status).toBe("DELETED");
    expect((await seen(undefined, gone)).values).toMatchObject({ title: { en: "Old" } });
    expect((await seen(undefined, hidden)).values).toMatchObject({ title: { en: "Old" } });
    expect((await requireSet(deps, "shop", set)).set).toMatchObject({
      state: "REVERTED",
      revertedBy: back.id,
    });
  });

  it("takes the deletion of a draft back as a draft", async () => {
    const set = await opened();
    const draft = await product({ sku: "draft" }, { publish: false });
    const { deps: within, into: to } = await into(set);
    await deleteEntry(within, admin, { ...context, id: draft, into: to });
    await publish(set);
    expect((await head(draft))?.status).toBe("DELETED");
    const back = await revertSet(deps, callerIn(admin, orb), orb, { set });
    await publish(back.id);
    expect(await head(draft)).toMatchObject({ status: "SAVED", publishedRevision: null });
    expect(await valuesOf(draft)).toMatchObject({ sku: "draft" });
    expect((await failureOf(seen(undefined, draft))).code).toBe("entry_not_found");
  });

  it("takes values back that were not live, and no publication of others", async () => {
    const set = await opened();
    const [draft, again] = [await product({}, { publish: false }), await product({}, { publish: false })];
    await patch(set, draft, { title: { en: "New" } });
    await patch(set, again, { title: { en: "New" } });
    await publish(set);
    const change = { id: again, values: { state: "used" }, merge: true, publish: true };
    const back = await revertSet(deps, callerIn(admin, orb), orb, { set });
    await updateEntry(deps, admin, { ...context, ...change });
    const { code, errors } = await failureOf(publish(back.id));
    expect(code).toBe("change_conflict");
    expect(errors?.map(({ path }) => path)).toEqual([`/catalog/product/${again}`]);
    await takeOut(deps, callerIn(admin, orb), orb, { set: back.id, entry: again });
    await publish(back.id);
    expect(await head(draft)).toMatchObject({ status: "UNPUBLISHED", publishedRevision: null });
    expect(await valuesOf(draft)).toMatchObject({ title: { en: "Old" } });
    expect((await head(again))?.status).toBe("PUBLISHED");
  });

  it("takes back only what the caller may write", async () => {
    const [owner, editor] = [user("olga", "owner"), user("ed", "admin")];
    const made = await createEntry(deps, owner, {
      ...{ ...context, module: "guarded", schema: "offer", publish: true },
      values: { title: "Old", price: 10 },
    });
    const { id } = made.snapshot;
    const set = await opened();
    const { deps: within, into: to } = await into(set, owner);
    const values = { title: "New", price: 12 };
    await updateEntry(within, owner, { ...context, id, values, merge: true, into: to });
    await publish(set, owner);
    const back = await revertSet(deps, callerIn(editor, orb), orb, { set });
    await publish(back.id, editor);
    expect(await valuesOf(id)).toEqual({ title: "Old", price: 12 });
    const gone = await opened();
    const deleting = await into(gone, owner);
    await deleteEntry(deleting.deps, owner, { ...context, id, into: deleting.into });
    await publish(gone, owner);
    const none = revertSet(deps, callerIn(editor, orb), orb, { set: gone });
    expect((await failureOf(none)).code).toBe("forbidden");
    await publish((await revertSet(deps, callerIn(owner, orb), orb, { set: gone })).id, owner);
    expect(await valuesOf(id)).toEqual({ title: "Old", price: 12 });
    const added = await opened();
    const adding = await into(added, editor);
    const offer = { module: "guarded", schema: "offer", values: {}, into: adding.into };
    await createEntry(adding.deps, editor, { ...context, ...offer });
    await publish(added, editor);
    const deletes = revertSet(deps, callerIn(editor, orb), orb, { set: added });
    expect((await failureOf(deletes)).code).toBe("forbidden");
  });

  it("lists an entry once whose deletion was taken back", async () => {
    const set = await opened();
    const note = { ...context, module: "catalog", schema: "note", values: {} };
    const { id } = (await createEntry(deps, admin, note)).snapshot;
    const other = (await createEntry(deps, admin, note)).snapshot.id;
    const { deps: within, into: to } = await into(set);
    await deleteEntry(within, admin, { ...context, id, into: to });
    await publish(set);
    await publish((await revertSet(deps, callerIn(admin, orb), orb, { set })).id);
    const notes = orb.compiled.schema("catalog", "note") ?? expect.fail("no schema");
    const reading = readAs(admin, orb, notes, true);
    const found: string[] = [];
    for (let cursor: string | null = ""; cursor !== null; ) {
      const parameters = new URLSearchParams({ limit: "1", ...(cursor === "" ? {} : { cursor }) });
      const page = await listEntries(deps, { reading, choice, query: parseListQuery(parameters, notes, []) });
      found.push(...page.items.map((item) => item.id));
      cursor = page.nextCursor;
    }
    expect(found).toEqual([id, other]);
  });

  it("counts a revert and a removal as writes", async () => {
    const owner = user("otto", "owner");
    const set = await opened();
    for (let at = 0; at < 3; at++) await patch(set, await product(), { state: "used" });
    await publish(set);
    // All requests are in the same window of the quota.
    const now = Math.floor(deps.clock.now() / 60_000) * 60_000;
    const limited = (accountWrites: number) => ({
      ...deps,
      clock: { now: () => now },
      config: { ...deps.config, quotas: { ...NO_QUOTAS, accountWrites } },
    });
    const caller = callerIn(owner, orb);
    const refused = await failureOf(revertSet(limited(2), caller, orb, { set }));
    expect(refused.kind).toBe("too_many");
    const back = await revertSet(deps, caller, orb, { set });
    const [entry = ""] = (await readContent(deps, "shop", back.id)).content.items.map(({ id }) => id);
    const again = await failureOf(takeOut(limited(1), caller, orb, { set: back.id, entry }));
    expect(again.kind).toBe("too_many");
  });
});

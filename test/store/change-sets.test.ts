/** What change sets contain, and their publication. */
import { describe, expect, it } from "vitest";
import { type Actor, actorId } from "../../shared/access/actor.ts";
import { contentOf, EMPTY, type Item, readContent } from "../../shared/changes/content/content.ts";
import { diffSet } from "../../shared/changes/content/diff.ts";
import { withItem } from "../../shared/changes/content/pend.ts";
import { publishSet } from "../../shared/changes/content/publish.ts";
import { rebaseEntry } from "../../shared/changes/content/rebase.ts";
import { revertSet } from "../../shared/changes/content/revert.ts";
import { takeOut } from "../../shared/changes/content/take-out.ts";
import { readingIn, writingInto } from "../../shared/changes/content/within.ts";
import { newSet, requireSet, setMessage } from "../../shared/changes/record/record.ts";
import { openSet } from "../../shared/changes/review/change.ts";
import { addComment, listComments, resolveComment } from "../../shared/changes/review/comments.ts";
import type { ReadContent } from "../../shared/changes/review/content.ts";
import { listSets } from "../../shared/changes/review/read.ts";
import { approveSet, rejectSet, requestReview } from "../../shared/changes/review/review.ts";
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
import { parseListQuery } from "../../shared/entry/query/query.ts";
import { getEntry } from "../../shared/entry/read/get.ts";
import { listEntries } from "../../shared/entry/read/list.ts";
import { unavailable } from "../../shared/kernel/errors.ts";
import { REQUEST_WORK } from "../../shared/store/budget.ts";
import { streams, subjects } from "../../shared/store/subjects.ts";
import { Conflict, type Store } from "../../shared/store/types.ts";
import { countingStore, Stopped, stoppingStore } from "../support/counting.ts";
import {
  admin,
  callerIn,
  failureOf,
  fileOrb,
  installOrb,
  key,
  NO_QUOTAS,
  readAs,
  SHOP,
  storedValues,
  type TestDeps,
  testDeps,
  user,
} from "../support/entries.ts";
import { testRandom } from "../support/random.ts";

const { broker, deps, orb, store } = await fileOrb({
  ...SHOP,
  modules: [
    ...(SHOP.modules ?? []),
    {
      id: "guarded",
      type: "CONTENT",
      schemas: [
        {
          id: "offer",
          access: {
            read: ["public"],
            create: ["admin"],
            update: ["admin"],
            publish: ["admin"],
            delete: ["owner"],
          },
          fields: [
            { name: "title", type: "string" },
            { name: "price", type: "number", access: { write: ["owner"] } },
          ],
        },
      ],
    },
  ],
});
const context = { orbId: "shop", orb };
const schema = orb.compiled.schema("catalog", "product") ?? expect.fail("no schema");
const choice = {
  languages: ["en"],
  markets: ["US"],
  fallback: true,
  negotiated: false,
  allLocales: true,
} as never;

async function opened(): Promise<string> {
  const set = newSet(deps, admin, { title: "Spring sale" });
  await store.append(streams.orb("shop"), setMessage("shop", set, 0));
  return set.id;
}

const into = (set: string, actor: Actor = admin, more: { force?: boolean } = {}) =>
  writingInto(deps, callerIn(actor, orb), orb, set, more);
const publish = (set: string, actor: Actor = admin, with_: TestDeps = deps) =>
  publishSet(with_, actor, { ...context, set });

async function product(values: object = {}, more: object = {}) {
  const made = await createEntry(deps, admin, {
    ...context,
    module: "catalog",
    schema: "product",
    values: { title: { en: "Old" }, ...values },
    publish: true,
    ...more,
  });
  return made.snapshot.id;
}

async function create(set: string, values: object) {
  const { deps: within, into: to } = await into(set);
  const entry = { module: "catalog", schema: "product", values: { title: { en: "New" }, ...values } };
  return (await createEntry(within, admin, { ...context, ...entry, into: to })).snapshot;
}

async function patch(set: string, id: string, values: object, ifMatch?: number) {
  const { deps: within, into: to } = await into(set);
  return (await updateEntry(within, admin, { ...context, id, values, merge: true, into: to, ifMatch }))
    .snapshot;
}

const head = async (id: string) => (await loadEntry(deps, "shop", id))?.head;
const valuesOf = async (id: string) => storedValues(await head(id));
async function tagOf(set: string, id: string) {
  const within = await readingIn(deps, callerIn(admin, orb), orb, set);
  const reading = readAs(admin, orb, schema);
  await getEntry(within.deps, { reading, id, choice, query: { fields: undefined, expand: [] } as never });
  return within.tag();
}
async function seen(set: string | undefined, id: string, actor: Actor = admin) {
  const within = set === undefined ? deps : (await readingIn(deps, callerIn(actor, orb), orb, set)).deps;
  const reading = readAs(actor, orb, schema);
  return (await getEntry(within, { reading, id, choice, query: { fields: undefined, expand: [] } as never }))
    .entry;
}

describe("a change set", () => {
  it("shows its versions, and leaves the entries as they are until it is published", async () => {
    const set = await opened();
    const [changed, gone, hidden] = [await product(), await product(), await product()];
    await patch(set, changed, { title: { en: "Changed" } });
    const made = await create(set, { sku: "a1" });
    const forced = await into(set);
    await deleteEntry(forced.deps, admin, { ...context, id: gone, into: forced.into });
    const away = await into(set);
    await unpublishEntry(away.deps, admin, { ...context, id: hidden, into: away.into });
    expect((await seen(set, changed)).values).toMatchObject({ title: { en: "Changed" } });
    expect((await seen(undefined, changed)).values).toMatchObject({ title: { en: "Old" } });
    expect((await seen(set, made.id)).values).toMatchObject({ sku: "a1" });
    expect((await failureOf(seen(undefined, made.id))).code).toBe("entry_not_found");
    expect((await failureOf(seen(set, gone))).code).toBe("entry_not_found");
    expect((await failureOf(seen(set, hidden))).code).toBe("entry_not_found");
    expect((await head(changed))?.revision).toBe(1);
    const { entries } = await publish(set);
    expect(entries.map(({ status }) => status).sort()).toEqual([
      "DELETED",
      "PUBLISHED",
      "PUBLISHED",
      "UNPUBLISHED",
    ]);
    expect(await valuesOf(changed)).toMatchObject({ title: { en: "Changed" } });
    expect(await head(changed)).toMatchObject({ revision: 2, status: "PUBLISHED", change: set });
    expect(await head(made.id)).toMatchObject({
      revision: 1,
      operation: "create",
      status: "PUBLISHED",
      change: set,
    });
    expect((await seen(undefined, made.id)).values).toMatchObject({ sku: "a1" });
    for (const id of [changed, made.id, hidden, gone]) {
      const address = { orb: "shop", ...schema.home, id };
      const copy = await store.get(streams.orb("shop"), subjects.entryLive(address, "public"));
      expect(copy?.json<{ change: string }>().change).toBe(set);
    }
    expect((await requireSet(deps, "shop", set)).set.state).toBe("PUBLISHED");
    expect((await failureOf(publish(set))).code).toBe("wrong_state");
    expect((await failureOf(patch(set, changed, {}))).code).toBe("wrong_state");
  });

  it("keeps a draft beside, and merges what others have changed elsewhere", async () => {
    const set = await opened();
    const id = await product({ state: "new", tags: ["a"] });
    await updateEntry(deps, admin, { ...context, id, values: { hot: true }, merge: true });
    expect(await patch(set, id, { title: { de: "Neu" } })).toMatchObject({
      revision: 2,
      status: "PUBLISHED",
    });
    expect((await seen(set, id)).values).toMatchObject({ title: { en: "Old", de: "Neu" } });
    expect((await seen(set, id)).values).not.toMatchObject({ hot: true });
    await updateEntry(deps, admin, {
      ...context,
      id,
      values: { title: { en: "Live" }, state: "used" },
      merge: true,
      publish: true,
    });
    await publish(set);
    expect((await seen(undefined, id)).values).toMatchObject({
      title: { en: "Live", de: "Neu" },
      state: "used",
    });
    expect(await valuesOf(id)).toMatchObject({ title: { en: "Live", de: "Neu" }, state: "used", hot: true });
  });

  it("refuses a publication that conflicts with the orb, with all places", async () => {
    const set = await opened();
    const [a, b, c] = [await product(), await product(), await product()];
    await patch(set, a, { title: { en: "Mine" }, state: "used" });
    await patch(set, b, { state: "used" });
    await patch(set, c, { state: "used" });
    await updateEntry(deps, admin, {
      ...context,
      id: a,
      values: { title: { en: "Theirs" } },
      merge: true,
      publish: true,
    });
    await unpublishEntry(deps, admin, { ...context, id: b });
    const { items } = await diffSet(deps, callerIn(admin, orb), orb, { set, limit: 10 });
    expect(items.map(({ id, conflicts }) => [id, conflicts])).toEqual([
      [a, ["/values/title/en"]],
      [b, ["/status"]],
      [c, []],
    ]);
    expect(items[0]?.fields.map(({ name, base, now, proposed }) => [name, base, now, proposed])).toEqual([
      ["title", { en: "Old" }, { en: "Theirs" }, { en: "Mine" }],
      ["state", "new", "new", "used"],
    ]);
    const { code, errors } = await failureOf(publish(set));
    expect(code).toBe("change_conflict");
    expect(errors?.map(({ path }) => path)).toEqual([
      `/catalog/product/${a}/values/title/en`,
      `/catalog/product/${b}/status`,
    ]);
    expect((await head(c))?.revision).toBe(1);
  });

  it("checks references and unique values with the state that it leaves behind", async () => {
    const set = await opened();
    const author = await createEntry(deps, admin, {
      ...context,
      module: "catalog",
      schema: "author",
      values: { name: "Ann" },
    });
    const old = await product({ sku: "taken" });
    await patch(set, old, { sku: "free" });
    const within = await into(set);
    await publishEntry(within.deps, admin, { ...context, id: author.snapshot.id, into: within.into });
    const made = await create(set, { sku: "taken", author: author.snapshot.id });
    const next = await create(set, { related: [made.id] });
    const before = (await failureOf(create(set, { related: ["0none"] }))).code;
    expect(before).toBe("validation_failed");
    await publish(set);
    expect(await valuesOf(next.id)).toMatchObject({ related: [made.id] });
    expect((await seen(undefined, made.id)).values).toMatchObject({
      sku: "taken",
      author: author.snapshot.id,
    });
    const second = await opened();
    const gone = await into(second);
    await deleteEntry(gone.deps, admin, { ...context, id: next.id, into: gone.into });
    const also = await into(second);
    const refused = await failureOf(
      deleteEntry(also.deps, admin, { ...context, id: author.snapshot.id, into: also.into }),
    );
    expect(refused.code).toBe("referenced");
    await deleteEntry(also.deps, admin, { ...context, id: made.id, into: also.into });
    const last = await into(second);
    await deleteEntry(last.deps, admin, { ...context, id: author.snapshot.id, into: last.into });
    await publish(second);
    expect((await head(author.snapshot.id))?.status).toBe("DELETED");
  });

  it("keeps sensitive values encrypted, and shows them to nobody", async () => {
    const set = await opened();
    const made = await create(set, { secret: "open sesame", serial: "s-1" });
    const stored = await store.getMany(
      streams.orb("shop"),
      [subjects.changeVersion(set, addressOf(schema, made.id))],
      {
        maxBytes: 100_000,
      },
    );
    const texts = [...stored.values()].map((message) => message.text());
    expect(texts).toHaveLength(1);
    expect(texts.join()).not.toContain("sesame");
    expect((await seen(set, made.id)).values).toMatchObject({ secret: "••••••••" });
    await patch(set, made.id, { state: "used" });
    await publish(set);
    expect((await seen(undefined, made.id)).values).toMatchObject({ state: "used", secret: "••••••••" });
    const { values } = (await head(made.id)) ?? expect.fail("gone");
    expect(JSON.stringify(values)).toContain("$sealed");
  });

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

  it("never publishes a draft that others have changed since its version was made", async () => {
    const set = await opened();
    const draft = await product({}, { publish: false });
    await patch(set, draft, { title: { en: "Approved" } });
    await updateEntry(deps, admin, { ...context, id: draft, values: { tags: ["stranger"] }, merge: true });
    const caller = callerIn(admin, orb);
    const { items } = await diffSet(deps, caller, orb, { set, limit: 10 });
    expect(items.map(({ conflicts }) => conflicts)).toEqual([[""]]);
    expect((await failureOf(publish(set))).code).toBe("change_conflict");
    expect((await head(draft))?.status).toBe("SAVED");
    const { hash } = await contentOf(deps, orb, set);
    await rebaseEntry(deps, caller, orb, { set, entry: draft, keep: {} });
    expect((await contentOf(deps, orb, set)).hash).not.toBe(hash);
    await archiveEntry(deps, admin, { ...context, id: draft });
    expect((await failureOf(publish(set))).code).toBe("change_conflict");
    await rebaseEntry(deps, caller, orb, { set, entry: draft, keep: {} });
    await publish(set);
    expect((await seen(undefined, draft)).values).toMatchObject({
      title: { en: "Approved" },
      tags: ["stranger"],
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

  it("shows versions merged with the orb of now, and none after the publication", async () => {
    const set = await opened();
    const id = await product({ count: 1 });
    await patch(set, id, { title: { en: "Mine" } });
    const live = { id, merge: true, publish: true };
    const tags = [await tagOf(set, id), await tagOf(set, id)];
    expect(tags[0]).toBe(tags[1]);
    await updateEntry(deps, admin, { ...context, ...live, values: { count: 2 } });
    expect((await seen(set, id)).values).toMatchObject({ title: { en: "Mine" }, count: 2 });
    expect(await tagOf(set, id)).not.toBe(tags[0]);
    await updateEntry(deps, admin, { ...context, ...live, values: { title: { en: "Theirs" } } });
    expect((await seen(set, id)).values).toMatchObject({ title: { en: "Mine" }, count: 2 });
    const keep = { "/values/title/en": "change" } as const;
    await rebaseEntry(deps, callerIn(admin, orb), orb, { set, entry: id, keep });
    await publish(set);
    await updateEntry(deps, admin, { ...context, ...live, values: { title: { en: "Later" } } });
    expect((await seen(set, id)).values).toMatchObject({ title: { en: "Later" } });
  });

  it("archives and deletes entries that end or change meanwhile, after a rebase", async () => {
    const set = await opened();
    const validTo = new Date(deps.clock.now() + 3_600_000).toISOString();
    const [ended, moved, archived] = [await product({}, { validTo }), await product(), await product()];
    for (const id of [ended, moved]) {
      const { deps: within, into: to } = await into(set);
      await deleteEntry(within, admin, { ...context, id, into: to });
    }
    const { deps: within, into: to } = await into(set);
    await archiveEntry(within, admin, { ...context, id: archived, into: to });
    // The end of an entry at its `validTo` is not a change.
    const later = { ...deps, clock: { now: () => Date.parse(validTo) + 1 } };
    for (const id of [moved, archived])
      await updateEntry(deps, admin, { ...context, id, values: { hot: true }, merge: true, publish: true });
    const { errors } = await failureOf(publish(set, admin, later));
    expect(errors?.map(({ path }) => path)).toEqual([
      `/catalog/product/${moved}`,
      `/catalog/product/${archived}`,
    ]);
    const { hash } = await contentOf(deps, orb, set);
    const caller = callerIn(admin, orb);
    for (const entry of [moved, archived]) await rebaseEntry(deps, caller, orb, { set, entry, keep: {} });
    expect((await contentOf(deps, orb, set)).hash).not.toBe(hash);
    await publish(set, admin, later);
    expect(await Promise.all([ended, moved, archived].map(async (id) => (await head(id))?.status))).toEqual([
      "DELETED",
      "DELETED",
      "ARCHIVED",
    ]);
    expect(await valuesOf(archived)).toMatchObject({ hot: true });
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

  it("publishes nothing if the process stops before the broker has the batch", async () => {
    for (let calls = 0; ; calls++) {
      const set = await opened();
      const [a, b] = [await product(), await product()];
      await patch(set, a, { state: "used" });
      await patch(set, b, { state: "used" });
      const made = await create(set, { sku: `crash-${calls}` });
      const stopped = { ...deps, store: stoppingStore(store, calls) as TestDeps["store"] };
      const done = await publish(set, admin, stopped).then(
        () => true,
        (error: unknown) => {
          if (error instanceof Stopped) return false;
          throw error;
        },
      );
      const { state } = (await requireSet(deps, "shop", set)).set;
      const revisions = [
        (await head(a))?.revision,
        (await head(b))?.revision,
        (await head(made.id))?.revision,
      ];
      expect([state, ...revisions]).toEqual(
        state === "PUBLISHED" ? ["PUBLISHED", 2, 2, 1] : ["OPEN", 1, 1, undefined],
      );
      if (!done && state === "OPEN") await publish(set);
      if (done) break;
    }
  });

  it("is decided again if an entry leaves the set while its versions are read", async () => {
    const set = await opened();
    const [a, b] = [await product(), await product()];
    await patch(set, a, { state: "used" });
    await patch(set, b, { state: "used" });
    let left = false;
    const getMany: Store["getMany"] = async (stream, wanted, options) => {
      if (!left && wanted.some((subject) => subject.includes(`._change.${set}.entry.`))) {
        left = true;
        await takeOut(deps, callerIn(admin, orb), orb, { set, entry: b });
      }
      return store.getMany(stream, wanted, options);
    };
    const taking = { ...store, getMany } as TestDeps["store"];
    const { entries } = await publish(set, admin, { ...deps, store: taking });
    expect(entries.map(({ id }) => id)).toEqual([a]);
    expect([(await head(a))?.revision, (await head(b))?.revision]).toEqual([2, 1]);
  });

  it("answers for a publication whose acknowledgement was lost, and records it", async () => {
    /** The broker stores the batch, and then does not answer some requests. */
    const losing = (gone: number): TestDeps => {
      let left = 0;
      const batch: TestDeps["store"]["batch"] = async (...given) => {
        await store.batch(...given);
        left = gone;
        throw unavailable("the answer was lost");
      };
      const get: TestDeps["store"]["get"] = async (...given) => {
        if (left-- > 0) throw unavailable("no answer");
        return store.get(...given);
      };
      return { ...deps, store: { ...store, batch, get } };
    };
    const recorded = async (set: string) => {
      const found = await store.get(streams.platform, subjects.audit("shop", "change"));
      const { target, detail } = found?.json<{ target: string; detail: string }>() ?? {};
      return target === set ? detail : undefined;
    };
    for (const gone of [0, 1]) {
      const set = await opened();
      const id = await product();
      await patch(set, id, { state: "used" });
      const { hash } = await contentOf(deps, orb, set);
      const first = publishSet(losing(gone), admin, { ...context, set, hash });
      if (gone > 0) expect((await failureOf(first)).kind).toBe("unavailable");
      else expect(await first).toMatchObject({ set: { state: "PUBLISHED" }, entries: [{ id, revision: 2 }] });
      const again = await publishSet(deps, admin, { ...context, set, hash });
      expect(again).toMatchObject({
        set: { state: "PUBLISHED" },
        entries: [{ module: "catalog", schema: "product", id, revision: 2, status: "PUBLISHED" }],
      });
      expect(await recorded(set)).toBe(`published ${hash}`);
      expect((await head(id))?.revision).toBe(2);
      const { code } = await failureOf(publishSet(deps, user("other", "owner"), { ...context, set, hash }));
      expect(code).toBe("wrong_state");
    }
  });

  it("charges a publication once, however often it meets conflicts", async () => {
    const set = await opened();
    await create(set, { tags: ["x".repeat(2_000)] });
    let conflicts = 2;
    const batch: TestDeps["store"]["batch"] = async (...given) => {
      if (conflicts-- > 0) throw new Conflict();
      return store.batch(...given);
    };
    const limited = testDeps(
      { ...store, batch },
      {
        quotas: { ...NO_QUOTAS, accountBytes: 5_000 },
      },
    );
    const owner = user("publisher", "owner");
    expect((await publish(set, owner, limited)).set.state).toBe("PUBLISHED");
  });

  it("takes writes of many clients at once, and loses none", async () => {
    const set = await opened();
    const ids = await Promise.all(Array.from({ length: 12 }, () => product()));
    await Promise.all(ids.map((id, at) => patch(set, id, { tags: [`t${at}`] })));
    await Promise.all(ids.map((id) => patch(set, id, { state: "used" })));
    const { entries } = await publish(set);
    expect(entries).toHaveLength(12);
    expect((await seen(undefined, ids[7] ?? "")).values).toMatchObject({ tags: ["t7"], state: "used" });
    const other = await opened();
    const id = await product({ count: 0 });
    const first = await patch(other, id, { state: "used" });
    const outcomes = await Promise.allSettled([
      patch(other, id, { state: "new" }, first.revision),
      patch(other, id, { hot: true }, first.revision),
    ]);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  });
});

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

  it("are refused beyond 1,000 entries or 32 MiB", () => {
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
    expect([most({}), most({ bytes: 1024 * 1024 })]).toEqual([1_000, 32]);
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

describe("a list within a change set", () => {
  it("is refused if it cannot read all entries of the set", async () => {
    const set = await opened();
    await create(set, { day: "2025-05-05" });
    await create(set, { day: "2025-05-05" });
    const within = await readingIn(deps, callerIn(admin, orb), orb, set);
    const pages: typeof within.pages = (given, listWith, query, budget) => {
      const tired: typeof listWith = (fresh) => {
        fresh.work(REQUEST_WORK);
        return listWith(fresh);
      };
      return within.pages(given, tired, query, budget);
    };
    const reading = readAs(admin, orb, schema);
    const query = parseListQuery(new URLSearchParams("filter[day]=2025-05-05"), schema, []);
    const list = (read: typeof within.pages) =>
      listEntries(within.deps, { reading, choice, query, pages: read });
    expect((await list(within.pages)).items).toHaveLength(2);
    expect((await failureOf(list(pages))).code).toBe("too_broad");
  });

  it("equals the list after the publication, in every order and page size", async () => {
    const random = testRandom();
    const set = await opened();
    const ids: string[] = [];
    for (let at = 0; at < 14; at++)
      ids.push(await product({ count: random.below(6), day: "2026-01-01", sku: `l-${at}` }));
    for (const id of ids) {
      const kind = random.below(4);
      if (kind === 0) await patch(set, id, { count: random.below(6), hot: true });
      if (kind === 1) {
        const within = await into(set);
        await deleteEntry(within.deps, admin, { ...context, id, into: within.into });
      }
    }
    for (let at = 0; at < 5; at++)
      await create(set, { count: random.below(6), day: "2026-01-01", hot: at % 2 === 0 });
    const texts = [
      "",
      "sort=count",
      "sort=-count",
      "sort=-createdAt",
      "filter[hot]=true",
      "sort=day,-count",
      "filter[count][gte]=3&sort=-updatedAt",
    ];
    const listed = async (
      text: string,
      limit: number,
      within: Partial<Awaited<ReturnType<typeof readingIn>>>,
    ) => {
      const found: string[] = [];
      let cursor: string | null = null;
      do {
        const parameters = new URLSearchParams(`${text}&filter[day]=2026-01-01&limit=${limit}`);
        if (cursor !== null) parameters.set("cursor", cursor);
        const reading = readAs(admin, orb, schema);
        const query = parseListQuery(parameters, schema, []);
        const page = await listEntries(within.deps ?? deps, { reading, choice, query, pages: within.pages });
        expect(page.items.length).toBeLessThanOrEqual(limit);
        found.push(...page.items.map(({ id }) => id));
        cursor = page.nextCursor;
      } while (cursor !== null);
      return found;
    };
    const before = new Map<string, string[]>();
    for (const text of texts)
      for (const limit of [1, 3, 50]) {
        const found = await listed(text, limit, await readingIn(deps, callerIn(admin, orb), orb, set));
        before.set(`${text} ${limit}`, found);
      }
    await publish(set);
    for (const text of texts)
      for (const limit of [1, 3, 50]) {
        const expected = await listed(text, limit, {});
        const shown = before.get(`${text} ${limit}`);
        // The publication updates entries.
        if (text.includes("updatedAt")) expect(shown?.toSorted()).toEqual(expected.toSorted());
        else expect([text, limit, ...(shown ?? [])]).toEqual([text, limit, ...expected]);
      }
  });
});

describe("the review of a set", () => {
  const read: ReadContent = (within, of, { id }) => contentOf(within, of, id);
  const empty: ReadContent = async () => ({ hash: "h", entries: 0, schemas: [], authors: [] });
  const contracts: ReadContent = async () => ({
    hash: "h",
    entries: 1,
    schemas: [{ module: "contracts", schema: "contract" }],
    authors: [],
  });
  const access = { read: ["public"], create: ["editor"], update: ["editor"], publish: ["editor"] };
  const law = installOrb(broker.store("operator"), {
    id: "law",
    uses: [{ service: "access", handlers: ["passkey", "invitations", "bootstrap"] }],
    roles: [
      { id: "editor", name: "Editors" },
      { id: "legal", name: "Lawyers" },
    ],
    workflow: { review: [{ by: ["legal"], module: "contracts" }] },
    modules: ["pages", "contracts"].map((id) => ({
      id,
      type: "CONTENT" as const,
      schemas: [{ id: id.slice(0, -1), access, fields: [{ name: "title", type: "string" as const }] }],
    })),
  });
  const of = { orbId: "law", orb: law };
  const named = (role: string): Actor => ({ ...user(role, "user", "law"), role }) as Actor;
  const [editor, legal] = [named("editor"), named("legal")];
  async function reviewing(): Promise<{ orbId: string; orb: typeof law; set: string }> {
    const { set } = await openSet(deps, admin, { ...of, title: "Sale" }, read);
    await requestReview(deps, admin, { ...of, set: set.id }, read);
    return { ...of, set: set.id };
  }
  const stateOf = async ({ set }: { set: string }) => (await requireSet(deps, "law", set)).set;
  const decided = async ({ set }: { set: string }) => {
    const { messages } = await store.scan(streams.platform, subjects.audit("law", "change"), {
      fromSeq: 1,
      limit: 100,
      maxBytes: 1_000_000,
    });
    const records = messages.map((message) => message.json<{ target: string; detail: string }>());
    return records.filter(({ target }) => target === set).map(({ detail }) => detail);
  };

  it.each([
    ["that no rule concerns, callers who may publish", empty, editor, legal],
    ["that a rule concerns, the accounts that it names", contracts, legal, editor],
  ])("lets decide on a set %s", async (_, content, may, mayNot) => {
    const set = await reviewing();
    expect((await failureOf(approveSet(deps, mayNot, set, content))).code).toBe("forbidden");
    expect((await approveSet(deps, may, set, content)).set.state).toBe("APPROVED");
    const rejection = { ...set, comment: "No" };
    expect((await failureOf(rejectSet(deps, mayNot, rejection, content))).code).toBe("forbidden");
    expect(await stateOf(set)).toMatchObject({ state: "APPROVED", approvals: [{ by: actorId(may) }] });
    expect((await rejectSet(deps, may, rejection, content)).set).toMatchObject({
      state: "OPEN",
      approvals: [],
    });
  });

  it("stores no decision without its record in the audit log", async () => {
    const set = await reviewing();
    const decisions = [
      ["approved", "APPROVED", (of: TestDeps) => approveSet(of, admin, set, empty)],
      ["rejected", "OPEN", (of: TestDeps) => rejectSet(of, admin, { ...set, comment: "No" }, empty)],
    ] as const;
    for (const [word, state, decide] of decisions) {
      for (let calls = 0, done = false; !done; calls++) {
        done = await decide({ ...deps, ...testDeps(stoppingStore(store, calls)) }).then(
          () => true,
          (error) => {
            if (error instanceof Stopped) return false;
            throw error;
          },
        );
        if ((await stateOf(set)).state === state) expect(await decided(set)).toContain(`${word} h`);
      }
    }
  });

  it("counts the bytes of its texts", async () => {
    const quotas = { ...NO_QUOTAS, accountBytes: 12_000 };
    const within = testDeps(store, { quotas });
    const open = (description: string) =>
      openSet(within, editor, { ...of, title: "Sale", description }, read);
    expect((await open("a".repeat(5_000))).set.state).toBe("OPEN");
    expect((await failureOf(open("\u6f22".repeat(5_000)))).code).toBe("too_many_bytes");
  });

  it("lists sets and comments page by page, without reading the names of all", async () => {
    const counted = countingStore(store);
    const within = testDeps(counted.store);
    await installOrb(broker.store("operator"), { ...(await law).document, id: "many" });
    const many = { orbId: "many", orb: { ...(await law), orb: "many" } };
    const everything = async <T extends { id: string }>(
      page: (after: number | undefined) => Promise<{ items: T[]; next: number | null }>,
    ) => {
      const ids: string[] = [];
      for (let after: number | null | undefined; after !== null; ) {
        const { items, next }: { items: T[]; next: number | null } = await page(after);
        expect(items.length).toBeLessThanOrEqual(2);
        ids.push(...items.map(({ id }) => id));
        after = next;
      }
      return ids;
    };
    const lists = async (more = {}) =>
      everything((after) => listSets(within, admin, { ...many, limit: 2, after, ...more }));
    expect(await lists()).toEqual([]);
    const sets: string[] = [];
    for (let at = 0; at < 5; at++)
      sets.push((await openSet(deps, admin, { ...many, title: "Sale" }, read)).set.id);
    const [first = "", second = ""] = sets;
    await requestReview(deps, admin, { ...many, set: second }, read);
    expect(await lists()).toEqual(sets.toReversed());
    expect(await lists({ state: "IN_REVIEW" })).toEqual([second]);
    const comments: string[] = [];
    for (let at = 0; at < 5; at++) {
      const comment = { ...many, set: first, text: "Why?", mentions: [] };
      comments.push((await addComment(deps, admin, comment)).id);
    }
    await resolveComment(deps, admin, { ...many, set: first, comment: comments[0] ?? "" });
    const found = await everything((after) =>
      listComments(within, admin, { ...many, set: first, limit: 2, after }),
    );
    expect(found).toEqual(comments);
    expect(counted.calls).not.toContain("subjects");
  });
});

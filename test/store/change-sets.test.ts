/** What change sets contain, and their publication. */
import { describe, expect, it } from "vitest";
import { contentOf } from "../../shared/changes/content/content.ts";
import { diffSet } from "../../shared/changes/content/diff.ts";
import { publishSet } from "../../shared/changes/content/publish.ts";
import { rebaseEntry } from "../../shared/changes/content/rebase.ts";
import { takeOut } from "../../shared/changes/content/take-out.ts";
import { requireSet } from "../../shared/changes/record/record.ts";
import {
  archiveEntry,
  createEntry,
  deleteEntry,
  publishEntry,
  unpublishEntry,
  updateEntry,
} from "../../shared/entry/index.ts";
import { addressOf } from "../../shared/entry/model/resolve.ts";
import { unavailable } from "../../shared/kernel/errors.ts";
import { streams, subjects } from "../../shared/store/subjects.ts";
import { Conflict, type Store } from "../../shared/store/types.ts";
import { fileSets } from "../support/change-sets.ts";
import { Stopped, stoppingStore } from "../support/counting.ts";
import { admin, callerIn, failureOf, NO_QUOTAS, type TestDeps, testDeps, user } from "../support/entries.ts";

const {
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
  tagOf,
  seen,
} = await fileSets();

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
    for (const gone of [0, 2, 1_000]) {
      const set = await opened();
      const id = await product();
      await patch(set, id, { state: "used" });
      const { hash } = await contentOf(deps, orb, set);
      const first = publishSet(losing(gone), admin, { ...context, set, hash });
      if (gone > 2) expect((await failureOf(first)).kind).toBe("unavailable");
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

  it("answers for a publication that the broker stores later than it should", async () => {
    const set = await opened();
    const id = await product();
    await patch(set, id, { state: "used" });
    const batch: TestDeps["store"]["batch"] = async (...given) => {
      setTimeout(() => void store.batch(...given), 300);
      throw unavailable("no answer in time");
    };
    const late = { ...deps, store: { ...store, batch } };
    const published = await publishSet(late, admin, { ...context, set });
    expect(published).toMatchObject({ set: { state: "PUBLISHED" }, entries: [{ id, revision: 2 }] });
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

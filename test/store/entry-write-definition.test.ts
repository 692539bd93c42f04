/** How a changed definition and changed keys affect stored entries. */

import { beforeEach, describe, expect, it } from "vitest";
import type { OrbDocumentInput } from "../../shared/definition/document/document.ts";
import { homeOf } from "../../shared/definition/document/home.ts";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import {
  answer,
  archiveEntry,
  backfillExisting,
  createEntry,
  deleteEntry,
  entryCounts,
  invalidEntries,
  liveCopyOf,
  loadEntry,
  moveLive,
  publishEntry,
  rekeyEntries,
  restoreEntry,
  revealValues,
  unpublishEntry,
  updateEntry,
} from "../../shared/entry/index.ts";
import { namedEntry } from "../../shared/entry/model/names.ts";
import { isCurrent } from "../../shared/kernel/seal.ts";
import { recordTransaction } from "../../shared/modules/transactions/record.ts";
import { type LiveRole, streams, subjects } from "../../shared/store/subjects.ts";
import type { Store } from "../../shared/store/types.ts";
import {
  admin,
  callerIn,
  definition,
  failureOf,
  fileDeps,
  installOrb,
  key,
  storedValues,
  type TestDeps,
  testDeps,
} from "../support/entries.ts";
import { until } from "../support/races.ts";

let deps: TestDeps;
let orb: LiveOrb;
let number = 0;

const document = (id: string, fields: Record<string, object> = {}, more: object = {}): OrbDocumentInput => ({
  id,
  modules: [
    {
      id: "people",
      type: "CONTENT",
      schemas: [
        {
          id: "person",
          ...more,
          fields: [
            { name: "email", type: "string", ...fields.email },
            { name: "kind", type: "string", ...fields.kind },
            { name: "pin", type: "string", sensitive: true, ...fields.pin },
          ],
        },
      ],
    },
    {
      id: "ledger",
      type: "TRANSACTIONS",
      schemas: [{ id: "payment", fields: [{ name: "card", type: "string", sensitive: true }] }],
    },
  ],
});

const { broker, store } = await fileDeps();
beforeEach(async () => {
  deps = testDeps(store);
  orb = await installOrb(broker.store("operator"), document(`orb${++number}`));
});

const schemaOf = (of: LiveOrb) => {
  const schema = of.compiled.schema("people");
  if (schema === undefined) throw new Error("no schema");
  return schema;
};
const evolve = (fields: Record<string, object>, more: object = {}) =>
  definition(document(orb.orb, fields, more), 2);
const person = (values: object, options: object = {}, by = orb) =>
  createEntry(deps, admin, {
    orbId: orb.orb,
    orb: by,
    renew: async () => by,
    module: "people",
    values,
    ...options,
  });
const at = (id: string, more: object = {}, by = orb) => ({
  orbId: orb.orb,
  orb: by,
  renew: async () => by,
  id,
  ...more,
});
const live = async (id: string, role: LiveRole) =>
  liveCopyOf(
    await store.get(
      streams.orb(orb.orb),
      subjects.entryLive({ orb: orb.orb, ...homeOf("CONTENT", "person"), id }, role),
    ),
  );

describe("a field that becomes unique", () => {
  it("is refused with the duplicates, and reserves nothing", async () => {
    const made = await Promise.all(["a", "a", "b"].map((email) => person({ email })));
    const next = evolve({ email: { unique: true } });
    const claimed = await backfillExisting(deps, next, schemaOf(next));
    expect(claimed).toMatchObject({ entries: 3, written: 0 });
    expect(claimed.duplicates[0]?.ids.toSorted()).toEqual(
      [made[0]?.snapshot.id, made[1]?.snapshot.id].toSorted(),
    );
    expect((await person({ email: "b" }, {}, next)).snapshot.revision).toBe(1);
  });

  it("covers stored values and releases them like others", async () => {
    const { snapshot } = await person({ email: "a" }, { publish: true });
    await updateEntry(deps, admin, at(snapshot.id, { values: { email: "b" } }));
    const next = evolve({ email: { unique: true } });
    expect(await backfillExisting(deps, next, schemaOf(next))).toMatchObject({ written: 2, duplicates: [] });
    expect(await backfillExisting(deps, next, schemaOf(next))).toMatchObject({ written: 0 });
    for (const email of ["a", "b"]) {
      expect((await failureOf(person({ email }, {}, next))).code).toBe("unique_conflict");
    }
    // The first write under the new definition releases the values that the entry no longer has, and keeps the others.
    await updateEntry(deps, admin, at(snapshot.id, { values: { email: "c" } }, next));
    await person({ email: "b" }, {}, next);
    for (const email of ["a", "c"]) {
      expect((await failureOf(person({ email }, {}, next))).code).toBe("unique_conflict");
    }
    await publishEntry(deps, admin, at(snapshot.id, {}, next));
    await person({ email: "a" }, {}, next);
  });

  describe("while other writers write", () => {
    /** Returns dependencies that run `meanwhile` just before the reservations are read. */
    const meeting = (meanwhile: () => Promise<unknown>): TestDeps => {
      let done = false;
      const getMany: Store["getMany"] = async (stream, wanted, options) => {
        if (!done && wanted.some((subject) => subject.includes("._uq."))) {
          done = true;
          await meanwhile();
        }
        return store.getMany(stream, wanted, options);
      };
      return { ...deps, store: { ...store, getMany } };
    };

    it("reserves nothing for an entry that gave up its value, and takes the value from no other entry", async () => {
      const { snapshot: first } = await person({ email: "v" });
      const { snapshot: still } = await person({ email: "s" });
      const next = evolve({ email: { unique: true } });
      const racing = meeting(async () => {
        await updateEntry(deps, admin, at(first.id, { values: { email: "w" } }, next));
        await person({ email: "v" }, {}, next);
      });
      expect(await backfillExisting(racing, next, schemaOf(next))).toMatchObject({ duplicates: [] });
      for (const email of ["v", "w", "s"]) {
        expect((await failureOf(person({ email }, {}, next))).code).toBe("unique_conflict");
      }
      await deleteEntry(deps, admin, at(still.id, {}, next));
      await person({ email: "s" }, {}, next);
    });

    it("reserves the value that an entry was given meanwhile under the former definition", async () => {
      const { snapshot } = await person({ email: "v" });
      const next = evolve({ email: { unique: true } });
      const racing = meeting(() => updateEntry(deps, admin, at(snapshot.id, { values: { email: "w" } })));
      expect(await backfillExisting(racing, next, schemaOf(next))).toMatchObject({
        written: 1,
        duplicates: [],
      });
      await person({ email: "v" }, {}, next);
      expect((await failureOf(person({ email: "w" }, {}, next))).code).toBe("unique_conflict");
    });

    it("reports entries that share a value by now, and reserves the other values", async () => {
      const { snapshot: first } = await person({ email: "v" });
      await person({ email: "s" });
      const next = evolve({ email: { unique: true } });
      const second: string[] = [];
      const racing = meeting(async () => second.push((await person({ email: "v" }, {}, next)).snapshot.id));
      const { duplicates } = await backfillExisting(racing, next, schemaOf(next));
      expect(duplicates.map(({ field, ids }) => [field, ids.toSorted()])).toEqual([
        ["email", [first.id, ...second].toSorted()],
      ]);
      for (const email of ["v", "s"]) {
        expect((await failureOf(person({ email }, {}, next))).code).toBe("unique_conflict");
      }
    });

    it("leaves a value of an expired entry to the entry that took it since", async () => {
      const unique = evolve({ email: { unique: true } });
      const validTo = new Date(Date.now() + 60_000).toISOString();
      const { snapshot: former } = await person({ email: "v" }, { publish: true, validTo }, unique);
      await updateEntry(deps, admin, at(former.id, { values: { email: "w" }, validTo: null }, unique));
      deps.clock.now = () => Date.now() + 61_000;
      await person({ email: "v" }, {}, unique);
      const next = definition(document(orb.orb, { email: { unique: true }, kind: { enum: ["x"] } }), 3);
      expect(await backfillExisting(deps, next, schemaOf(next))).toMatchObject({ duplicates: [] });
      expect((await failureOf(person({ email: "v" }, {}, next))).code).toBe("unique_conflict");
    });
  });

  it("is indexed as well when it gets an enum", async () => {
    const { snapshot } = await person({ kind: "x" });
    const next = evolve({ kind: { enum: ["x", "y"] } });
    // The index message, and the mark that it was written later than its entry.
    expect(await backfillExisting(deps, next, schemaOf(next))).toMatchObject({ written: 2 });
    const filter = `${orb.orb}._eq.content.person.kind.*.${snapshot.id}`;
    expect((await store.get(streams.orb(orb.orb), filter))?.data.length).toBeGreaterThan(0);
  });
});

describe("a reference field that returns", () => {
  it("protects the referenced entries again", async () => {
    const refers = { type: "reference", ref: `${orb.orb}/people/person` };
    const first = definition(document(orb.orb, { kind: refers }), 2);
    const without = definition(document(orb.orb, { kind: { name: "other" } }), 3);
    const again = definition(document(orb.orb, { kind: refers }), 4);
    const { snapshot: target } = await person({ email: "t" }, { publish: true }, first);
    const { snapshot: source } = await person({ kind: target.id }, { publish: true }, first);
    // The entry keeps its value of the removed field, and no longer counts as a referrer.
    await unpublishEntry(deps, admin, at(source.id, {}, without));
    await backfillExisting(deps, again, schemaOf(again));
    expect(await failureOf(deleteEntry(deps, admin, at(target.id, {}, again)))).toMatchObject({
      code: "referenced",
      data: { referrers: [{ id: source.id, field: "kind" }] },
    });
    await deleteEntry(deps, admin, at(source.id, {}, again));
    await deleteEntry(deps, admin, at(target.id, {}, again));
  });
});

describe("a changed definition", () => {
  it("counts stored entries and those that it makes invalid", async () => {
    const made = await Promise.all(["long enough", "no", "x"].map((email) => person({ email })));
    await deleteEntry(deps, admin, at(made[2]?.snapshot.id ?? ""));
    const homes = [homeOf("CONTENT", "person"), homeOf("CONFIG", "person")];
    expect(await entryCounts(deps, orb.orb, homes)).toEqual([2, 0]);
    const next = evolve({ email: { min: 5 } });
    const invalid = invalidEntries(deps, schemaOf(next));
    await answer(deps, orb.orb, homeOf("CONTENT", "person"), [invalid]);
    expect(invalid.answer).toMatchObject({
      checked: 2,
      invalid: 1,
      examples: [{ id: made[1]?.snapshot.id, errors: [{ path: "/values/email", code: "too_short" }] }],
    });
    const draft = made[1]?.snapshot.id ?? "";
    expect((await failureOf(publishEntry(deps, admin, at(draft, {}, next)))).code).toBe("validation_failed");
  });

  it("refuses to publish an entry that was never checked under it, whatever the last write was", async () => {
    const next = evolve({ email: { min: 5 } });
    const refused = async (id: string) => {
      const error = await failureOf(publishEntry(deps, admin, at(id, {}, next)));
      expect(error).toMatchObject({ code: "validation_failed", errors: [{ path: "/values/email" }] });
    };
    const [{ snapshot: shown }, { snapshot: put }] = await Promise.all([
      person({ email: "a" }, { publish: true }),
      person({ email: "b" }, { publish: true }),
    ]);
    for (const { id } of [shown, put]) await unpublishEntry(deps, admin, at(id, {}, next));
    await refused(shown.id);
    await archiveEntry(deps, admin, at(put.id, {}, next));
    await restoreEntry(deps, admin, at(put.id, {}, next));
    await refused(put.id);
    await updateEntry(deps, admin, at(put.id, { values: { email: "b, long enough" } }, next));
    const { snapshot } = await publishEntry(deps, admin, at(put.id, {}, next));
    expect(snapshot).toMatchObject({ status: "PUBLISHED", revision: 6 });
  });

  it("moves live and scheduled entries to their new readers", async () => {
    const { snapshot: now } = await person({ email: "a" }, { publish: true });
    const validFrom = new Date(Date.now() + 2_000).toISOString();
    const { snapshot: later } = await person({ email: "b" }, { publish: true, validFrom });
    const { snapshot: draft } = await person({ email: "c" });
    const home = homeOf("CONTENT", "person");
    expect(await moveLive(deps, orb.orb, home, { from: "public", to: "user" })).toBe(2);
    expect(await live(now.id, "public")).toBeNull();
    expect((await live(now.id, "user"))?.revision).toBe(1);
    await until(async () => (await live(later.id, "user")) !== null);
    expect(await live(later.id, "public")).toBeNull();
    expect((await live(later.id, "user"))?.revision).toBe(1);
    expect(await live(draft.id, "user")).toBeNull();
  });
});

describe("key rotation", () => {
  it("reseals the newest revisions and keeps published entries published", async () => {
    const old = deps.config.encryptionKeys;
    const secret = { email: "a", pin: "4711" };
    const { snapshot: shown } = await person(secret, { publish: true });
    const { snapshot: draft } = await person(secret);
    const ledger = orb.compiled.schema("ledger");
    if (ledger === undefined) throw new Error("no ledger");
    const by = { actor: admin, role: "owner" as const };
    const paid = await recordTransaction(deps, by, orb, ledger, { values: { card: "4711" }, key: undefined });
    const [first] = JSON.parse(old) as { kid: string; k: string }[];
    const fresh = { kid: "k2", k: key() };
    deps.config.encryptionKeys = JSON.stringify([fresh, first]);
    const rounds = async () => {
      let result = { entries: 0, resealed: 0, failed: [] as string[], conflicts: [] as string[] };
      for await (const progress of rekeyEntries(deps, admin, { orb })) result = progress;
      return result;
    };
    expect(await rounds()).toEqual({ entries: 3, resealed: 3, failed: [], conflicts: [] });
    expect(await rounds()).toEqual({ entries: 3, resealed: 0, failed: [], conflicts: [] });
    expect((await live(shown.id, "public"))?.revision).toBe(2);
    // The old key is removed: the newest revisions can still be revealed.
    deps.config.encryptionKeys = JSON.stringify([fresh]);
    for (const id of [shown.id, draft.id]) {
      const entry = await loadEntry(deps, orb.orb, id);
      if (entry === null) throw new Error("gone");
      expect(entry.head.operation).toBe("reseal");
      const sealed = storedValues(entry.head).pin as { $sealed: string };
      expect(isCurrent(deps.config.encryptionKeys, sealed.$sealed)).toBe(true);
      const values = await revealValues(deps, callerIn(admin, orb), {
        orb,
        address: entry.address,
        snapshot: namedEntry(orb.compiled, entry).head,
      });
      expect(values.pin).toBe("4711");
    }
    // A transaction record is resealed as well, but still cannot be changed.
    expect((await loadEntry(deps, orb.orb, paid.record.id))?.head.operation).toBe("reseal");
    const change = updateEntry(deps, admin, at(paid.record.id, { values: { card: "1" } }));
    expect((await failureOf(change)).code).toBe("append_only");
    const audited = await store.get(streams.platform, subjects.audit(orb.orb, "reveal"));
    expect(audited?.json()).toMatchObject({ actor: "admin1", outcome: "ok" });
  });

  it("does not reveal a sealed value that was copied from another entry", async () => {
    const { snapshot: one } = await person({ email: "a", pin: "1" });
    const { snapshot: two } = await person({ email: "b", pin: "2" });
    const entry = await loadEntry(deps, orb.orb, two.id);
    if (entry === null) throw new Error("gone");
    const swapped = { ...entry.head, values: { ...entry.head.values, pin: one.values.pin } };
    const error = await failureOf(
      revealValues(deps, callerIn(admin, orb), { orb, address: entry.address, snapshot: swapped }),
    );
    expect(error.code).toBe("sealed_value_lost");
  });
});

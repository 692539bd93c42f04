import { beforeEach, describe, expect, it } from "vitest";
import type { Actor } from "../../shared/access/actor.ts";
import { homeOf } from "../../shared/definition/document/home.ts";
import { MASK } from "../../shared/definition/document/text.ts";
import {
  archiveEntry,
  compareRevisions,
  createEntry,
  deleteEntry,
  effective,
  getRevision,
  listRevisions,
  loadEntry,
  publishEntry,
  restoreEntry,
  unpublishEntry,
  updateEntry,
} from "../../shared/entry/index.ts";
import { streams, subjects } from "../../shared/store/subjects.ts";
import type { Place } from "../../shared/store/types.ts";
import { type Counted, countingStore } from "../support/counting.ts";
import { admin, failureOf, fileOrb, installOrb, type TestDeps, testDeps, user } from "../support/entries.ts";
import { until } from "../support/races.ts";

let counted: Counted;
let deps: TestDeps;
let serial = 0;

const { broker, store, orb } = await fileOrb();
beforeEach(() => {
  counted = countingStore(store);
  deps = testDeps(counted.store);
});

const unique = () => `v${++serial}`;
const at = (id: string, more: object = {}) => ({ orbId: "shop", orb, id, ...more });
const create = (schema: string, values: unknown, more: object = {}) =>
  createEntry(deps, admin, { orbId: "shop", orb, module: "catalog", schema, values, ...more });
const product = (more: object = {}, options: object = {}) =>
  create("product", { title: { en: "T" }, ...more }, options);
const liveOf = (schema: string, id: string) =>
  store.get(
    streams.orb("shop"),
    subjects.entryLive({ orb: "shop", ...homeOf("CONTENT", schema), id }, "public"),
  );

describe("create", () => {
  it("writes a draft in one round trip, the index messages before the revision", async () => {
    const { snapshot } = await create("note", { text: "hello" });
    expect(snapshot).toMatchObject({
      status: "SAVED",
      revision: 1,
      publishedRevision: null,
      operation: "create",
    });
    expect(counted.calls).toEqual(["pipeline"]);
    expect(counted.trips).toBe(1);
    expect(await liveOf("note", snapshot.id)).toBeNull();
  });

  it("reserves unique values and publishes in one batch", async () => {
    const { snapshot, seq } = await product({ sku: unique() }, { publish: true });
    expect(counted.calls).toEqual(["batch"]);
    expect(snapshot).toMatchObject({ status: "PUBLISHED", publishedRevision: 1 });
    expect((await liveOf("product", snapshot.id))?.json()).toMatchObject({
      revision: 1,
      status: "PUBLISHED",
    });
    expect((await loadEntry(deps, "shop", snapshot.id))?.seq).toBe(seq);
  });

  it("reports all errors at once", async () => {
    const error = await failureOf(
      product(
        { title: {}, price: { US: -1, XX: 2 }, nope: 1, author: "0123456789", count: 1.5 },
        { validFrom: "2026-02-30T00:00:00Z" },
      ),
    );
    expect(error.kind).toBe("invalid");
    expect(error.errors?.map(({ path, code }) => `${path} ${code}`).sort()).toEqual([
      "/validFrom format",
      "/values/author unknown_reference",
      "/values/count type",
      "/values/nope unknown_property",
      "/values/price/US too_small",
      "/values/price/XX unknown_market",
      "/values/title/en required",
    ]);
    expect(counted.calls).toEqual(["getMany"]);
  });

  it("gives a unique value to one of 60 parallel writers", async () => {
    const sku = unique();
    const results = await Promise.allSettled(Array.from({ length: 60 }, () => product({ sku })));
    expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    for (const result of results) {
      if (result.status === "rejected")
        expect(result.reason).toMatchObject({ code: "unique_conflict", errors: [{ path: "/values/sku" }] });
    }
  });

  it("releases a unique value when it is changed or its entry is deleted", async () => {
    const sku = unique();
    const first = await product({ sku });
    await updateEntry(deps, admin, at(first.snapshot.id, { values: { title: { en: "T" }, sku: unique() } }));
    const second = await product({ sku });
    await deleteEntry(deps, admin, at(second.snapshot.id));
    const third = await product({ sku });
    expect(third.snapshot.revision).toBe(1);
    expect((await failureOf(product({ sku }))).code).toBe("unique_conflict");
  });

  it("keeps the published revision's value reserved while a draft has another", async () => {
    const [live, draft] = [unique(), unique()];
    const { snapshot } = await product({ sku: live }, { publish: true });
    await updateEntry(deps, admin, at(snapshot.id, { values: { title: { en: "T" }, sku: draft } }));
    expect((await failureOf(product({ sku: live }))).code).toBe("unique_conflict");
    expect((await failureOf(product({ sku: draft }))).code).toBe("unique_conflict");
    await publishEntry(deps, admin, at(snapshot.id));
    await product({ sku: live });
  });

  it("keeps unique values apart by language", async () => {
    const slug = unique();
    await product({ slug: { en: slug } });
    await product({ slug: { de: slug } });
    expect((await failureOf(product({ slug: { en: slug } }))).code).toBe("unique_conflict");
  });
});

describe("update", () => {
  it("takes two round trips: one reads the newest revision, one appends and checks the definition", async () => {
    const { snapshot } = await create("note", { text: "a" });
    counted.reset();
    const made = await updateEntry(deps, admin, at(snapshot.id, { values: { text: "b" } }));
    expect(counted.calls).toEqual(["get", "append", "append"]);
    expect(counted.trips).toBe(2);
    expect(made.snapshot).toMatchObject({ revision: 2, status: "SAVED", values: { text: "b" } });
  });

  it("leaves the published revision unchanged", async () => {
    const { snapshot } = await create("note", { text: "a" }, { publish: true });
    const draft = await updateEntry(deps, admin, at(snapshot.id, { values: { text: "b" } }));
    expect(draft.snapshot).toMatchObject({ status: "PUBLISHED", revision: 2, publishedRevision: 1 });
    expect((await liveOf("note", snapshot.id))?.json()).toMatchObject({ revision: 1, values: { text: "a" } });
    const published = await publishEntry(deps, admin, at(snapshot.id));
    expect(published.snapshot).toMatchObject({ revision: 3, publishedRevision: 3 });
    expect((await liveOf("note", snapshot.id))?.json()).toMatchObject({ revision: 3, values: { text: "b" } });
  });

  it("refuses to move an entry, and refuses an empty change", async () => {
    const { snapshot } = await create("note", { text: "a" });
    const moved = at(snapshot.id, { values: { text: "b" }, place: { module: "wishes", schema: "wish" } });
    expect((await failureOf(updateEntry(deps, admin, moved))).errors?.map(({ path }) => path)).toEqual([
      "/module",
      "/schema",
    ]);
    expect((await failureOf(updateEntry(deps, admin, at(snapshot.id)))).errors?.[0]?.path).toBe("/values");
    const same = at(snapshot.id, {
      validTo: "2100-01-01T00:00:00+01:00",
      place: { id: snapshot.id, orb: snapshot.orb, module: "catalog", schema: "note" },
    });
    expect((await updateEntry(deps, admin, same)).snapshot).toMatchObject({
      values: { text: "a" },
      validTo: "2099-12-31T23:00:00.000Z",
    });
  });

  it("lets one of 20 parallel updates with the same If-Match succeed", async () => {
    const { snapshot } = await create("note", { text: "a" });
    const results = await Promise.allSettled(
      Array.from({ length: 20 }, (_, i) =>
        updateEntry(deps, admin, at(snapshot.id, { ifMatch: 1, values: { text: `${i}` } })),
      ),
    );
    expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    for (const result of results)
      if (result.status === "rejected") expect(result.reason).toMatchObject({ kind: "precondition" });
  });

  it("loses no revision of 20 parallel updates without If-Match", async () => {
    const { snapshot } = await create("note", { text: "a" });
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        updateEntry(deps, admin, at(snapshot.id, { values: { text: `${i}` } })),
      ),
    );
    expect(results.map((made) => made.snapshot.revision).sort((a, b) => a - b)).toEqual(
      Array.from({ length: 20 }, (_, i) => i + 2),
    );
  });

  it("changes one language or market of a value", async () => {
    const { snapshot } = await product({ price: { US: 5 }, slogan: { US: { en: "go" } } });
    await updateEntry(deps, admin, at(snapshot.id, { locale: "de", values: { title: "Titel" } }));
    await updateEntry(deps, admin, at(snapshot.id, { market: "EU", values: { price: 7 } }));
    const { snapshot: last } = await updateEntry(
      deps,
      admin,
      at(snapshot.id, { locale: "de", market: "EU", values: { slogan: "los", tags: ["x"] } }),
    );
    expect(last.values).toMatchObject({
      title: { en: "T", de: "Titel" },
      price: { US: 5, EU: 7 },
      slogan: { US: { en: "go" }, EU: { de: "los" } },
      tags: ["x"],
    });
    const cleared = await updateEntry(
      deps,
      admin,
      at(snapshot.id, { locale: "de", values: { title: null } }),
    );
    expect(cleared.snapshot.values.title).toEqual({ en: "T" });
    expect(
      (await failureOf(updateEntry(deps, admin, at(snapshot.id, { locale: "fr", values: {} })))).kind,
    ).toBe("malformed");
    for (const place of [{ locale: "fr" }, { market: "XX" }]) {
      const change = updateEntry(deps, admin, at(snapshot.id, { ...place, validTo: null }));
      expect((await failureOf(change)).kind).toBe("malformed");
    }
    const bounded = await updateEntry(deps, admin, at(snapshot.id, { locale: "de", validTo: null }));
    expect(bounded.snapshot.values).toEqual(cleared.snapshot.values);
  });
});

describe("lifecycle", () => {
  it("creates one revision per state change and refuses invalid changes", async () => {
    const { snapshot } = await create("note", { text: "a" });
    const { id } = snapshot;
    expect((await failureOf(unpublishEntry(deps, admin, at(id)))).code).toBe("wrong_state");
    expect((await publishEntry(deps, admin, at(id))).snapshot.status).toBe("PUBLISHED");
    expect((await failureOf(publishEntry(deps, admin, at(id)))).code).toBe("wrong_state");
    expect((await unpublishEntry(deps, admin, at(id))).snapshot.status).toBe("UNPUBLISHED");
    expect((await liveOf("note", id))?.json()).toMatchObject({ tombstone: true, revision: 3 });
    expect((await archiveEntry(deps, admin, at(id))).snapshot.status).toBe("ARCHIVED");
    expect((await failureOf(updateEntry(deps, admin, at(id, { values: {} })))).code).toBe("wrong_state");
    expect((await restoreEntry(deps, admin, at(id))).snapshot).toMatchObject({
      status: "UNPUBLISHED",
      revision: 5,
    });
    await deleteEntry(deps, admin, at(id));
    expect((await loadEntry(deps, "shop", id))?.head.status).toBe("DELETED");
    expect((await restoreEntry(deps, admin, at(id))).snapshot).toMatchObject({
      status: "UNPUBLISHED",
      revision: 7,
    });
    await deleteEntry(deps, admin, at(id, { purge: true }));
    expect(await loadEntry(deps, "shop", id)).toBeNull();
  });

  it("publishes in two requests", async () => {
    const { snapshot } = await create("note", { text: "a" });
    counted.reset();
    await publishEntry(deps, admin, at(snapshot.id));
    expect(counted.calls).toEqual(["get", "batch"]);
  });

  it("enforces ownership", async () => {
    const [ann, bob] = [user("ann"), user("bob")];
    const mine = await createEntry(deps, ann, {
      orbId: "shop",
      orb,
      module: "wishes",
      values: { text: "x" },
    });
    const { id } = mine.snapshot;
    expect((await failureOf(updateEntry(deps, bob, at(id, { values: {} })))).kind).toBe("not_found");
    expect((await failureOf(updateEntry(deps, { kind: "anonymous" }, at(id, { values: {} })))).kind).toBe(
      "unauthenticated",
    );
    await updateEntry(deps, ann, at(id, { values: { text: "y" } }));
    expect(
      (
        await failureOf(
          createEntry(deps, ann, { orbId: "shop", orb, module: "catalog", schema: "note", values: {} }),
        )
      ).kind,
    ).toBe("forbidden");
  });
});

describe("references", () => {
  it("must exist, and must be published before their referrer is", async () => {
    const author = await create("author", { name: "A" });
    counted.reset();
    const book = await product({ author: author.snapshot.id });
    expect(counted.calls).toEqual(["getMany", "batch"]);
    expect((await failureOf(publishEntry(deps, admin, at(book.snapshot.id)))).code).toBe(
      "reference_not_live",
    );
    await publishEntry(deps, admin, at(author.snapshot.id));
    await publishEntry(deps, admin, at(book.snapshot.id));
    const refused = await failureOf(deleteEntry(deps, admin, at(author.snapshot.id)));
    expect(refused).toMatchObject({
      code: "referenced",
      data: { referrers: [{ id: book.snapshot.id, field: "author" }] },
    });
    expect((await failureOf(archiveEntry(deps, admin, at(author.snapshot.id)))).code).toBe("referenced");
    await updateEntry(deps, admin, at(book.snapshot.id, { values: { title: { en: "T" } } }));
    expect((await failureOf(deleteEntry(deps, admin, at(author.snapshot.id)))).code).toBe("referenced");
    await publishEntry(deps, admin, at(book.snapshot.id));
    await deleteEntry(deps, admin, at(author.snapshot.id));
    expect((await failureOf(product({ author: author.snapshot.id }))).errors?.[0]?.code).toBe(
      "unknown_reference",
    );
  });

  it("stay valid when an entry is deleted while another refers to it", async () => {
    for (let round = 0; round < 10; round++) {
      const author = await create("author", { name: "A" });
      const results = await Promise.allSettled([
        deleteEntry(deps, admin, at(author.snapshot.id)),
        ...Array.from({ length: 4 }, () => product({ author: author.snapshot.id })),
      ]);
      const [gone, ...books] = results.map(({ status }) => status === "fulfilled");
      expect(gone === true).toBe(!books.some(Boolean));
    }
  });

  it("to another orb are limited to entries that the caller can read there", async () => {
    const other = await installOrb(broker.store("operator"), {
      id: "review",
      modules: [
        {
          id: "reviews",
          type: "CONTENT",
          schemas: [
            {
              id: "review",
              access: { write: "user" },
              fields: [{ name: "of", type: "reference", ref: "shop/catalog/author", list: true }],
            },
          ],
        },
      ],
    });
    const draft = await create("author", { name: "A" });
    const shown = await create("author", { name: "B" }, { publish: true });
    const review = (by: Actor, of: string[]) =>
      createEntry(deps, by, {
        orbId: "review",
        orb: other,
        module: "reviews",
        values: { of },
        publish: true,
      });
    await review(user("ann"), [shown.snapshot.id]);
    expect(
      (await failureOf(review(user("ann"), [shown.snapshot.id, draft.snapshot.id]))).errors,
    ).toMatchObject([{ path: "/values/of/1", code: "unknown_reference" }]);
    expect((await failureOf(review(admin, [draft.snapshot.id]))).code).toBe("reference_not_live");
    // An entry can be deleted although an entry of another orb refers to it.
    await deleteEntry(deps, admin, at(shown.snapshot.id));
  });

  it("can be left dangling with force", async () => {
    const author = await create("author", { name: "A" });
    const book = await product({ author: author.snapshot.id });
    await deleteEntry(deps, admin, at(author.snapshot.id, { force: true }));
    await updateEntry(
      deps,
      admin,
      at(book.snapshot.id, { values: { title: { en: "U" }, author: author.snapshot.id } }),
    );
  });
});

describe("idempotency", () => {
  it("gives parallel equal requests one entry and one response", async () => {
    const request = { idempotency: { key: "k1", route: "POST /x" } };
    const made = await Promise.all(
      Array.from({ length: 12 }, () => create("note", { text: "once" }, request)),
    );
    expect(new Set(made.map(({ snapshot }) => snapshot.id)).size).toBe(1);
    expect(made.filter(({ replayed }) => !replayed)).toHaveLength(1);
    expect((await failureOf(create("note", { text: "twice" }, request))).code).toBe("idempotency_mismatch");
    const other = await create("note", { text: "once" }, { idempotency: { key: "k1", route: "POST /y" } });
    expect(other.replayed).toBe(false);
  });

  it("repeats the response of an operation although the entry has changed since", async () => {
    const { snapshot } = await create("note", { text: "a" });
    const request = at(snapshot.id, { idempotency: { key: "p", route: "publish" } });
    const first = await publishEntry(deps, admin, request);
    await updateEntry(deps, admin, at(snapshot.id, { values: { text: "b" } }));
    const again = await publishEntry(deps, admin, request);
    expect(again).toMatchObject({ replayed: true, seq: first.seq, snapshot: { revision: 2 } });
  });

  describe("of an update with If-Match", () => {
    const note = async () => (await create("note", { text: "first" })).snapshot.id;
    const keyed = (id: string, ifMatch: number, more: object = {}) =>
      at(id, { ifMatch, idempotency: { key: "save", route: "PUT note" }, values: { text: "own" }, ...more });

    it("costs no message and no round trip", async () => {
      const id = await note();
      counted.reset();
      await updateEntry(deps, admin, at(id, { ifMatch: 1, values: { text: "without" } }));
      const [calls, trips] = [counted.calls, counted.trips];
      counted.reset();
      const made = await updateEntry(deps, admin, keyed(id, 2));
      expect([counted.calls, counted.trips]).toEqual([calls, trips]);
      counted.reset();
      expect(await updateEntry(deps, admin, keyed(id, 2))).toMatchObject({ replayed: true, seq: made.seq });
      expect(counted.calls).toEqual(["get"]);
    });

    it("gives parallel equal requests one revision and one response", async () => {
      const id = await note();
      const made = await Promise.all(
        Array.from({ length: 12 }, () => updateEntry(deps, admin, keyed(id, 1))),
      );
      expect(made.filter(({ replayed }) => !replayed)).toHaveLength(1);
      expect(new Set(made.map(({ snapshot }) => snapshot.revision))).toEqual(new Set([2]));
      expect((await loadEntry(deps, "shop", id))?.head.revision).toBe(2);
    });

    it("repeats the response although others have changed the entry since", async () => {
      const id = await note();
      const first = await updateEntry(deps, admin, keyed(id, 1));
      const mismatch = keyed(id, 1, { values: { text: "other" } });
      expect((await failureOf(updateEntry(deps, admin, mismatch))).code).toBe("idempotency_mismatch");
      for (const text of ["b", "c", "d"]) await updateEntry(deps, admin, at(id, { values: { text } }));
      const again = await updateEntry(deps, admin, keyed(id, 1));
      expect(again).toMatchObject({ replayed: true, seq: first.seq, snapshot: { revision: 2 } });
      expect((await failureOf(updateEntry(deps, admin, mismatch))).code).toBe("idempotency_mismatch");
      const others = [
        [admin, { idempotency: { key: "other", route: "PUT note" } }],
        [admin, { idempotency: { key: "save", route: "PATCH note" } }],
        [user("ann", "admin"), {}],
      ] as const;
      for (const [actor, more] of others)
        expect((await failureOf(updateEntry(deps, actor, keyed(id, 1, more)))).code).toBe(
          "revision_mismatch",
        );
    });

    it("counts for 24 hours, and may then be used for something else", async () => {
      const id = await note();
      await updateEntry(deps, admin, keyed(id, 1));
      const next = keyed(id, 2, { values: { text: "next" } });
      expect((await failureOf(updateEntry(deps, admin, next))).code).toBe("idempotency_mismatch");
      const later = { ...deps, clock: { now: () => Date.now() + 25 * 3_600_000 } };
      const made = await updateEntry(later, admin, next);
      expect(made).toMatchObject({ replayed: false, snapshot: { revision: 3, values: { text: "next" } } });
    });

    it("repeats the response of a publication that leaves a draft", async () => {
      const { id } = (await product({ sku: unique() }, { publish: true })).snapshot;
      await updateEntry(deps, admin, at(id, { values: { title: { en: "Draft" } }, merge: true }));
      const request = keyed(id, 2, { values: { count: 1 }, merge: true, publish: true });
      const first = await updateEntry(deps, admin, request);
      expect(first.snapshot).toMatchObject({ revision: 4, publishedRevision: 3 });
      for (const count of [2, 3]) {
        expect(await updateEntry(deps, admin, request)).toMatchObject({ replayed: true, seq: first.seq });
        await updateEntry(deps, admin, at(id, { values: { count }, merge: true }));
      }
    });

    it("repeats the response of an operation", async () => {
      const id = await note();
      const request = keyed(id, 1);
      const first = await publishEntry(deps, admin, request);
      await unpublishEntry(deps, admin, at(id));
      expect(await publishEntry(deps, admin, request)).toMatchObject({ replayed: true, seq: first.seq });
      expect((await loadEntry(deps, "shop", id))?.head).toMatchObject({ revision: 3, status: "UNPUBLISHED" });
    });
  });
});

describe("sensitive values", () => {
  it("are sealed in the broker, masked in live copies, and unchanged by a mask", async () => {
    const secret = "plain-text-secret-4711";
    const { snapshot } = await product({ secret, serial: `serial-${secret}` }, { publish: true });
    expect(JSON.stringify(snapshot)).not.toContain(secret);
    expect((await liveOf("product", snapshot.id))?.json()).toMatchObject({
      values: { secret: MASK, serial: MASK },
    });
    const kept = await updateEntry(
      deps,
      admin,
      at(snapshot.id, { values: { title: { en: "T" }, secret: MASK, serial: MASK } }),
    );
    expect(kept.snapshot.values.secret).toEqual(snapshot.values.secret);
    expect(kept.snapshot.claims).toEqual(snapshot.claims);
    expect((await failureOf(product({ serial: `serial-${secret}` }))).code).toBe("unique_conflict");
    expect((await failureOf(product({ secret: MASK }))).errors?.[0]).toMatchObject({
      path: "/values/secret",
      code: "mask",
    });
    for (let fromSeq = 1; ; ) {
      const page = await store.scan(streams.orb("shop"), "shop.>", { fromSeq, limit: 500, maxBytes: 1e8 });
      for (const message of page.messages) expect(message.text()).not.toContain(secret);
      if (page.pending === 0) break;
      fromSeq = (page.messages.at(-1)?.seq ?? 0) + 1;
    }
  });
});

describe("history", () => {
  const large = (index: number) => ({ title: { en: "T" }, data: { [`part${index}`]: "x".repeat(450_000) } });

  it("is read in bounded pages, however large the revisions", async () => {
    const { snapshot } = await product({ data: "" });
    for (let i = 0; i < 12; i++) await updateEntry(deps, admin, at(snapshot.id, { values: large(i) }));
    const which = { orbId: "shop", orb, id: snapshot.id, order: "desc" as const };
    const page = await listRevisions(deps, admin, { ...which, limit: 3 });
    expect(page.items.map(({ revision }) => revision)).toEqual([13, 12, 11]);
    expect(page.total).toBeUndefined();
    const rest = await listRevisions(deps, admin, {
      ...which,
      limit: 50,
      after: page.next ?? undefined,
      count: true,
    });
    expect(rest.items).toHaveLength(10);
    expect(rest).toMatchObject({ next: null, total: 13, newest: 13 });
  });

  it("is read in one round trip behind the head while it is small", async () => {
    const { snapshot } = await product();
    for (let i = 0; i < 49; i++) {
      const values = { title: { en: `T${i}` }, data: { part: "x".repeat(2_000) } };
      await updateEntry(deps, admin, at(snapshot.id, { values }));
    }
    const which = { orbId: "shop", orb, id: snapshot.id };
    const trips = async (work: () => Promise<unknown>) => {
      counted.reset();
      await work();
      return counted.trips;
    };
    for (const order of ["asc", "desc"] as const) {
      expect(await trips(() => listRevisions(deps, admin, { ...which, order, limit: 50, count: true }))).toBe(
        2,
      );
    }
    expect(await trips(() => getRevision(deps, admin, { ...which, revision: 50 }))).toBe(1);
    expect(await trips(() => getRevision(deps, admin, { ...which, revision: 3 }))).toBe(2);
    expect(await trips(() => compareRevisions(deps, admin, { ...which, revision: 48, against: 2 }))).toBe(2);
  });

  it("is complete and in order, whatever is written between two pages", async () => {
    const { snapshot } = await product();
    const write = async (index: number) => {
      await updateEntry(deps, admin, at(snapshot.id, { values: large(index) }));
      await product();
    };
    for (let i = 0; i < 20; i++) await write(i);
    const which = { orbId: "shop", orb, id: snapshot.id, limit: 4 };
    for (const order of ["asc", "desc"] as const) {
      const { newest } = await listRevisions(deps, admin, { ...which, order });
      const all: number[] = [];
      let after: Place | undefined;
      for (let more = true; more; ) {
        const page = await listRevisions(deps, admin, { ...which, order, after });
        all.push(...page.items.map(({ revision }) => revision));
        after = page.next ?? undefined;
        more = page.next !== null;
        if (page.newest < newest + 3) await write(page.newest);
      }
      const count = order === "asc" ? newest + 3 : newest;
      const numbers = Array.from({ length: count }, (_, index) => index + 1);
      expect(all).toEqual(order === "asc" ? numbers : numbers.toReversed());
    }
  });
});

describe("hostile input", () => {
  it("is refused with a path and never stored", async () => {
    const hostile = JSON.parse(
      '{"title":{"en":"T"},"__proto__":{"x":1},"data":{"__proto__":1},"sku":"a\\u0000b","slug":{"en":"\\ud800"},"count":1e400,"day":"2026-02-30"}',
    ) as unknown;
    const error = await failureOf(create("product", hostile));
    expect(error.errors?.map(({ path, code }) => `${path} ${code}`).sort()).toEqual([
      "/values/__proto__ unknown_property",
      "/values/count range",
      "/values/data/__proto__ text",
      "/values/day format",
      "/values/sku text",
      "/values/slug/en text",
    ]);
    expect(
      (
        await failureOf(
          create("product", { title: { en: "T" }, data: { a: Array(9).fill("x".repeat(60_000)) } }),
        )
      ).code,
    ).toBe("entry_too_large");
  });
});

describe("windows", () => {
  const soon = (ms: number) => new Date(Date.now() + ms).toISOString();

  it("are opened and closed by the broker, with the scheduler as author", async () => {
    const validFrom = soon(2_000);
    const validTo = soon(6_000);
    const { snapshot } = await create("note", { text: "w" }, { publish: true, validFrom, validTo });
    expect(await liveOf("note", snapshot.id)).toBeNull();
    await until(async () => (await liveOf("note", snapshot.id)) !== null);
    expect((await liveOf("note", snapshot.id))?.json()).toMatchObject({ revision: 1, status: "PUBLISHED" });
    await until(async () => (await liveOf("note", snapshot.id))?.text().includes("tombstone") === true);
    expect((await liveOf("note", snapshot.id))?.json()).toMatchObject({ tombstone: true, revision: 1 });
    const entry = await loadEntry(deps, "shop", snapshot.id);
    if (entry === null) throw new Error("gone");
    expect(effective(entry.head, Date.now())).toMatchObject({
      status: "UNPUBLISHED",
      revision: 2,
      updatedBy: "scheduler",
      updatedAt: validTo,
    });
    const made = await updateEntry(deps, admin, at(snapshot.id, { ifMatch: 2, values: { text: "x" } }));
    expect(made.snapshot).toMatchObject({ revision: 3, status: "UNPUBLISHED" });
    expect((await failureOf(publishEntry(deps, admin, at(snapshot.id)))).errors?.[0]).toMatchObject({
      path: "/validTo",
      code: "window_closed",
    });
  });
});

/** Several entries in one atomic batch. */
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { homeOf } from "../../shared/definition/document/home.ts";
import { moveFence } from "../../shared/definition/stored/fence.ts";
import {
  type BatchItem,
  createEntry,
  liveCopyOf,
  loadEntry,
  updateEntry,
  writeBatch,
} from "../../shared/entry/index.ts";
import { inTurn } from "../../shared/entry/write/turns.ts";
import { streams, subjects } from "../../shared/store/subjects.ts";
import { Conflict, type Store, type StoredMessage } from "../../shared/store/types.ts";
import { countingStore, Stopped, stoppingStore } from "../support/counting.ts";
import {
  admin,
  failureOf,
  fileOrb,
  installOrb,
  NO_QUOTAS,
  SHOP,
  storedValues,
  type TestDeps,
  testDeps,
  user,
} from "../support/entries.ts";

const { broker, deps, orb, store } = await fileOrb();
const context = { orbId: "shop", orb };
let serial = 0;

const batch = (items: BatchItem[], more: object = {}, with_: TestDeps = deps) =>
  writeBatch(with_, admin, { ...context, items, routed: true, ...more });
const product = async (values: object = {}, more: object = {}) => {
  const made = await createEntry(deps, admin, {
    ...context,
    module: "catalog",
    schema: "product",
    values: { title: { en: "T" }, ...values },
    ...more,
  });
  return made.snapshot.id;
};
const head = async (id: string) => (await loadEntry(deps, "shop", id))?.head;
const valuesOf = async (id: string) => storedValues(await head(id));
const at = (id: string) => `catalog/product/${id}`;

/** Returns a store whose reads of several messages say that each has a size of 1 MiB. */
function asLarge(inner: Store): Store {
  const large = (message: StoredMessage): StoredMessage => ({
    subject: message.subject,
    seq: message.seq,
    time: message.time,
    data: message.data,
    size: 1024 ** 2,
    header: (name) => message.header(name),
    text: () => message.text(),
    json: <T>() => message.json<T>(),
  });
  const getMany: Store["getMany"] = async (...args) => {
    const found = await inner.getMany(...args);
    return new Map([...found].map(([subject, message]) => [subject, large(message)]));
  };
  return new Proxy(inner, {
    get: (target, name) => (name === "getMany" ? getMany : Reflect.get(target, name)),
  });
}

describe("a batch", () => {
  it("creates, changes and deletes entries together, and says what became of each", async () => {
    const [changed, gone] = [await product({ count: 1 }), await product()];
    const { items } = await batch([
      { create: "catalog/author", values: { name: "Ann" }, as: "ann", publish: true },
      { update: at(changed), values: { author: { $ref: "ann" } }, add: { count: 2 }, publish: true },
      { create: "catalog/product", values: { title: { en: "B" }, related: [{ $ref: "c" }] }, as: "b" },
      { create: "catalog/product", values: { title: { en: "C" }, related: [{ $ref: "b" }] }, as: "c" },
      { delete: at(gone) },
    ]);
    expect(items.map(({ schema, revision, status }) => [schema, revision, status])).toEqual([
      ["author", 1, "PUBLISHED"],
      ["product", 2, "PUBLISHED"],
      ["product", 1, "SAVED"],
      ["product", 1, "SAVED"],
      ["product", 2, "DELETED"],
    ]);
    const [author, , b, c] = items.map(({ id }) => id);
    expect(await valuesOf(changed)).toMatchObject({ author, count: 3 });
    expect(await valuesOf(b ?? "")).toMatchObject({ related: [c] });
    expect((await head(gone))?.status).toBe("DELETED");
    const copy = await store.get(
      streams.orb("shop"),
      subjects.entryLive({ orb: "shop", ...homeOf("CONTENT", "product"), id: changed }, "public"),
    );
    expect(liveCopyOf(copy)?.revision).toBe(2);
  });

  const some = { title: { en: "T" } };
  it.each<[string, (ids: string[]) => BatchItem[], string, string]>([
    [
      "a value that is not valid",
      () => [{ create: "catalog/product", values: {} }],
      "validation_failed",
      "/values/title/en",
    ],
    ["an unknown schema", () => [{ create: "catalog/nothing", values: {} }], "validation_failed", "/create"],
    ["an unknown entry", () => [{ delete: at("0") }], "entry_not_found", ""],
    ["an id that no entry can have", () => [{ update: at("a.b"), values: {} }], "entry_not_found", ""],
    [
      "another revision",
      ([id]) => [{ update: at(id ?? ""), values: {}, ifMatch: 7 }],
      "revision_mismatch",
      "",
    ],
    [
      "an unmet condition",
      ([id]) => [{ delete: at(id ?? ""), if: { "==": [1, 2] } }],
      "condition_failed",
      "",
    ],
    [
      "a rule that is not valid",
      ([id]) => [{ delete: at(id ?? ""), if: { no: [1] } }],
      "validation_failed",
      "/if/no",
    ],
    [
      "an unknown name",
      () => [{ create: "catalog/product", values: { ...some, author: { $ref: "x" } } }],
      "validation_failed",
      "/values/author/$ref",
    ],
    [
      "an amount that is no number",
      ([id]) => [{ update: at(id ?? ""), add: { count: "1" } }],
      "validation_failed",
      "/add/count",
    ],
    [
      "an amount for a text",
      ([id]) => [{ update: at(id ?? ""), add: { sku: 1 } }],
      "validation_failed",
      "/add/sku",
    ],
    [
      "two items for one entry",
      ([id]) => [{ update: at(id ?? ""), values: {} }, { delete: at(id ?? "") }],
      "validation_failed",
      "/delete",
    ],
    [
      "two items with one unique value",
      () => [
        { create: "catalog/product", values: { ...some, sku: "twice" } },
        { create: "catalog/product", values: { ...some, sku: "twice" } },
      ],
      "unique_conflict",
      "/values/sku",
    ],
    [
      "a taken unique value",
      () => [{ create: "catalog/product", values: { ...some, sku: "taken" } }],
      "unique_conflict",
      "/values/sku",
    ],
    [
      "a reference to an entry that another item deletes",
      ([id, other]) => [{ update: at(id ?? ""), values: { related: [other] } }, { delete: at(other ?? "") }],
      "validation_failed",
      "/values/related/0",
    ],
    [
      "the deletion of an entry with references",
      ([, other]) => [{ delete: at(other ?? "") }],
      "referenced",
      "",
    ],
    [
      "a published reference to a draft",
      () => [
        { create: "catalog/author", values: { name: "A" }, as: "a" },
        { create: "catalog/product", values: { ...some, author: { $ref: "a" } }, publish: true },
      ],
      "reference_not_live",
      "/values/author",
    ],
  ])("refuses %s, and writes nothing", async (_, items, code, path) => {
    const other = await product(serial++ === 0 ? { sku: "taken" } : {});
    await product({ related: [other] });
    const id = await product();
    const before = await store.streamInfo(streams.orb("shop"));
    const first: BatchItem = { create: "catalog/note", values: { text: "x" } };
    const refused = await failureOf(batch([first, ...items([id, other])]));
    expect(refused.code).toBe(code);
    const own = items([id, other]);
    // The item that comes second is refused, unless the update is what refers to a deleted entry.
    const index = own.length === 2 && !path.startsWith("/values/related") ? 2 : 1;
    expect(refused.errors?.[0]?.path).toBe(`/do/${index}${path}`);
    expect(refused.data).toMatchObject({ item: index });
    expect((await store.streamInfo(streams.orb("shop")))?.state.last_seq).toBe(before?.state.last_seq);
  });

  it("lets entries exchange their unique values, and replaces a deleted entry", async () => {
    const [a, b, gone] = [
      await product({ sku: "a" }),
      await product({ sku: "b" }),
      await product({ sku: "g" }),
    ];
    const { items } = await batch([
      { update: at(a), values: { sku: "b" } },
      { update: at(b), values: { sku: "a" } },
      { delete: at(gone) },
      { create: "catalog/product", values: { title: { en: "T" }, sku: "g" } },
    ]);
    expect([(await valuesOf(a)).sku, (await valuesOf(b)).sku]).toEqual(["b", "a"]);
    for (const sku of ["a", "b", "g"])
      expect((await failureOf(product({ sku }))).code, sku).toBe("unique_conflict");
    await batch([{ delete: at(items[3]?.id ?? "") }]);
    await product({ sku: "g" });
  });

  it("deletes entries together that refer to each other", async () => {
    const target = await product();
    const source = await product({ related: [target] });
    await batch([{ delete: at(target) }, { delete: at(source) }]);
    const kept = await product();
    const other = await product({ related: [kept] });
    await batch([{ delete: at(kept) }, { update: at(other), values: { related: [] } }]);
    expect((await head(kept))?.status).toBe("DELETED");
  });

  it("is written once with an Idempotency-Key, and answers a repetition", async () => {
    const id = await product({ count: 0 });
    const request = { idempotency: { key: "once", route: "POST /batch" } };
    const items: BatchItem[] = [
      { update: at(id), add: { count: 1 } },
      { create: "catalog/note", values: {} },
    ];
    const [one, two] = await Promise.all([batch(items, request), batch(items, request)]);
    expect([one.replayed, two.replayed].sort()).toEqual([false, true]);
    expect(one.items).toEqual(two.items);
    expect((await valuesOf(id)).count).toBe(1);
    expect((await failureOf(batch(items.slice(0, 1), request))).code).toBe("idempotency_mismatch");
  });

  const soon = new Date(Date.now() + 3_600_000).toISOString();
  it.each<[string, (id: string) => BatchItem]>([
    ["deletes its entry", (id) => ({ delete: at(id) })],
    ["says until when to publish", (id) => ({ update: at(id), validTo: soon, publish: true })],
  ])("is answered again if the same request %s meanwhile", async (_, itemOf) => {
    const items = [itemOf(await product())];
    const request = { idempotency: { key: `meanwhile-${++serial}`, route: "POST /batch" } };
    let first: Promise<{ items: unknown }> | undefined;
    // The entries are read after the look for a stored response.
    const late = countingStore(store, async (call) => {
      if (call !== "getMany") return;
      first ??= batch(items, request);
      await first;
    });
    const repeated = await batch(items, request, {
      ...deps,
      store: late.store,
      clock: { now: () => Date.now() + 7_200_000 },
    });
    expect(repeated).toEqual({ ...(await first), replayed: true });
  });

  it("ends after some seconds of conflicts", async () => {
    let now = Date.now();
    let attempts = 0;
    const slow = countingStore(store, (call) => {
      if (call !== "batch") return;
      attempts++;
      now += 4_000;
      throw new Conflict();
    });
    const busy = { ...deps, store: slow.store, clock: { now: () => now } };
    const refused = await failureOf(batch([{ create: "catalog/note", values: {} }], {}, busy));
    expect([refused.code, attempts]).toEqual(["write_conflict", 4]);
  });

  it("reads only as much as one request may read", async () => {
    const targets = await Promise.all(Array.from({ length: 20 }, () => product()));
    const items = targets.map((id) => ({
      create: "catalog/product",
      values: { title: { en: "T" }, related: [id] },
    }));
    const refused = await failureOf(batch(items, {}, { ...deps, store: asLarge(store) }));
    expect([refused.code, refused.data]).toEqual([
      "too_broad",
      { limitBytes: 16 * 1024 ** 2, item: expect.any(Number) },
    ]);
    expect((await batch(items)).items).toHaveLength(20);
  });

  it("lets a caller without rights take no turns", async () => {
    const wishes = { create: "wishes/wish", values: { text: "mine" } };
    const made = await writeBatch(deps, user("u1"), { ...context, items: [wishes, wishes], routed: true });
    const ids = made.items.map(({ id }) => id);
    // Turns never expire in this test.
    const clock = vi.spyOn(Date, "now").mockReturnValue(Date.now());
    onTestFinished(() => clock.mockRestore());
    const items = ids.map((id) => ({ update: `wishes/wish/${id}`, values: {}, if: { "==": [1, 1] } }));
    const [, last = ""] = [...ids].sort();
    await inTurn([`shop/${last}`], async () => {
      const refused = await failureOf(writeBatch(deps, user("u2"), { ...context, items, routed: true }));
      expect(refused.code).toBe("entry_not_found");
    });
  });

  it("takes as many items as an atomic write holds", async () => {
    const items = Array.from(
      { length: 200 },
      (_, n): BatchItem => ({
        create: "catalog/note",
        values: { text: `${n}` },
      }),
    );
    expect((await batch(items)).items).toHaveLength(200);
  });

  it("checks the rights of each item", async () => {
    const wish = { create: "wishes/wish", values: { text: "mine" } };
    const made = await writeBatch(deps, user("u1"), { ...context, items: [wish], routed: true });
    const refused = await failureOf(
      writeBatch(deps, user("u1"), {
        ...context,
        items: [wish, { create: "catalog/note", values: {} }],
        routed: true,
      }),
    );
    expect([refused.code, refused.errors?.[0]?.path]).toEqual(["forbidden", "/do/1"]);
    const stranger = { update: `wishes/wish/${made.items[0]?.id}`, values: { text: "yours" } };
    expect(
      (await failureOf(writeBatch(deps, user("u2"), { ...context, items: [stranger], routed: true }))).code,
    ).toBe("entry_not_found");
  });

  it("counts each item as one write", async () => {
    const quotas = { ...NO_QUOTAS, accountWrites: 5 };
    const limited = testDeps(store, { quotas });
    const write = (count: number) =>
      writeBatch(limited, user("counted"), {
        ...context,
        items: Array.from({ length: count }, () => ({ create: "wishes/wish", values: { text: "x" } })),
        routed: true,
      });
    await write(3);
    expect((await failureOf(write(3))).code).toBe("too_many_writes");
    await write(2);
  });

  it("is decided again by the definition that is published meanwhile", async () => {
    const old = await installOrb(broker.store("operator"), { ...SHOP, id: "moved" });
    const fence = await moveFence(deps, "moved", { incarnation: 0, seq: 0 }, 1);
    let renewals = 0;
    const renew = async () => {
      renewals++;
      return { ...old, revision: 2, fence };
    };
    const items = [{ create: "catalog/note", values: { text: "x" } }];
    const made = await writeBatch(deps, admin, { orbId: "moved", orb: old, items, renew, routed: true });
    const stored = await loadEntry(deps, "moved", made.items[0]?.id ?? "");
    expect([renewals, stored?.head.defRevision]).toEqual([1, 2]);
  });

  it("leaves nothing behind if the process stops before any call", async () => {
    for (let step = 0; ; step++) {
      expect(step).toBeLessThan(20);
      const sku = `stop-${++serial}`;
      const id = await product({ count: 0, sku });
      const items: BatchItem[] = [
        { update: at(id), add: { count: 1 }, values: { sku: `${sku}-2` }, publish: true },
        { create: "catalog/product", values: { title: { en: "T" }, sku, related: [id] } },
      ];
      try {
        await batch(items, {}, { ...deps, store: stoppingStore(store, step) });
        break;
      } catch (error) {
        if (!(error instanceof Stopped)) throw error;
        expect(await valuesOf(id)).toMatchObject({ count: 0, sku });
        expect((await head(id))?.revision).toBe(1);
        await product({ sku: `${sku}-2` });
      }
    }
  });
});

describe("50 buyers of 30 places", () => {
  it("buy exactly 30, and none has to repeat anything", async () => {
    const id = await product({ count: 0 });
    const buy = (): BatchItem[] => [
      { update: at(id), add: { count: 1 }, publish: true, if: { "<": [{ var: "values.count" }, 30] } },
      { create: "catalog/note", values: { text: id }, publish: true },
    ];
    const sales = await Promise.allSettled(Array.from({ length: 50 }, () => batch(buy())));
    const failed = sales.flatMap((sale) => (sale.status === "rejected" ? [sale.reason.code] : []));
    expect(failed).toEqual(Array.from({ length: 20 }, () => "condition_failed"));
    expect(await valuesOf(id)).toMatchObject({ count: 30 });
    expect((await head(id))?.revision).toBe(31);
  });

  it("add in parallel updates is never lost", async () => {
    const id = await product({ count: 0 });
    await Promise.all(
      Array.from({ length: 20 }, () =>
        updateEntry(deps, admin, { ...context, id, add: { count: 1 }, merge: true }),
      ),
    );
    expect((await valuesOf(id)).count).toBe(20);
  });
});

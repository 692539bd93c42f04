import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { anonymous } from "../../shared/access/actor.ts";
import type { CompiledSchema } from "../../shared/definition/compile.ts";
import type { OrbDocumentInput } from "../../shared/definition/document/document.ts";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import { scanEntries } from "../../shared/entry/index/scan-entries.ts";
import { createEntry, deleteEntry } from "../../shared/entry/index.ts";
import { choose } from "../../shared/entry/model/localize.ts";
import { parseListQuery } from "../../shared/entry/query/query.ts";
import { listEntries } from "../../shared/entry/read/list.ts";
import { listManaged } from "../../shared/entry/read/managed.ts";
import { streams } from "../../shared/store/subjects.ts";
import { TooMuch } from "../../shared/store/types.ts";
import { startBroker, type TestBroker } from "../support/broker.ts";
import {
  admin,
  installOrb,
  readAs,
  SHOP,
  storedValues,
  type TestDeps,
  testDeps,
} from "../support/entries.ts";
import { rounds } from "../support/random.ts";

it("reads all requested messages, even beyond the size of one response", async () => {
  await using broker = await startBroker();
  const store = broker.store("operator");
  await installOrb(store, SHOP);
  const data = "x".repeat(500 * 1024);
  const logs = Array.from({ length: 80 }, (_, i) => `shop.content.owner.note.0large${i}`);
  await store.pipeline(
    streams.orb("shop"),
    logs.map((subject) => ({ subject, data })),
  );
  const found = await store.getMany(streams.orb("shop"), [...logs, "shop.content.owner.note.0none"], {
    consistency: "stale",
  });
  expect([...found.keys()].sort()).toEqual(logs.toSorted());
});

it("appends messages in the order of the calls, whatever their sizes", async () => {
  await using broker = await startBroker();
  const store = broker.store("operator");
  await installOrb(store, SHOP);
  const subject = "shop.content.owner.note.0order";
  const append = (data: string) => store.append(streams.orb("shop"), { subject, data });
  const [large, small] = await Promise.all([append("x".repeat(500 * 1024)), append("guard")]);
  expect(small).toBe(large + 1);
});

it("appends messages in the order of the calls on a new connection too", async () => {
  await using broker = await startBroker();
  await installOrb(broker.store("operator"), SHOP);
  const stream = streams.orb("shop");
  const large = "x".repeat(500 * 1024);
  // A new connection does not know yet how large a message may be, so it keeps large ones back.
  const messages = [large, "1", "2", large, "3"].map((data, i) => ({
    subject: `shop.content.owner.note.0new${i}`,
    data,
  }));
  for (let round = 0; round < rounds(5); round++) {
    const together = await broker.store("operator").pipeline(stream, messages);
    expect(together).toEqual(together.toSorted((a, b) => a - b));
    const store = broker.store("operator");
    const each = await Promise.all(messages.map((message) => store.append(stream, message)));
    expect(each).toEqual(each.toSorted((a, b) => a - b));
  }
});

it("returns the bytes of large messages unchanged after their frames are freed", async () => {
  await using broker = await startBroker();
  const store = broker.store("operator");
  await installOrb(store, SHOP);
  const bodies = [
    Uint8Array.from({ length: 90_000 }, (_, i) => i % 256),
    new TextEncoder().encode(`\ufeff${"é€😀".repeat(20_000)}`),
    new TextEncoder().encode("é€😀".repeat(20_000)),
    new Uint8Array(0),
    new TextEncoder().encode("small"),
  ];
  const subject = (i: number) => `shop.content.owner.note.0body${i}`;
  await store.pipeline(
    streams.orb("shop"),
    bodies.map((data, i) => ({ subject: subject(i), data })),
  );
  const read = () => store.scan(streams.orb("shop"), "shop.content.owner.note.*", { fromSeq: 1, limit: 10 });
  const pages = [await read(), ...(await Promise.all([read(), read()])), await read()];
  for (const { messages } of pages) {
    expect(messages.map(({ size }) => size)).toEqual(bodies.map(({ length }) => length));
    expect(messages.map(({ data }) => Buffer.from(data).toString("base64"))).toEqual(
      bodies.map((data) => Buffer.from(data).toString("base64")),
    );
  }
  const found = await store.get(streams.orb("shop"), subject(0));
  expect(Buffer.from(found?.data ?? []).equals(Buffer.from(bodies[0] ?? []))).toBe(true);
});

it("refuses to read more bytes than allowed, at every consistency", async () => {
  await using broker = await startBroker();
  const replicated = broker.store("operator", { replicas: 3 });
  await installOrb(broker.store("operator"), SHOP);
  const data = "x".repeat(10 * 1024);
  const logs = Array.from({ length: 1100 }, (_, i) => `shop.content.owner.note.0some${i}`);
  await replicated.pipeline(
    streams.orb("shop"),
    logs.map((subject) => ({ subject, data })),
  );
  for (const consistency of ["stale", "cached", "leader"] as const) {
    const read = (count: number, maxBytes: number) =>
      replicated.getMany(streams.orb("shop"), logs.slice(0, count), { consistency, maxBytes });
    expect((await read(50, 1024 * 1024)).size).toBe(50);
    expect((await read(1100, 12 * 1024 * 1024)).size).toBe(1100);
    await expect(read(1100, 1024 * 1024)).rejects.toBeInstanceOf(TooMuch);
    await expect(read(1100, 10.5 * 1024 * 1024)).rejects.toBeInstanceOf(TooMuch);
  }
});

describe("entries of 400 KB", () => {
  const names = Array.from({ length: 24 }, (_, i) => `book ${i}`);
  let broker: TestBroker;
  let deps: TestDeps;
  let live: LiveOrb;
  let schema: CompiledSchema;

  beforeAll(async () => {
    broker = await startBroker();
    deps = testDeps(broker.store("operator"));
    const document: OrbDocumentInput = {
      id: "library",
      modules: [
        {
          id: "books",
          type: "CONTENT",
          schemas: [
            {
              id: "book",
              fields: [
                { name: "name", type: "string" },
                { name: "state", type: "string", enum: ["new", "used"] },
                { name: "text", type: "text" },
              ],
            },
          ],
        },
      ],
    };
    live = await installOrb(deps.store, document);
    const found = live.compiled.schema("books");
    if (found === undefined) throw new Error("the orb has no such schema");
    schema = found;
    const text = "x".repeat(400 * 1024);
    for (const name of names) {
      const values = { name, state: "new", text };
      await createEntry(deps, admin, { orbId: "library", orb: live, module: "books", values, publish: true });
    }
    await deps.settled();
  });
  afterAll(() => broker.stop());

  it.each(["", "&sort=-createdAt", "&filter[state]=new", "&sort=state,createdAt"])(
    "are listed once each, on pages that end early: %s",
    async (search) => {
      const found: unknown[] = [];
      const sizes: number[] = [];
      for (let cursor = ""; ; ) {
        const query = parseListQuery(new URLSearchParams(`limit=200${search}${cursor}`), schema, []);
        const choice = choose(schema, {});
        const page = await listEntries(deps, { reading: readAs(anonymous, live, schema), choice, query });
        sizes.push(page.items.length);
        found.push(...page.items.map(({ values }) => values.name));
        if (page.nextCursor === null) break;
        cursor = `&cursor=${page.nextCursor}`;
      }
      expect(Math.max(...sizes)).toBeLessThan(8);
      expect(found).toEqual(search.includes("-createdAt") ? names.toReversed() : names);
    },
  );

  it("are iterated in small pages", async () => {
    const found: unknown[] = [];
    for await (const page of scanEntries(deps, "library")) {
      expect(page.length).toBeLessThan(8);
      found.push(...page.map(({ head }) => storedValues(head).name));
    }
    expect(found).toEqual(names);
  });

  it.each(["", "&sort=-createdAt", "&module=books&schema=book&sort=state", "&status=PUBLISHED"])(
    "are listed once each at a past time, on pages that end early: %s",
    async (search) => {
      const at = new Date().toISOString();
      await new Promise((resolve) => setTimeout(resolve, 5));
      // The broker stores this one within the seconds in which the list still looks for revisions.
      const later = await createEntry(deps, admin, {
        orbId: "library",
        orb: live,
        module: "books",
        values: { name: "later", text: "y".repeat(400 * 1024) },
      });
      const found: unknown[] = [];
      let asked = 0;
      for (let cursor: string | null = ""; cursor !== null; asked++) {
        const query = `limit=200&at=${at}${search}${cursor === "" ? "" : `&cursor=${cursor}`}`;
        const parameters = [...new URLSearchParams(query)] as [string, string][];
        const page = await listManaged(deps, admin, { orb: live, parameters });
        found.push(...page.items.map(({ values }) => values.name));
        cursor = page.nextCursor;
      }
      expect(asked).toBeGreaterThan(1);
      expect(found).toEqual(search.includes("-createdAt") ? names.toReversed() : names);
      await deleteEntry(deps, admin, { orbId: "library", orb: live, id: later.snapshot.id });
    },
  );
});

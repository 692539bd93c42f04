import { expect, it } from "vitest";
import { anonymous } from "../../shared/access/actor.ts";
import { createEntry } from "../../shared/entry/index.ts";
import { listEntries } from "../../shared/entry/list.ts";
import { choose } from "../../shared/entry/localize.ts";
import { parseListQuery } from "../../shared/entry/query.ts";
import { streams } from "../../shared/store/subjects.ts";
import { TooMuch } from "../../shared/store/types.ts";
import { startBroker } from "../support/broker.ts";
import { admin, installOrb, SHOP, testDeps } from "../support/entries.ts";

it("reads all that is asked for, also beyond the bytes of one answer", async () => {
  await using broker = await startBroker();
  const store = broker.store("operator");
  await installOrb(store, SHOP);
  const data = "x".repeat(500 * 1024);
  const subjects = Array.from({ length: 150 }, (_, i) => `shop.content.owner.note.0large${i}`);
  await store.pipeline(
    streams.orb("shop"),
    subjects.map((subject) => ({ subject, data })),
  );
  const found = await store.getMany(streams.orb("shop"), [...subjects, "shop.content.owner.note.0none"], {
    consistency: "any",
  });
  expect([...found.keys()].sort()).toEqual(subjects.toSorted());
});

it("reads no more than it may, whoever answers", async () => {
  await using broker = await startBroker();
  const replicated = broker.store("operator", { replicas: 3 });
  await installOrb(broker.store("operator"), SHOP);
  const data = "x".repeat(10 * 1024);
  const subjects = Array.from({ length: 1100 }, (_, i) => `shop.content.owner.note.0some${i}`);
  await replicated.pipeline(
    streams.orb("shop"),
    subjects.map((subject) => ({ subject, data })),
  );
  for (const consistency of ["any", "told", "leader"] as const) {
    const read = (count: number, maxBytes: number) =>
      replicated.getMany(streams.orb("shop"), subjects.slice(0, count), { consistency, maxBytes });
    expect((await read(50, 1024 * 1024)).size).toBe(50);
    expect((await read(1100, 12 * 1024 * 1024)).size).toBe(1100);
    await expect(read(1100, 1024 * 1024)).rejects.toBeInstanceOf(TooMuch);
    await expect(read(1100, 10.5 * 1024 * 1024)).rejects.toBeInstanceOf(TooMuch);
  }
});

it("ends pages of large entries early, and names each entry once over all of them", async () => {
  await using broker = await startBroker();
  const deps = testDeps(broker.store("operator"));
  const live = await installOrb(deps.store, {
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
  });
  const schema = live.compiled.schema("books");
  if (schema === undefined) throw new Error("the orb has no such schema");
  const text = "x".repeat(400 * 1024);
  const wanted = Array.from({ length: 24 }, (_, i) => `book ${i}`);
  for (const name of wanted) {
    const values = { name, state: "new", text };
    await createEntry(deps, admin, { orbId: "library", orb: live, module: "books", values, publish: true });
  }
  const searches = ["", "&sort=-createdAt", "&filter[state]=new", "&sort=state,createdAt"];
  for (const search of searches.map((more) => `limit=200${more}`)) {
    const found: unknown[] = [];
    const sizes: number[] = [];
    for (let cursor = ""; ; ) {
      const query = parseListQuery(new URLSearchParams(`${search}${cursor}`), schema, []);
      const page = await listEntries(deps, anonymous, {
        orb: live,
        schema,
        choice: choose(schema, {}),
        query,
      });
      sizes.push(page.items.length);
      found.push(...page.items.map(({ values }) => values.name));
      if (page.nextCursor === null) break;
      cursor = `&cursor=${page.nextCursor}`;
    }
    expect(Math.max(...sizes)).toBeLessThan(8);
    expect(found).toEqual(search.includes("-createdAt") ? wanted.toReversed() : wanted);
  }
});

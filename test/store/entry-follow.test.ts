/** A write that was decided under an outdated definition is decided again under the active one. */

import { afterAll, beforeAll, expect, test } from "vitest";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import { definitionFor, liveOrb } from "../../shared/definition/stored/live.ts";
import {
  bulkWrite,
  createEntry,
  liveCopyOf,
  loadEntry,
  publishEntry,
  updateEntry,
} from "../../shared/entry/index.ts";
import { pause } from "../../shared/kernel/pause.ts";
import { setSettings } from "../../shared/modules/settings/settings.ts";
import { recordTransaction } from "../../shared/modules/transactions/record.ts";
import { createOrb } from "../../shared/orb/create.ts";
import { updateOrb } from "../../shared/orb/update.ts";
import { openStore } from "../../shared/store/broker/store.ts";
import { cachedStore } from "../../shared/store/cache/cached-store.ts";
import { type LiveRole, type ModuleToken, streams } from "../../shared/store/subjects.ts";
import type { Store } from "../../shared/store/types.ts";
import { startBroker, type TestBroker } from "../support/broker.ts";
import { admin, failureOf, type TestDeps, testDeps } from "../support/entries.ts";
import { testRandom } from "../support/random.ts";

let broker: TestBroker;
let store: Store;
let deps: TestDeps;
beforeAll(async () => {
  broker = await startBroker();
  // Acts as a long-lived host: it checks the fence after a write instead of sending a message with it.
  store = { ...broker.store("fn"), isCached: true };
  deps = testDeps(store);
});
afterAll(() => broker.stop());

let number = 0;

const module = (id: string, type: string, read: string, more: object) => ({
  id,
  type,
  schemas: [{ id: `${id}-item`, access: { read }, fields: [{ name: "title", type: "string", ...more }] }],
});
const document = (id: string, read: string, more: object) => ({
  id,
  uses: [
    { service: "transactions", handlers: ["record"] },
    { service: "settings", handlers: ["set"] },
  ],
  modules: [
    module("news", "CONTENT", read, more),
    module("ledger", "TRANSACTIONS", read, more),
    module("choices", "SETTINGS", "user", more),
  ],
});

async function inForce(orb: string): Promise<LiveOrb> {
  const found = await liveOrb(deps, orb);
  if (found === null) throw new Error("nothing is live");
  return found;
}

const schemaOf = (live: LiveOrb, name: string) => {
  const schema = live.compiled.schema(name);
  if (schema === undefined) throw new Error("no such schema");
  return schema;
};

const create = (live: LiveOrb, title: string, publish = false) =>
  createEntry(deps, admin, { orbId: live.orb, orb: live, module: "news", values: { title }, publish });
const record = (live: LiveOrb, title: string, key?: string) =>
  recordTransaction(deps, { actor: admin, role: "admin" }, live, schemaOf(live, "ledger"), {
    values: { title },
    key,
  });
const set = (live: LiveOrb, title: string, scope: "user" | "application" = "user") =>
  setSettings(
    deps,
    { actor: admin, role: "admin" },
    { live, schema: schemaOf(live, "choices"), scope },
    {
      title,
    },
  );

async function upload(live: LiveOrb, titles: readonly string[]) {
  async function* lines() {
    for (const title of titles) yield JSON.stringify({ module: "news", publish: true, values: { title } });
  }
  const parse = (text: string) => JSON.parse(text) as unknown;
  // Lookups during the upload still return the former definition. The next one is activated just afterwards.
  const before: TestDeps = { ...deps, store: { ...store, kvGet: pinned(live) } };
  for await (const result of bulkWrite(before, admin, { orbId: live.orb, orb: live, lines: lines(), parse }))
    expect(result).toHaveProperty("snapshot");
}

/** Returns the former definition for the first lookup of the orb, and the stored one afterwards. */
function pinned(live: LiveOrb): Store["kvGet"] {
  let asked = false;
  return async (bucket, key, options) => {
    const entry = await store.kvGet(bucket, key, options);
    if (asked || entry === null) return entry;
    asked = true;
    const { orb, revision, document: content } = live;
    const body = { v: 1, orb, revision, at: new Date(0).toISOString(), document: content };
    return { ...entry, revision: entry.revision - 1, json: <T>() => body as T };
  };
}

/** Publishes an orb and a stricter definition: unique titles and fewer readers. Returns the former definition as well. */
async function evolved(prepare: (live: LiveOrb) => Promise<unknown> = async () => undefined) {
  const orb = `late-${++number}`;
  await createOrb(deps, admin, { document: document(orb, "public", {}), publish: true });
  const old = await inForce(orb);
  const prepared = await prepare(old);
  await deps.settled();
  await updateOrb(deps, admin, { orb, document: document(orb, "admin", { unique: true }), publish: true });
  return { old, orb, prepared };
}

async function live(orb: string, type: ModuleToken, role: LiveRole): Promise<number> {
  const filter = `${orb}.${type}.${role}.>`;
  const { messages } = await store.scan(streams.orb(orb), filter, { fromSeq: 1, limit: 100, maxBytes: 1e8 });
  return messages.filter((message) => liveCopyOf(message) !== null).length;
}
const codeOf = async (write: Promise<unknown>) => (await failureOf(write)).code;

test("follows the new definition when a draft or a published entry is created", async () => {
  const { old, orb } = await evolved();
  await create(old, "draft");
  await create(old, "live", true);
  expect([await live(orb, "content", "public"), await live(orb, "content", "admin")]).toEqual([0, 1]);
  for (const title of ["draft", "live"])
    expect(await codeOf(create(await inForce(orb), title))).toBe("unique_conflict");
});

test("follows the new definition when a stored entry is updated and published", async () => {
  const { old, orb, prepared } = await evolved(async (by) => (await create(by, "first")).snapshot.id);
  const at = { orbId: orb, orb: old, id: prepared as string };
  await updateEntry(deps, admin, { ...at, values: { title: "second" } });
  await deps.settled();
  expect(await codeOf(create(await inForce(orb), "second"))).toBe("unique_conflict");
  await publishEntry(deps, admin, at);
  await deps.settled();
  expect([await live(orb, "content", "public"), await live(orb, "content", "admin")]).toEqual([0, 1]);
  // The update was too late: it was reverted and applied again.
  expect((await loadEntry(deps, orb, at.id))?.head.revision).toBe(5);
});

test("follows the new definition in an upload", async () => {
  const { old, orb } = await evolved();
  await upload(old, ["one", "two"]);
  await deps.settled();
  expect([await live(orb, "content", "public"), await live(orb, "content", "admin")]).toEqual([0, 2]);
  expect(await codeOf(create(await inForce(orb), "two"))).toBe("unique_conflict");
});

test.each([undefined, "once"])(
  "follows the new definition in a transaction record with the key %s",
  async (key) => {
    const { old, orb } = await evolved();
    await record(old, "paid", key);
    await deps.settled();
    expect(await live(orb, "transactions", "public")).toBe(0);
    expect(await codeOf(record(await inForce(orb), "paid"))).toBe("unique_conflict");
  },
);

test("follows the new definition when settings are set for the first time and again", async () => {
  const { old, orb } = await evolved();
  for (const title of ["dark", "light"]) {
    await set(old, title);
    await deps.settled();
    expect(await codeOf(set(await inForce(orb), title, "application"))).toBe("unique_conflict");
  }
});

test("refuses an entry of a removed schema", async () => {
  const orb = `late-${++number}`;
  await createOrb(deps, admin, { document: document(orb, "public", {}), publish: true });
  const old = await inForce(orb);
  await updateOrb(deps, admin, { orb, document: { id: orb, modules: [] }, publish: true, force: true });
  expect(await codeOf(create(old, "late", true))).toBe("validation_failed");
  expect(await codeOf(record(old, "late"))).toBe("handler_not_found");
  expect(await live(orb, "content", "public")).toBe(0);
});

test("covers an entry that is written between the check of stored entries and the new definition", async () => {
  const orb = `late-${++number}`;
  await createOrb(deps, admin, { document: document(orb, "public", {}), publish: true });
  const old = await inForce(orb);
  let written = false;
  const meeting: TestDeps = {
    ...deps,
    store: {
      ...store,
      async batch(stream, messages) {
        if (stream === streams.platform && !written) {
          written = true;
          await create(old, "between", true);
          await deps.settled();
        }
        return store.batch(stream, messages);
      },
    },
  };
  const next = { orb, document: document(orb, "admin", { unique: true }), publish: true };
  await updateOrb(meeting, admin, next);
  expect([await live(orb, "content", "public"), await live(orb, "content", "admin")]).toEqual([0, 1]);
  expect(await codeOf(create(await inForce(orb), "between"))).toBe("unique_conflict");
});

test("refuses a value that was reserved under the new definition", async () => {
  const { old, orb } = await evolved();
  await create(await inForce(orb), "wanted");
  expect(await codeOf(create(old, "wanted"))).toBe("unique_conflict");
});

test("leaves no entry under a former definition when writers race with changes, with and without a cache", async () => {
  const random = testRandom();
  const remembering = cachedStore(openStore({ ...broker.access(), reconnect: true }), {
    replicas: 1,
    maxBytes: 1 << 20,
  });
  await using _ = { [Symbol.asyncDispose]: () => remembering.store.close() };
  for (let round = 0; round < 5; round++) {
    const orb = `late-${++number}`;
    await createOrb(deps, admin, { document: document(orb, "public", {}), publish: true });
    const titles: string[] = [];
    let over = false;
    const writer = async (name: string, mine: TestDeps) => {
      for (let n = 0; n < 3 || (n < 12 && !over); n++) {
        const by = await definitionFor(mine, orb, "cached");
        if (by === null) throw new Error("nothing is live");
        const title = `${name} ${n}`;
        const input = { orbId: orb, orb: by, module: "news", values: { title }, publish: n % 2 === 0 };
        await createEntry(mine, admin, input);
        titles.push(title);
      }
      await mine.settled();
    };
    const writers = [0, 1, 2, 3, 4, 5].map((n) =>
      writer(`writer ${n}`, testDeps(n % 2 === 0 ? { ...store, isCached: false } : remembering.store)),
    );
    await pause(20 + random.next() * 20);
    await updateOrb(deps, admin, { orb, document: document(orb, "admin", { unique: true }), publish: true });
    over = true;
    await Promise.all(writers);
    expect(await live(orb, "content", "public")).toBe(0);
    const claims = await store.scan(streams.orb(orb), `${orb}._uq.>`, {
      fromSeq: 1,
      limit: 2000,
      maxBytes: 1e8,
    });
    expect(claims.messages).toHaveLength(titles.length);
  }
});

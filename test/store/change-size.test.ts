/** Change sets with as many entries as one holds. */
import { expect, it } from "vitest";
import { openSocket } from "../../scripts/host/socket.ts";
import { contentMessage, MOST_BYTES, readContent } from "../../shared/changes/content/content.ts";
import { publishSet } from "../../shared/changes/content/publish.ts";
import { revertSet } from "../../shared/changes/content/revert.ts";
import { writingInto } from "../../shared/changes/content/within.ts";
import { newSet, setMessage } from "../../shared/changes/record/record.ts";
import { writeBatch } from "../../shared/entry/batch/batch.ts";
import type { BatchItem } from "../../shared/entry/batch/items.ts";
import type { EntrySnapshot } from "../../shared/entry/model/snapshot.ts";
import { parseListQuery } from "../../shared/entry/query/query.ts";
import { listEntries } from "../../shared/entry/read/list.ts";
import { pause } from "../../shared/kernel/pause.ts";
import { failure } from "../../shared/store/broker/write.ts";
import { openCachedStore } from "../../shared/store/cache/cached-store.ts";
import { streams, subjects } from "../../shared/store/subjects.ts";
import type { StoredMessage } from "../../shared/store/types.ts";
import { admin, callerIn, fileOrb, readAs } from "../support/entries.ts";

const ENTRIES = 1_000;
/** Items of one batch. A published one takes 7 messages. */
const PART = 130;

/** On a busy machine, the broker needs long for a batch of 70 MB. */
const PATIENT = { requestTimeoutMs: 60_000, silentMs: 60_000 };

const DOCUMENT: Parameters<typeof fileOrb>[0] = {
  id: "shop",
  modules: [
    {
      id: "catalog",
      type: "CONTENT",
      schemas: [
        {
          id: "item",
          access: { read: ["public"] },
          fields: [
            { name: "code", type: "string", unique: true },
            { name: "text", type: "string" },
            { name: "number", type: "integer", index: "ordered" },
            { name: "content", type: "text" },
          ],
        },
      ],
    },
  ],
};
const { broker, deps, orb, store } = await fileOrb(DOCUMENT, PATIENT);
const at = { orbId: "shop", orb };
const stream = streams.orb("shop");
const schema = orb.compiled.schema("catalog", "item") ?? expect.fail("no schema");

/** Writes many items, in the orb or in a set. @returns the ids of the entries */
async function write(items: readonly BatchItem[], set?: string, part = PART): Promise<string[]> {
  const ids: string[] = [];
  for (let from = 0; from < items.length; from += part) {
    const within = set === undefined ? undefined : await writingInto(deps, callerIn(admin, orb), orb, set);
    const some = items.slice(from, from + part);
    const input = { ...at, items: some, routed: true, into: within?.together };
    const { items: written } = await writeBatch(within?.deps ?? deps, admin, input);
    ids.push(...written.map(({ id }) => id));
  }
  return ids;
}

const created = (count: number, number: number, publish: boolean, more: object = {}): BatchItem[] =>
  Array.from({ length: count }, (_, index) => ({
    create: "catalog/item",
    values: { code: `${number}-${index}`, text: `${number}`, number, ...more },
    ...(publish ? { publish } : {}),
  }));

/** Returns the revisions that a message range of the stream contains. */
async function revisionsBetween(first: number, last: number): Promise<EntrySnapshot[]> {
  const found: StoredMessage[] = [];
  for (let fromSeq = first; fromSeq <= last; ) {
    const options = { fromSeq, limit: 500, maxBytes: 8_000_000 };
    const { messages } = await store.scan(stream, subjects.allLogs("shop"), options);
    found.push(...messages.filter(({ seq }) => seq <= last));
    fromSeq = (messages.at(-1)?.seq ?? last) + 1;
  }
  return found.map((message) => message.json<EntrySnapshot>());
}

async function publish(set: string) {
  let [first, last] = [0, 0];
  const batch = async (...[to, messages]: Parameters<typeof store.batch>) => {
    last = await store.batch(to, messages);
    first = last - messages.length + 1;
    return last;
  };
  const watching = new Proxy(store, {
    get: (target, name) => (name === "batch" ? batch : Reflect.get(target, name)),
  });
  const { entries } = await publishSet({ ...deps, store: watching }, admin, { ...at, set });
  return { entries, first, last };
}

const numbers = async (on: Pick<typeof deps, "store"> = deps) => {
  const query = parseListQuery(new URLSearchParams("limit=100&count=true&sort=number"), schema, []);
  const input = {
    reading: readAs(admin, orb, schema),
    query,
    choice: { languages: [], markets: [], fallback: true },
  };
  const { items, total } = await listEntries({ ...deps, ...on }, input as never);
  return { total, all: [...new Set(items.map(({ values }) => values.number))] };
};

it("publishes 1,000 entries at one moment, and takes them back", async () => {
  const half = ENTRIES / 2;
  const ids = await write(created(half, 0, true));
  const set = newSet(deps, admin, { title: "Everything" });
  await store.append(stream, setMessage("shop", set, 0));
  await write(
    ids.map((id) => ({ update: `catalog/item/${id}`, values: { text: "1", number: 1 } })),
    set.id,
  );
  await write(created(half, 1, false), set.id);

  const { entries, first, last } = await publish(set.id);
  expect(entries).toHaveLength(ENTRIES);
  // All revisions are in one batch, and nothing else is between them.
  const published = await revisionsBetween(first, last);
  expect(published).toHaveLength(ENTRIES);
  expect(new Set(published.map(({ change }) => change))).toEqual(new Set([set.id]));
  expect(await numbers()).toEqual({ total: ENTRIES, all: [1] });

  const reverted = await revertSet(deps, callerIn(admin, orb), orb, { set: set.id });
  expect((await readContent(deps, "shop", reverted.id)).content.items).toHaveLength(ENTRIES);
  await publish(reverted.id);
  expect(await numbers()).toEqual({ total: half, all: [0] });
}, 120_000);

it("publishes 70 MB while a host follows the orb, and the host keeps its connection", async () => {
  const { total: before = 0 } = await numbers();
  const statuses: string[] = [];
  const onStatus = (status: string) => void statuses.push(status);
  const memory = openCachedStore({
    ...{ ...broker.access(), ...PATIENT, replicas: 1, name: "host" },
    ...{ openSocket, onStatus },
  });
  try {
    // The feed of the orb starts with the first read, and that of definitions before it.
    await expect
      .poll(async () => {
        await numbers({ store: memory });
        return memory.stats().feeds;
      })
      .toBe(2);
    const set = newSet(deps, admin, { title: "Large" });
    await store.append(stream, setMessage("shop", set, 0));
    const content = "All work and no play. ".repeat(22_000);
    await write(created(150, 7, false, { content }), set.id, 15);
    const { last } = await publish(set.id);
    await memory.reached?.(stream, last);
    expect((await numbers({ store: memory })).total).toBe(before + 150);
    expect(statuses).toEqual(["connected"]);
    expect(memory.stats().feeds).toBe(2);
  } finally {
    await memory.close();
  }
}, 120_000);

it("publishes no more large sets at the same time than a process has memory for", async () => {
  const sets: string[] = [];
  for (let number = 0; number < 4; number++) {
    const set = newSet(deps, admin, { title: `Large ${number}` });
    await store.append(stream, setMessage("shop", set, 0));
    await write(created(1, 100 + number, false), set.id);
    const { content, seq } = await readContent(deps, "shop", set.id);
    // Only the list of its entries says that the set is large.
    const items = content.items.map((item) => ({ ...item, bytes: MOST_BYTES }));
    await store.append(stream, contentMessage("shop", set.id, { ...content, items }, seq));
    sets.push(set.id);
  }
  let [now, most] = [0, 0];
  const batch = async (...[to, messages]: Parameters<typeof store.batch>) => {
    now += 1;
    most = Math.max(most, now);
    for (let looks = 0; looks < 20 && now < sets.length; looks++) await pause(10);
    return store.batch(to, messages).finally(() => {
      now -= 1;
    });
  };
  const counting = new Proxy(store, {
    get: (target, name) => (name === "batch" ? batch : Reflect.get(target, name)),
  });
  const publishing = sets.map((set) => publishSet({ ...deps, store: counting }, admin, { ...at, set }));
  expect(await Promise.all(publishing)).toHaveLength(sets.length);
  expect(most).toBeLessThanOrEqual(2);
});

it("says which setting a broker lacks that takes fewer messages at once", () => {
  const error = failure(stream, { code: 400, err_code: 10199, description: "batch is too large: 1000" });
  expect(error).toMatchObject({ kind: "too_large", code: "batch_too_large" });
});

/** Requests that read several entries see all of a publication or nothing of it, also if a replica lags. */
import { beforeEach, describe, expect, it } from "vitest";
import { publishSet } from "../../shared/changes/content/publish.ts";
import { writingInto } from "../../shared/changes/content/within.ts";
import { newSet, setMessage } from "../../shared/changes/record/record.ts";
import { createEntry, updateEntry } from "../../shared/entry/index.ts";
import { parseListQuery } from "../../shared/entry/query/query.ts";
import { getEntry } from "../../shared/entry/read/get.ts";
import { listEntries } from "../../shared/entry/read/list.ts";
import { openCachedStore } from "../../shared/store/cache/cached-store.ts";
import { streams, TOGETHER } from "../../shared/store/subjects.ts";
import type { Append, ReadOptions, ScanOptions, Store, StoredMessage } from "../../shared/store/types.ts";
import { afterReaders, readWhole } from "../../shared/store/whole.ts";
import { admin, callerIn, fileOrb, readAs } from "../support/entries.ts";
import { until } from "../support/races.ts";

const access = { read: ["public" as const] };
const { broker, deps, orb, store } = await fileOrb({
  id: "shop",
  modules: [
    {
      id: "catalog",
      type: "CONTENT",
      schemas: [
        {
          id: "item",
          access,
          fields: [
            { name: "number", type: "integer", index: "ordered" },
            { name: "word", type: "string", search: true },
          ],
        },
        {
          id: "box",
          access,
          fields: [{ name: "items", type: "reference", ref: "shop/catalog/item", list: true }],
        },
      ],
    },
  ],
});
const stream = streams.orb("shop");
const context = { orbId: "shop", orb };
const place = { module: "catalog", schema: "item" };
const schema = orb.compiled.schema("catalog", "item") ?? expect.fail("no schema");
const boxes = orb.compiled.schema("catalog", "box") ?? expect.fail("no schema");
const choice = { languages: [], markets: [], fallback: true, negotiated: false, allLocales: true } as never;
const COUNT = 5;

let ids: string[] = [];
let round = 0;

/** Makes entries with a number of their own, and a set that gives them the next number. @returns its id */
async function release(): Promise<string> {
  round += 10;
  const values = { number: round, word: `w${round}` };
  ids = [];
  for (let at = 0; at < COUNT; at++)
    ids.push((await createEntry(deps, admin, { ...context, ...place, values, publish: true })).snapshot.id);
  const set = newSet(deps, admin, { title: "Release" });
  await store.append(stream, setMessage("shop", set, 0));
  for (const id of ids) {
    const within = await writingInto(deps, callerIn(admin, orb), orb, set.id);
    const next = { number: round + 1, word: `w${round + 1}` };
    await updateEntry(within.deps, admin, { ...context, into: within.into, id, values: next, merge: true });
  }
  return set.id;
}

const publish = (set: string) => publishSet(deps, admin, { ...context, set });

async function numbersIn(within: Store, query: string, replicas = 3): Promise<number[]> {
  const parsed = parseListQuery(new URLSearchParams(`limit=100${query}`), schema, []);
  const config = { ...deps.config, replicas };
  const input = { reading: readAs(admin, orb, schema), query: parsed, choice };
  const { items } = await listEntries({ ...deps, config, store: within }, input);
  return items
    .filter(({ id }) => ids.includes(id))
    .map(({ values }) => (values as { number: number }).number);
}

const whole = (number: number): number[] => Array.from({ length: COUNT }, () => number);

/**
 * Returns a store of which some reads come from a replica that stays behind. It is asked as one that may lag: a read that
 * must include more than the replica has goes to the broker.
 */
async function behind(isBehind: (read: "get" | "getMany" | "scan") => boolean): Promise<Store> {
  const plain: Store = broker.store("fn", { replicas: 3 });
  const known = (await store.get(stream, ">"))?.seq ?? 0;
  const lags = (read: "get" | "getMany" | "scan", asked: ReadOptions | ScanOptions = {}) =>
    isBehind(read) &&
    (asked.atLeast ?? 0) <= known &&
    !("consistency" in asked && asked.consistency === "leader");
  const old = (message: StoredMessage) => message.seq <= known;
  const reads: Pick<Store, "get" | "getMany" | "scan"> = {
    async get(from, subject, asked) {
      if (!lags("get", asked) || from !== stream) return plain.get(from, subject, asked);
      const maxBytes = 1_000_000;
      const found = await plain.getMany(from, [subject], { consistency: "stale", maxBytes, upTo: known });
      return [...found.values()].at(-1) ?? null;
    },
    getMany: (from, subjects, asked) =>
      plain.getMany(
        from,
        subjects,
        lags("getMany", asked) && from === stream ? { ...asked, upTo: known } : asked,
      ),
    async scan(from, filter, asked) {
      const page = await plain.scan(from, filter, asked);
      if (!lags("scan", asked) || from !== stream) return page;
      return { ...page, messages: page.messages.filter(old), pending: 0 };
    },
  };
  return new Proxy(plain, {
    get: (target, name) =>
      Object.hasOwn(reads, name) ? Reflect.get(reads, name) : Reflect.get(target, name),
  });
}

describe.each([
  ["in order of creation", "&sort=-createdAt"],
  ["sorted", "&sort=number&filter[number][gte]=LAST"],
  ["sorted, the largest first", "&sort=-number"],
  ["filtered by a range", "&filter[number][gte]=LAST"],
  ["filtered by a value", "&filter[number]=NEXT"],
  ["of a search", "&search=wNEXT"],
])("a list %s", (_, form) => {
  let set: string;
  let query: string;
  const queryNow = () => form.replace("NEXT", String(round + 1)).replace("LAST", String(round));
  beforeEach(async () => {
    set = await release();
    query = queryNow();
  });
  /** A filter or a search for the new value finds nothing before the publication. */
  const unchanged = () => (form.includes("NEXT") ? [] : whole(round));

  it("is whole if a replica with an older index answers, and another one with newer entries", async () => {
    const lagging = await behind((read) => read === "scan");
    await publish(set);
    expect([unchanged(), whole(round + 1)]).toContainEqual(await numbersIn(lagging, query));
  });

  it("is whole if a replica with a newer index answers, and another one with older entries", async () => {
    const lagging = await behind((read) => read !== "scan");
    await publish(set);
    expect([unchanged(), whole(round + 1)]).toContainEqual(await numbersIn(lagging, query));
  });

  it("is whole if a set is published between its reads", async () => {
    let turn = 0;
    for (let at = 0; at < 6; at++) {
      if (at > 0) set = await release();
      query = queryNow();
      turn = at;
      const plain: Store = store;
      const publishing: Store = new Proxy(plain, {
        get(target, name) {
          const read = Reflect.get(target, name) as unknown;
          if (!["get", "getMany", "scan"].includes(String(name)) || typeof read !== "function") return read;
          return async (...args: unknown[]) => {
            if (turn-- === 0) await publish(set);
            return (read as (...args: unknown[]) => unknown).apply(target, args);
          };
        },
      });
      expect([unchanged(), whole(round + 1)], `read ${at}`).toContainEqual(
        await numbersIn(publishing, query, 1),
      );
      if (turn >= 0) await publish(set);
    }
  });
});

it("shows an entry with referenced entries of the same publication", async () => {
  const set = await release();
  const values = { items: ids };
  const box = (
    await createEntry(deps, admin, { ...context, module: "catalog", schema: "box", values, publish: true })
  ).snapshot.id;
  const lagging = await behind(() => true);
  await publish(set);
  const query = { fields: undefined, expand: [boxes.fields.get("items")] };
  const input = { reading: readAs(admin, orb, boxes), id: box, choice, query } as never;
  const config = { ...deps.config, replicas: 3 };
  const { entry } = await getEntry({ ...deps, config, store: lagging }, input);
  const shown = entry.expand?.items as { values: { number: number } }[];
  expect(new Set(shown.map((item) => item.values.number)).size).toBe(1);
});

it("comes to an end while sets are published without a pause", async () => {
  const SETS = 80;
  const made: string[] = [];
  for (let number = 0; number < SETS; number++) {
    const values = { number: -1 };
    const { id } = (await createEntry(deps, admin, { ...context, ...place, values, publish: true })).snapshot;
    const set = newSet(deps, admin, { title: "Release" });
    await store.append(stream, setMessage("shop", set, 0));
    const within = await writingInto(deps, callerIn(admin, orb), orb, set.id);
    const next = { values: { number: -2 }, merge: true };
    await updateEntry(within.deps, admin, { ...context, into: within.into, id, ...next });
    made.push(set.id);
  }
  let isRead = false;
  const publishing = (async () => {
    for (const set of made) if (!isRead) await publish(set);
  })();
  // Each read of entries waits until another set is published, unless publications wait for the reader.
  const since = async (seq: number) => {
    for (let looks = 0; looks < 20; looks++) {
      const last = await store.get(stream, "shop._change.*.record");
      if (last !== null && last.seq > seq) return;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  };
  const slow: Store = new Proxy(store as Store, {
    get(target, name) {
      if (name !== "getMany") return Reflect.get(target, name);
      return async (...args: Parameters<Store["getMany"]>) => {
        await since((await store.get(stream, ">"))?.seq ?? 0);
        return target.getMany(...args);
      };
    },
  });
  const query = parseListQuery(new URLSearchParams(`limit=${SETS}&sort=-createdAt`), schema, []);
  const input = { reading: readAs(admin, orb, schema), query, choice };
  const { items } = await listEntries({ ...deps, store: slow }, input).finally(() => {
    isRead = true;
  });
  expect(items).toHaveLength(SETS);
  await publishing;
});

it("lets publications go on although a request that they have overtaken never ends", async () => {
  const message: Append = { subject: "shop._endless.1", data: "", headers: { [TOGETHER]: "1" } };
  const { promise: isHeld, resolve: held } = Promise.withResolvers<void>();
  let passes = 0;
  // As of a request that Workers have cancelled: its promises never resolve.
  void readWhole(deps, { stream, incarnation: 2 }, async ({ store: within }) => {
    passes++;
    if (passes > 3) {
      held();
      return new Promise<never>(() => undefined);
    }
    await store.append(stream, message);
    return within.get(stream, message.subject);
  });
  await isHeld;
  let waited = 0;
  await afterReaders(deps, stream);
  const interval = setInterval(() => waited++, 1);
  await afterReaders(deps, stream);
  clearInterval(interval);
  expect(waited).toBe(0);
});

describe("a read that must include a message", () => {
  const subject = (number: number) => `shop._whole.${number}`;
  const FAR = 1_000_000_000;
  const stale = { consistency: "stale", maxBytes: 100_000 } as const;

  it("is answered by the leader if no replica has it", async () => {
    const plain: Store = broker.store("fn", { replicas: 3 });
    await store.pipeline(
      stream,
      [1, 2].map((number) => ({ subject: subject(number), data: `${number}` })),
    );
    const texts = (found: Iterable<StoredMessage>) => [...found].map((message) => message.text()).sort();
    const asked = [subject(1), subject(2), subject(3)];
    const many = await plain.getMany(stream, asked, { ...stale, atLeast: FAR });
    expect(texts(many.values())).toEqual(["1", "2"]);
    expect((await plain.get(stream, subject(2), { ...stale, atLeast: FAR }))?.text()).toBe("2");
    expect((await plain.get(stream, "shop._whole.*", { ...stale, atLeast: FAR }))?.text()).toBe("2");
    const scan = { fromSeq: 1, limit: 10, maxBytes: 100_000, atLeast: FAR };
    expect(texts((await plain.scan(stream, "shop._whole.*", scan)).messages)).toEqual(["1", "2"]);
    expect(texts((await plain.scan(stream, "shop._none.*", scan)).messages)).toEqual([]);
  });

  it("does not wait for a number that the stream does not have", async () => {
    const message: Append = { subject: subject(9), data: "", headers: { [TOGETHER]: "1" } };
    const seq = await store.append(stream, message);
    const plain: Store = broker.store("fn", { replicas: 3 });
    const installation = { store: plain, config: { replicas: 3 } };
    const read = (incarnation: number) =>
      readWhole(installation, { stream, incarnation }, ({ store: within }) =>
        within.get(stream, subject(9), stale),
      );
    expect((await read(1))?.seq).toBe(seq);
    // The stream was made again, and has fewer messages.
    const gone = new Proxy(plain, {
      get: (target, name) =>
        name === "get"
          ? async (from: string, asked: string, options: ReadOptions) =>
              options.consistency === "leader" ? null : target.get(from, asked, options)
          : Reflect.get(target, name),
    });
    const again = await readWhole(
      { ...installation, store: gone },
      { stream, incarnation: 1 },
      ({ store: within }) => within.get(stream, subject(9), stale),
    );
    expect(again?.seq).toBe(seq);
  });
});

describe("memory", () => {
  const subject = (number: number) => `shop.catalog.owner.item.m${number}`;
  const SUBJECTS = Array.from({ length: 200 }, (_, number) => subject(number));

  it("has all messages of an atomic batch, or none", async () => {
    const cached = openCachedStore({ ...broker.access(), replicas: 1 });
    try {
      const read = () => cached.getMany(stream, SUBJECTS, { consistency: "stale", maxBytes: 1e8 });
      const write = (text: string) =>
        store.batch(
          stream,
          SUBJECTS.map((one) => ({ subject: one, data: JSON.stringify([text, "x".repeat(20_000)]) })),
        );
      await write("0");
      await until(async () => {
        const { hits } = cached.stats();
        await read();
        return cached.stats().hits > hits;
      });
      for (let number = 1; number <= 10; number++) {
        let isOver = false;
        const writing = write(`${number}`).finally(() => {
          isOver = true;
        });
        while (!isOver) {
          const found = [...(await read()).values()].map((message) => message.json<[string]>()[0]);
          expect([found.length, new Set(found).size]).toEqual([SUBJECTS.length, 1]);
          await new Promise(setImmediate);
        }
        await writing;
      }
    } finally {
      await cached.close();
    }
  });

  it("waits for a message that another read has returned", async () => {
    const cached = openCachedStore({ ...broker.access(), replicas: 1 });
    try {
      const [one = ""] = SUBJECTS;
      const read = (atLeast = 0) =>
        cached.getMany(stream, [one], { consistency: "stale", maxBytes: 1e8, atLeast });
      await until(async () => {
        const { hits } = cached.stats();
        await read();
        return cached.stats().hits > hits;
      });
      for (let number = 1; number <= 50; number++) {
        const seq = await store.append(stream, { subject: one, data: `[${number}]` });
        expect((await read(seq)).get(one)?.seq).toBe(seq);
      }
    } finally {
      await cached.close();
    }
  });
});

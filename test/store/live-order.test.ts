/** A follower of a live list never gets an older revision of an entry after a newer one. */
import { expect, it } from "vitest";
import { createEntry, deleteEntry, updateEntry } from "../../shared/entry/index.ts";
import { LiveLists, serveLiveList } from "../../shared/streams/live/serve.ts";
import { Hub } from "../../shared/streams/read/hub.ts";
import { admin, failureOf, type TestDeps } from "../support/entries.ts";
import { listedItems } from "../support/listed-items.ts";
import { until } from "../support/races.ts";
import { testRandom } from "../support/random.ts";

const { store, deps, orb, view } = await listedItems();

/** A host whose reads may lag behind, so that a snapshot is followed by the changes of the seconds before it. */
const lagging: TestDeps = { ...deps, store: { ...deps.store, isCached: true } };

interface Shown {
  type: string;
  id: string;
  revision: number;
}

/** Follows the list until it is ready. Calls `during` with each event that arrives. */
async function follow(on: TestDeps, during: (shown: Shown) => void = () => undefined): Promise<Shown[]> {
  const hub = new Hub(on.store);
  const shown: Shown[] = [];
  let isReady = false;
  try {
    const answer = await serveLiveList(new LiveLists(hub), on, view, {
      method: "GET",
      params: new URLSearchParams(),
      lastEventId: undefined,
    });
    if (answer.kind !== "live") throw new Error("no events");
    const decoder = new TextDecoder();
    const write = (piece: Uint8Array) => {
      for (const [, type = "", data = "{}"] of decoder.decode(piece).matchAll(/event: (\w+)\ndata:(.*)\n/g)) {
        if (type === "ready") isReady = true;
        const { id, revision } = JSON.parse(data) as Shown;
        if (type !== "upsert" && type !== "leave") continue;
        shown.push({ type, id, revision });
        during({ type, id, revision });
      }
    };
    const sink = { write, queued: () => 0, drained: async () => undefined, end: () => undefined };
    const reader = answer.start(sink, () => undefined);
    await until(() => isReady);
    reader.abandon();
  } finally {
    hub.close();
  }
  return shown;
}

/** Returns the events that show an older revision than an earlier event of the same entry. */
function backwards(shown: readonly Shown[]): Shown[] {
  const newest = new Map<string, number>();
  return shown.filter(({ type, id, revision }) => {
    if (type !== "upsert") return false;
    const before = newest.get(id) ?? 0;
    newest.set(id, Math.max(before, revision));
    return revision < before;
  });
}

const ids: string[] = [];
const at = (id: string) => ({ orbId: "shop", orb, id });

async function change(random: ReturnType<typeof testRandom>): Promise<void> {
  const id = random.pick(ids);
  if (ids.length <= 10 || random.below(10) > 0)
    await updateEntry(deps, admin, { ...at(id), values: { n: random.below(1_000) } });
  else {
    ids.splice(ids.indexOf(id), 1);
    await deleteEntry(deps, admin, at(id));
  }
}

it("shows only the newest revision of entries that have just changed", async () => {
  const random = testRandom();
  for (let n = 0; n < 30; n++) {
    const values = { n };
    const made = await createEntry(deps, admin, { orbId: "shop", orb, module: "catalog", values });
    ids.push(made.snapshot.id);
  }
  for (let n = 0; n < 100; n++) await change(random);
  for (const on of [deps, lagging]) {
    const shown = await follow(on);
    expect(backwards(shown)).toEqual([]);
    expect(new Set(shown.filter(({ type }) => type === "upsert").map(({ id }) => id))).toEqual(
      new Set([...ids, ...shown.filter(({ type }) => type === "leave").map(({ id }) => id)]),
    );
  }
});

it("shows no older revision while entries change during the snapshot", async () => {
  const random = testRandom();
  for (const on of [deps, lagging]) {
    let writing = Promise.resolve();
    const shown = await follow(on, () => {
      writing = writing.then(() => change(random));
    });
    await writing;
    expect(backwards(shown)).toEqual([]);
  }
});

it("sends a client elsewhere if the stream of a cluster ends before what the client has", async () => {
  const hub = new Hub(store);
  const lists = new LiveLists(hub);
  const { created, state } = (await store.streamInfo("øshop")) ?? expect.fail("no stream");
  const list = await lists.listOf(deps, view, new URLSearchParams(), created);
  const idAt = (now: number) => list.signer.idAt(state.last_seq + 5, now);
  const info = store.streamInfo;
  const cluster: TestDeps["store"] = {
    ...deps.store,
    async streamInfo(name) {
      const found = await info(name);
      return found === null ? null : { ...found, config: { ...found.config, num_replicas: 3 } };
    },
  };
  const behind = new Hub(cluster);
  const serve = (lastEventId: string) =>
    serveLiveList(new LiveLists(behind), { ...deps, store: cluster }, view, {
      method: "GET",
      params: new URLSearchParams(),
      lastEventId,
    });
  expect((await failureOf(serve(await idAt(Date.now())))).code).toBe("broker_unavailable");
  // A restore has made the stream shorter. The client gets the list again.
  expect((await serve(await idAt(Date.now() - 60_000))).kind).toBe("live");
  behind.close();
  hub.close();
});

import { expect, test } from "vitest";
import { homeOf } from "../../shared/definition/document/home.ts";
import { orbStreamConfig } from "../../shared/store/broker/provision.ts";
import { type OpenStore, openStore } from "../../shared/store/broker/store.ts";
import { cachedStore, DependencyTracker } from "../../shared/store/cache/cached-store.ts";
import { type EntryAddress, subjects } from "../../shared/store/subjects.ts";
import type { Delivery } from "../../shared/store/types.ts";
import { startBroker } from "../support/broker.ts";
import { pause, STREAM } from "../support/races.ts";

/** A response is valid only if nothing that it was computed from changed, including changes during the computation. */

const ANY = { consistency: "stale" } as const;
const at = (id: string): EntryAddress => ({ orb: "shop", ...homeOf("CONTENT", "product"), id });
const log = (id: string) => subjects.entryLog(at(id));

/** Delays or drops responses and change notices of a broker. */
class Way {
  /** Runs when a response of the broker has arrived, before the caller gets it. */
  onAnswer: (() => Promise<void>) | undefined;
  /** Decides whether a change notice passes, is held, or is dropped ("lose"). */
  echo: (delivery: Delivery) => "pass" | "hold" | "lose" = () => "pass";
  readonly #held: (() => void)[] = [];

  get held(): number {
    return this.#held.length;
  }

  release(): void {
    this.echo = () => "pass";
    for (const deliver of this.#held.splice(0)) deliver();
  }

  store(store: OpenStore): OpenStore {
    const late = async <T>(answer: Promise<T>): Promise<T> => {
      const value = await answer;
      const act = this.onAnswer;
      this.onAnswer = undefined;
      await act?.();
      return value;
    };
    return {
      ...store,
      get: (...args) => late(store.get(...args)),
      latest: (...args) => late(store.latest(...args)),
      subscribe: (subject, deliver, lost) =>
        store.subscribe(
          subject,
          (delivery) => {
            const what = this.echo(delivery);
            if (what === "pass") deliver(delivery);
            else if (what === "hold") this.#held.push(() => deliver(delivery));
          },
          lost,
        ),
    };
  }
}

async function setUp() {
  const broker = await startBroker();
  const other = broker.store();
  await other.createStream(orbStreamConfig("shop", 1));
  const way = new Way();
  const inner = openStore({ ...broker.access(), reconnect: true });
  const { store } = cachedStore(way.store(inner), { replicas: 1, patienceMs: 10_000, checkMs: 5_000 });
  const write = (id: string) => other.append(STREAM, { subject: log(id), data: `{"id":"${id}"}` });
  await write("first");
  // The second read comes from the cache once the stream is followed.
  while ((await store.get(STREAM, log("first"), ANY)) !== null && store.stats().hits === 0) await pause(5);
  const known = async (id: string, seq: number) => {
    while ((await store.get(STREAM, log(id), ANY))?.seq !== seq) await pause(1);
  };
  return {
    way,
    store,
    write,
    known,
    async [Symbol.asyncDispose]() {
      await store.close();
      await broker.stop();
    },
  };
}

test("marks a list as invalid if its cached part is written while the rest is read", async () => {
  await using s = await setUp();
  const before = await s.write("a");
  await s.write("b");
  await s.write("c");
  await s.known("a", before);
  const tracker = new DependencyTracker();
  s.way.onAnswer = async () => s.known("a", await s.write("a"));
  const ids = ["a", "b", "c"].map(log);
  const found = await s.store.tracked(tracker).getMany(STREAM, ids, { ...ANY, maxBytes: 1e8 });
  expect(found.get(log("a"))?.seq).toBe(before);
  expect(tracker.valid(Date.now())).toBe(false);
  // Nothing changes during the second read.
  const again = new DependencyTracker();
  await s.store.tracked(again).getMany(STREAM, ids, { ...ANY, maxBytes: 1e8 });
  expect(again.valid(Date.now())).toBe(true);
});

test("marks an entry as invalid if it is written between the read and its result, at any moment", async () => {
  await using s = await setUp();
  let old = 0;
  for (let steps = 0; steps < 40; steps++) {
    const id = `entry-${steps}`;
    await s.write(id);
    await s.known("first", 1);
    let newest = 0;
    const tracker = new DependencyTracker();
    s.way.onAnswer = async () => {
      s.way.echo = () => "hold";
      newest = await s.write(id);
      while (s.way.held === 0) await pause(1);
      let left = steps;
      const step = () => (left-- === 0 ? s.way.release() : queueMicrotask(step));
      queueMicrotask(step);
    };
    const message = await s.store.tracked(tracker).get(STREAM, log(id), ANY);
    await pause(1);
    expect(newest).toBeGreaterThan(0);
    if (message?.seq !== newest) {
      old++;
      expect([steps, tracker.valid(Date.now())]).toEqual([steps, false]);
    }
  }
  expect(old).toBeGreaterThan(10);
});

test("marks an entry as invalid if its change notice was lost and it was cached again meanwhile", async () => {
  await using s = await setUp();
  const before = await s.write("a");
  await s.write("b");
  const tracker = new DependencyTracker();
  s.way.onAnswer = async () => {
    s.way.echo = () => "lose";
    const lost = await s.write("a");
    await pause(20);
    s.way.echo = () => "pass";
    // The cache notices the gap in the sequence.
    await s.known("b", await s.write("b"));
    expect(s.store.stats().resets).toBeGreaterThan(0);
    await s.known("a", lost);
  };
  const message = await s.store.tracked(tracker).get(STREAM, log("a"), ANY);
  expect(message?.seq).toBe(before);
  expect(tracker.valid(Date.now())).toBe(false);
});

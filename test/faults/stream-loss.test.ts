/**
 * Damage to the broker's files, as a disk causes it: a byte that changes, or a file that is cut. The broker drops what it
 * cannot read without an error. Whatever a stream has lost must be reported.
 *
 * `TEST_EXAMPLES` sets the number of damages, and `TEST_MINUTES` ends the test earlier: before a release,
 * `TEST_EXAMPLES=1000 npm test -- test/faults/stream-loss.test.ts`.
 */
import { cpSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { recordFolder } from "../../scripts/config/data-dir.ts";
import { RecordKeeper } from "../../scripts/verify/keeper.ts";
import { acceptLoss, readLosses } from "../../scripts/verify/losses.ts";
import { liveOrb } from "../../shared/definition/stored/live.ts";
import { createEntry, deleteEntry, publishEntry, updateEntry } from "../../shared/entry/index.ts";
import { AppError } from "../../shared/kernel/errors.ts";
import { createOrb } from "../../shared/orb/create.ts";
import { streams } from "../../shared/store/subjects.ts";
import type { Store } from "../../shared/store/types.ts";
import { lineOfDamage } from "../../shared/verify/damage.ts";
import { verifyAll } from "../../shared/verify/verify.ts";
import { pagesOf } from "../../shared/verify/walk.ts";
import { startBroker, type TestBroker, tempDir } from "../support/broker.ts";
import { admin, testDeps } from "../support/entries.ts";
import { type Random, testRandom } from "../support/random.ts";

const EXAMPLES = Number(process.env.TEST_EXAMPLES ?? 3);
const LIMIT_MS = Number(process.env.TEST_MINUTES ?? 60) * 60_000;
/** Each start of the broker finds one damage in each of these applications. */
const ORBS = Math.min(8, EXAMPLES);
const orbs = Array.from({ length: ORBS }, (_, index) => `shop${index}`);
const { config } = testDeps({} as Store);

const documentOf = (id: string) => ({
  id,
  modules: [
    {
      id: "catalog",
      type: "CONTENT" as const,
      schemas: [
        {
          id: "product",
          fields: [
            { name: "sku", type: "string" as const, unique: true },
            { name: "body", type: "text" as const },
          ],
        },
      ],
    },
  ],
});

/** Writes some hundred revisions: with large texts they take several files of the broker. */
async function write(store: Store, orbId: string, random: Random): Promise<void> {
  const deps = testDeps(store, config);
  await createOrb(deps, admin, { document: documentOf(orbId), publish: true });
  const orb = (await liveOrb(deps, orbId)) ?? expect.fail("the orb is not published");
  const ids: string[] = [];
  for (let count = 0; count < 300; count++) {
    const values = { sku: `sku-${count}`, body: "x".repeat(random.below(70_000)) };
    const at = {
      orbId,
      orb,
      id: random.below(2) === 0 ? (ids.at(-1) ?? "") : random.pick(["", ...ids]),
    };
    if (at.id === "" || random.below(4) === 0) {
      const schema = "product";
      const made = await createEntry(deps, admin, { orbId, orb, module: "catalog", schema, values });
      ids.push(made.snapshot.id);
    } else if (random.below(12) === 0) {
      await deleteEntry(deps, admin, { ...at, purge: random.below(2) === 0 });
      ids.splice(ids.indexOf(at.id), 1);
    } else {
      await updateEntry(deps, admin, { ...at, values });
      if (random.below(3) === 0) await publishEntry(deps, admin, at);
    }
  }
  await deps.settled();
}

/** Returns every message of the stream that does not expire, and the end of the stream. */
async function content(
  store: Store,
  stream: string,
): Promise<{ messages: Map<number, string>; end: number }> {
  const messages = new Map<number, string>();
  for await (const page of pagesOf(store, stream, ">")) {
    for (const message of page) {
      if (message.header("Nats-TTL") === undefined)
        messages.set(message.seq, `${message.subject} ${message.text()}`);
    }
  }
  return { messages, end: (await store.streamInfo(stream))?.state.last_seq ?? 0 };
}

const blocksIn = (folder: string, stream: string) => {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return names.filter((name) => name.includes(stream) && name.endsWith(".blk")).sort();
};

/** Cuts the first file of the stream. After a clean stop, the broker then does not find new messages of old subjects. */
function cutFirst(folder: string, stream: string): string {
  const [name = ""] = blocksIn(folder, stream);
  truncateSync(join(folder, name), 19_444);
  return `cut ${name}`;
}

/** Changes a byte of a file of the stream, or cuts the file. Returns what it did. */
function damage(folder: string, stream: string, random: Random): string {
  const name = random.pick(blocksIn(folder, stream));
  const path = join(folder, name);
  const bytes = readFileSync(path);
  const at = random.below(bytes.length);
  if (random.below(2) === 0) {
    truncateSync(path, at);
    return `cut ${name} at ${at} of ${bytes.length}`;
  }
  bytes.writeUInt8(bytes.readUInt8(at) ^ (1 + random.below(255)), at);
  writeFileSync(path, bytes);
  return `flipped byte ${at} of ${bytes.length} in ${name}`;
}

/** Returns the streams whose loss a start of the platform reports. */
async function looked(broker: TestBroker, dataDir: string): Promise<string[]> {
  const said: string[] = [];
  const deps = testDeps(broker.store("operator"), config);
  const keeper = new RecordKeeper(deps, {
    dataDir,
    say: (line) => void said.push(line),
    async restart() {
      await broker.pause("SIGTERM");
      await broker.resume();
    },
  });
  // The first look compares numbers, and the second one reads all revisions.
  await keeper.look();
  await keeper.look();
  const known = readLosses(dataDir).map(({ stream }) => stream);
  expect(said.filter((line) => line.includes("DATA LOSS"))).toHaveLength(known.length);
  return known;
}

interface Reported {
  /** Streams whose loss a start of the platform reports. */
  known: string[];
  /** What a deep check finds, by stream. */
  deep: Map<string, string[]>;
}

/** Returns the losses that a start of the platform reports, and unless all streams have one, those that a deep check finds. */
async function reported(broker: TestBroker, dataDir: string): Promise<Reported> {
  const known = await looked(broker, dataDir);
  const deep = new Map<string, string[]>();
  const deps = testDeps(broker.store("operator"), config);
  if (known.length < ORBS) {
    await verifyAll(deps, (_what, damages) => {
      for (const one of damages) deep.set(one.stream, [...(deep.get(one.stream) ?? []), lineOfDamage(one)]);
    });
  }
  return { known, deep };
}

/** Creates an entry. Returns the code of the refusal, if it is refused. */
async function written(broker: TestBroker, orbId: string): Promise<string> {
  const deps = testDeps(broker.store("operator"), config);
  const orb = (await liveOrb(deps, orbId)) ?? expect.fail("the orb is not published");
  const made = createEntry(deps, admin, { orbId, orb, module: "catalog", values: { body: "new" } });
  return made.then(
    () => "written",
    (error: unknown) => (error instanceof AppError ? error.code : String(error)),
  );
}

type Content = Awaited<ReturnType<typeof content>>;

interface Scene {
  broker: TestBroker;
  dataDir: string;
  files: string;
  /** Copies of the files and of the record. */
  saved: string;
  before: Map<string, Content>;
}

/** Writes entries, and saves the broker's files after each kind of end, and the record. */
async function prepare(broker: TestBroker, random: Random): Promise<Scene> {
  const [dataDir, saved] = [tempDir("data"), tempDir("saved")];
  const store = broker.store("operator");
  for (const orb of orbs) await write(store, orb, random);
  const keeper = new RecordKeeper(testDeps(store, config), { dataDir, say: () => undefined });
  await keeper.look();
  await keeper.look();
  const before = new Map<string, Content>();
  for (const orb of orbs) before.set(orb, await content(store, streams.orb(orb)));
  const files = join(broker.dir, "jetstream");
  for (const end of ["SIGKILL", "SIGTERM"] as const) {
    await broker.pause(end);
    cpSync(files, join(saved, end), { recursive: true });
    await broker.resume();
    const { known, deep } = await reported(broker, dataDir);
    expect({ end, known, deep }).toEqual({ end, known: [], deep: new Map() });
  }
  cpSync(recordFolder(dataDir), join(saved, "record"), { recursive: true });
  for (const orb of orbs) expect(blocksIn(files, streams.orb(orb)).length).toBeGreaterThan(1);
  return { broker, dataDir, files, saved, before };
}

/** Puts the saved files back, and damages a file of each application. Returns what was done to each. */
async function begin(scene: Scene, isFirst: boolean, random: Random): Promise<Map<string, string>> {
  const { broker, dataDir, files, saved } = scene;
  await broker.pause("SIGKILL");
  const end = isFirst ? "SIGTERM" : random.pick(["SIGKILL", "SIGTERM"]);
  for (const [from, to] of [
    [join(saved, end), files],
    [join(saved, "record"), recordFolder(dataDir)],
  ] as const) {
    rmSync(to, { recursive: true, force: true });
    cpSync(from, to, { recursive: true });
  }
  const done = new Map<string, string>();
  for (const orb of orbs) {
    const stream = streams.orb(orb);
    const did = isFirst && orb === orbs[0] ? cutFirst(files, stream) : damage(files, stream, random);
    done.set(orb, `after ${end}, ${did}`);
  }
  await broker.resume();
  return done;
}

it("reports whatever a flipped byte or a cut file has removed, and nothing else", async () => {
  const random = testRandom();
  await using broker = await startBroker({ dir: tempDir("broker") });
  const scene = await prepare(broker, random);
  const { dataDir } = scene;
  const figures = { byRecord: 0, byCheck: 0, harmless: 0 };
  const total = () => figures.byRecord + figures.byCheck + figures.harmless;
  const until = Date.now() + LIMIT_MS;
  const missed: string[] = [];
  while (total() < EXAMPLES && Date.now() < until) {
    const done = await begin(scene, total() === 0, random);
    const after = new Map<string, Content>();
    for (const orb of orbs) after.set(orb, await content(broker.store("operator"), streams.orb(orb)));
    const { known, deep } = await reported(broker, dataDir);
    expect([...deep.keys()].filter((stream) => !orbs.map(streams.orb).includes(stream))).toEqual([]);
    const shown = new Map<string, string>();
    for (const orb of orbs) {
      const stream = streams.orb(orb);
      const [old, now] = [scene.before.get(orb), after.get(orb)];
      if (old === undefined || now === undefined) throw new Error("no content");
      const lost = [...old.messages].filter(([seq, text]) => now.messages.get(seq) !== text);
      const isHarmful = lost.length > 0 || now.end < old.end;
      const isKnown = known.includes(stream);
      const found = deep.get(stream) ?? [];
      const what = `${orb}, ${done.get(orb)}: lost ${lost.length}, ends at ${now.end} of ${old.end}; ${lost[0]?.[1].slice(0, 60)}`;
      shown.set(orb, what);
      figures[isKnown ? "byRecord" : isHarmful ? "byCheck" : "harmless"]++;
      if (isHarmful && !isKnown && found.length === 0) missed.push(what);
      if (!isHarmful) expect({ isKnown, found }, what).toEqual({ isKnown: false, found: [] });
      // Only the record notices revisions that are gone without a trace.
      if (lost.some(([, text]) => text.includes(".owner."))) expect(isKnown, what).toBe(true);
      if (isKnown) expect(await written(broker, orb), what).toBe("orb_damaged");
    }
    for (const stream of known) acceptLoss(dataDir, stream);
    expect(await looked(broker, dataDir), [...shown.values()].join("\n")).toEqual([]);
    for (const orb of orbs) expect(await written(broker, orb), shown.get(orb)).toBe("written");
  }
  console.info(
    `${total()} damages: ${figures.byRecord} noticed by the record, ${figures.byCheck} by the deep check, ${figures.harmless} without an effect; ${missed.length} missed`,
  );
  expect(missed).toEqual([]);
}, 3_600_000);

/** Measures latency and the memory of the broker as the number of entries grows to a million. */
import { setTimeout as delay } from "node:timers/promises";
import { afterRest, askForAll, type Client, compare, memoryMiB, PAST_ANSWERS, served } from "./measure.ts";
import { printGrowth } from "./report.ts";
import { seedCopies, seedOrb } from "./seed.ts";
import type { Stand } from "./stand.ts";
import { floorTargets, type Seeded, targetsOf } from "./targets.ts";

export const SCALE_SIZES: readonly number[] = [10_000, 100_000];

const FLOOR = "floor: ";
const FLOORS = ["get entry", "list 50", "filter by indexed field"].map((name) => `${FLOOR}${name}`);
const CONNECTIONS = 8;
/** Number of entries that are chosen at random and read. */
const READS = 20_000;
const READ_LIMIT_MS = 120_000;
/** Use one connection, to measure the cost of a single request without load. */
const ALONE = { rounds: 3, roundMs: 1_000, connections: 1 };
/**
 * Reads of single entries are measured in short rounds that alternate between the functions and the bare worker. So the
 * broker holds equally many file blocks in memory for both.
 */
const ENTRIES = { rounds: 15, roundMs: 250, connections: 1 };

/** The broker drops file blocks from memory after 10 s without a request for them. */
const REST_MS = 12_000;
const RESTS = { rounds: 6, restMs: REST_MS };

function drawn(ids: readonly string[], count: number): string[] {
  return Array.from({ length: count }, () => ids[Math.floor(Math.random() * ids.length)] ?? "");
}

/**
 * Fills orbs (applications) of growing size in one broker. Reads random entries of each orb before it fills the next
 * one.
 */
export async function scale(stand: Stand, client: Client, token: string, sizes: readonly number[]) {
  const { brokerPid, functions } = stand;
  const memory = { "broker MiB, after seeding": [] as number[], "after 20,000 random reads": [] as number[] };
  const rates: number[] = [];
  const all: Seeded[] = [];
  /**
   * Entries for the bare worker, which has no platform code. It reads different entries than the functions, because
   * those would already be in the broker's memory.
   */
  const bare = new Map<string, Seeded>();
  for (const size of sizes) {
    const orb = `scale-${size}`;
    await seedOrb(stand.deps, orb);
    const begun = Date.now();
    const ids = await seedCopies(stand.deps, orb, size);
    rates.push(size / ((Date.now() - begun) / 1_000));
    await delay(REST_MS);
    memory["broker MiB, after seeding"].push(memoryMiB(brokerPid));
    const seeded = { orb, ids: drawn(ids, READS) };
    all.push(seeded);
    bare.set(orb, { orb, ids: drawn(ids, READS) });
    const get = targetsOf(stand, functions, seeded, token, "").filter(({ name }) => name === "get entry");
    for (const target of await served(get))
      await askForAll(
        client,
        { ...target, ...PAST_ANSWERS },
        { connections: CONNECTIONS, mostMs: READ_LIMIT_MS },
      );
    memory["after 20,000 random reads"].push(memoryMiB(brokerPid));
  }
  const targets = all.flatMap((seeded) => [
    ...targetsOf(stand, functions, seeded, token, `${seeded.orb}: `),
    // Run the same reads in a bare worker too, to show how much of the growth comes from the broker.
    ...floorTargets(stand, bare.get(seeded.orb) ?? seeded)
      .filter(({ name }) => FLOORS.includes(name))
      .map((target) => ({
        ...target,
        name: `${seeded.orb}: bare worker, ${target.name.slice(FLOOR.length)}`,
      })),
  ]);
  const [entries, others] = [true, false].map((single) =>
    targets.filter(({ name }) => name.endsWith("get entry") === single),
  );
  const reads = await served(entries ?? []);
  const figures = new Map([
    ...(await compare(client, reads, ENTRIES)),
    ...(await compare(client, await served(others ?? []), ALONE)),
  ]);
  const rested = await afterRest(client, reads, RESTS);
  const rows: Record<string, (number | undefined)[]> = {};
  for (const name of new Set([...figures.keys()].map((key) => key.split(": ")[1] ?? "")))
    rows[name] = all.map(({ orb }) => figures.get(`${orb}: ${name}`)?.aloneP50);
  for (const name of ["get entry", "bare worker, get entry"])
    rows[`${name}, first after a rest`] = all.map(({ orb }) => rested.get(`${orb}: ${name}`));
  const names = sizes.map(String);
  printGrowth("Scale: median ms of one request at a time, functions, by entries", names, rows);
  const peak = memoryMiB(brokerPid, "peak");
  printGrowth(
    `Scale: resident memory of the broker, which holds all of them (peak ${peak.toFixed(0)} MiB)`,
    names,
    {
      ...memory,
      "entries stored a second while seeding": rates,
    },
  );
  return { sizes, rows, memory, peak, rates };
}

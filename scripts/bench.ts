/**
 * `npm run bench` compares the platform with a lower bound: a minimal server that does only what no platform can
 * avoid. Compare only figures of the same run, because they depend on the machine. Arguments select the parts to run,
 * such as `npm run bench -- edge host growth orbs memory hidden`, or `npm run bench -- scale 10000 1000000` for orbs
 * (applications) with these numbers of entries, or `npm run bench -- any-size 1000000`.
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { hidden } from "./bench/hidden.ts";
import { DISTANT_MS, startLinks } from "./bench/link.ts";
import {
  afterRest,
  askForAll,
  Client,
  compare,
  type Figures,
  memoryMiB,
  PAST_ANSWERS,
  served,
  type Target,
} from "./bench/measure.ts";
import { ANY_SIZE, anySize } from "./bench/parts/any-size.ts";
import { imports } from "./bench/parts/import.ts";
import { publishing } from "./bench/parts/publish.ts";
import { SWITCH_SIZE, switching } from "./bench/parts/switch.ts";
import { machine, printGrowth, printPairs, printRows, type Row, writeReport } from "./bench/report.ts";
import { SCALE_SIZES, scale } from "./bench/scale.ts";
import { adminToken, seedEntries, seedOrb } from "./bench/seed.ts";
import { type Stand, startStand } from "./bench/stand.ts";
import { floorTargets, hostFloorTargets, orbTargets, type Seeded, targetsOf } from "./bench/targets.ts";
import { exitWith } from "./process/failure.ts";

const PARTS = [
  "edge",
  "host",
  "growth",
  "orbs",
  "memory",
  "hidden",
  "scale",
  "peers",
  "files",
  "import",
  "any-size",
  "switch",
  "publish",
] as const;
/** Parts of the benchmark that take long. They run only if a command-line argument names them. */
const NAMED: readonly string[] = ["scale", "peers", "files", "import", "any-size", "switch", "publish"];
const SIZES = [1_000, 10_000, 100_000];
const ORBS = [10, 100, 1_000];
const CONNECTIONS = 8;
/** Number of entries that are requested repeatedly. */
const HOT = 1_000;
const LOADED = { rounds: 3, roundMs: 1_500, connections: CONNECTIONS, warmUpMs: 4_000 };
/** Settings to measure the cost of a single request without load: only one connection. */
const ALONE = { rounds: 3, roundMs: 1_000, connections: 1 };
/**
 * Settings to measure reads from disk. The pause before each round must be longer than the broker keeps file blocks in
 * memory.
 */
const REST = { rounds: 5, restMs: 12_000 };

const asked = process.argv
  .slice(2)
  .filter((arg): arg is (typeof PARTS)[number] => PARTS.some((part) => part === arg));
const wants = (part: (typeof PARTS)[number]) =>
  asked.length === 0 ? !NAMED.includes(part) : asked.includes(part);
const DATA = join(fileURLToPath(new URL("..", import.meta.url)), ".data");
const report: Record<string, unknown> = { machine: machine(), connections: CONNECTIONS };

/** Names of the requests for which there is also a minimal server to compare with. */
const ours = ["get entry", "list 50", "create draft"];

async function edge(stand: Stand, client: Client, seeded: Seeded, token: string): Promise<void> {
  const targets = await served([
    ...floorTargets(stand, seeded),
    ...targetsOf(stand, stand.functions, seeded, token, "").filter(({ name }) => ours.includes(name)),
  ]);
  const figures = await compare(client, targets, LOADED);
  const rows = [...figures.values()].map(
    (of): Row => ({ what: of.name, figures: of, floor: figures.get(`floor: ${of.name}`) }),
  );
  printRows(
    `The functions in workerd against a bare worker that does as many requests (${seeded.ids.length} entries)`,
    rows,
  );
  report.edge = rows;
}

async function link(stand: Stand, client: Client, seeded: Seeded, token: string): Promise<void> {
  await using links = await startLinks(stand, seeded, token, ours);
  const figures = await compare(client, await served(links.targets), LOADED);
  const rows = [...figures.values()].map(
    (of): Row => ({ what: of.name, figures: of, floor: figures.get(links.without(of.name)) }),
  );
  printRows(
    `The functions over the link; the floor is the same without it. "far": a broker ${DISTANT_MS} ms away`,
    rows,
  );
  report.link = rows;
}

async function host(stand: Stand, client: Client, seeded: Seeded, token: string): Promise<void> {
  // These rows of the report request a few entries repeatedly. The other rows request nearly every entry only once.
  const hot = { ...seeded, ids: seeded.ids.slice(0, HOT) };
  const targets = await served([
    ...hostFloorTargets(stand, seeded),
    ...targetsOf(stand, stand.host, hot, token, "")
      .filter(({ name }) => name === "get entry")
      .map((target) => ({ ...target, name: `get entry, one of ${HOT}` })),
    ...targetsOf(stand, stand.host, seeded, token, "").map((target) =>
      target.name === "get entry" ? { ...target, warmUp: PAST_ANSWERS } : target,
    ),
  ]);
  const figures = await compare(client, targets, LOADED);
  const pong = figures.get("host floor: pong");
  const rows = [...figures.values()].map((of): Row => ({ what: of.name, figures: of, floor: pong }));
  const all = targets.find(({ name }) => name === "get entry");
  if (all !== undefined) {
    const again = { ...all, name: "get entry, each asked for before" };
    await askForAll(client, again, { connections: CONNECTIONS, mostMs: 60_000 });
    const floor = targets.filter(({ name }) => name === pong?.name);
    const later = await compare(client, [...floor, again], LOADED);
    const of = later.get(again.name);
    if (of !== undefined) rows.push({ what: again.name, figures: of, floor: later.get("host floor: pong") });
  }
  printRows(`The host in Node against a bare pong of the same server (${seeded.ids.length} entries)`, rows);
  report.host = rows;
}

async function growth(stand: Stand, client: Client, all: readonly Seeded[], token: string): Promise<void> {
  const sizes = all.map(({ ids }) => ids.length);
  for (const [part, of] of [
    ["functions", stand.functions],
    ["host", stand.host],
  ] as const) {
    const targets = await served(
      all.flatMap((seeded) => targetsOf(stand, of, seeded, token, `${seeded.orb}: `)),
    );
    const figures = await compare(client, targets, ALONE);
    const rows: Record<string, (number | undefined)[]> = {};
    for (const name of new Set([...figures.keys()].map((key) => key.split(": ")[1] ?? ""))) {
      rows[name] = all.map(({ orb }) => figures.get(`${orb}: ${name}`)?.aloneP50);
    }
    const rested = await afterRest(
      client,
      targets.filter(({ name }) => name.endsWith(": get entry")),
      REST,
    );
    rows["get entry, first after a rest"] = all.map(({ orb }) => rested.get(`${orb}: get entry`));
    printGrowth(
      `Growth of the ${part}: median ms of one request at a time, by entries`,
      sizes.map(String),
      rows,
    );
    report[`growth of the ${part}`] = { sizes, rows };
  }
}

async function orbs(stand: Stand, client: Client, token: string): Promise<void> {
  const rows: Record<string, (number | undefined)[]> = {
    "get entry, functions": [],
    "get entry, host": [],
    "list 50 orbs": [],
    "list 50 orbs, newest first": [],
    "update and publish an orb": [],
    "broker MiB": [],
  };
  let count = 0;
  for (const size of ORBS) {
    const ids: Seeded[] = [];
    for (; count < size; count++) {
      const orb = `many-${count}`;
      await seedOrb(stand.deps, orb);
      ids.push({ orb, ids: await seedEntries(stand.deps, orb, 5) });
    }
    const last = ids.at(-1);
    if (last === undefined) continue;
    const targets = await served(
      (
        [
          ["functions", stand.functions],
          ["host", stand.host],
        ] as const
      ).flatMap(([name, part]) =>
        targetsOf(stand, part, last, "", `${name}: `).filter(({ name: of }) => of.endsWith("get entry")),
      ),
    );
    targets.push(...(await served(orbTargets(stand, last.orb, token))));
    const figures = await compare(client, targets, ALONE);
    for (const name of ["list 50 orbs", "list 50 orbs, newest first", "update and publish an orb"]) {
      rows[name]?.push(figures.get(name)?.aloneP50);
    }
    rows["get entry, functions"]?.push(figures.get("functions: get entry")?.aloneP50);
    rows["get entry, host"]?.push(figures.get("host: get entry")?.aloneP50);
    rows["broker MiB"]?.push(memoryMiB(stand.brokerPid));
  }
  printGrowth("Growth by orbs: median ms of one request at a time", ORBS.map(String), rows);
  report.orbs = { sizes: ORBS, rows };
}

async function memory(stand: Stand, client: Client): Promise<void> {
  const pairs: Record<string, string> = {};
  const tell = (what: string, pid: number | undefined) => {
    pairs[what] = `${memoryMiB(pid).toFixed(0)} MiB`;
  };
  tell("functions, after the load", stand.functions.pid);
  tell("host, after the load", stand.host.pid);
  const large: Seeded = { orb: "large", ids: [] };
  await seedOrb(stand.deps, large.orb);
  large.ids = await seedEntries(stand.deps, large.orb, 400, 50_000);
  for (const [name, part] of [
    ["functions", stand.functions],
    ["host", stand.host],
  ] as const) {
    const page: Target = {
      name,
      url: part.url,
      path: `/api/${large.orb}/catalog?limit=200`,
      pid: part.pid,
      brokerPid: stand.brokerPid,
    };
    const [target] = await served([page]);
    if (target === undefined) continue;
    const figures: Figures | undefined = (
      await compare(client, [target], { rounds: 2, roundMs: 3_000, connections: 4 })
    ).get(name);
    tell(`${name}, after 200-item pages of 10 MB (${figures?.perSecond.toFixed(1)} a second)`, part.pid);
  }
  tell("broker", stand.brokerPid);
  printPairs("Memory (resident)", pairs);
  report.memory = pairs;
}

function sizes(): readonly number[] {
  if (wants("growth") || wants("host")) return SIZES;
  return wants("peers") ? SIZES.filter((_, i) => i === 0 || i === SIZES.length - 1) : SIZES.slice(0, 1);
}

function givenSizes(otherwise: readonly number[]): readonly number[] {
  const given = process.argv.slice(2).map(Number).filter(Number.isSafeInteger);
  return given.length === 0 ? otherwise : given;
}

async function run(): Promise<void> {
  await using stand = await startStand();
  using client = new Client();
  const token = await adminToken(stand.deps);
  // This part measures memory, so run it before other parts use any.
  if (wants("scale")) report.scale = await scale(stand, client, token, givenSizes(SCALE_SIZES));
  if (asked.join() === "scale") return writeReport(join(DATA, "bench.json"), report);
  // Other products are installed and measured by code beside the tests, which an installation may lack.
  if (wants("files")) {
    const { files } = await import("../test/peers/files.ts");
    report.files = await files(join(DATA, "peers"), stand, token);
  }
  if (wants("hidden")) Object.assign(report, await hidden(stand, client, token));
  if (wants("import")) report.import = await imports(stand, token);
  if (wants("any-size")) {
    const [entries = ANY_SIZE.entries, minutes = ANY_SIZE.minutes] = givenSizes([]);
    report.anySize = await anySize(stand, client, token, { entries, minutes });
  }
  if (wants("switch")) {
    const [entries = SWITCH_SIZE] = givenSizes([]);
    report.switch = await switching(stand, token, entries);
  }
  if (wants("publish")) report.publish = await publishing(stand, token);
  if (["files", "hidden", "import", "any-size", "switch", "publish"].includes(asked.join()))
    return writeReport(join(DATA, "bench.json"), report);
  console.error("Seeding …");
  const all: Seeded[] = [];
  for (const size of sizes()) {
    const orb = `bench-${size}`;
    await seedOrb(stand.deps, orb);
    all.push({ orb, ids: await seedEntries(stand.deps, orb, size) });
  }
  const [small] = all;
  const large = all.at(-1);
  if (small === undefined || large === undefined) return;
  if (wants("edge")) {
    await edge(stand, client, small, token);
    await link(stand, client, small, token);
  }
  if (wants("host")) await host(stand, client, large, token);
  if (wants("growth")) await growth(stand, client, all, token);
  if (wants("orbs")) await orbs(stand, client, token);
  if (wants("memory")) await memory(stand, client);
  if (wants("peers")) {
    const { peers } = await import("../test/peers/peers.ts");
    report.peers = await peers(join(DATA, "peers"), stand, client, large, token);
  }
  writeReport(join(DATA, "bench.json"), report);
}

try {
  await run();
  process.exit(0);
} catch (error) {
  exitWith(error);
}

/**
 * `npm run bench -- peers` compares the Node host with other products that store the same data. The first run installs
 * those products into `.data/peers`.
 */
import {
  askForAll,
  type Client,
  compare,
  type Figures,
  memoryMiB,
  PAST_ANSWERS,
  served,
  type Target,
} from "../../scripts/bench/measure.ts";
import { printComparison, printPairs } from "../../scripts/bench/report.ts";
import { values } from "../../scripts/bench/seed.ts";
import type { Stand } from "../../scripts/bench/stand.ts";
import type { Seeded } from "../../scripts/bench/targets.ts";
import { directus } from "./directus.ts";
import { pocketbase } from "./pocketbase.ts";
import { CATEGORY, DEAR, LIST_SIZE, type Peer, type Requests, type Running, startPeer } from "./setup.ts";
import { strapi } from "./strapi.ts";

const PEERS: readonly Peer[] = [pocketbase, directus, strapi];
const LOAD = { rounds: 5, roundMs: 1_000, connections: 8, warmUpMs: 4_000 };
const WARM_UP_MS = 40_000;
const HOT = 1_000;
const OURS = "host";
const DURABILITY =
  "the broker's file store: survives the process, a power cut costs up to NATS_SYNC_INTERVAL";

const ours = ({ orb }: Seeded): Requests => {
  const base = `/api/${orb}/catalog`;
  const page = `${base}?limit=${LIST_SIZE}`;
  return {
    paths: {
      one: `${base}/{any}`,
      list: page,
      counted: `${page}&count=true`,
      // The platform indexes every unique and enum field, so there is no index to add by hand.
      dear: `${page}&filter[price][gte]=${DEAR}&sort=-price`,
      category: `${page}&filter[category]=${CATEGORY}&sort=-createdAt`,
      dearOfCategory: `${page}&filter[category]=${CATEGORY}&sort=-price`,
      create: base,
      publish: `${base}?publish=true`,
    },
    body: { values: values(1) },
    authorization: (token) => `Bearer ${token}`,
  };
};

type Ask = Pick<Target, "path" | "method" | "body" | "headers" | "keys">;

function asks({ paths, body, authorization }: Requests, keys: string[], token: string): Record<string, Ask> {
  const { one, create, publish, ...lists } = paths;
  const at = (path: string, table = "products") => ({ path: path.replace("{table}", table) });
  const headers = { authorization: authorization(token) };
  const write = { method: "POST", body: JSON.stringify(body), headers };
  return {
    any: { ...at(one), keys },
    hot: { ...at(one), keys: keys.slice(0, HOT) },
    ...Object.fromEntries(
      Object.entries(lists).flatMap(([name, path]) => [
        [name, at(path)],
        [`${name}+`, at(path, "indexed")],
      ]),
    ),
    create: { ...at(create), ...write },
    ...(publish === undefined ? {} : { publish: { ...at(publish), ...write } }),
  };
}

/**
 * Rows of the report: a label, the request to this platform, and the request to the other products. A `+` selects the
 * table that has the indexes a user would add by hand.
 */
const ROWS: readonly [what: string, ours: string, theirs: string][] = [
  ["get one, any of all", "any", "any"],
  ["  each asked for before", "again", "again"],
  [`get one, of ${HOT}`, "hot", "hot"],
  [`list of ${LIST_SIZE}`, "list", "list"],
  [`list of ${LIST_SIZE} with the total`, "counted", "counted"],
  ["price from, dearest first", "dear", "dear"],
  ["  their index by hand", "dear", "dear+"],
  ["one category, newest first", "category", "category"],
  ["  their index by hand", "category", "category+"],
  ["one category, dearest first", "dearOfCategory", "dearOfCategory"],
  ["  their index by hand", "dearOfCategory", "dearOfCategory+"],
  ["create (ours: a draft)", "create", "create"],
  ["create (ours: and publish)", "publish", "create"],
];

async function startAll(root: string, count: number): Promise<Running[]> {
  const running: Running[] = [];
  for (const peer of PEERS) {
    try {
      running.push(await startPeer(root, peer, count));
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      console.error(`  ${peer.name} ${peer.version} is left out: ${why}`);
    }
  }
  return running;
}

/**
 * Measures all products.
 * @param root folder in which the products stay installed between runs
 * @returns lines for the report
 */
export async function peers(
  root: string,
  stand: Stand,
  client: Client,
  seeded: Seeded,
  token: string,
): Promise<unknown> {
  const running = await startAll(root, seeded.ids.length);
  try {
    const all: [string, Pick<Target, "url" | "pid" | "brokerPid">, Record<string, Ask>][] = [
      [OURS, { ...stand.host, brokerPid: stand.brokerPid }, asks(ours(seeded), seeded.ids, token)],
      ...running.map(({ peer, url, pid, keys, token }): (typeof all)[number] => [
        peer.name,
        { url, pid, brokerPid: undefined },
        asks(peer, keys, token),
      ]),
    ];
    const targetsFor = (name: string) =>
      all.flatMap(([who, at, has]): Target[] => {
        const ask = has[name];
        if (ask === undefined || (who === OURS && name.endsWith("+"))) return [];
        const warmUp = name === "any" ? { warmUp: PAST_ANSWERS } : {};
        return [{ ...at, ...ask, ...warmUp, name: `${who}: ${name}` }];
      });
    // The machine's speed changes within minutes, so all servers of one row take turns.
    const figures = new Map<string, Figures>();
    for (const rows of Map.groupBy(ROWS, ([, , theirs]) => theirs.replace("+", "")).values()) {
      const names = new Set(rows.flatMap(([, mine, theirs]) => [mine, theirs]));
      const targets = await served([...names].flatMap(targetsFor));
      for (const [name, of] of await compare(client, targets, LOAD)) figures.set(name, of);
    }
    // Fill the caches of all servers first.
    const again = await served(
      all.flatMap(([who, at, { any }]) =>
        any === undefined ? [] : [{ ...at, ...any, name: `${who}: again` }],
      ),
    );
    for (const target of again)
      await askForAll(client, target, { connections: LOAD.connections, mostMs: WARM_UP_MS });
    for (const [name, of] of await compare(client, again, LOAD)) figures.set(name, of);
    const of = (who: string, name: string): Figures | undefined => figures.get(`${who}: ${name}`);
    const rows = ROWS.map(([what, mine, theirs]) => ({
      what,
      ours: of(OURS, mine),
      peers: Object.fromEntries(running.map(({ peer }) => [peer.name, of(peer.name, theirs)])),
    }));
    const names = running.map(({ peer }) => peer.name);
    const load = `${seeded.ids.length} entries, ${LOAD.connections} connections`;
    printComparison(`Requests a second, ${load}`, names, rows, (f) => f.perSecond);
    const cpu = "Processor time of one request in µs, the broker's included (below 1: ours takes less)";
    printComparison(cpu, names, rows, (f) => f.cpuUs + f.brokerUs);
    printComparison("Bytes of an answer, with its head", names, rows, (f) => f.bytes);
    const durability = {
      [OURS]: DURABILITY,
      ...Object.fromEntries(running.map(({ peer }) => [`${peer.name} ${peer.version}`, peer.durability])),
    };
    console.log("\nWhat an acknowledged create survives");
    for (const [who, what] of Object.entries(durability)) console.log(`${who}: ${what}`);
    const memory = {
      [`${OURS} and broker`]: memoryMiB(stand.host.pid) + memoryMiB(stand.brokerPid),
      ...Object.fromEntries(running.map(({ peer, pid }) => [peer.name, memoryMiB(pid)])),
    };
    printPairs(
      "Memory after the load (resident)",
      Object.fromEntries(Object.entries(memory).map(([who, mib]) => [who, `${mib.toFixed(0)} MiB`])),
    );
    return { entries: seeded.ids.length, durability, memory, rows };
  } finally {
    for (const peer of running) await peer.stop();
  }
}

/**
 * Measures lists of published entries behind many that are hidden, and counts after writes. Neither may grow with what
 * it does not show.
 */
import { setTimeout } from "node:timers/promises";
import { type Client, compare, served, type Target } from "./measure.ts";
import { printGrowth } from "./report.ts";
import { HIDDEN_KINDS, type HiddenKind, seedCopies, seedHidden, seedOrb, values } from "./seed.ts";
import type { Served, Stand } from "./stand.ts";

const SHOWN = 200;
const HIDDEN = 10_000;
const COUNTED = [5_500, 50_000];
const ALONE = { rounds: 3, roundMs: 1_000, connections: 1 };
const ROUNDS = 15;

type Table = Record<string, (number | undefined)[]>;

function requestsOf(orb: string): Record<string, string> {
  const list = `/api/${orb}/catalog?limit=50`;
  return { "list 50": list, "list 50, newest first": `${list}&sort=-createdAt`, count: `${list}&count=true` };
}

/** Returns the median milliseconds of a count that follows a write. */
async function countAfterWrites({ url }: Served, orb: string, token: string): Promise<number> {
  const times: number[] = [];
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  for (let round = 0; round < ROUNDS; round++) {
    const body = JSON.stringify({ values: values(round) });
    const made = await fetch(`${url}/api/${orb}/catalog?publish=true`, { method: "POST", headers, body });
    if (made.status !== 201) throw new Error(`create: status ${made.status}`);
    await made.arrayBuffer();
    const start = performance.now();
    const counted = await fetch(`${url}/api/${orb}/catalog?limit=1&count=true`);
    await counted.arrayBuffer();
    times.push(performance.now() - start);
  }
  return times.sort((a, b) => a - b)[ROUNDS >> 1] ?? 0;
}

/** @returns tables for the report */
export async function hidden(stand: Stand, client: Client, token: string): Promise<Record<string, unknown>> {
  const kinds: (HiddenKind | "none")[] = ["none", ...HIDDEN_KINDS];
  const orbs = kinds.map((kind) => `behind-${kind}`);
  for (const [at, orb] of orbs.entries()) {
    await seedOrb(stand.deps, orb);
    await seedCopies(stand.deps, orb, SHOWN);
    const kind = kinds[at];
    if (kind !== undefined && kind !== "none") await seedHidden(stand.deps, orb, kind, HIDDEN);
  }
  for (const size of COUNTED) {
    await seedOrb(stand.deps, `counted-${size}`);
    await seedCopies(stand.deps, `counted-${size}`, size);
  }
  const report: Record<string, unknown> = {};
  const parts = [
    ["functions", stand.functions],
    ["host", stand.host],
  ] as const;
  // The first requests build the indexes of these entries in the background.
  for (const [, { url }] of parts)
    for (const orb of [...orbs, ...COUNTED.map((size) => `counted-${size}`)])
      await (await fetch(`${url}/api/${orb}/catalog?limit=1&count=true`)).arrayBuffer();
  await setTimeout(10_000);
  for (const [part, { url, pid }] of parts) {
    const targets: Target[] = orbs.flatMap((orb) =>
      Object.entries(requestsOf(orb)).map(([name, path]) => ({
        name: `${orb}: ${name}`,
        url,
        path,
        pid,
        brokerPid: stand.brokerPid,
      })),
    );
    const figures = await compare(client, await served(targets), ALONE);
    const rows: Table = {};
    for (const name of Object.keys(requestsOf("")))
      rows[name] = orbs.map((orb) => figures.get(`${orb}: ${name}`)?.aloneP50);
    const title = `The ${part}: median ms of a page of ${SHOWN} published entries, beside ${HIDDEN} hidden ones`;
    printGrowth(title, kinds, rows);
    report[`hidden entries, ${part}`] = { kinds, rows };
  }
  const counts: Table = {};
  for (const [part, served] of parts) {
    counts[part] = [];
    for (const size of COUNTED) counts[part]?.push(await countAfterWrites(served, `counted-${size}`, token));
  }
  printGrowth("Median ms of a count after a write, by published entries", COUNTED.map(String), counts);
  report["count after a write"] = { sizes: COUNTED, rows: counts };
  return report;
}

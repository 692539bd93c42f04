/**
 * Measures an import of many entries by two parallel uploads to the host, and right afterwards all lists that the
 * documentation calls as fast at any size.
 */
import { setTimeout as delay } from "node:timers/promises";
import { system } from "../../../shared/access/actor.ts";
import { createOrb } from "../../../shared/orb/create.ts";
import { streams } from "../../../shared/store/subjects.ts";
import { type Client, compare, cpuSeconds, PAST_ANSWERS, served, type Target } from "../measure.ts";
import { printPairs, printRows, type Row } from "../report.ts";
import type { Served, Stand } from "../stand.ts";

/** Entries to import, and minutes after which no further request begins. */
export const ANY_SIZE = { entries: 100_000, minutes: 30 };

const ORB = "any-size";
const BRANDS = 1_000;
const UPLOADS = 2;
/** Lines of one request. */
const LINES = 10_000;
/** One request at a time. There is one round, so that the slowest requests of the first seconds count. */
const ALONE = { rounds: 1, roundMs: 1_200, connections: 1, warmUpMs: 0 };
const KEYS = 5_000;
/** The host must read lists from the index this many milliseconds after the import. */
const INDEXED_MS = 60_000;
const KINDS = ["a", "b", "c", "d"];

const DOCUMENT = {
  id: ORB,
  modules: [
    {
      id: "catalog",
      type: "CONTENT",
      schemas: [
        {
          id: "item",
          access: { read: "public" },
          fields: [
            { name: "sku", type: "string", unique: true },
            { name: "n", type: "integer", index: "ordered" },
            { name: "title", type: "string", index: "ordered" },
            { name: "kind", type: "string", enum: KINDS },
            { name: "sold", type: "boolean" },
            { name: "brand", type: "reference", ref: `${ORB}/catalog/brand` },
          ],
        },
        { id: "brand", fields: [{ name: "name", type: "string", unique: true }] },
      ],
    },
  ],
};

/** Returns a number that looks random, and differs for each `n` below 2^32. */
const mixed = (n: number) => Math.imul(n, 0x9e3779b1) >>> 0;

const item = (n: number, brands: readonly string[]) => ({
  sku: `sku-${n}`,
  n: mixed(n),
  title: `Title ${mixed(n).toString(36)}`,
  kind: KINDS[n % KINDS.length],
  sold: n % 2 === 0,
  brand: brands[n % brands.length],
});

interface Totals {
  done?: boolean;
  failed?: number;
}

/** @returns the ids of the new entries */
async function upload(
  host: Served,
  token: string,
  schema: string,
  rows: readonly unknown[],
): Promise<string[]> {
  const response = await fetch(
    `${host.url}/api/admin/orbs/${ORB}/entries/bulk?module=catalog&schema=${schema}&publish=true`,
    {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/x-ndjson" },
      body: rows.map((values) => `${JSON.stringify({ values })}\n`).join(""),
    },
  );
  const lines = (await response.text()).trimEnd().split("\n");
  const totals = JSON.parse(lines.pop() ?? "{}") as Totals;
  if (totals.done !== true || totals.failed !== 0)
    throw new Error(`The upload failed: ${JSON.stringify(totals)}`);
  return lines.map((line) => /"id":"([^"]+)"/.exec(line)?.[1] ?? "");
}

/** @returns the number of stored entries: fewer than wanted if the time is over */
async function uploadAll(
  stand: Stand,
  token: string,
  { entries, minutes }: typeof ANY_SIZE,
  brands: readonly string[],
): Promise<number> {
  const begun = performance.now();
  let next = 0;
  let stored = 0;
  const part = async () => {
    while (next < entries && performance.now() - begun < minutes * 60_000) {
      const first = next;
      const end = Math.min(entries, first + LINES);
      next = end;
      const rows = Array.from({ length: end - first }, (_, n) => item(first + n, brands));
      await upload(stand.host, token, "item", rows);
      stored += rows.length;
      if (stored % (5 * LINES) === 0) {
        const perSecond = Math.round((stored * 1_000) / (performance.now() - begun));
        console.error(`  ${stored.toLocaleString("en")} entries, ${perSecond.toLocaleString("en")} a second`);
      }
    }
  };
  await Promise.all(Array.from({ length: UPLOADS }, part));
  return stored;
}

/** Returns the milliseconds until the host reads a list from the ordered index. */
async function untilIndexed({ url }: Served, token: string): Promise<number> {
  const headers = { authorization: `Bearer ${token}` };
  const begun = performance.now();
  while (performance.now() - begun < INDEXED_MS) {
    const response = await fetch(`${url}/api/${ORB}/catalog/item?sort=n&limit=1&explain=true`, { headers });
    const { explain } = (await response.json()) as { explain?: { order?: string } };
    if (explain?.order === "index") return performance.now() - begun;
    await delay(100);
  }
  throw new Error(`The index does not serve lists ${INDEXED_MS / 1_000} s after the import.`);
}

function requests(size: number, brands: readonly string[]): Record<string, Pick<Target, "path" | "keys">> {
  const list = `/api/${ORB}/catalog/item?limit=20`;
  const any = (of: (n: number) => string) =>
    Array.from({ length: KEYS }, () => of(Math.floor(Math.random() * size)));
  const sku = any((n) => `sku-${n}`);
  const value = any((n) => String(mixed(n)));
  const title = any((n) => item(n, brands).title.replace(" ", "%20"));
  return {
    "oldest first": { path: list, keys: [] },
    "newest first": { path: `${list}&sort=-createdAt`, keys: [] },
    "a unique value": { path: `${list}&filter[sku]={any}`, keys: sku },
    "one of two unique values": { path: `${list}&filter[sku][in]={any},sku-7`, keys: sku },
    "or of two unique values": {
      path: `${list}&filter[or][0][sku]={any}&filter[or][1][sku]=sku-7`,
      keys: sku,
    },
    "an enum value": { path: `${list}&filter[kind]={any}`, keys: KINDS },
    "a boolean": { path: `${list}&filter[sold]={any}`, keys: ["true", "false"] },
    "a reference": { path: `${list}&filter[brand]={any}`, keys: [...brands] },
    "sorted by a number": { path: `${list}&sort=n`, keys: [] },
    "sorted by a number, descending": { path: `${list}&sort=-n`, keys: [] },
    "sorted by a number, from any value": { path: `${list}&sort=n&filter[n][gte]={any}`, keys: value },
    "sorted by a text, from any value": { path: `${list}&sort=title&filter[title][gte]={any}`, keys: title },
  };
}

export async function anySize(
  stand: Stand,
  client: Client,
  token: string,
  size: typeof ANY_SIZE,
): Promise<unknown> {
  await createOrb(stand.deps, system, { document: DOCUMENT, publish: true });
  const names = Array.from({ length: BRANDS }, (_, n) => ({ name: `brand-${n}` }));
  const brands = await upload(stand.host, token, "brand", names);
  const begun = performance.now();
  const before = [cpuSeconds(stand.host.pid), cpuSeconds(stand.brokerPid)];
  const stored = await uploadAll(stand, token, size, brands);
  const seconds = (performance.now() - begun) / 1_000;
  const used = [cpuSeconds(stand.host.pid), cpuSeconds(stand.brokerPid)].map(
    (now, i) => now - (before[i] ?? 0),
  );
  const indexed = await untilIndexed(stand.host, token);
  const info = await stand.deps.store.streamInfo(streams.orb(ORB));
  const found = {
    entries: stored.toLocaleString("en"),
    seconds: seconds.toFixed(0),
    "entries a second": (stored / seconds).toFixed(0),
    "processor seconds of the host, of the broker": used.map((one) => one.toFixed(0)).join(", "),
    "ms until the host reads a sorted list from its index": indexed.toFixed(0),
    "bytes of the stream for each entry": ((info?.state.bytes ?? 0) / stored).toFixed(0),
  };
  printPairs(`An import by ${UPLOADS} parallel uploads to the host`, found);
  const report: Record<string, unknown> = { import: found };
  for (const [name, { url, pid }] of [
    ["host", stand.host],
    ["functions", stand.functions],
  ] as const) {
    const targets = Object.entries(requests(stored, brands)).map(([what, request]) => ({
      ...request,
      name: what,
      url,
      pid,
      brokerPid: stand.brokerPid,
      ...PAST_ANSWERS,
    }));
    const figures = await compare(client, await served(targets), ALONE);
    const rows = [...figures.values()].map((of): Row => ({ what: of.name, figures: of }));
    const after = ((performance.now() - begun) / 1_000 - seconds).toFixed(0);
    printRows(`Lists of 20 entries, the ${name}, up to ${after} s after the import`, rows);
    report[name] = rows;
  }
  return report;
}

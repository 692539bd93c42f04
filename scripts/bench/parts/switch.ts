/**
 * Measures the publication of a changed definition while clients read and write the entries in the shapes of both: a
 * rename, a change of type, a rule and a new index at once.
 */
import { setTimeout as delay } from "node:timers/promises";
import { printPairs } from "../report.ts";
import { document, seedCopies, seedOrb } from "../seed.ts";
import type { Served, Stand } from "../stand.ts";

/** Entries of the orb. */
export const SWITCH_SIZE = 100_000;

const ORB = "switch";
const API = `/api/${ORB}/catalog`;
const ADMIN = `/api/admin/orbs/${ORB}`;
/** Load before and after the publication. */
const BESIDE_MS = 5_000;
/** The new index must serve lists this many milliseconds after the publication. */
const INDEXED_MS = 60_000;
/** The clients choose among so many entries. */
const KEYS = 2_000;
/** Each client waits this many milliseconds between two requests, as people and programs do. */
const THINK_MS = 20;

type Field = Record<string, unknown> & { name: string };

/** Returns the document after the change. */
function changed(): object {
  const before = document(ORB) as { modules: { schemas: { fields: Field[] }[] }[] };
  const fields: Record<string, object> = {
    title: { name: "headline", was: "title", index: "ordered" },
    stock: { type: "decimal", scale: 2, default: "0.00", index: "ordered" },
    price: { type: "string", from: { convert: { cat: [{ var: "value" }, " USD"] } }, min: undefined },
  };
  const modules = before.modules.map((module) => ({
    ...module,
    schemas: module.schemas.map((schema) => ({
      ...schema,
      fields: schema.fields.map((field) => ({ ...field, ...fields[field.name] })),
    })),
  }));
  return { ...before, modules };
}

/** Returns the document before the change, with the way back for prices that were written in the new shape. */
function earlier(): object {
  const before = document(ORB) as { modules: { schemas: { fields: Field[] }[] }[] };
  const convert = { "+": [{ substr: [{ var: "value" }, 0, -4] }] };
  const withRule = (field: Field) => (field.name === "price" ? { ...field, from: { convert } } : field);
  const modules = before.modules.map((module) => ({
    ...module,
    schemas: module.schemas.map((schema) => ({ ...schema, fields: schema.fields.map(withRule) })),
  }));
  return { ...before, modules };
}

/** What happens beside the requests, and for each phase the slowest request in milliseconds. */
interface Phases {
  now: string;
  slowest: Map<string, number>;
}

interface Tally {
  requests: number;
  failures: Map<string, number>;
  slowest: number;
}

/** A client that repeats one request with changing entries. */
interface Load {
  name: string;
  path: (id: string) => string;
  headers?: Record<string, string>;
  method?: string;
  body?: (n: number) => object;
}

const PINNED = { "orb-definition": "1" };

const LOADS: readonly Load[] = [
  { name: "get, current shape", path: (id) => `${API}/${id}` },
  { name: "get, earlier shape", path: (id) => `${API}/${id}`, headers: PINNED },
  { name: "list, current shape", path: () => `${API}?limit=20&filter[category]=category-7` },
  { name: "list, earlier shape", path: () => `${API}?limit=20`, headers: PINNED },
  {
    name: "patch, current shape",
    path: (id) => `${API}/${id}?publish=true`,
    method: "PATCH",
    body: (n) => ({ values: { body: `Body ${n}` } }),
  },
  {
    name: "patch, earlier shape",
    path: (id) => `${API}/${id}?publish=true`,
    method: "PATCH",
    headers: PINNED,
    body: (n) => ({ values: { title: `Title ${n}`, stock: n } }),
  },
  {
    name: "create, earlier shape",
    path: () => `${API}?publish=true`,
    method: "POST",
    headers: PINNED,
    body: (n) => ({ values: { title: `New ${n}`, price: n, stock: n } }),
  },
];

async function run(
  load: Load,
  url: string,
  {
    ids,
    token,
    signal,
    phases,
  }: { ids: readonly string[]; token: string; signal: AbortSignal; phases: Phases },
) {
  const tally: Tally = { requests: 0, failures: new Map(), slowest: 0 };
  while (!signal.aborted) {
    const id = ids[Math.floor(Math.random() * ids.length)] ?? "";
    const begun = performance.now();
    const answer = await fetch(`${url}${load.path(id)}`, {
      method: load.method ?? "GET",
      headers: { ...load.headers, authorization: `Bearer ${token}`, "content-type": "application/json" },
      ...(load.body === undefined ? {} : { body: JSON.stringify(load.body(tally.requests)) }),
    }).then(
      async (response) => ({ ok: response.ok, told: `${response.status} ${await response.text()}` }),
      (error: unknown) => ({ ok: false, told: String(error) }),
    );
    tally.requests++;
    const ms = performance.now() - begun;
    tally.slowest = Math.max(tally.slowest, ms);
    phases.slowest.set(phases.now, Math.max(phases.slowest.get(phases.now) ?? 0, ms));
    if (!answer.ok) {
      const told = answer.told.slice(0, 200);
      tally.failures.set(told, (tally.failures.get(told) ?? 0) + 1);
    }
    await delay(THINK_MS);
  }
  return tally;
}

const told = ({ requests, failures, slowest }: Tally) =>
  `${requests} requests, slowest ${slowest.toFixed(0)} ms${[...failures].map(([what, count]) => `; ${count} failed: ${what}`).join("")}`;

async function put(stand: Stand, token: string, query: string, body: object): Promise<[number, string]> {
  const begun = performance.now();
  const answer = await fetch(`${stand.host.url}${ADMIN}?${query}`, {
    method: "PUT",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const text = await answer.text();
  const seconds = ((performance.now() - begun) / 1_000).toFixed(1);
  if (!answer.ok) console.error(`  ${query}: ${answer.status} ${text.slice(0, 1_000)}`);
  return [answer.status, seconds];
}

/** Returns the milliseconds until a list comes from the new index. */
async function untilIndexed({ url }: Served, token: string): Promise<number> {
  const begun = performance.now();
  while (performance.now() - begun < INDEXED_MS) {
    const response = await fetch(`${url}${API}?sort=stock&limit=1&explain=true`, {
      headers: { authorization: `Bearer ${token}` },
    });
    const { explain } = (await response.json()) as { explain?: { order?: string } };
    if (explain?.order === "index") return performance.now() - begun;
    await delay(50);
  }
  return Number.POSITIVE_INFINITY;
}

export async function switching(stand: Stand, token: string, size: number): Promise<unknown> {
  await seedOrb(stand.deps, ORB);
  const ids = (await seedCopies(stand.deps, ORB, size)).filter((_, n) => n % Math.ceil(size / KEYS) === 0);
  const stop = new AbortController();
  const phases: Phases = { now: "nothing", slowest: new Map() };
  const { signal } = stop;
  const parts = { host: stand.host.url, functions: stand.functions.url };
  const loads = Object.entries(parts).flatMap(([part, url]) =>
    LOADS.map(
      async (load) =>
        [`${part}: ${load.name}`, await run(load, url, { ids, token, signal, phases })] as const,
    ),
  );
  await delay(BESIDE_MS);
  const found: Record<string, string> = {};
  phases.now = "the dry run";
  const dry = await put(stand, token, "dryRun=true", changed());
  found["dry run: status, seconds"] = dry.join(", ");
  phases.now = "the publication";
  const there = await put(stand, token, "publish=true", changed());
  found["publication: status, seconds"] = there.join(", ");
  phases.now = "nothing";
  found["ms until a list comes from the new index"] = (await untilIndexed(stand.host, token)).toFixed(0);
  await delay(BESIDE_MS);
  phases.now = "the publication of the earlier document";
  const back = await put(stand, token, "publish=true", earlier());
  phases.now = "nothing";
  found["publication of the earlier document: status, seconds"] = back.join(", ");
  await delay(BESIDE_MS);
  stop.abort();
  for (const [name, tally] of await Promise.all(loads)) found[name] = told(tally);
  for (const [name, ms] of phases.slowest) found[`slowest request beside ${name}: ms`] = ms.toFixed(0);
  printPairs(`A change of the definition of ${size.toLocaleString("en")} entries, under load`, found);
  return found;
}

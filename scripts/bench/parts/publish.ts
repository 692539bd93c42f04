/** Measures the publication of a change set of 1,000 entries and 98 MB, while a client reads a list of the entries. */
import { setTimeout as delay } from "node:timers/promises";
import { system } from "../../../shared/access/actor.ts";
import { createOrb } from "../../../shared/orb/create.ts";
import { streams } from "../../../shared/store/subjects.ts";
import { printPairs } from "../report.ts";
import type { Served, Stand } from "../stand.ts";

const ENTRIES = 1_000;
const ENTRY_BYTES = 98_000;
/** Entries of one request, whose body is smaller than 512 KiB. */
const AT_ONCE = 5;
/** The publication must be visible this many milliseconds after its response. */
const VISIBLE_MS = 20_000;

const documentOf = (id: string) => ({
  id,
  modules: [
    {
      id: "catalog",
      type: "CONTENT",
      schemas: [
        {
          id: "item",
          access: { read: "public" },
          fields: [
            { name: "number", type: "integer", index: "ordered" },
            { name: "text", type: "text" },
          ],
        },
      ],
    },
  ],
});

async function asked<T>(host: Served, token: string, path: string, body: object): Promise<T> {
  const response = await fetch(`${host.url}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as T;
}

/** Opens a set with the entries. @returns its id */
async function prepare(host: Served, token: string, orb: string): Promise<string> {
  const { id } = await asked<{ id: string }>(host, token, `/api/${orb}/changes`, { title: "Large" });
  const text = "x".repeat(ENTRY_BYTES);
  for (let from = 0; from < ENTRIES; from += AT_ONCE) {
    const items = Array.from({ length: AT_ONCE }, (_, at) => ({
      create: "catalog/item",
      values: { number: from + at + 1, text },
    }));
    await asked(host, token, `/api/${orb}/batch?change=${id}`, { do: items });
  }
  return id;
}

/** Reads a list again and again. */
class Reader {
  seen = 0;
  slowest = 0;
  failed = 0;
  #isOver = false;
  readonly #ended: Promise<void>;

  constructor(url: string) {
    this.#ended = this.#run(url);
  }

  async #run(url: string): Promise<void> {
    while (!this.#isOver) {
      const begun = performance.now();
      const response = await fetch(url);
      const body = await response.text();
      this.slowest = Math.max(this.slowest, performance.now() - begun);
      if (!response.ok) this.failed++;
      else if (this.seen === 0 && (JSON.parse(body) as { items: unknown[] }).items.length > 0)
        this.seen = Date.now();
      await delay(5);
    }
  }

  end(): Promise<void> {
    this.#isOver = true;
    return this.#ended;
  }
}

async function publication(stand: Stand, host: Served, token: string, orb: string) {
  await createOrb(stand.deps, system, { document: documentOf(orb), publish: true });
  const set = await prepare(host, token, orb);
  const reader = new Reader(`${host.url}/api/${orb}/catalog?limit=1&sort=-number&fields=number`);
  await delay(1_000);
  const begun = Date.now();
  await asked(host, token, `/api/${orb}/changes/${set}/publish`, {});
  const answered = Date.now();
  while (reader.seen === 0 && Date.now() - answered < VISIBLE_MS) await delay(5);
  await reader.end();
  const last = await stand.deps.store.get(streams.orb(orb), ">");
  const committed = last?.time ?? answered;
  return `${committed - begun} ms until the commit, ${reader.seen - committed} ms from it until a list shows it; slowest read ${reader.slowest.toFixed(0)} ms, ${reader.failed} reads failed`;
}

/** Measures on the functions and on the host. */
export async function publishing(stand: Stand, token: string): Promise<Record<string, string>> {
  const pairs: Record<string, string> = {};
  for (const [name, host] of [
    ["functions", stand.functions],
    ["host", stand.host],
  ] as const)
    pairs[name] = await publication(stand, host, token, `publish-${name}`);
  printPairs(`Publication of ${ENTRIES} entries of ${ENTRY_BYTES / 1_000} KB`, pairs);
  return pairs;
}

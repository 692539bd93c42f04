/** Measures bulk uploads on the host: rows a minute with a key, a reference and indexes, against rows with neither. */
import { system } from "../../../shared/access/actor.ts";
import { createOrb } from "../../../shared/orb/create.ts";
import { printPairs } from "../report.ts";
import type { Stand } from "../stand.ts";

const ORB = "imports";
const ROWS = 10_000;
const MAKERS = 100;

const product = {
  id: "product",
  fields: [
    { name: "sku", type: "string", unique: true },
    { name: "title", type: "string" },
    { name: "maker", type: "reference", ref: `${ORB}/catalog/maker` },
    { name: "price", type: "number", index: "ordered" },
    { name: "stock", type: "integer", index: "ordered" },
    { name: "made", type: "date", index: "ordered" },
  ],
};

const DOCUMENT = {
  id: ORB,
  modules: [
    {
      id: "catalog",
      type: "CONTENT",
      schemas: [
        { id: "plain", fields: product.fields.map(({ name }) => ({ name, type: "json" })) },
        { id: "maker", fields: [{ name: "name", type: "string", unique: true }] },
        product,
      ],
    },
  ],
};

/** @param turn changes every row */
const row = (n: number, turn: number) => ({
  sku: `sku-${n}`,
  title: `Product number ${n}`,
  maker: { name: `maker-${n % MAKERS}` },
  price: ((n * 7919) % 10_000) + turn,
  stock: n % 100,
  made: `20${String(10 + (n % 15)).padStart(2, "0")}-0${(n % 9) + 1}-1${n % 10}`,
});

interface Totals {
  done: boolean;
  failed: number;
}

/** @returns rows a second */
async function upload(stand: Stand, token: string, query: string, rows: readonly unknown[]): Promise<number> {
  const body = rows.map((values) => `${JSON.stringify({ values })}\n`).join("");
  const begun = performance.now();
  const response = await fetch(
    `${stand.host.url}/api/admin/orbs/${ORB}/entries/bulk?module=catalog&${query}`,
    {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/x-ndjson" },
      body,
    },
  );
  const text = await response.text();
  const totals = JSON.parse(text.trimEnd().split("\n").at(-1) ?? "{}") as Totals;
  if (!totals.done || totals.failed > 0) throw new Error(`The upload failed: ${JSON.stringify(totals)}`);
  return (rows.length * 1000) / (performance.now() - begun);
}

export async function imports(stand: Stand, token: string): Promise<unknown> {
  await createOrb(stand.deps, system, { document: DOCUMENT, publish: true });
  const makers = Array.from({ length: MAKERS }, (_, n) => ({ name: `maker-${n}` }));
  await upload(stand, token, "schema=maker&publish=true", makers);
  const rows = (turn: number) => Array.from({ length: ROWS }, (_, n) => row(n, turn));
  const keyed = "schema=product&match=sku&publish=true";
  const turns: Record<string, () => Promise<number>> = {
    "no key, no reference, no index": () => upload(stand, token, "schema=plain&publish=true", rows(0)),
    "new rows": () => upload(stand, token, keyed, rows(0)),
    "the same rows again, unchanged": () => upload(stand, token, keyed, rows(0)),
    "the same rows, each changed": () => upload(stand, token, keyed, rows(1)),
  };
  const found: Record<string, string> = {};
  let plain = 0;
  for (const [name, run] of Object.entries(turns)) {
    const perSecond = await run();
    if (plain === 0) plain = perSecond;
    const perMinute = Math.round(perSecond * 60).toLocaleString("en");
    found[name] = `${perMinute} rows a minute, ${(perSecond / plain).toFixed(2)} of the first row`;
  }
  printPairs(
    `Bulk upload of ${ROWS.toLocaleString("en")} rows on the host, with a key, a reference by key and three ordered indexes`,
    found,
  );
  return found;
}

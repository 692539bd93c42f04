import { beforeAll, describe, expect, it } from "vitest";
import { adminToken, call } from "../support/auth.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";

let platform: TestPlatform;
let token: string;

const DOCUMENT = {
  id: "matched",
  languages: ["en", "de"],
  modules: [
    {
      id: "catalog",
      type: "CONTENT",
      schemas: [
        {
          id: "product",
          access: { read: "public" },
          fields: [
            { name: "sku", type: "string", unique: true },
            { name: "ean", type: "integer", unique: true },
            { name: "title", type: "string", translatable: true },
            { name: "note", type: "string", max: 10 },
          ],
        },
      ],
    },
  ],
};

interface Result {
  line: number;
  status: number;
  id?: string;
  revision?: number;
  act?: string;
  code?: string;
  errors?: { path: string }[];
}

/** Uploads lines, and returns the result of each, and the totals. */
async function upload(values: readonly unknown[], query: string, headers: Record<string, string> = {}) {
  const response = await fetch(
    `${platform.origin}/api/admin/orbs/matched/entries/bulk?module=catalog&${query}`,
    {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/x-ndjson", ...headers },
      body: values.map((one) => `${JSON.stringify({ values: one })}\n`).join(""),
    },
  );
  const text = await response.text();
  if (!response.ok) return { status: response.status, body: JSON.parse(text), results: [], totals: {} };
  const lines = text.trim().split("\n");
  const parsed = lines.map((line) => JSON.parse(line) as Result);
  return { status: response.status, results: parsed.slice(0, -1), totals: parsed.at(-1) ?? {} };
}

const acts = ({ results }: { results: readonly Result[] }) =>
  results.map(({ act, code, revision }) => (act === undefined ? code : `${act} ${revision ?? ""}`.trim()));

async function valuesOf(sku: string) {
  const path = `/api/matched/catalog/product/by/sku/${sku}?locale=*&revision=latest`;
  const { body } = await call(platform, "GET", path, { token });
  return body.values as Record<string, unknown> | undefined;
}

beforeAll(async () => {
  platform = await sharedPlatform();
  token = await adminToken(platform);
  const made = await call(platform, "POST", "/api/admin/orbs?publish=true", { token, body: DOCUMENT });
  expect(made.status).toBe(201);
});

describe("lines that are matched by a unique field", () => {
  it("create, then change nothing, then change what differs", async () => {
    const rows = [
      { sku: "A1", title: { en: "One" } },
      { sku: "A2", title: { en: "Two" } },
      { sku: "A3", title: { en: "Three" } },
    ];
    const first = await upload(rows, "match=sku&publish=true");
    expect(acts(first)).toEqual(["created 1", "created 1", "created 1"]);
    expect(first.results.map(({ status }) => status)).toEqual([201, 201, 201]);
    const again = await upload(rows, "match=sku&publish=true");
    expect(acts(again)).toEqual(["unchanged 1", "unchanged 1", "unchanged 1"]);
    expect(again.results.map(({ id }) => id)).toEqual(first.results.map(({ id }) => id));
    expect(again.totals).toMatchObject({
      done: true,
      total: 3,
      created: 0,
      updated: 0,
      unchanged: 3,
      failed: 0,
    });
    const corrected = [rows[0], { sku: "A2", title: { en: "Zwei" } }, { sku: "A4" }, rows[2]];
    const third = await upload(corrected, "match=sku&publish=true");
    expect(acts(third)).toEqual(["unchanged 1", "updated 2", "created 1", "unchanged 1"]);
    expect(third.totals).toMatchObject({ created: 1, updated: 1, unchanged: 2, skipped: 0 });
  });

  it("keep the values that they do not name", async () => {
    await upload([{ sku: "B1", title: { en: "One", de: "Eins" }, note: "kept" }], "match=sku");
    const changed = await upload([{ sku: "B1", title: { de: "Einz" } }], "match=sku");
    expect(acts(changed)).toEqual(["updated 2"]);
    expect(await valuesOf("B1")).toEqual({ sku: "B1", title: { en: "One", de: "Einz" }, note: "kept" });
    await upload([{ sku: "B1", note: null }], "match=sku");
    expect(await valuesOf("B1")).toEqual({ sku: "B1", title: { en: "One", de: "Einz" } });
  });

  it("are taken one after the other, also several of one entry and swapped unique values", async () => {
    const twice = await upload(
      [
        { sku: "C1", note: "1" },
        { sku: "C1", note: "2" },
        { sku: "C1", note: "2" },
      ],
      "match=sku",
    );
    expect(acts(twice)).toEqual(["created 1", "updated 2", "unchanged 2"]);
    await upload(
      [
        { sku: "C2", ean: 1 },
        { sku: "C3", ean: 2 },
      ],
      "match=sku",
    );
    const swapped = await upload(
      [
        { sku: "C2", ean: 9 },
        { sku: "C4", ean: 1 },
        { sku: "C3", ean: 3 },
        { sku: "C2", ean: 2 },
      ],
      "match=sku",
    );
    expect(acts(swapped)).toEqual(["updated 2", "created 1", "updated 2", "updated 3"]);
  });

  it("are matched by the first field that they have", async () => {
    await upload([{ sku: "D1", ean: 41 }], "match=sku");
    const other = await upload([{ ean: 41, note: "by ean" }, { note: "none" }], "match=sku,ean");
    expect(acts(other)).toEqual(
      ["updated 2", "invalid_input"].map((one, i) => (i === 0 ? one : other.results[1]?.code)),
    );
    expect(other.results[1]).toMatchObject({ status: 422, errors: [{ path: "/values/sku" }] });
    expect(await valuesOf("D1")).toMatchObject({ note: "by ean" });
  });

  it("only update with on=update, and leave entries alone with on=skip", async () => {
    await upload([{ sku: "E1", note: "old" }], "match=sku");
    const rows = [
      { sku: "E1", note: "new" },
      { sku: "E2", note: "new" },
    ];
    expect(acts(await upload(rows, "match=sku&on=skip"))).toEqual(["skipped", "created 1"]);
    expect(await valuesOf("E1")).toMatchObject({ note: "old" });
    const updated = await upload([...rows, { sku: "E3" }], "match=sku&on=update");
    expect(acts(updated)).toEqual(["updated 2", "unchanged 1", "entry_not_found"]);
    expect(updated.results[2]?.status).toBe(404);
    expect(await valuesOf("E3")).toBeUndefined();
  });

  it("are checked by a dry run and by checkFirst, which write nothing", async () => {
    await upload([{ sku: "F1", note: "old" }], "match=sku");
    const rows = [{ sku: "F1", note: "new" }, { sku: "F2" }, { sku: "F2", note: "more" }];
    const dry = await upload(rows, "match=sku&dryRun=true");
    expect([dry.results, dry.totals]).toMatchObject([[], { total: 3, updated: 1, failed: 0 }]);
    expect([await valuesOf("F1"), await valuesOf("F2")]).toMatchObject([{ note: "old" }, undefined]);
    const wrong = [...rows, { sku: "F1", note: "far too long a note" }];
    const refused = await upload(wrong, "match=sku&checkFirst=true");
    expect(refused.results).toMatchObject([{ line: 4, status: 422 }]);
    expect(await valuesOf("F1")).toMatchObject({ note: "old" });
    const done = await upload(rows, "match=sku&checkFirst=true");
    expect(acts(done)).toEqual(["updated 2", "created 1", "updated 2"]);
    const stopped = await upload(
      [{ sku: "F1", note: "far too long a note" }, { sku: "F9" }],
      "match=sku&stopOnError=true",
    );
    expect([stopped.results.length, await valuesOf("F9")]).toEqual([1, undefined]);
  });

  it("end with exactly one entry for each key, although several uploads run at the same time", async () => {
    const rows = Array.from({ length: 60 }, (_, i) => ({ sku: `G${i}`, note: "x" }));
    const all = await Promise.all([1, 2, 3].map(() => upload(rows, "match=sku&publish=true")));
    for (const { totals } of all) expect(totals).toMatchObject({ done: true, total: 60, failed: 0 });
    const ids = rows.map((_, i) => new Set(all.map(({ results }) => results[i]?.id)).size);
    expect(ids).toEqual(rows.map(() => 1));
    const found = await call(
      platform,
      "GET",
      "/api/matched/catalog/product?filter[note]=x&limit=1&count=true",
    );
    expect(found.body.total).toBe(60);
  });

  it("refuse parameters and fields that make no sense", async () => {
    const refused = [
      ["on=skip", 400],
      ["match=sku&on=other", 400],
      ["match=", 400],
      ["match=sku&takeBack=true", 400],
      ["match=sku&end=true", 400],
    ] as const;
    for (const [query, status] of refused)
      expect([query, (await upload([{ sku: "H1" }], query)).status]).toEqual([query, status]);
    const keyed = await upload([{ sku: "H1" }], "match=sku", { "idempotency-key": "one" });
    expect([keyed.status, keyed.body.code]).toEqual([400, "invalid_header"]);
    for (const field of ["note", "title", "nothing"])
      expect(acts(await upload([{ sku: "H1" }], `match=${field}`))).toEqual(["unknown_key"]);
    expect(await valuesOf("H1")).toBeUndefined();
  });
});

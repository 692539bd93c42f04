/** Lists sorted in the order of a language: from an ordered index and in memory, with ranges, cursors and live lists. */
import { describe, expect, it } from "vitest";
import { fileAdmin } from "../support/file-admin.ts";
import { Follow } from "../support/live.ts";

const { platform, as } = await fileAdmin();

const NAMES = [
  "Zebra",
  "zebra",
  "Ärta",
  "Ål",
  "ål",
  "Aal",
  "Öl",
  "O\u0308l 2",
  "Strasse",
  "Straße",
  "Straßen",
  "a%b",
  "a b",
  "resumé",
  "résumé",
  "resume",
  "W",
  "V",
  "10",
  "9",
  "Яблоко",
  "東京",
  "😀",
  `${"x".repeat(250)}å`,
];

interface Fields {
  [name: string]: unknown;
}

const INDEXED: Fields = { name: "name", type: "string", index: "ordered" };

const documentOf = (id: string, fields: readonly Fields[]) => ({
  id,
  languages: ["en", "de"],
  modules: [{ id: "shop", type: "CONTENT", schemas: [{ id: "item", access: { read: ["public"] }, fields }] }],
});

let number = 0;
async function withNames(fields: readonly Fields[], valuesOf: (name: string) => object) {
  const id = `sorted-${++number}`;
  const made = await as("POST", "/api/admin/orbs?publish=true", documentOf(id, fields));
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  const entries = [...NAMES.map(valuesOf), {}];
  const created = await as("POST", `/api/${id}/batch`, {
    do: entries.map((values) => ({ create: "shop/item", values, publish: true })),
  });
  expect(created.status, JSON.stringify(created.body)).toBe(200);
  return { id, list: `/api/${id}/shop` };
}

/** Reads all pages of `limit` entries. Returns the names, and how the list was read. */
async function listed(list: string, query: string, limit = 100) {
  const names: (string | undefined)[] = [];
  const explained = new Set<string>();
  let cursor: string | null = null;
  do {
    const more: string = cursor === null ? "" : `&cursor=${encodeURIComponent(cursor)}`;
    const { status, body } = await as("GET", `${list}?explain=true&limit=${limit}&${query}${more}`);
    expect(status, JSON.stringify(body)).toBe(200);
    names.push(...body.items.map(({ values }: { values: { name?: string } }) => values.name));
    explained.add(body.explain.order);
    cursor = body.nextCursor;
  } while (cursor !== null);
  return { names, order: [...explained] };
}

const inOrder = (tag: string) => [...NAMES].sort(new Intl.Collator(tag).compare);

describe.each([
  ["an ordered index", INDEXED, "index", ["sv", "de", "en", "da"]],
  // Both orders compare the same keys.
  ["no index", { name: "name", type: "string" }, "memory", ["sv", "en"]],
])("a field with a language and %s", (_, field, order, tags) => {
  it.each(tags)("sorts and finds ranges in %s, both ways and in pages", async (tag) => {
    const { list } = await withNames([{ ...field, collation: tag }], (name) => ({ name }));
    const expected = inOrder(tag);
    const up = await listed(list, "sort=name", 5);
    expect(up).toEqual({ names: [undefined, ...expected], order: [order] });
    const down = await listed(list, "sort=-name", 5);
    expect(down).toEqual({ names: [...expected].reverse().concat(undefined as never), order: [order] });
    const { compare } = new Intl.Collator(tag);
    for (const bound of ["Straße", "strasse", "ål", "o", "résumé"]) {
      for (const [operator, isIn] of [
        ["gt", (sign: number) => sign > 0],
        ["gte", (sign: number) => sign >= 0],
        ["lt", (sign: number) => sign < 0],
        ["lte", (sign: number) => sign <= 0],
      ] as const) {
        const query = `filter[name][${operator}]=${encodeURIComponent(bound)}`;
        const wanted = expected.filter((name) => isIn(compare(name, bound)));
        // One range is read in pages too.
        const limit = bound === "o" ? 5 : 100;
        expect((await listed(list, `sort=name&${query}`, limit)).names, query).toEqual(wanted);
        // The order of a list does not change what a range finds.
        if (bound !== "o") continue;
        const unsorted = await listed(list, query);
        expect([...unsorted.names].sort(), query).toEqual([...wanted].sort());
      }
    }
    for (const name of ["Strasse", "Straße", "Öl 2"]) {
      const found = await listed(list, `sort=name&filter[name]=${encodeURIComponent(name)}`);
      expect(found.names.map((one) => one?.normalize("NFC"))).toEqual([name]);
    }
  });
});

it("a live list sends ranks in the order of the language", async () => {
  const { list } = await withNames([{ ...INDEXED, collation: "sv" }], (name) => ({ name }));
  const follow = new Follow(`${list}?sort=name&live=sse`, { origin: () => platform.origin });
  try {
    await follow.until(({ ready }) => ready);
    const sorted = [...follow.items.values()]
      .map((item) => ({ rank: String(item.rank?.[0] ?? ""), name: (item.values as { name?: string }).name }))
      .sort((a, b) => (a.rank < b.rank ? -1 : 1));
    expect(sorted.map(({ name }) => name)).toEqual([undefined, ...inOrder("sv")]);
  } finally {
    await follow.stop();
  }
});

it("a translatable field sorts each language's values in the order of its language", async () => {
  const field = { name: "name", type: "string", translatable: true, collation: "sv" };
  const { list } = await withNames([field], (name) => ({ name: { en: name } }));
  const found = await listed(list, "sort=name&locale=en");
  expect(found).toEqual({ names: [undefined, ...inOrder("sv")], order: ["memory"] });
});

it("another language of the field indexes all entries again", async () => {
  const { id, list } = await withNames([INDEXED], (name) => ({ name }));
  const byCharacters = NAMES.toSorted((a, b) => (a.normalize("NFC") < b.normalize("NFC") ? -1 : 1));
  expect((await listed(list, "sort=name")).names).toEqual([undefined, ...byCharacters]);
  for (const tag of ["sv", "de-AT", undefined, "sv"]) {
    const document = documentOf(id, [tag === undefined ? INDEXED : { ...INDEXED, collation: tag }]);
    const changed = await as("PUT", `/api/admin/orbs/${id}?publish=true`, document);
    expect(changed.status, JSON.stringify(changed.body)).toBe(200);
    const expected = tag === undefined ? byCharacters : inOrder(tag);
    expect(await listed(list, "sort=name")).toEqual({ names: [undefined, ...expected], order: ["index"] });
  }
  // Entries written after the change are in the index too.
  const values = { name: "Å" };
  expect((await as("POST", `/api/${id}/shop?publish=true`, { values })).status).toBe(201);
  const found = await listed(list, "sort=name&filter[name][gte]=z");
  expect(found.names).toContain("Å");
});

it("refuses a language without sort keys, and fields that are not sorted", async () => {
  const refused = async (field: Fields) => {
    const { status, body } = await as("POST", "/api/admin/orbs", documentOf("refused", [field]));
    return [
      status,
      ...(body.errors ?? []).map((one: { path: string; code: string }) => [one.path, one.code]),
    ];
  };
  const path = "/modules/0/schemas/0/fields/0/collation";
  for (const collation of ["zh", "ja", "az-Cyrl", "de-u-co-phonebk"])
    expect(await refused({ ...INDEXED, collation }), collation).toEqual([422, [path, "unknown_collation"]]);
  expect(await refused({ ...INDEXED, collation: "DE_at" })).toEqual([422, [path, "format"]]);
  const bad = [
    { name: "n", type: "integer" },
    { name: "n", type: "text" },
    { name: "n", type: "string", list: true },
    { name: "n", type: "string", sensitive: true },
  ];
  for (const field of bad)
    expect(await refused({ ...field, collation: "de" })).toEqual([422, [path, "not_applicable"]]);
});

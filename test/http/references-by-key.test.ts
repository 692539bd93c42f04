import { beforeAll, expect, it } from "vitest";
import { adminToken, call, user } from "../support/auth.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";

let platform: TestPlatform;
let admin: string;
let ann: string;
const ids = new Map<string, string>();

const artist = { type: "reference", ref: "gallery/art/artist" };
const DOCUMENT = {
  id: "gallery",
  languages: ["en", "de"],
  markets: ["US"],
  modules: [
    {
      id: "art",
      type: "CONTENT",
      schemas: [
        {
          id: "artist",
          access: { read: "public" },
          fields: [
            { name: "name", type: "string", unique: true },
            { name: "number", type: "integer", unique: true },
            { name: "born", type: "integer" },
          ],
        },
        {
          id: "topic",
          access: { read: "public" },
          fields: [
            { name: "key", type: "string", unique: true },
            { name: "parent", type: "reference", ref: "gallery/art/topic" },
            { name: "related", type: "reference", ref: "gallery/art/topic", list: true },
            { name: "note", type: "string", max: 5 },
          ],
        },
        {
          id: "work",
          access: { read: "public", write: "user" },
          fields: [
            { name: "code", type: "string", unique: true },
            { name: "artist", ...artist },
            { name: "others", ...artist, list: true },
            { name: "guides", ...artist, translatable: true, marketSpecific: true, list: true },
            { name: "author", ...artist, required: true },
            {
              name: "credits",
              type: "object",
              list: true,
              fields: [
                { name: "by", ...artist },
                { name: "with", ...artist, list: true },
              ],
            },
          ],
        },
      ],
    },
  ],
};

const send = (method: string, path: string, values: unknown, token = admin) =>
  call(platform, method, `/api/gallery/art${path}`, { token, body: { values } });

beforeAll(async () => {
  platform = await sharedPlatform();
  admin = await adminToken(platform);
  const made = await call(platform, "POST", "/api/admin/orbs?publish=true", { token: admin, body: DOCUMENT });
  expect([made.status, made.body.errors]).toEqual([201, undefined]);
  ann = (await user(platform, "auth", "user")).token;
  for (const [name, number] of [
    ["Vermeer", 1],
    ["Hals", 2],
    ["Leyster", 3],
  ] as const) {
    const { body } = await send("POST", "/artist?publish=true", { name, number });
    ids.set(name, body.id);
  }
});

const id = (name: string) => ids.get(name);

it("replaces keys at every place of a reference by ids, in every kind of write", async () => {
  const created = await send("POST", "/work?locale=*", {
    author: { name: "Hals" },
    artist: { number: 1 },
    others: [{ name: "Leyster" }, id("Hals"), { number: 1 }],
    guides: { US: { en: [{ name: "Vermeer" }], de: [] } },
  });
  expect([created.status, created.body.values]).toEqual([
    201,
    {
      author: id("Hals"),
      artist: id("Vermeer"),
      others: [id("Leyster"), id("Hals"), id("Vermeer")],
      guides: { US: { en: [id("Vermeer")], de: [] } },
    },
  ]);
  const path = `/work/${created.body.id}`;
  const patched = await send("PATCH", `${path}?locale=*`, { artist: { name: "Leyster" } });
  expect(patched.body.values).toMatchObject({ artist: id("Leyster"), author: id("Hals") });
  const put = await send("PUT", `/work/by/code/w1?locale=*`, { author: { name: "Vermeer" } });
  expect(put.body.values).toEqual({ code: "w1", author: id("Vermeer") });
  const german = await send("PATCH", `${path}?locale=de&market=US`, { guides: [{ name: "Hals" }] });
  expect(german.body.values.guides).toEqual([id("Hals")]);
  const all = await call(platform, "GET", `/api/gallery/art${path}?locale=*&revision=latest`, {
    token: admin,
  });
  expect(all.body.values.guides).toEqual({ US: { en: [id("Vermeer")], de: [id("Hals")] } });
});

interface Line {
  line: number;
  status: number;
  act?: string;
  errors?: { path: string; code: string }[];
}

/** Uploads lines, and returns the results in the order of the lines, and the totals. */
async function upload(schema: string, values: readonly object[], query = "") {
  const path = `/api/admin/orbs/gallery/entries/bulk?module=art&schema=${schema}${query}`;
  const response = await fetch(platform.origin + path, {
    method: "POST",
    headers: { authorization: `Bearer ${admin}`, "content-type": "application/x-ndjson" },
    body: values.map((one) => JSON.stringify({ values: one })).join("\n"),
  });
  const lines = (await response.text()).trim().split("\n");
  const all = lines.map((line) => JSON.parse(line) as Line);
  return { results: all.slice(0, -1).toSorted((a, b) => a.line - b.line), totals: all.at(-1) };
}

const topic = async (key: string) =>
  (await call(platform, "GET", `/api/gallery/art/topic/by/key/${key}?revision=latest`, { token: admin }))
    .body;

it("replaces keys inside objects, and names where one leads to no entry", async () => {
  const credits = [{ by: { name: "Hals" } }, { by: id("Hals"), with: [{ number: 1 }, { name: "Leyster" }] }];
  const made = await send("POST", "/work", { author: { name: "Hals" }, credits });
  expect(made.body.values.credits).toMatchObject([
    { by: id("Hals") },
    { by: id("Hals"), with: [id("Vermeer"), id("Leyster")] },
  ]);
  const wrong = [{ by: { name: "Hals" } }, { with: [{ number: 1 }, { name: "Nobody" }] }];
  const refused = await send("POST", "/work", { author: { name: "Hals" }, credits: wrong });
  expect([refused.status, refused.body.errors]).toMatchObject([
    422,
    [{ path: "/values/credits/1/with/1", code: "unmatched_reference" }],
  ]);
});

it("uploads many lines with references by key", async () => {
  const values = ["Vermeer", "Hals", "Nobody"].map((name, i) => ({ code: `bulk${i}`, author: { name } }));
  const { results, totals } = await upload("work", values, "&match=code");
  expect([...results, totals]).toMatchObject([
    { status: 201 },
    { status: 201 },
    { status: 422, errors: [{ path: "/values/author", code: "unmatched_reference" }] },
    { created: 2, failed: 1 },
  ]);
});

it.each(["", "&match=key", "&match=key&checkFirst=true"])(
  "lets lines refer to earlier ones (%s)",
  async (query) => {
    const name = (i: number) => `tree${query.length}-${i}`;
    const rows = Array.from({ length: 20 }, (_, i) => ({
      key: name(i),
      ...(i === 0 ? {} : { parent: { key: name(Math.floor((i - 1) / 2)) } }),
    }));
    const dry = await upload("topic", rows, `${query.replace("&checkFirst=true", "")}&dryRun=true`);
    expect(dry).toMatchObject({ results: [], totals: { total: 20, failed: 0 } });
    const { results, totals } = await upload("topic", rows, `${query}&publish=true`);
    expect(totals).toMatchObject({ done: true, total: 20, created: 20, failed: 0 });
    expect(results.map(({ line }) => line)).toEqual(rows.map((_, i) => i + 1));
    expect((await topic(name(19))).values.parent).toBe((await topic(name(9))).id);
    // The entries are created in the order of the lines.
    const ids = await Promise.all(rows.map(async ({ key }) => (await topic(key)).id as string));
    expect(ids).toEqual(ids.toSorted());
  },
);

it("lets lines refer to later ones and to each other, if they are matched by a field", async () => {
  const rows = [
    { key: "a", parent: { key: "b" } },
    { key: "b", parent: { key: "c" }, related: [{ key: "a" }, { key: "d" }] },
    { key: "c", note: "last" },
    { key: "d", parent: { key: "d" } },
  ];
  const query = "&match=key&publish=true";
  const dry = await upload("topic", rows, "&match=key&dryRun=true");
  expect(dry).toMatchObject({ results: [], totals: { total: 4, failed: 0 } });
  const first = await upload("topic", rows, query);
  expect(first.results.map(({ act }) => act)).toEqual(["created", "created", "created", "created"]);
  const [a, b, c, d] = await Promise.all(["a", "b", "c", "d"].map(topic));
  expect([a, b, c, d].map(({ status }) => status)).toEqual(Array(4).fill("PUBLISHED"));
  expect([a.values.parent, b.values.parent, b.values.related, d.values.parent]).toEqual([
    b.id,
    c.id,
    [a.id, d.id],
    d.id,
  ]);
  const again = await upload("topic", rows, query);
  expect(again.results.map(({ act }) => act)).toEqual(Array(4).fill("unchanged"));
  // A line of an existing entry can refer to an entry that a later line creates.
  const more = await upload("topic", [{ key: "c", parent: { key: "e" } }, { key: "e" }], query);
  expect(more.results.map(({ act }) => act)).toEqual(["updated", "created"]);
});

it("refuses lines whose entries no line creates, and checks the rest of a line that waits", async () => {
  const rows = [
    { key: "f", parent: { key: "nobody" } },
    { key: "g", parent: { key: "h" }, note: "too long" },
    { key: "h" },
  ];
  const expected = [
    { line: 1, status: 422, errors: [{ path: "/values/parent", code: "unmatched_reference" }] },
    { line: 2, errors: expect.arrayContaining([expect.objectContaining({ path: "/values/note" })]) },
  ];
  for (const mode of ["&dryRun=true", "&checkFirst=true"]) {
    const { results } = await upload("topic", rows, `&match=key${mode}`);
    expect([mode, results]).toMatchObject([mode, expected]);
  }
  expect((await topic("h")).status).toBe(404);
  const plain = await upload("topic", [{ key: "i", parent: { key: "j" } }, { key: "j" }]);
  expect(plain.results).toMatchObject([{ status: 422 }, { status: 201 }]);
});

it("reports every key that leads to no entry, beside the other faults, and writes nothing", async () => {
  const refused = await send("POST", "/work", {
    code: 5,
    author: { name: "Nobody" },
    artist: { born: 1632 },
    others: [{ name: "Hals" }, { name: 5 }, { name: "Hals", number: 2 }, {}],
  });
  expect(refused.status).toBe(422);
  const faults = refused.body.errors.map(({ path, code }: { path: string; code: string }) => [path, code]);
  expect(faults.toSorted()).toEqual(
    [
      ["/values/author", "unmatched_reference"],
      ["/values/artist", "unknown_key"],
      ["/values/others/1", "type"],
      ["/values/others/2", "type"],
      ["/values/others/3", "type"],
      ["/values/code", "type"],
    ].toSorted(),
  );
  const born = refused.body.errors.find(({ path }: { path: string }) => path === "/values/artist");
  expect(born.message).toBe(
    'must name a unique field. Entries cannot be addressed by "born". Use a unique field: name, number.',
  );
});

it("refuses more keys than one write can look up", async () => {
  const others = Array.from({ length: 451 }, () => ({ name: "Hals" }));
  const refused = await send("POST", "/work", { author: { name: "Hals" }, others });
  const faults = refused.body.errors.map(({ path, code }: { path: string; code: string }) => [path, code]);
  expect(faults).toContainEqual([expect.stringMatching(/^\/values\//), "too_many"]);
});

it("refuses keys of callers who may not read every draft of the target, whether or not there is an entry", async () => {
  for (const name of ["Vermeer", "Nobody"]) {
    const refused = await send("POST", "/work", { author: { name } }, ann);
    expect([refused.status, refused.body.errors]).toMatchObject([
      422,
      [{ path: "/values/author", code: "not_allowed" }],
    ]);
  }
  expect((await send("POST", "/work", { author: id("Vermeer") }, ann)).status).toBe(201);
});

/** Readers and writers while a set of 150 entries is published with a new definition: nobody sees half, no request fails. */
import { beforeAll, expect, test } from "vitest";
import { adminToken, call } from "../support/auth.ts";
import { beginningOf } from "../support/live.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";
import { rounds } from "../support/random.ts";

const ENTRIES = 150;
const PUBLICATIONS = rounds(2);
const one = "/api/admin/orbs/defload";
const items = "/api/defload/shop/item";

let platform: TestPlatform;
let root: string;
let ids: string[];

const as = async (method: string, path: string, body?: unknown) => {
  const answer = await call(platform, method, path, { token: root, ...(body === undefined ? {} : { body }) });
  expect([answer.status < 300, answer.body?.code, answer.body?.errors], path).toEqual([
    true,
    undefined,
    undefined,
  ]);
  return answer.body;
};

/** @param number the definition number n has the fields `number` and `field<n>` */
const document = (number: number) => ({
  id: "defload",
  modules: [
    {
      id: "shop",
      type: "CONTENT",
      schemas: [
        {
          id: "item",
          access: { read: ["public"] },
          fields: [
            { name: "number", type: "integer", index: "ordered" },
            // A rename shows content that was written before under another name.
            {
              name: `field${number}`,
              type: "integer",
              ...(number === 0 ? {} : { was: `field${number - 1}` }),
            },
          ],
        },
        { id: "log", access: { read: ["public"] }, fields: [{ name: "text", type: "string" }] },
      ],
    },
  ],
});

beforeAll(async () => {
  platform = await sharedPlatform();
  root = await adminToken(platform);
  await as("POST", "/api/admin/orbs?publish=true", document(0));
  const mapping = { stream: "ødefload", subjectFilter: "defload.content.public.item.*", read: "public" };
  await as("PUT", "/api/admin/streams/defloads", { description: "Loads", ...mapping });
  const made = await as("POST", "/api/defload/batch", {
    do: Array.from({ length: ENTRIES }, () => ({
      ...{ create: "shop/item", values: { number: 0, field0: 0 }, publish: true },
    })),
  });
  ids = made.items.map(({ id }: { id: string }) => id);
});

interface Item {
  id: string;
  values: Record<string, number>;
}

/** Checks that all entries have one number, and the field of the definition with this number. */
function requireWhole(found: readonly Item[], where: string, count = ENTRIES): number {
  const shapes = [...new Set(found.map(({ values }) => JSON.stringify(values)))];
  expect([found.length, shapes.length], `${where} ${shapes}`).toEqual([count, 1]);
  const { number = -1, ...rest } = found[0]?.values ?? {};
  expect(rest, where).toEqual({ [`field${number}`]: number });
  return number;
}

async function readList(query: string): Promise<number> {
  const answer = await fetch(`${platform.origin}${items}?limit=200${query}`);
  const body = (await answer.json()) as { items: Item[] };
  expect(answer.status, JSON.stringify(body)).toBe(200);
  return requireWhole(body.items, `list ${query}`);
}

async function readOne(): Promise<number> {
  const answer = await fetch(`${platform.origin}${items}/${ids[0]}`);
  expect(answer.status).toBe(200);
  return requireWhole([(await answer.json()) as Item], "entry", 1);
}

/** The definition never follows the entries, and never precedes them. */
async function readInTurn(): Promise<void> {
  const before = await readList("");
  const published = await as("GET", `${one}?revision=published`);
  const { name } = published.modules[0].schemas[0].fields[1];
  const after = await readList("&sort=number");
  const number = Number(name.slice("field".length));
  expect([number >= before, after >= number], `${before} ${number} ${after}`).toEqual([true, true]);
}

/** Reads the beginning of a live list. When it is ready, the client has one definition only. */
async function readLive(): Promise<void> {
  const answer = await fetch(`${platform.origin}${items}?live=sse`);
  expect(answer.status).toBe(200);
  const shown = await beginningOf<Item>(answer);
  if (shown !== undefined) requireWhole(shown, "live list");
}

async function release(number: number): Promise<void> {
  const { id } = await as("POST", "/api/defload/changes", { title: `Release ${number}` });
  await as("PUT", `${one}?change=${id}`, document(number));
  await as("POST", `/api/defload/batch?change=${id}`, {
    do: ids.map((entry) => ({
      ...{ update: `shop/item/${entry}`, values: { number, [`field${number}`]: number } },
    })),
  });
  const preview = await call(platform, "GET", `${items}?change=${id}&limit=200`, { token: root });
  requireWhole(preview.body.items, "preview");
  const published = await as("POST", `/api/defload/changes/${id}/publish`, {});
  expect(published.items).toHaveLength(ENTRIES);
}

test("no reader sees half of a publication with a definition, and no request fails", async () => {
  let over = false;
  const counts: Record<string, number> = {};
  const repeat = async (name: string, work: () => Promise<unknown>) => {
    for (counts[name] = 0; !over; counts[name]++) await work();
  };
  const writing = async () => {
    await as("POST", `/api/defload/shop/log?publish=true`, { values: { text: "x" } });
  };
  const readers = [
    ...["", "&sort=-number", "&filter[number][gte]=0", "&sort=-createdAt"].map((query) =>
      repeat(`list ${query}`, () => readList(query)),
    ),
    repeat("entry", readOne),
    repeat("in turn", readInTurn),
    repeat("live", readLive),
    repeat("write", writing),
  ];
  const publishing = (async () => {
    for (let number = 1; number <= PUBLICATIONS; number++) await release(number);
  })().finally(() => {
    over = true;
  });
  await Promise.all([publishing, ...readers]);
  for (const count of Object.values(counts)) expect(count).toBeGreaterThan(0);
  expect(await readList("")).toBe(PUBLICATIONS);
}, 180_000);

/**
 * Random writers, and followers with random filters whose connections break at random, while the broker is killed. At
 * rest, each follower has exactly the entries of its list.
 */
import { setTimeout as delay } from "node:timers/promises";
import { expect, it } from "vitest";
import { fileAdmin } from "../support/file-admin.ts";
import { Follow, type ListedItem } from "../support/live.ts";
import { type Random, testRandom } from "../support/random.ts";
import { signIn } from "../support/streams.ts";

const FOLLOWERS = 10;
const WRITERS = 3;
const WRITES = 40;

const { platform, token, as } = await fileAdmin({ streams: true, env: { STREAMS_ROTATE_MS: "4000" } });

const COLORS = ["red", "blue", "green"];
const document = {
  id: "busy",
  languages: ["en", "de"],
  modules: [
    {
      id: "shop",
      type: "CONTENT",
      schemas: [
        {
          id: "item",
          fields: [
            { name: "name", type: "string", translatable: true, search: true },
            { name: "color", type: "string", enum: COLORS },
            { name: "price", type: "integer" },
            { name: "cost", type: "integer", access: { read: ["admin"] } },
          ],
        },
      ],
    },
  ],
};
const ITEMS = "/api/busy/shop";

function valuesOf(random: Random) {
  const name = { en: `n${random.below(9)}`, ...(random.below(2) === 0 ? { de: `d${random.below(9)}` } : {}) };
  return { name, color: random.pick(COLORS), price: random.below(100), cost: random.below(10) };
}

/** Writes at random. Ignores writes that the platform refuses, or that fail because the broker was killed. */
async function write(random: Random, known: string[]): Promise<void> {
  const query = random.below(3) === 0 ? "locale=*" : "locale=*&publish=true";
  if (known.length < 10 || random.below(6) === 0) {
    const soon = () => new Date(Date.now() + 200 + random.below(1_500)).toISOString();
    const edge = random.below(8);
    const window = edge === 0 ? { validFrom: soon() } : edge === 1 ? { validTo: soon() } : {};
    const body = { values: valuesOf(random), ...window };
    const { status, body: made } = await as("POST", `${ITEMS}?${query}`, body);
    if (status === 201) known.push(made.id);
    return;
  }
  const id = random.pick(known);
  const act = random.below(10);
  if (act < 5) await as("PUT", `${ITEMS}/${id}?${query}`, { values: valuesOf(random) });
  else if (act < 7) await as("POST", `${ITEMS}/${id}/${random.pick(["publish", "unpublish", "archive"])}`);
  else if (act < 8) await as("DELETE", `${ITEMS}/${id}`);
  else await as("DELETE", `/api/admin/orbs/busy/entries/${id}${random.below(2) === 0 ? "?purge=true" : ""}`);
}

function queryOf(random: Random, admin: boolean): string {
  const queries = [
    "",
    `filter[color]=${random.pick(COLORS)}`,
    `filter[price][gte]=${random.below(80)}`,
    `filter[color][ne]=${random.pick(COLORS)}&sort=-price`,
    `filter[name]=d${random.below(9)}&locale=de`,
    `filter[name][startsWith]=n&locale=*&sort=name`,
    "fields=color",
    `search=n${random.below(9)}&filter[color]=${random.pick(COLORS)}`,
    ...(admin ? ["revision=latest", `revision=latest&filter[cost][lt]=${random.below(10)}`] : []),
  ];
  return random.pick(queries);
}

/** Reads all pages of a list. */
async function listed(query: string, by: string | undefined): Promise<Map<string, ListedItem>> {
  const all = new Map<string, ListedItem>();
  for (let cursor = ""; ; ) {
    const page = `${ITEMS}?limit=200&${query}${cursor === "" ? "" : `&cursor=${cursor}`}`;
    const headers = by === undefined ? {} : { authorization: `Bearer ${by}` };
    const body = (await (await fetch(`${platform.origin}${page}`, { headers })).json()) as {
      items: ListedItem[];
      nextCursor: string | null;
    };
    for (const item of body.items) all.set(item.id, item);
    if (body.nextCursor === null) return all;
    cursor = body.nextCursor;
  }
}

const sorted = (items: ReadonlyMap<string, ListedItem>) =>
  [...items.values()].map(({ rank: _, ...item }) => item).sort((a, b) => (a.id < b.id ? -1 : 1));

/** Describes how the items of a follower differ from those of its list. Empty if they are equal. */
function differences(follow: Follow, list: ReadonlyMap<string, ListedItem>): string[] {
  const texts = (items: ReadonlyMap<string, ListedItem>) => sorted(items).map((item) => JSON.stringify(item));
  const [followed, wanted] = [texts(follow.items), texts(list)];
  const found = [
    ...wanted.filter((item) => !followed.includes(item)).map((item) => `missing: ${item}`),
    ...followed.filter((item) => !wanted.includes(item)).map((item) => `not in the list: ${item}`),
  ];
  if (found.length === 0) return [];
  const { ready, refused, resets } = follow;
  const last = follow.events.slice(-5).map(({ type, data }) => `${type} ${data}`);
  return [...found, `state: ${JSON.stringify({ ready, refused: refused.slice(-5), resets, last })}`];
}

it("keeps every follower equal to its list through cuts and a killed broker", async () => {
  const random = testRandom();
  expect((await as("POST", "/api/admin/orbs?publish=true", document)).status).toBe(201);
  const user = await signIn(platform, { realm: "auth", sub: "reader" });
  const callers = [undefined, user, token];
  const origins = [platform.origin, platform.streamsUrl ?? ""];
  const hosts = random.fork();
  const follows = Array.from({ length: FOLLOWERS }, () => {
    const by = random.pick(callers);
    const query = queryOf(random, by === token);
    // Positions are the same on every host, so a follower may continue on another one.
    const origin = () => hosts.pick(origins);
    return { by, query, follow: new Follow(`${ITEMS}?${query}&live=sse`, { token: by, origin }) };
  });
  try {
    let writing = true;
    const known: string[] = [];
    const writers = Array.from({ length: WRITERS }, async () => {
      const own = random.fork();
      for (let n = 0; n < WRITES; n++) {
        await write(own, known).catch(() => undefined);
        await delay(own.below(80));
      }
    });
    const cutting = random.fork();
    const cuts = (async () => {
      while (writing) {
        await delay(cutting.below(120));
        cutting.pick(follows).follow.cut();
      }
    })();
    await delay(800);
    await platform.broker?.kill();
    await Promise.all(writers);
    writing = false;
    await cuts;
    // The last windows open and close within two seconds.
    await expect
      .poll(
        async () => {
          for (const { by, query, follow } of follows) {
            const found = differences(follow, await listed(query, by));
            if (found.length > 0) return [`?${query}`, ...found];
          }
          return [];
        },
        { interval: 300 },
      )
      .toEqual([]);
    expect(known.length).toBeGreaterThan(10);
  } finally {
    await Promise.all(follows.map(({ follow }) => follow.stop()));
  }
});

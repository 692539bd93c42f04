/** Readers of lists, streams and live lists while change sets are published: none sees half of a publication. */
import { expect } from "vitest";
import { adminToken, call } from "./auth.ts";
import { beginningOf } from "./live.ts";
import type { TestPlatform } from "./platform.ts";

/** Entries that each publication changes, apart from the pair. */
const ENTRIES = 12;
const items = "/api/release/shop/item";
/** Milliseconds for which readers go on after a publication. */
const LATE_MS = 150;

interface Item {
  id: string;
  values: { number: number; kind: string; word: string };
}

type Message = Item & { tombstone?: true };

interface Page {
  items: Item[];
  total?: number;
  groups?: { values: { n: number; low: number; high: number } }[];
}

/** The entries that each publication changes. */
interface Released {
  platform: TestPlatform;
  token: string;
  ids: readonly string[];
  /** Two entries of which each publication hides one and shows the other. */
  pair: readonly [string, string];
  /** An entry with references to all of `ids`. */
  box: string;
  /** A set that is never published, and has no entries. */
  other: string;
  /** While a set is published and shortly after that, readers read without a pause. Then they wait for the next set. */
  publishing: PromiseWithResolvers<void>;
}

async function as(platform: TestPlatform, token: string, method: string, path: string, body?: unknown) {
  const answer = await call(platform, method, path, { token, ...(body === undefined ? {} : { body }) });
  expect([answer.status < 300, answer.body?.code]).toEqual([true, undefined]);
  return answer.body;
}

async function prepared(platform: TestPlatform): Promise<Released> {
  const token = await adminToken(platform);
  const fields = [
    { name: "number", type: "integer", index: "ordered" },
    { name: "kind", type: "string" },
    { name: "word", type: "string", search: true },
  ];
  const reference = { name: "items", type: "reference", ref: "release/shop/item", list: true };
  const access = { read: ["public"] };
  const schemas = [
    { id: "item", access, fields },
    { id: "box", access, fields: [reference] },
  ];
  await as(platform, token, "POST", "/api/admin/orbs?publish=true", {
    id: "release",
    modules: [{ id: "shop", type: "CONTENT", schemas }],
  });
  const mapping = { stream: "ørelease", subjectFilter: "release.content.public.item.*", read: "public" };
  await as(platform, token, "PUT", "/api/admin/streams/releases", { description: "Releases", ...mapping });
  const added = async (values: object, publish = true, schema = "item"): Promise<string> =>
    (await as(platform, token, "POST", `/api/release/shop/${schema}?publish=${publish}`, { values })).id;
  const ids: string[] = [];
  for (let at = 0; at < ENTRIES; at++) ids.push(await added({ number: 0, kind: "all", word: "w0" }));
  const pair = [
    await added({ number: 0, kind: "one", word: "w0" }),
    await added({ number: 0, kind: "one", word: "w0" }, false),
  ] as const;
  const box = await added({ items: ids }, true, "box");
  const { id: other } = await as(platform, token, "POST", "/api/release/changes", { title: "Later" });
  const publishing = Promise.withResolvers<void>();
  publishing.resolve();
  return { platform, token, ids, pair, box, other, publishing };
}

/** Publishes a set that gives all entries a number, and that shows the other one of the pair. */
async function publication(released: Released, number: number): Promise<void> {
  const { platform, token, ids, pair } = released;
  const act = (method: string, path: string, body?: unknown) => as(platform, token, method, path, body);
  const { id } = await act("POST", "/api/release/changes", { title: `Release ${number}` });
  released.publishing = Promise.withResolvers();
  const [shown, hidden] = number % 2 === 1 ? pair : [pair[1], pair[0]];
  const values = { number, word: `w${number}` };
  for (const entry of [...ids, hidden]) await act("PATCH", `${items}/${entry}?change=${id}`, { values });
  await act("POST", `${items}/${shown}/unpublish?change=${id}`);
  released.publishing.resolve();
  const published = await act("POST", `/api/release/changes/${id}/publish`, {});
  expect(published.items).toHaveLength(ENTRIES + 2);
  await new Promise((resolve) => setTimeout(resolve, LATE_MS));
}

/** Checks the entries of one response: all have the same number, and exactly one of the pair is there. */
function requireWhole(found: readonly Item[], where: string, count = ENTRIES + 1): void {
  const numbers = [...new Set(found.map(({ values }) => values.number))];
  const shown = found.map(({ values }) => values.number).join();
  expect([found.length, numbers.length], `${where}: ${shown}`).toEqual([count, 1]);
}

async function fetched({ platform }: Released, path: string): Promise<unknown> {
  const answer = await fetch(`${platform.origin}${path}`);
  expect(answer.status, path).toBe(200);
  return answer.json();
}

/** What readers of lists check. The number is that of the newest publication that was finished before. */
const LISTS: Record<string, (released: Released, latest: number) => Promise<void>> = {
  ...Object.fromEntries(
    ["", "&sort=number", "&sort=-number", "&filter[number][gte]=0", "&sort=-createdAt", "&sort=word"].map(
      (query) => [
        `list ${query}`,
        async (released: Released) => {
          const { items: found } = (await fetched(released, `${items}?limit=100${query}`)) as Page;
          requireWhole(found, query);
        },
      ],
    ),
  ),
  async filter(released) {
    const { items: found } = (await fetched(released, `${items}?limit=100&filter[kind]=all`)) as Page;
    requireWhole(found, "filter", ENTRIES);
  },
  async count(released) {
    const page = (await fetched(released, `${items}?limit=100&count=true`)) as Page;
    requireWhole(page.items, "count");
    expect(page.total, "count").toBe(ENTRIES + 1);
  },
  async aggregate(released) {
    const asked = "aggregate[n]=count&aggregate[low]=min(number)&aggregate[high]=max(number)";
    const { groups = [] } = (await fetched(released, `${items}?${asked}`)) as Page;
    const [{ n, low, high } = {}] = groups.map(({ values }) => values);
    expect([n, low], `aggregate ${low} to ${high}`).toEqual([ENTRIES + 1, high]);
  },
  /** A word belongs to one publication, so all entries have it, or none. */
  async search(released, latest) {
    for (const number of [latest, latest + 1]) {
      const page = (await fetched(released, `${items}?limit=100&search=w${number}`)) as Page;
      if (page.items.length > 0) requireWhole(page.items, `search w${number}`);
    }
  },
  async expand(released) {
    const entry = (await fetched(released, `/api/release/shop/box/${released.box}?expand=items`)) as {
      expand: { items: (Item | null)[] };
    };
    requireWhole(
      entry.expand.items.filter((item) => item !== null),
      "expand",
      ENTRIES,
    );
  },
  async expandedList(released) {
    const page = (await fetched(released, "/api/release/shop/box?expand=items")) as {
      items: { expand: { items: (Item | null)[] } }[];
    };
    const found = page.items[0]?.expand.items ?? [];
    requireWhole(
      found.filter((item) => item !== null),
      "expanded list",
      ENTRIES,
    );
  },
};

/** Follows a stream page by page. At each end of the stream, the client has whole publications only. */
async function readStream({ platform }: Released, known: Map<string, Item>, offset: string): Promise<string> {
  for (let from = offset; ; ) {
    const answer = await fetch(`${platform.origin}/api/streams/releases?offset=${from}`);
    expect(answer.status).toBe(200);
    for (const message of (await answer.json()) as Message[])
      if (message.tombstone) known.delete(message.id);
      else known.set(message.id, message);
    from = answer.headers.get("stream-next-offset") ?? "";
    if (answer.headers.get("stream-up-to-date") !== "true") continue;
    requireWhole([...known.values()], "stream");
    return from;
  }
}

/**
 * Reads the beginning of a live list. When it is ready, the client has whole publications only.
 * @param change a set in which the list is read
 */
async function readLive({ platform, token }: Released, change?: string): Promise<void> {
  const within = change === undefined ? "" : `&change=${change}`;
  const headers = { authorization: `Bearer ${token}` };
  const answer = await fetch(
    `${platform.origin}${items}?live=sse${within}`,
    within === "" ? {} : { headers },
  );
  expect(answer.status).toBe(200);
  const shown = await beginningOf<Item>(answer);
  if (shown !== undefined) requireWhole(shown, `live list ${within}`);
}

/**
 * Publishes change sets one after the other while readers look, and fails if one of them sees half of a publication.
 * @returns the number of reads of each kind
 */
export async function readWhilePublished(
  platform: TestPlatform,
  publications: number,
): Promise<Record<string, number>> {
  const released = await prepared(platform);
  let over = false;
  let latest = 0;
  const reads: Record<string, number> = {};
  const reading = async (kind: string, read: () => Promise<void>) => {
    for (reads[kind] = 0; !over; reads[kind]++) {
      await released.publishing.promise;
      await read();
    }
  };
  const known = new Map<string, Item>();
  let offset = "-1";
  const readers = [
    ...Object.entries(LISTS).map(([kind, read]) => reading(kind, () => read(released, latest))),
    reading("stream", async () => {
      offset = await readStream(released, known, offset);
    }),
    reading("live", () => readLive(released)),
    reading("live list in another set", () => readLive(released, released.other)),
  ];
  const writing = (async () => {
    for (let number = 1; number <= publications && !over; number++) {
      await publication(released, number);
      latest = number;
    }
  })().finally(() => {
    over = true;
    released.publishing.resolve();
  });
  // After a failure, the others end before the platform stops.
  const ended = await Promise.allSettled([
    writing,
    ...readers.map((reader) =>
      reader.catch((error: unknown) => {
        over = true;
        released.publishing.resolve();
        throw error;
      }),
    ),
  ]);
  const failed = ended.find((one) => one.status === "rejected");
  if (failed !== undefined) throw failed.reason;
  for (const read of Object.values(LISTS)) await read(released, latest);
  return reads;
}

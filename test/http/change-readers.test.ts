/** Readers of lists, streams and live lists while change sets are published: none sees half of a publication. */
import { beforeAll, expect, test } from "vitest";
import { adminToken, call } from "../support/auth.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";

const PUBLICATIONS = 24;
const ENTRIES = 12;
const items = "/api/release/shop/item";

let platform: TestPlatform;
let root: string;
let ids: string[];
/** Two entries of which each publication hides one and shows the other. */
let pair: [string, string];

const as = async (method: string, path: string, body?: unknown) => {
  const answer = await call(platform, method, path, { token: root, ...(body === undefined ? {} : { body }) });
  expect([answer.status < 300, answer.body?.code]).toEqual([true, undefined]);
  return answer.body;
};
const added = async (values: object, publish: boolean): Promise<string> =>
  (await as("POST", `${items}?publish=${publish}`, { values })).id;

beforeAll(async () => {
  platform = await sharedPlatform();
  root = await adminToken(platform);
  const fields = [
    { name: "number", type: "integer", index: "ordered" },
    { name: "kind", type: "string" },
  ];
  const schemas = [{ id: "item", access: { read: ["public"] }, fields }];
  await as("POST", "/api/admin/orbs?publish=true", {
    id: "release",
    modules: [{ id: "shop", type: "CONTENT", schemas }],
  });
  const mapping = { stream: "ørelease", subjectFilter: "release.content.public.item.*", read: "public" };
  await as("PUT", "/api/admin/streams/releases", { description: "Releases", ...mapping });
  ids = [];
  for (let at = 0; at < ENTRIES; at++) ids.push(await added({ number: 0, kind: "all" }, true));
  pair = [await added({ number: 0, kind: "one" }, true), await added({ number: 0, kind: "one" }, false)];
});

/** While a set is published and shortly after that, readers read without a pause. Then they wait for the next set. */
let publishing = Promise.withResolvers<void>();
publishing.resolve();

/** Publishes a set that gives all entries a number, and that shows the other one of the pair. */
async function publication(number: number): Promise<void> {
  const { id } = await as("POST", "/api/release/changes", { title: `Release ${number}` });
  publishing = Promise.withResolvers();
  const [shown, hidden] = number % 2 === 1 ? pair : [pair[1], pair[0]];
  for (const entry of [...ids, hidden])
    await as("PATCH", `${items}/${entry}?change=${id}`, { values: { number } });
  await as("POST", `${items}/${shown}/unpublish?change=${id}`);
  publishing.resolve();
  const published = await as("POST", `/api/release/changes/${id}/publish`, {});
  expect(published.items).toHaveLength(ENTRIES + 2);
}

interface Item {
  id: string;
  values: { number: number; kind: string };
}

/** Checks the entries of one response: all have the same number, and exactly one of the pair is there. */
function requireWhole(found: readonly Item[], where: string): void {
  const numbers = [...new Set(found.map(({ values }) => values.number))];
  expect([found.length, numbers.length], `${where} ${numbers}`).toEqual([ENTRIES + 1, 1]);
}

async function readList(query: string): Promise<void> {
  const answer = await fetch(`${platform.origin}${items}?limit=100${query}`);
  const body = (await answer.json()) as { items: Item[]; total?: number };
  expect(answer.status).toBe(200);
  requireWhole(body.items, `list ${query}`);
}

type Message = Item & { tombstone?: true };

/** Follows a stream page by page. At each end of the stream, the client has whole publications only. */
async function readStream(known: Map<string, Item>, offset: string): Promise<string> {
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

/** Reads the beginning of a live list. When it is ready, the client has whole publications only. */
async function readLive(): Promise<void> {
  const answer = await fetch(`${platform.origin}${items}?live=sse`);
  expect(answer.status).toBe(200);
  const known = new Map<string, Item>();
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of answer.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      const event = text.slice(0, end);
      text = text.slice(end + 2);
      const name = /^event: (.*)$/m.exec(event)?.[1];
      const item = JSON.parse(/^data:(.*)$/m.exec(event)?.[1] ?? "{}") as Item;
      if (name === "upsert") known.set(item.id, item);
      if (name === "leave") known.delete(item.id);
      if (name === "ready") return requireWhole([...known.values()], "live list");
    }
  }
}

test("no reader sees half of a publication", async () => {
  let over = false;
  const reads = { list: 0, stream: 0, live: 0 };
  const readers = [
    ...["", "&sort=number", "&sort=-number", "&filter[number][gte]=0", "&sort=-createdAt"].map(
      (query) => async () => {
        for (; !over; reads.list++) {
          await publishing.promise;
          await readList(query);
        }
      },
    ),
    async () => {
      const known = new Map<string, Item>();
      for (let offset = "-1"; !over; reads.stream++) {
        await publishing.promise;
        offset = await readStream(known, offset);
      }
    },
    async () => {
      for (; !over; reads.live++) {
        await publishing.promise;
        await readLive();
      }
    },
  ].map((reader) => reader());
  const writing = (async () => {
    for (let number = 1; number <= PUBLICATIONS; number++) await publication(number);
  })().finally(() => {
    over = true;
    publishing.resolve();
  });
  await Promise.all([writing, ...readers]);
  for (const count of Object.values(reads)) expect(count).toBeGreaterThan(0);
  await readList("");
});

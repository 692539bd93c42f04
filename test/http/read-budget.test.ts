/** One request reads a bounded number of bytes, so that the host's memory stays bounded whatever entries hold. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Functions, serveFunctions } from "../../scripts/host/functions.ts";
import { serveProcess } from "../../scripts/host/process.ts";
import { freePort } from "../../scripts/process/ports.ts";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import { liveOrb } from "../../shared/definition/stored/live.ts";
import { createEntry } from "../../shared/entry/write/create.ts";
import { updateEntry } from "../../shared/entry/write/update.ts";
import { recordTransaction } from "../../shared/modules/transactions/record.ts";
import { admin, call, user } from "../support/auth.ts";
import { admin as operator, type TestDeps, testDeps, user as userActor } from "../support/entries.ts";
import { growthDuring } from "../support/memory.ts";
import { createOrb } from "../support/orbs.ts";
import { startPlatform, type TestPlatform } from "../support/platform.ts";
import { testPrograms } from "../support/programs.ts";

/** An isolate at the edge has 128 MB of heap. workerd crashes beyond it, as it would at the edge. */
const FLAGS = "--max-heap-size=128";
/** Maximum growth of the whole process in bytes: heap, byte arrays, sockets and responses. */
const PROCESS_BYTES = 128 * 1024 * 1024;
/** Parallel reads of a test. */
const AT_ONCE = 4;
/** Each kind of large message exceeds the 16 MiB of one request, and four unbounded reads of it the process's limit. */
const BOOKS = 90;
/** As many as a list at a past time may hold. */
const PAGES = 30;
const NOTES = 85;
const RECORDS = 75;
const REVISIONS = 85;
/** Many pages of a stream or an export. */
const DOWNLOAD_BYTES = 12 * 1024 * 1024;

const text = { name: "body", type: "text" };
const title = { name: "title", type: "string" };
const DOCUMENT = {
  id: "large",
  uses: [{ service: "transactions", handlers: ["list"] }],
  modules: [
    {
      id: "library",
      type: "CONTENT",
      schemas: [
        { id: "page", access: { read: "public", write: "admin" }, fields: [text] },
        { id: "book", access: { read: "public", write: "admin" }, fields: [title, text] },
        {
          id: "shelf",
          access: { read: "public", write: "user" },
          fields: [{ name: "books", type: "reference", ref: "large/library/book", list: true }],
        },
      ],
    },
    {
      id: "diary",
      type: "CONTENT",
      schemas: [{ id: "note", access: { read: "own", write: "user" }, fields: [text] }],
    },
    { id: "ledger", type: "TRANSACTIONS", schemas: [{ id: "sale", fields: [text] }] },
  ],
};

let platform: TestPlatform;
/** The same functions with the link. */
let linked: Functions | undefined;
let deps: TestDeps;
let live: LiveOrb;
let token: string;
let ann: { token: string; id: string };
const books: string[] = [];
/** An entry with a long history of large revisions. */
let edited: string;

async function each(count: number, make: (n: number) => Promise<unknown>): Promise<void> {
  for (let at = 0; at < count; at += 5)
    await Promise.all(Array.from({ length: Math.min(5, count - at) }, (_, i) => make(at + i)));
}

beforeAll(async () => {
  // Serve from a separate process, whose memory this test measures.
  const onNode = process.env.TEST_HOST === "node";
  process.env.MINIFLARE_WORKERD_V8_FLAGS = FLAGS;
  platform = await startPlatform(onNode ? { serve: serveProcess } : {});
  if (!onNode) {
    const { bindings, logs } = platform;
    const log = (line: string) => logs.push(line);
    linked = await serveFunctions({
      programs: testPrograms(),
      host: "127.0.0.1",
      port: await freePort(),
      bindings,
      log,
      link: true,
    });
  }
  // Other files of this worker start runtimes without the limit.
  Reflect.deleteProperty(process.env, "MINIFLARE_WORKERD_V8_FLAGS");
  token = (await admin(platform)).token;
  ann = await user(platform);
  await createOrb(platform, token, DOCUMENT);
  deps = testDeps(platform.operatorStore());
  const found = await liveOrb(deps, "large");
  if (found === null) throw new Error("The orb is not live.");
  live = found;
  const entry = { orbId: "large", orb: live, publish: true };
  await each(BOOKS, async (n) => {
    const values = { title: `book ${n}`, body: `${n} `.padEnd(400_000, "x") };
    const made = await createEntry(deps, operator, { ...entry, module: "library", schema: "book", values });
    books.push(made.snapshot.id);
  });
  await each(PAGES, () =>
    createEntry(deps, operator, {
      ...entry,
      module: "library",
      schema: "page",
      values: { body: "x".repeat(400_000) },
    }),
  );
  await each(NOTES, () =>
    createEntry(deps, userActor("someone"), {
      ...entry,
      module: "diary",
      schema: "note",
      values: { body: "x".repeat(400_000) },
    }),
  );
  const sale = live.compiled.schema("ledger", "sale");
  if (sale === undefined) throw new Error("The schema is missing.");
  await each(RECORDS, () =>
    recordTransaction(deps, { actor: userActor(ann.id), role: "user" }, live, sale, {
      values: { body: "x".repeat(480_000) },
    }),
  );
  const stream = { stream: "ølarge", subjectFilter: "large.*.public.>" };
  expect((await call(platform, "PUT", "/api/admin/streams/large", { token, body: stream })).status).toBe(201);
  edited = books[0] ?? "";
  for (let n = 2; n <= REVISIONS; n++) {
    const values = { title: `edition ${n}`, body: `${n} `.padEnd(400_000, "x") };
    await updateEntry(deps, operator, { orbId: "large", orb: live, id: edited, values });
  }
  await deps.settled();
}, 240_000);
afterAll(async () => {
  await linked?.stop();
  await platform?.stop();
});

/** Requests a list page by page. Returns all ids and the number of requests. */
async function pages(ask: (cursor: string | undefined) => ReturnType<typeof call>) {
  const items: { id: string }[] = [];
  let cursor: string | undefined;
  for (let asked = 1; ; asked++) {
    const { status, body } = await ask(cursor);
    expect(status, status === 200 ? "" : JSON.stringify(body)).toBe(200);
    items.push(...body.items);
    if (body.nextCursor === null) return { ids: items.map(({ id }) => id), asked };
    cursor = body.nextCursor;
  }
}

/** Where a request goes. */
type To = Pick<TestPlatform, "origin">;

const list =
  (path: string, query: string, by?: string) =>
  (cursor?: string, to: To = platform) => {
    const more = cursor === undefined ? "" : `&cursor=${cursor}`;
    const options = by === undefined ? {} : { token: by };
    return call(to, "GET", `/api/large/${path}?${query}${more}`, options);
  };
const managed = (query: string, to: To) =>
  call(to, "GET", `/api/admin/orbs/large/entries?${query}`, { token });
const history = (path: string, method = "GET", to: To = platform) =>
  call(to, method, `/api/admin/orbs/large/entries/${edited}/revisions${path}`, { token });
const records = (cursor?: string, to: To = platform) =>
  call(to, "POST", "/api/large/call/list", {
    token: ann.token,
    body: { module: "ledger", limit: 200, ...(cursor === undefined ? {} : { cursor }) },
  });
const shelf =
  (ids: readonly string[]) =>
  (to: To = platform) =>
    call(to, "POST", "/api/large/library/shelf", { token: ann.token, body: { values: { books: ids } } });
/** Reads the beginning of a large response. */
const download = async (path: string, to: To) => {
  const response = await fetch(`${to.origin}${path}`, { headers: { authorization: `Bearer ${token}` } });
  let read = 0;
  for await (const part of response.body ?? []) {
    read += part.length;
    if (read >= DOWNLOAD_BYTES) break;
  }
  return { status: read < DOWNLOAD_BYTES ? `ended after ${read} bytes` : response.status };
};

type Ask = (to: To) => Promise<{ status: number | string }>;
type Case = [name: string, ask: Ask, expected: number];
const CASES: Case[] = [
  [
    "a filter that matches nothing",
    (to) => list("library/book", "filter[title]=nothing&limit=200")(undefined, to),
    200,
  ],
  [
    "a filter that matches all",
    (to) => list("library/book", "filter[title][contains]=book&limit=200")(undefined, to),
    200,
  ],
  [
    "a list of own entries among others",
    (to) => list("diary/note", "limit=200", ann.token)(undefined, to),
    200,
  ],
  ["a sort order", (to) => list("library/book", "sort=title")(undefined, to), 200],
  [
    "the total number of matching entries",
    (to) => list("library/book", "filter[title]=nothing&count=true")(undefined, to),
    200,
  ],
  ["the management list", (to) => managed("module=library&schema=book&filter[title]=nothing", to), 200],
  ["the management list filtered by status", (to) => managed("status=ARCHIVED", to), 200],
  ["the management list at a past time", (to) => managed(`at=${new Date().toISOString()}`, to), 200],
  [
    "the management list of a schema at a past time",
    (to) => managed(`module=library&schema=page&limit=200&at=${new Date().toISOString()}`, to),
    200,
  ],
  ["transaction records", (to) => records(undefined, to), 200],
  ["the oldest revisions of an entry", (to) => history("?limit=200&count=true", "GET", to), 200],
  ["the newest revisions of an entry", (to) => history("?limit=200&sort=-revision", "GET", to), 200],
  ["a revision of an entry", (to) => history("/30", "GET", to), 200],
  ["a comparison of revisions", (to) => history("/50?against=20", "GET", to), 200],
  ["references to large entries", (to) => shelf(books)(to), 422],
  ["a page of a stream", (to) => call(to, "GET", "/api/streams/large?offset=-1", { token }), 200],
  ["a stream from its beginning", (to) => download("/api/streams/large", to), 200],
  ["an export", (to) => download("/api/admin/orbs/large/export", to), 200],
];
/** Reads that ask the broker as another one does. The link carries the same messages. */
const ALIKE = new Set([
  "a filter that matches all",
  "a sort order",
  "the total number of matching entries",
  "the management list",
  "the management list filtered by status",
  "the management list of a schema at a past time",
  "the newest revisions of an entry",
  "a revision of an entry",
  "a comparison of revisions",
  "references to large entries",
  "a stream from its beginning",
]);
const HOSTS: [host: string, to: () => To | undefined, cases: Case[]][] = [
  ["a connection for each request", () => platform, CASES],
  ["the link", () => linked && { origin: linked.url }, CASES.filter(([name]) => !ALIKE.has(name))],
];

describe.each(HOSTS)("over %s", (_host, to, cases) => {
  // The first read of a host makes its buffers and compiles its code, which is not what the tests measure.
  beforeAll(async () => {
    const origin = to();
    if (origin !== undefined) await list("library/book", "limit=200")(undefined, origin);
  });
  test.each(cases)(
    "reads %s, several at once, within the memory limit of an isolate",
    async (_name, ask, expected) => {
      const origin = to();
      if (origin === undefined) return;
      let statuses: (number | string)[] = [];
      const growth = await growthDuring(async () => {
        const answers = await Promise.all(Array.from({ length: AT_ONCE }, () => ask(origin)));
        statuses = answers.map(({ status }) => status);
      });
      expect(statuses).toEqual(Array(AT_ONCE).fill(expected));
      expect(growth).toBeLessThan(PROCESS_BYTES);
    },
  );
});

test("returns each entry exactly once across pages that end early", async () => {
  const all = await pages(list("library/book", "filter[title][contains]=book&limit=200"));
  expect(all.ids).toEqual(books);
  const none = await pages(list("library/book", "filter[title]=nothing"));
  expect(none.ids).toEqual([]);
  expect(none.asked).toBeGreaterThan(1);
  const last = await pages(list("library/book", `sort=-createdAt&filter[title]=book 3&limit=200`));
  expect(last.ids).toEqual([books[3]]);
  expect((await pages(list("diary/note", "limit=200", ann.token))).ids).toEqual([]);
  const moment = new Date().toISOString();
  const past = await pages((cursor) => {
    const more = cursor === undefined ? "" : `&cursor=${cursor}`;
    return managed(`module=library&schema=page&limit=200&at=${moment}${more}`, platform);
  });
  expect(new Set(past.ids).size).toBe(PAGES);
  expect(past.ids).toHaveLength(PAGES);
  expect(past.asked).toBeGreaterThan(1);
  const own = await pages(records);
  expect(new Set(own.ids).size).toBe(RECORDS);
  expect(own.ids).toHaveLength(RECORDS);
}, 90_000);

test("returns each revision exactly once in both orders, over pages that end early", async () => {
  const numbers = Array.from({ length: REVISIONS }, (_, n) => n + 1);
  for (const sort of ["revision", "-revision"]) {
    const revisions: number[] = [];
    let asked = 0;
    for (let cursor = ""; ; asked++) {
      const { status, body } = await history(`?limit=200&count=true&sort=${sort}${cursor}`);
      expect(status, status === 200 ? "" : JSON.stringify(body)).toBe(200);
      expect(body.total).toBe(REVISIONS);
      revisions.push(...body.items.map(({ revision }: { revision: number }) => revision));
      if (body.nextCursor === null) break;
      cursor = `&cursor=${body.nextCursor}`;
    }
    expect(asked).toBeGreaterThan(0);
    expect(revisions).toEqual(sort === "revision" ? numbers : numbers.toReversed());
  }
  expect((await history(`?cursor=${btoa("revision:7")}`)).body).toMatchObject({ code: "invalid_cursor" });
});

test("finds one revision among many large ones", async () => {
  expect((await history("/30")).body).toMatchObject({ revision: 30, values: { title: "edition 30" } });
  expect((await history("/50?against=20")).body.patch).toContainEqual({
    op: "replace",
    path: "/values/title",
    value: "edition 50",
  });
  expect((await history(`/${REVISIONS + 1}`)).status).toBe(404);
  const reverted = await history("/30/restore", "POST");
  expect(reverted.body).toMatchObject({ revision: REVISIONS + 1, values: { title: "edition 30" } });
});

test("sorts entries that are too large for one request in several", async () => {
  const titles: string[] = [];
  let asked = 0;
  for (let cursor = ""; ; asked++) {
    const { status, body } = await list("library/book", `sort=-title&limit=100${cursor}`)();
    expect(status, status === 200 ? "" : JSON.stringify(body)).toBe(200);
    titles.push(...body.items.map(({ values }: { values: { title: string } }) => values.title));
    if (body.nextCursor === null) break;
    cursor = `&cursor=${body.nextCursor}`;
  }
  expect(asked).toBeGreaterThan(1);
  expect(titles).toHaveLength(books.length);
  expect(titles).toEqual(titles.toSorted().reverse());
});

test("refuses too large requests with the limit and advice", async () => {
  const broad = await shelf(books)();
  expect(broad.body).toMatchObject({ status: 422, code: "too_broad" });
  expect(broad.body.detail).toContain("Refer to fewer entries");
  expect((await shelf(books.slice(0, 20))()).status).toBe(201);
});

test("serves other requests during large reads", async () => {
  let over = false;
  const repeated = async (ask: () => ReturnType<typeof call>, isDone: (asked: number) => boolean) => {
    const statuses = new Set<number | string>();
    for (let asked = 0; !isDone(asked); asked++) {
      const { status } = await ask().catch((error: unknown) => ({ status: String(error) }));
      statuses.add(status);
    }
    return [...statuses];
  };
  const greedy = [records, records, records, records, shelf(books), shelf(books)].map((ask) =>
    repeated(
      () => ask(),
      (asked) => over && asked > 0,
    ),
  );
  const others = [
    () => call(platform, "GET", "/api/health"),
    () => call(platform, "GET", `/api/large/library/book/${books[0]}`),
    () => call(platform, "GET", "/api/large/library/shelf"),
    shelf([]),
  ].map((ask) => repeated(ask, (asked) => asked === 5));
  expect(await Promise.all(others).finally(() => (over = true))).toEqual([[200], [200], [200], [201]]);
  expect(await Promise.all(greedy)).toEqual([[200], [200], [200], [200], [422], [422]]);
});

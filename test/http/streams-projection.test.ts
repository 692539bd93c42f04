/**
 * Streams deliver an orb's messages through the live definition and the entry's head, in every mode and on every host.
 */
import { setTimeout as delay } from "node:timers/promises";
import { beforeAll, describe, expect, test } from "vitest";
import { MASK } from "../../shared/definition/document/text.ts";
import type { Store } from "../../shared/store/types.ts";
import { adminToken, call } from "../support/auth.ts";
import { startPlatform, type TestPlatform } from "../support/platform.ts";
import { before } from "../support/races.ts";
import { testRandom } from "../support/random.ts";
import { controlOf, publisher, readUntil, type SentEvent, sentEvents, signIn } from "../support/streams.ts";

const LONG_POLL_MS = 1_000;
const ROTATE_MS = 6_000;
let platform: TestPlatform;
let store: Store;
let token: string;
let stranger: string;

beforeAll(async () => {
  platform = await startPlatform({
    streams: true,
    env: { STREAMS_LONG_POLL_MS: String(LONG_POLL_MS), STREAMS_ROTATE_MS: String(ROTATE_MS) },
  });
  token = await adminToken(platform);
  stranger = await signIn(platform, { realm: "elsewhere", sub: "stranger" });
  store = platform.operatorStore();
  return () => platform.stop();
});

interface Delivered {
  id: string;
  module: string;
  schema: string;
  revision: number;
  tombstone?: boolean;
  values?: Record<string, unknown>;
}

/** All messages of a stream, and the offset behind them. */
interface Reading {
  got: Delivered[];
  end: string;
}

const HOSTS = ["functions", "process"] as const;
type Host = (typeof HOSTS)[number];

const get = (host: Host, path: string, headers: Record<string, string> = {}, method = "GET") =>
  fetch(`${host === "functions" ? platform.origin : platform.streamsUrl}/api/streams/${path}`, {
    method,
    headers: { authorization: `Bearer ${stranger}`, ...headers },
  });

/** Reads events until the response is up to date. */
async function whole(response: Response): Promise<Reading> {
  expect(response.status).toBe(200);
  const events = await readUntil(response, (event) => isEnd(event));
  const last = events.at(-1);
  return {
    got: events
      .filter(({ type }) => type === "data")
      .flatMap(({ data }) => JSON.parse(data) as Delivered | Delivered[]),
    end: last === undefined ? "" : controlOf(last).streamNextOffset,
  };
}

const isEnd = (event: SentEvent) => event.type === "control" && controlOf(event).upToDate === true;

/** Reads pages, or long-polls, until the response is up to date. */
async function pages(host: Host, name: string, more: string): Promise<Reading> {
  const got: Delivered[] = [];
  for (let end = "-1"; ; ) {
    const page = await get(host, `${name}?offset=${end}${more}`);
    expect([200, 204]).toContain(page.status);
    if (page.status === 200) got.push(...((await page.json()) as Delivered[]));
    const next = page.headers.get("stream-next-offset") ?? "";
    if (page.headers.has("stream-up-to-date")) return { got, end: next };
    expect(next > end || end === "-1").toBe(true);
    end = next;
  }
}

const MODES: Record<string, (host: Host, name: string) => Promise<Reading>> = {
  "plain events": async (host, name) => whole(await get(host, name)),
  "a page": (host, name) => pages(host, name, ""),
  "a long-poll": (host, name) => pages(host, name, "&live=long-poll"),
  "live events": async (host, name) => whole(await get(host, `${name}?offset=-1&live=sse`)),
};

/** Reads a stream in every mode. All must deliver the same, and HEAD must name the same end. */
async function everywhere(host: Host, name: string): Promise<Delivered[]> {
  const readings = await Promise.all(Object.values(MODES).map((read) => read(host, name)));
  const head = await get(host, name, {}, "HEAD");
  expect(await head.text()).toBe("");
  for (const reading of readings) {
    expect(reading.got).toEqual(readings[0]?.got);
    expect(reading.end).toBe(head.headers.get("stream-next-offset"));
  }
  return readings[0]?.got ?? [];
}

type Field = { name: string; type: string; [attribute: string]: unknown };
const title: Field = { name: "title", type: "string" };
const salary: Field = { name: "salary", type: "string" };

const documentOf = (id: string, fields: Field[], more: object = {}) => ({
  id,
  languages: ["en", "de"],
  modules: [
    { id: "team", type: "CONTENT", schemas: [{ id: "person", fields, ...more }] },
    { id: "news", type: "CONTENT", schemas: [{ id: "post", fields: [title] }] },
  ],
});

const admin = async (method: string, path: string, body?: unknown) => {
  const answer = await call(platform, method, `/api/admin${path}`, {
    token,
    ...(body === undefined ? {} : { body }),
  });
  expect(answer.status, `${method} ${path} ${JSON.stringify(answer.body)}`).toBeLessThan(300);
  return answer.body;
};

let number = 0;

/** A published orb, with a stream of its public subjects. */
async function orbWith(fields: Field[], more: object = {}): Promise<string> {
  const id = `seen${number++}`;
  await admin("POST", "/orbs", documentOf(id, fields, more));
  await admin("POST", `/orbs/${id}/publish`);
  await admin("PUT", `/streams/${id}`, { stream: `ø${id}`, subjectFilter: `${id}.*.public.>` });
  return id;
}

/** Publishes another document. */
async function become(id: string, document: object): Promise<void> {
  await admin("PUT", `/orbs/${id}`, document);
  await admin("POST", `/orbs/${id}/publish?force=true`);
}

/** A published entry. */
async function person(id: string, values: object, more: object = {}): Promise<string> {
  const made = await admin("POST", `/orbs/${id}/entries?publish=true`, {
    module: "team",
    schema: "person",
    values,
    ...more,
  });
  return made.id;
}

const liveSubject = (orb: string, entry: string) => `${orb}.content.public.person.${entry}`;

/** The stored live copy, with some members replaced. */
async function storedCopy(orb: string, entry: string, more: object = {}): Promise<string> {
  const message = await store.get(`ø${orb}`, liveSubject(orb, entry));
  return JSON.stringify({ ...message?.json<object>(), ...more });
}

/** Appends a message to an entry's live subject, as a late write or a late schedule does. */
const lay = (orb: string, entry: string, data: string) =>
  store.append(`ø${orb}`, { subject: liveSubject(orb, entry), data, rollup: true });

const valuesOf = (got: readonly Delivered[]) => got.map(({ values }) => values);

/** Runs a test on all hosts at the same time, because it mostly waits. Each run has orbs of its own. */
async function onEachHost(run: (host: Host) => Promise<void>): Promise<void> {
  const ended = await Promise.allSettled(HOSTS.map(run));
  for (const [index, result] of ended.entries()) {
    if (result.status === "rejected")
      throw new Error(`served by the ${HOSTS[index]}`, { cause: result.reason });
  }
}

/** Runs a test on one of the hosts. Both deliver messages with the same code, and the next run may try the other. */
const onOneHost = (run: (host: Host) => Promise<void>) => run(testRandom().pick(HOSTS));

describe("an orb's stream, served by each host", () => {
  test("does not deliver a removed field, and changes the page's ETag", () =>
    onEachHost(async (host) => {
      const id = await orbWith([title, salary]);
      await person(id, { title: "Ann", salary: "90000" });
      const before = await get(host, `${id}?offset=-1`);
      expect(valuesOf((await before.json()) as Delivered[])).toEqual([{ title: "Ann", salary: "90000" }]);
      const etag = before.headers.get("etag") ?? "";
      expect((await get(host, `${id}?offset=-1`, { "if-none-match": etag })).status).toBe(304);

      await become(id, documentOf(id, [title]));
      const after = await get(host, `${id}?offset=-1`, { "if-none-match": etag });
      expect(after.status).toBe(200);
      expect(valuesOf((await after.json()) as Delivered[])).toEqual([{ title: "Ann" }]);
      const next = after.headers.get("etag") ?? "";
      expect(next).not.toBe(etag);
      expect((await get(host, `${id}?offset=-1`, { "if-none-match": next })).status).toBe(304);
      expect(valuesOf(await everywhere(host, id))).toEqual([{ title: "Ann" }]);
      await person(id, { title: "Zoe" });
      const grown = await get(host, `${id}?offset=-1`, { "if-none-match": next });
      expect(valuesOf((await grown.json()) as Delivered[])).toEqual([{ title: "Ann" }, { title: "Zoe" }]);
      expect(grown.headers.get("etag")).not.toBe(next);
      expect(valuesOf(await everywhere(host, id))).toEqual([{ title: "Ann" }, { title: "Zoe" }]);
    }));

  test("masks sensitive values as the runtime API does, whatever is stored", () =>
    onOneHost(async (host) => {
      const secret = [
        { ...salary, sensitive: true },
        { name: "note", type: "string", sensitive: true, translatable: true },
      ];
      const id = await orbWith([title, ...secret]);
      const open = { title: "Bob", salary: "80000", note: { en: "late", de: "spät" } };
      const entry = await person(id, open);
      await lay(id, entry, await storedCopy(id, entry, { values: open }));
      const runtime = await call(platform, "GET", `/api/${id}/team/${entry}?locale=*`);
      const [values, ...others] = valuesOf(await everywhere(host, id));
      expect(others).toEqual([]);
      expect(values).toEqual({ title: "Bob", salary: MASK, note: { en: MASK, de: MASK } });
      expect(runtime.body.values).toEqual(values);
    }));

  test.each(["user", "own", "admin"])("does not deliver entries whose access.read became %s", (read) =>
    onOneHost(async (host) => {
      const id = await orbWith([title]);
      const entry = await person(id, { title: "Cem" });
      const copy = await storedCopy(id, entry);
      expect(valuesOf(await everywhere(host, id))).toEqual([{ title: "Cem" }]);
      await become(id, documentOf(id, [title], { access: { read } }));
      // Nothing of the entry stays behind on the public subject.
      expect((await store.get(`ø${id}`, liveSubject(id, entry)))?.json()).not.toHaveProperty("values");
      const left = [expect.objectContaining({ id: entry, tombstone: true })];
      const got = await everywhere(host, id);
      expect([got, valuesOf(got)]).toEqual([left, [undefined]]);
      // A write under the previous definition arrives late, and nothing removes its copy.
      await lay(id, entry, copy);
      expect(await everywhere(host, id)).toEqual([]);
      // Platform admins and users of the orb's realm get the same as other readers.
      for (const reader of [token, await signIn(platform, { realm: "auth", sub: "member" })]) {
        const page = await get(host, `${id}?offset=-1`, { authorization: `Bearer ${reader}` });
        expect(await page.json()).toEqual([]);
      }
    }),
  );

  test("does not deliver entries of a removed schema", () =>
    onOneHost(async (host) => {
      const id = await orbWith([title]);
      const entry = await person(id, { title: "Dee" });
      const copy = await storedCopy(id, entry);
      const { modules, ...rest } = documentOf(id, [title]);
      await become(id, { ...rest, modules: modules.slice(1) });
      expect(await store.get(`ø${id}`, liveSubject(id, entry))).toBeNull();
      expect(await everywhere(host, id)).toEqual([]);
      await lay(id, entry, copy);
      expect(await everywhere(host, id)).toEqual([]);
    }));

  test.each(["unpublish", "archive", "delete"])("delivers a tombstone without values after %s", (operation) =>
    onOneHost(async (host) => {
      const id = await orbWith([title]);
      const entry = await person(id, { title: "Eve" });
      const copy = await storedCopy(id, entry);
      const path = `/orbs/${id}/entries/${entry}`;
      if (operation === "delete") await admin("DELETE", path);
      else await admin("POST", `${path}/${operation}`);
      const got = await everywhere(host, id);
      expect(got).toEqual([
        {
          v: 1,
          id: entry,
          orb: id,
          module: "team",
          schema: "person",
          tombstone: true,
          revision: 2,
          at: expect.any(String),
        },
      ]);
      // A schedule that was already due fires late.
      await lay(id, entry, copy);
      expect(await everywhere(host, id)).toEqual([]);
    }),
  );

  test("delivers the published revision, and neither an older one nor a draft", () =>
    onOneHost(async (host) => {
      const id = await orbWith([title]);
      const entry = await person(id, { title: "first" });
      const copy = await storedCopy(id, entry);
      const path = `/orbs/${id}/entries/${entry}`;
      await admin("PUT", `${path}?publish=true`, { values: { title: "second" } });
      await admin("PUT", path, { values: { title: "draft" } });
      expect(valuesOf(await everywhere(host, id))).toEqual([{ title: "second" }]);
      const live = await storedCopy(id, entry);
      await lay(id, entry, copy);
      expect(await everywhere(host, id)).toEqual([]);
      await lay(id, entry, live);
      expect(valuesOf(await everywhere(host, id))).toEqual([{ title: "second" }]);
    }));

  test("does not deliver an entry whose window has closed, also before the scheduler withdraws it", () =>
    onEachHost(async (host) => {
      const { id, etag, validTo } = await before(8_000, async (end) => {
        const orb = await orbWith([title]);
        const entry = await person(orb, { title: "Flo" }, { validTo: new Date(end).toISOString() });
        // Without its schedule, the broker does not withdraw the entry.
        await store.purge(`ø${orb}`, `${orb}._at.${entry}.>`);
        expect(valuesOf(await everywhere(host, orb))).toEqual([{ title: "Flo" }]);
        const tag = (await get(host, `${orb}?offset=-1`)).headers.get("etag") ?? "";
        return { id: orb, etag: tag, validTo: end };
      });
      await delay(validTo - Date.now() + 50);
      expect((await get(host, `${id}?offset=-1`, { "if-none-match": etag })).status).toBe(200);
      expect(await everywhere(host, id)).toEqual([]);
    }));

  test("skips messages that neither publish nor withdraw an entry", () =>
    onOneHost(async (host) => {
      const id = await orbWith([title]);
      const entry = await person(id, { title: "Gus" });
      const damaged = await person(id, { title: "damaged" });
      await store.append(`ø${id}`, { subject: `${id}.content.owner.person.${damaged}`, data: "no JSON" });
      for (const [subject, data] of [
        [`${id}.content.public.person.x`, "salary 90000"],
        [`${id}.content.public.person.y`, ""],
        [`${id}.content.public.person.z`, await storedCopy(id, entry)],
        [`${id}.content.public.person.${entry}.more`, await storedCopy(id, entry)],
        [`${id}.content.public.person.ü`, await storedCopy(id, entry, { id: "ü" })],
      ] as const)
        await store.append(`ø${id}`, { subject, data });
      expect((await everywhere(host, id)).map((got) => got.id)).toEqual([entry]);
    }));

  test.each([
    ["plain events", ""],
    ["live events", "?offset=now&live=sse"],
  ])("applies a new definition from the next event on, to %s", (_, query) =>
    onEachHost(async (host) => {
      const id = await orbWith([title, salary]);
      const entry = await person(id, { title: "Hal", salary: "70000" });
      const response = await get(host, `${id}${query}`);
      const got: Delivered[] = [];
      let end = "";
      const reading = (async () => {
        for await (const { type, data } of sentEvents(response)) {
          if (type === "data") got.push(...[JSON.parse(data) as Delivered | Delivered[]].flat());
          if (type === "control") end = (JSON.parse(data) as { streamNextOffset: string }).streamNextOffset;
          if (got.some(({ values }) => values?.title === "last")) return;
        }
      })();
      const soon = (done: () => boolean) => expect.poll(done).toBe(true);
      // The first control event says that the reader has all earlier messages.
      await soon(() => end !== "");
      const already = got.length;
      await become(id, documentOf(id, [title]));
      const copy = await storedCopy(id, entry);
      const reached = (seq: number) => soon(() => Number(end) >= seq);
      await reached(await lay(id, entry, copy));
      await become(id, documentOf(id, [title], { access: { read: "admin" } }));
      // The next copy replaces the tombstone, so wait until the reader has received it.
      await soon(() => got.some(({ tombstone }) => tombstone === true));
      // A hidden message advances the offset too.
      await reached(await lay(id, entry, copy));
      await admin("POST", `/orbs/${id}/entries?publish=true`, {
        module: "news",
        schema: "post",
        values: { title: "last" },
      });
      await reading;
      expect(got.slice(already).map(({ values, tombstone }) => values ?? tombstone)).toEqual([
        { title: "Hal" },
        true,
        { title: "last" },
      ]);
    }),
  );

  test("applies a new definition to a waiting long-poll, which a hidden message does not end", () =>
    onOneHost(async (host) => {
      const id = await orbWith([title, salary]);
      const entry = await person(id, { title: "Ida", salary: "60000" });
      await become(id, documentOf(id, [title]));
      const now = async () => (await get(host, `${id}?offset=now`)).headers.get("stream-next-offset");
      const waiting = get(host, `${id}?offset=${await now()}&live=long-poll`);
      await delay(300);
      await lay(id, entry, await storedCopy(id, entry));
      expect(valuesOf((await (await waiting).json()) as Delivered[])).toEqual([{ title: "Ida" }]);

      // A hidden message does not end a long-poll, and the next request begins behind it.
      const idle = get(host, `${id}?offset=${await now()}&live=long-poll`);
      await delay(300);
      const hidden = await store.append(`ø${id}`, {
        subject: liveSubject(id, "none"),
        data: '{"id":"none"}',
      });
      const answer = await idle;
      expect(answer.status).toBe(204);
      expect(Number(answer.headers.get("stream-next-offset"))).toBeGreaterThanOrEqual(hidden);
    }));

  test("waits for an entry's newest revision if the broker stores the published copy first", () =>
    onOneHost(async (host) => {
      const id = await orbWith([title]);
      const entry = await person(id, { title: "first" });
      const log = `${id}.content.owner.person.${entry}`;
      const head = await store.get(`ø${id}`, log);
      const more = { revision: 2, publishedRevision: 2, values: { title: "second" } };
      const response = await get(host, `${id}?offset=now&live=sse`);
      const reading = readUntil(response, ({ data }) => data.includes("second"));
      await delay(300);
      await lay(id, entry, await storedCopy(id, entry, more));
      await delay(30);
      const data = JSON.stringify({ ...head?.json<object>(), ...more });
      await store.append(`ø${id}`, { subject: log, data });
      expect(JSON.stringify(await reading)).toContain("second");
      expect(valuesOf(await everywhere(host, id))).toEqual([{ title: "second" }]);
    }));

  test("delivers entries whose drafts are far larger than their published revision", () =>
    onOneHost(async (host) => {
      const id = await orbWith([{ name: "title", type: "text" }]);
      // The drafts take more than the 16 MiB that one request may read.
      const titles = Array.from({ length: 45 }, (_, n) => `short ${n}`);
      for (const short of titles) {
        const entry = await person(id, { title: short });
        await admin("PUT", `/orbs/${id}/entries/${entry}`, { values: { title: "x".repeat(450_000) } });
      }
      const first = await get(host, `${id}?offset=-1`);
      expect(first.headers.get("stream-up-to-date")).toBe(null);
      const { length } = (await first.json()) as Delivered[];
      expect(length).toBeGreaterThan(20);
      expect(length).toBeLessThan(45);
      expect(valuesOf(await everywhere(host, id))).toEqual(titles.map((short) => ({ title: short })));
    }));

  test("applies the definition to a filter with the caller's id", () =>
    onOneHost(async (host) => {
      const id = await orbWith([title, salary]);
      const own = await person(id, { title: "Jo", salary: "50000" });
      await person(id, { title: "Kim", salary: "40000" });
      const body = { stream: `ø${id}`, subjectFilter: `${id}.*.public.*.{userID}` };
      await admin("PUT", `/streams/${id}-own`, body);
      await become(id, documentOf(id, [title]));
      const reader = await signIn(platform, { realm: "elsewhere", sub: own });
      const page = await get(host, `${id}-own?offset=-1`, { authorization: `Bearer ${reader}` });
      expect(valuesOf((await page.json()) as Delivered[])).toEqual([{ title: "Jo" }]);
    }));

  test("leaves the messages of other streams unchanged", () =>
    onOneHost(async (host) => {
      await using broker = await publisher(platform);
      const manager = await broker.connection.jetstreamManager();
      const name = `people-${host}`;
      await manager.streams.add({ name, subjects: [`${name}.>`], allow_direct: true });
      await admin("PUT", `/streams/${name}`, { stream: name, subjectFilter: `${name}.>` });
      const bodies = [{ id: "a", salary: "1" }, { tombstone: true, values: { salary: "2" } }, null];
      for (const body of bodies) await broker.js.publish(`${name}.public.person.a`, JSON.stringify(body));
      expect(await everywhere(host, name)).toEqual(bodies);
    }));
});

test("ends the response of a reader whose session was deleted", async () => {
  const id = await orbWith([title]);
  const reader = await signIn(platform, { realm: "elsewhere", sub: "leaver" });
  const headers = { authorization: `Bearer ${reader}` };
  const live = await get("process", `${id}?offset=-1&live=sse`, headers);
  expect(live.status).toBe(200);
  const [session] = await store.kvList("sessions", "elsewhere.leaver.>", { maxBytes: 1024 * 1024 });
  await store.kvDelete("sessions", session?.key ?? "");
  await readUntil(live, () => false);
  expect((await get("process", `${id}?offset=-1`, headers)).status).toBe(401);
});

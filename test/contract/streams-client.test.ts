import { DurableStreamError, stream } from "@durable-streams/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Streams, serveStreams } from "../../scripts/host/streams.ts";
import { freePort } from "../../scripts/process/ports.ts";
import { endSessions } from "../../shared/access/sessions.ts";
import { createClient } from "../../shared/client/index.ts";
import { authenticateReader } from "../../shared/streams/credentials.ts";
import { issueTicket } from "../../shared/streams/ticket.ts";
import { adminToken, call } from "../support/auth.ts";
import { startPlatform, type TestPlatform } from "../support/platform.ts";
import { testPrograms } from "../support/programs.ts";
import { connectionsTo } from "../support/sockets.ts";
import { type Publisher, publisher, readUntil, signIn, testDeps } from "../support/streams.ts";

let direct: TestPlatform;
let handing: TestPlatform;
let streams: Streams;
let turning: Streams;
const bases: Record<string, { url: string; platform: TestPlatform }> = {};
const tokens = new Map<TestPlatform, string>();
const brokers = new Map<TestPlatform, Publisher>();

beforeAll(async () => {
  const port = await freePort();
  [direct, handing] = await Promise.all([
    startPlatform({ env: { STREAMS_LONG_POLL_MS: "500" } }),
    startPlatform({ env: { STREAMS_LONG_POLL_MS: "500", STREAMS_URL: `http://127.0.0.1:${port}` } }),
  ]);
  const serve = (platform: TestPlatform, at: number, more: Record<string, string> = {}) =>
    serveStreams({
      programs: testPrograms(),
      host: "127.0.0.1",
      port: at,
      env: { ...platform.bindings, ...more },
      log: () => undefined,
    });
  streams = await serve(handing, port);
  turning = await serve(direct, await freePort(), { STREAMS_ROTATE_MS: "1200" });
  bases["the functions"] = { url: direct.origin, platform: direct };
  bases["the functions, handing over"] = { url: handing.origin, platform: handing };
  bases["the streams process"] = { url: streams.url, platform: handing };
  bases["the streams process, whose answers end soon"] = { url: turning.url, platform: direct };
  for (const platform of [direct, handing]) {
    tokens.set(platform, await signIn(platform));
    brokers.set(platform, await publisher(platform));
  }
});
afterAll(async () => {
  for (const broker of brokers.values()) await broker[Symbol.asyncDispose]();
  for (const running of [streams, turning, direct, handing]) await running?.stop();
});

let count = 0;
/** Creates a mapped stream with some messages, and returns a function that publishes more. */
async function fixture(host: string, messages: number) {
  const { url = "", platform = direct } = bases[host] ?? {};
  const name = `s${count++}`;
  const broker = brokers.get(platform);
  const manager = await broker?.connection.jetstreamManager();
  await manager?.streams.add({ name, subjects: [`${name}.>`], allow_direct: true });
  const mapping = { v: 1, stream: name, subjectFilter: `${name}.>`, description: "" };
  await platform.store().kvPut("stream_mappings", name, JSON.stringify(mapping));
  const publish = (n: number) => broker?.js.publish(`${name}.a`, JSON.stringify({ n }));
  for (let n = 0; n < messages; n++) await publish(n);
  const headers = { authorization: `Bearer ${tokens.get(platform)}` };
  return { name, url: `${url}/api/streams/${name}`, headers, publish };
}

const hosts = [
  "the functions",
  "the functions, handing over",
  "the streams process",
  "the streams process, whose answers end soon",
];

describe.each(hosts)("Durable Streams client with %s", (host) => {
  test("catches up and stops", async () => {
    const { url, headers } = await fixture(host, 5);
    const response = await stream<{ n: number }>({ url, headers, offset: "-1", live: false });
    expect((await response.json()).map(({ n }) => n)).toEqual([0, 1, 2, 3, 4]);
    expect(response.upToDate).toBe(true);
    const rest = await stream({ url, headers, offset: response.offset, live: false });
    expect(await rest.json()).toEqual([]);
  });

  test.each(["long-poll", "sse", true] as const)("follows live messages: %s", async (live) => {
    const { url, headers, publish } = await fixture(host, 3);
    const cancel = new AbortController();
    const response = await stream<{ n: number }>({ url, headers, offset: "-1", live, signal: cancel.signal });
    const seen: number[] = [];
    // Long enough for several rotations where responses end soon.
    const messages = host.endsWith("soon") ? 30 : 10;
    const done = new Promise<void>((resolve) => {
      response.subscribeJson<{ n: number }>(({ items }) => {
        seen.push(...items.map(({ n }) => n));
        if (seen.includes(messages - 1)) resolve();
      });
    });
    for (let n = 3; n < messages; n++) {
      await publish(n);
      await new Promise((resolve) => setTimeout(resolve, 60));
    }
    await done;
    cancel.abort();
    expect(seen).toEqual(Array.from({ length: messages }, (_, n) => n));
  });

  test("reports 404, 400 and 401", async () => {
    const { url, headers } = await fixture(host, 0);
    const problem = async (options: Parameters<typeof stream>[0]) =>
      stream({ ...options, live: false }).then(
        () => 200,
        (error: unknown) =>
          error instanceof DurableStreamError || error instanceof Error
            ? (error as { status?: number }).status
            : 0,
      );
    expect(await problem({ url: `${url}x`, headers })).toBe(404);
    expect(await problem({ url, headers, offset: "nonsense" })).toBe(400);
    expect(await problem({ url })).toBe(401);
  });
});

describe("redirect to the streams process", () => {
  test("uses a ticket that is valid for one stream only", async () => {
    const { name, headers } = await fixture("the functions, handing over", 1);
    const answer = await fetch(`${handing.origin}/api/streams/${name}?offset=-1`, {
      headers,
      redirect: "manual",
    });
    expect(answer.status).toBe(307);
    const location = answer.headers.get("location") ?? "";
    expect(location.startsWith(`${streams.url}/api/streams/${name}?offset=-1&ticket=`)).toBe(true);
    expect(location).not.toContain(headers.authorization.slice("Bearer ".length));
    expect(await (await fetch(location)).json()).toEqual([{ n: 0 }]);
    const other = location.replace(`/${name}?`, "/heartbeat?");
    expect((await fetch(other)).status).toBe(401);
    expect((await fetch(location.slice(0, -3))).status).toBe(401);
    const unknown = await fetch(`${handing.origin}/api/streams/${name}`, { redirect: "manual" });
    expect(unknown.status).toBe(401);
  });

  test("gives a reader without a session a ticket for one public mapping, until it is closed", async () => {
    const orb = "opened";
    const token = await adminToken(handing);
    const document = {
      id: orb,
      modules: [
        {
          id: "news",
          type: "CONTENT",
          schemas: [{ id: "post", fields: [{ name: "title", type: "string" }] }],
        },
      ],
    };
    expect(
      await call(handing, "POST", "/api/admin/orbs?publish=true", { token, body: document }),
    ).toMatchObject({
      status: 201,
    });
    const entry = { module: "news", values: { title: "seen" } };
    await call(handing, "POST", `/api/admin/orbs/${orb}/entries?publish=true`, { token, body: entry });
    const map = (name: string, read: string) =>
      call(handing, "PUT", `/api/admin/streams/${name}`, {
        token,
        body: { stream: `ø${orb}`, subjectFilter: `${orb}.*.public.>`, read },
      });
    await map("open-news", "public");
    await map("closed-news", "user");
    const ask = (name: string) =>
      fetch(`${handing.origin}/api/streams/${name}?offset=-1`, { redirect: "manual" });
    expect((await ask("closed-news")).status).toBe(401);
    const answer = await ask("open-news");
    expect(answer.status).toBe(307);
    const location = answer.headers.get("location") ?? "";
    expect(await (await fetch(location)).json()).toMatchObject([{ values: { title: "seen" } }]);
    expect((await fetch(location.replace("/open-news?", "/closed-news?"))).status).toBe(401);
    await map("open-news", "user");
    expect((await fetch(location)).status).toBe(401);
  });

  test("lets an EventSource reconnect with its ticket until the user signs out", async () => {
    const { name } = await fixture("the functions, handing over", 2);
    const token = await signIn(handing, { realm: "auth", sub: "returning" });
    const deps = testDeps(handing.store(), handing.bindings);
    const credentials = { bearer: token, cookies: () => undefined, realm: undefined };
    const actor = await authenticateReader(deps, credentials);
    const ticket = await issueTicket(deps.config, actor, name, Date.now() - 3_600_000);
    const come = (headers: Record<string, string>) =>
      fetch(`${streams.url}/api/streams/${name}?ticket=${ticket}`, { headers });
    const back = { "last-event-id": "00000000000000000001" };
    expect((await come({})).status).toBe(401);
    const [event] = await readUntil(await come(back), ({ type }) => type === "data");
    expect(JSON.parse(event?.data ?? "")).toEqual({ n: 1 });
    await endSessions(deps, "auth", "returning");
    expect((await come(back)).status).toBe(401);
  });

  test("serves the list directly, and events through the redirect", async () => {
    const { name, url, headers } = await fixture("the functions, handing over", 2);
    const list = await fetch(`${handing.origin}/api/streams/`, { headers });
    expect(await list.json()).toContainEqual({ name, description: "", href: `/api/streams/${name}` });
    const events = await readUntil(await fetch(url, { headers }), (_, all) => all.length === 4);
    expect(events.map(({ type }) => type)).toEqual(["data", "control", "data", "control"]);
  });
});

test("a function releases its broker connection within seconds after the client disconnects", async () => {
  const { url, headers } = await fixture("the functions", 1);
  const connections = () => connectionsTo(direct.broker?.wsPort ?? 0);
  const before = connections();
  // Some clients disconnect before the response, some while they follow a stream without new messages.
  const goneAfter = Array.from({ length: 30 }, (_, i) => 5 + i * 15);
  await Promise.all(
    goneAfter
      .map(async (ms) => {
        const response = await fetch(`${url}?offset=-1&live=sse`, {
          headers,
          signal: AbortSignal.timeout(ms),
        });
        await response.text();
      })
      .map((reading) => reading.catch(() => undefined)),
  );
  await expect.poll(connections).toBeLessThanOrEqual(before);
});

test("a live list is handed over with the rights of its caller", async () => {
  const token = await adminToken(handing);
  const document = {
    id: "lists",
    modules: [
      {
        id: "shop",
        type: "CONTENT",
        schemas: [
          { id: "note", access: { read: ["admin"] }, fields: [{ name: "name", type: "string" }] },
          { id: "item", fields: [{ name: "name", type: "string" }] },
        ],
      },
    ],
  };
  const made = await call(handing, "POST", "/api/admin/orbs?publish=true", { token, body: document });
  expect(made.status).toBe(201);
  const create = (schema: string, name: string) =>
    call(handing, "POST", `/api/lists/shop/${schema}?publish=true`, { token, body: { values: { name } } });
  await create("note", "one");
  const names: unknown[] = [];
  const shop = createClient({ url: handing.origin, token }).orb("lists").shop;
  const two = new Promise<void>((arrived) => {
    const stop = shop?.note?.live({ sort: "-name" }, (items) => {
      names.splice(0, names.length, ...items.map(({ values }) => values.name));
      if (items.length < 2) return void create("note", "two");
      stop?.();
      arrived();
    });
  });
  await two;
  expect(names).toEqual(["two", "one"]);

  const address = (schema: string) => `${handing.origin}/api/lists/shop/${schema}?live=sse`;
  const handed = await fetch(address("item"), { redirect: "manual" });
  expect(handed.status).toBe(307);
  const location = handed.headers.get("location") ?? "";
  expect(location).toMatch(new RegExp(`^${streams.url}/api/lists/shop/item\\?live=sse&ticket=`));
  const events = await readUntil(await fetch(location), ({ type }) => type === "ready");
  expect(events.at(-1)?.type).toBe("ready");
  // The ticket is for one list, and does not add rights.
  const other = await fetch(location.replace("/item?", "/note?"));
  expect([other.status, (await fetch(address("note"))).status]).toEqual([401, 401]);
});

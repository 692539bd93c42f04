/** Live lists of the client while the platform cannot be reached: what a page learns, and how often it tries. */
import { createServer, request, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createClient, type LiveStatus } from "../../shared/client/index.ts";
import { adminToken, call } from "../support/auth.ts";
import { until } from "../support/hooks.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";

const LISTS = 10;
let platform: TestPlatform;
let token: string;

/** A server in front of the platform, which can be stopped and started on the same port. */
let server: Server;
let port = 0;
let connections = 0;
const sockets = new Set<Socket>();

async function start(): Promise<void> {
  server = createServer((incoming, outgoing) => {
    const { host: _, ...headers } = incoming.headers;
    const target = new URL(incoming.url ?? "/", platform.origin);
    const passed = request(target, { method: incoming.method, headers }, (reply) => {
      outgoing.writeHead(reply.statusCode ?? 500, reply.headers);
      reply.pipe(outgoing);
    });
    passed.on("error", () => outgoing.destroy());
    outgoing.on("close", () => passed.destroy());
    incoming.pipe(passed);
  });
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  port = (server.address() as AddressInfo).port;
}

async function stop(): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  for (const socket of sockets) socket.destroy();
  await closed;
}

beforeAll(async () => {
  platform = await sharedPlatform();
  token = await adminToken(platform);
  const modules = [
    { id: "news", type: "CONTENT", schemas: [{ id: "post", fields: [{ name: "title", type: "string" }] }] },
  ];
  const made = await call(platform, "POST", "/api/admin/orbs?publish=true", {
    token,
    body: { id: "outage", modules },
  });
  expect(made.status).toBe(201);
  await start();
});
afterAll(async () => {
  await stop();
});

test("lists say that they retry, try rarely and together, and are live again when the server is back", async () => {
  const client = createClient({
    url: `http://127.0.0.1:${port}`,
    token,
    fetch: (...given) => {
      connections++;
      return fetch(...given);
    },
  });
  const { post } = (client.orb("outage") as unknown as { news: Record<string, Live> }).news;
  if (post === undefined) throw new Error("no collection");
  const said: LiveStatus[][] = Array.from({ length: LISTS }, () => []);
  const shown: unknown[][] = Array.from({ length: LISTS }, () => []);
  const stops = said.map((statuses, index) =>
    post.live({}, (items) => shown.splice(index, 1, items), { onStatus: (status) => statuses.push(status) }),
  );
  const all = (status: LiveStatus) => () => said.every((statuses) => statuses.at(-1) === status);
  await until(all("live"), (done) => done);
  expect(said.every((statuses) => statuses[0] === "connecting")).toBe(true);

  await stop();
  connections = 0;
  await until(all("retrying"), (done) => done);
  await delay(12_000);
  // Each list may notice the outage with a request of its own. Afterwards one of them tries for all.
  expect(connections).toBeLessThanOrEqual(LISTS + 12);
  const written = await call(platform, "POST", "/api/outage/news?publish=true", {
    token,
    body: { values: { title: "Meanwhile" } },
  });
  expect(written.status).toBe(201);
  expect(all("retrying")()).toBe(true);

  await start();
  await until(all("live"), (done) => done);
  await until(
    () => shown.every((items) => items.length === 1),
    (done) => done,
  );
  for (const end of stops) end();
  await stop();
  const before = said.map((statuses) => statuses.length);
  await delay(1_500);
  expect(said.map((statuses) => statuses.length)).toEqual(before);
  await start();
}, 90_000);

test("a list that may not be read says that it has ended", async () => {
  const client = createClient({ url: `http://127.0.0.1:${port}`, token });
  const { post } = (client.orb("no-such-orb") as unknown as { news: Record<string, Live> }).news;
  const statuses: LiveStatus[] = [];
  const codes: string[] = [];
  post?.live({}, () => undefined, {
    onStatus: (status) => statuses.push(status),
    onError: ({ code }) => codes.push(code),
  });
  await until(
    () => statuses.at(-1),
    (status) => status === "ended",
  );
  expect([statuses, codes]).toEqual([["connecting", "ended"], ["orb_not_found"]]);
});

interface Live {
  live(
    options: object,
    render: (items: unknown[]) => void,
    handlers: { onStatus?: (status: LiveStatus) => void; onError?: (problem: { code: string }) => void },
  ): () => void;
}

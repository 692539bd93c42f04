/** The link under load and failures: one connection for all requests, and no request waits for a lost broker. */
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { adminToken, call } from "../support/auth.ts";
import { freeze } from "../support/freeze.ts";
import { startPlatform, type TestPlatform } from "../support/platform.ts";
import { brokerClient } from "../support/services.ts";
import { connectionsTo } from "../support/sockets.ts";
import { publisher, sentEvents, signIn } from "../support/streams.ts";
import { Writers } from "../support/writers.ts";

const LINK = { NATS_LINK: "durable-object" };

/** Waits until the number of connections is stable, and returns it. */
async function settled(count: () => number): Promise<number> {
  for (let last = count(); ; ) {
    await delay(200);
    const now = count();
    if (now === last) return now;
    last = now;
  }
}

/** Starts a platform with the link, and prepares an orb. */
async function linked(env: Record<string, string> = {}, uses: object[] = []) {
  const platform = await startPlatform({ env: { ...LINK, ...env } });
  const token = await adminToken(platform);
  const schemas = [{ id: "s", fields: [{ name: "n", type: "integer" }] }];
  const body = { id: "many", uses, modules: [{ id: "m", type: "CONTENT", schemas }] };
  return {
    platform,
    token,
    publish: async () => {
      const made = await call(platform, "POST", "/api/admin/orbs?publish=true", { token, body });
      expect(made.status).toBe(201);
    },
    /** Counts the connections of the functions and of the test's own stores. */
    connections: () => connectionsTo(platform.broker?.wsPort ?? 0),
    [Symbol.asyncDispose]: () => platform.stop(),
  };
}

const health = async (platform: TestPlatform) => (await call(platform, "GET", "/api/health")).status;

/** The platform of all tests that need no other settings. */
let stand: Awaited<ReturnType<typeof linked>>;
beforeAll(async () => {
  stand = await linked({}, [{ service: "slow", handlers: ["wait"] }]);
});
afterAll(() => stand?.[Symbol.asyncDispose]());

test("opens one connection per object", async () => {
  const alone = await settled(stand.connections);
  await using several = await linked({ NATS_LINK_COUNT: "4", NATS_LINK_LOCATION: "weur" });
  for (let i = 0; i < 8; i++) expect(await health(several.platform)).toBe(200);
  expect(await settled(several.connections)).toBe(alone + 3);
});

test("frees the places of clients that disconnect", async () => {
  const { platform, token } = stand;
  const service = await brokerClient(platform);
  let isSilent = false;
  service.subscribe("svc.slow.wait", {
    callback: (_, message) => {
      if (!isSilent) message.respond("{}");
    },
  });
  const entry = {
    name: "slow.wait",
    description: "",
    auth: "None",
    kind: "nats",
    subject: "svc.slow.wait",
    // Longer than this test waits, so that only the disconnection can free a place.
    timeoutMs: 30_000,
  };
  await service.request("$KV.handlers.slow.wait", JSON.stringify(entry));
  await stand.publish();
  const wait = (signal: AbortSignal | null = null) =>
    fetch(`${platform.url}/api/many/call/wait`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "{}",
      signal,
    });
  const before = await wait();
  expect([before.status, await before.text()]).toEqual([200, "{}"]);
  const connections = await settled(stand.connections);
  // More requests than places: none may stay occupied.
  isSilent = true;
  for (let wave = 0; wave < 11; wave++) {
    const gone = Array.from({ length: 100 }, () =>
      wait(AbortSignal.timeout(150)).catch((error: Error) => error.name),
    );
    await Promise.all(gone);
  }
  isSilent = false;
  const after = async () => {
    const answer = await wait();
    return [answer.status, await answer.text()];
  };
  await expect.poll(after).toEqual([200, "{}"]);
  await expect.poll(stand.connections).toBe(connections);
  expect((await call(platform, "GET", "/api/many/m", { token })).status).toBe(200);
  await service.close();
});

test("shares one connection among hundreds of parallel requests", async () => {
  const { platform, token } = stand;
  const idle = await settled(stand.connections);
  let most = 0;
  const watch = setInterval(() => {
    most = Math.max(most, stand.connections());
  }, 5);
  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, i) =>
      i % 4 === 0
        ? call(platform, "POST", "/api/many/m?publish=true", { token, body: { values: { n: i } } })
        : call(platform, "GET", "/api/many/m?limit=10"),
    ),
  );
  clearInterval(watch);
  const statuses = Object.groupBy(answers, ({ status }) => String(status));
  const counts = Object.entries(statuses).map(([status, all]) => [status, all?.length]);
  expect(counts).toEqual([
    ["200", 150],
    ["201", 50],
  ]);
  expect(most).toBe(idle);
  const { body } = await call(platform, "GET", "/api/many/m?count=true&limit=200");
  const numbers = body.items.map((item: { values: { n: number } }) => item.values.n);
  expect(numbers.toSorted((a: number, b: number) => a - b)).toEqual(
    Array.from({ length: 50 }, (_, i) => i * 4),
  );
});

test("opens a separate connection for a live stream, and closes it with the reader", async () => {
  const { platform } = stand;
  await using broker = await publisher(platform);
  const headers = { authorization: `Bearer ${await signIn(platform)}` };
  const url = `${platform.url}/api/streams/wallet?offset=-1`;
  const quiet = await settled(stand.connections);
  await broker.js.publish("wallet.admin1.paid", JSON.stringify({ n: 1 }));
  expect(await (await fetch(url, { headers })).json()).toEqual([{ n: 1 }]);
  expect(stand.connections()).toBe(quiet);

  const events = sentEvents(await fetch(`${url}&live=sse`, { headers }));
  const next = async () => {
    for await (const { type, data } of { [Symbol.asyncIterator]: () => ({ next: () => events.next() }) })
      if (type === "data") return JSON.parse(data) as unknown;
    return undefined;
  };
  expect(await next()).toEqual([{ n: 1 }]);
  expect(stand.connections()).toBe(quiet + 1);
  await broker.js.publish("wallet.admin1.paid", JSON.stringify({ n: 2 }));
  expect(await next()).toEqual([{ n: 2 }]);
  await events.return(undefined);
  await expect.poll(stand.connections).toBe(quiet);
});

test("answers 503 while the broker is frozen, and 200 right after", async () => {
  const { platform } = stand;
  const pid = platform.broker?.pid ?? 0;
  await freeze(pid);
  try {
    expect(await health(platform)).toBe(503);
    const then = await Promise.all(Array.from({ length: 20 }, () => health(platform)));
    expect(new Set(then)).toEqual(new Set([503]));
  } finally {
    process.kill(pid, "SIGCONT");
  }
  expect(await health(platform)).toBe(200);
});

test("reads continue through another broker when the one that serves the link is lost", async () => {
  await using three = await linked({ NATS_BROKERS: "3", NATS_REPLICAS: "3" });
  const { platform } = three;
  for (const signal of ["SIGSTOP", "SIGKILL"] as const) {
    await expect.poll(() => health(platform)).toBe(200);
    const [serving] = platform.brokers.toSorted((a, b) => connectionsTo(b.wsPort) - connectionsTo(a.wsPort));
    if (serving?.pid === undefined) throw new Error("no broker serves the link");
    const { pid } = serving;
    if (signal === "SIGKILL") await serving.pause("SIGKILL");
    else await freeze(pid);
    try {
      // The other brokers may have to elect leaders first.
      const answers = () => Promise.all(Array.from({ length: 20 }, () => health(platform)));
      await expect.poll(async () => [signal, ...new Set(await answers())]).toEqual([signal, 200]);
    } finally {
      if (signal === "SIGKILL") await serving.resume();
      else process.kill(pid, "SIGCONT");
    }
  }
}, 180_000);

test("answers 503 while the broker is down, and keeps acknowledged writes", async () => {
  const { platform } = stand;
  const writers = new Writers(platform);
  await writers.start(6);
  await writers.more(6);
  await platform.broker?.pause("SIGKILL");
  for (let i = 0; i < 20; i++) expect(await health(platform)).toBe(503);
  await writers.met(503);
  await platform.broker?.resume();
  await expect.poll(() => health(platform)).toBe(200);
  await writers.more(6);
  await writers.stop();
  writers.expectFairAnswers();
  await writers.expectKept();
});

import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Streams, serveStreams } from "../../scripts/host/streams.ts";
import { freePort } from "../../scripts/process/ports.ts";
import { formatOffset } from "../../shared/streams/protocol/offset.ts";
import { startPlatform, type TestPlatform } from "../support/platform.ts";
import { testPrograms } from "../support/programs.ts";
import { type Random, testRandom } from "../support/random.ts";
import { controlOf, type Publisher, publisher, readUntil, sentEvents, signIn } from "../support/streams.ts";

let platform: TestPlatform;
let streams: Streams;
let broker: Publisher;
let token: string;
const logs: string[] = [];

beforeAll(async () => {
  platform = await startPlatform({ env: { STREAMS_LONG_POLL_MS: "3000" } });
  streams = await serveStreams({
    programs: testPrograms(),
    host: "127.0.0.1",
    port: await freePort(),
    env: { ...platform.bindings, STREAMS_MAX_PER_USER: "20", STREAMS_MAX: "60", STREAMS_ROTATE_MS: "1500" },
    log: (line) => logs.push(line),
  });
  token = await signIn(platform);
  broker = await publisher(platform);
  const manager = await broker.connection.jetstreamManager();
  for (const name of ["torn", "slow"]) {
    // Half of the stored messages do not match the readers' filter.
    await manager.streams.add({ name, subjects: [`${name}.>`], allow_direct: true });
    const store = platform.store();
    const mapping = { v: 1, stream: name, subjectFilter: `${name}.read.*`, description: name };
    await store.kvPut("stream_mappings", name, JSON.stringify(mapping));
  }
});
afterAll(async () => {
  await broker?.[Symbol.asyncDispose]();
  await streams?.stop();
  await platform?.stop();
});

/** Returns the status of the streams process, or 0 if it does not answer. */
const health = () =>
  fetch(`${streams.url}/api/health`).then(
    ({ status }) => status,
    () => 0,
  );

/** A reader that only knows the messages and the next offset. */
interface Torn {
  readonly seen: number[];
  readonly failures: Map<number, number>;
  readonly done: Promise<void>;
}

type Read = (response: Response, take: (messages: number[], offset: string) => void) => Promise<void>;

/** Messages count only after the control event that follows them. */
const byControl =
  (arrays: boolean): Read =>
  async (response, take) => {
    let pending: number[] = [];
    for await (const event of sentEvents(response)) {
      if (event.type === "data") {
        const data = JSON.parse(event.data) as number | number[];
        pending = pending.concat(arrays ? (data as number[]) : [data as number]);
      } else if (event.type === "control") {
        take(pending, controlOf(event).streamNextOffset);
        pending = [];
      }
    }
  };

const byPage: Read = async (response, take) => {
  const messages = response.status === 204 ? [] : ((await response.json()) as number[]);
  take(messages, response.headers.get("stream-next-offset") ?? "");
};

/** Reads until the last message, disconnecting after at most 550 ms each time. */
function torn(
  base: string,
  query: (offset: string) => string,
  read: Read,
  last: () => number | undefined,
  random: Random,
): Torn {
  const seen: number[] = [];
  const failures = new Map<number, number>();
  let offset = "-1";
  const run = async () => {
    while (last() === undefined || seen.at(-1) !== last()) {
      const signal = AbortSignal.timeout(50 + random.below(500));
      try {
        const headers: Record<string, string> = { authorization: `Bearer ${token}` };
        const response = await fetch(`${base}/api/streams/torn${query(offset)}`, { headers, signal });
        if (response.ok)
          await read(response, (messages, next) => {
            seen.push(...messages);
            offset = next;
          });
        else failures.set(response.status, (failures.get(response.status) ?? 0) + 1);
      } catch {
        // The test, a killed process or a killed broker closed the connection.
      }
      await delay(10);
    }
  };
  return { seen, failures, done: run() };
}

test("readers lose no message and get none twice across disconnects and kills", async () => {
  let last: number | undefined;
  const lastOf = () => last;
  const sse = (offset: string) => `?offset=${offset}&live=sse`;
  const random = testRandom();
  const readers = [
    torn(streams.url, sse, byControl(true), lastOf, random.fork()),
    torn(
      streams.url,
      (offset) => (offset === "-1" ? "" : `?offset=${offset}&live=sse`),
      readerOfBoth(),
      lastOf,
      random.fork(),
    ),
    torn(streams.url, (offset) => `?offset=${offset}&live=long-poll`, byPage, lastOf, random.fork()),
    torn(platform.origin, sse, byControl(true), lastOf, random.fork()),
    torn(platform.origin, (offset) => `?offset=${offset}`, byPage, lastOf, random.fork()),
  ];
  let over = false;
  const kills = (async () => {
    await delay(1_000);
    streams.kill();
    await delay(1_000);
    await expect.poll(health).toBe(200);
    await delay(500);
    await platform.broker?.kill();
    await platform.broker?.ready();
    await delay(1_000);
    streams.kill("SIGTERM");
    await delay(500);
    await platform.broker?.kill();
    await platform.broker?.ready();
    await delay(1_000);
  })().finally(() => {
    over = true;
  });
  let sent = 0;
  while (!over) {
    const n = sent;
    // A publication with an unknown outcome is repeated with the same id, so the broker can drop a duplicate.
    for (;;) {
      const ok = await broker.js
        .publish(`torn.read.${n % 7}`, String(n), { msgID: `m${n}`, timeout: 500 })
        .then(
          () => true,
          () => false,
        );
      if (ok) break;
      await delay(50);
    }
    if (n % 2 === 0) broker.connection.publish("torn.other", "not for readers");
    sent++;
    if (n % 2 === 0) await delay(10);
  }
  await kills;
  last = sent - 1;
  await Promise.all(readers.map(({ done }) => done));
  const wanted = Array.from({ length: sent }, (_, i) => i);
  for (const { seen, failures } of readers) {
    expect(seen).toEqual(wanted);
    // Only temporary failures: no 404, 410 or 500.
    expect([...failures.keys()].filter((status) => ![502, 503, 504].includes(status))).toEqual([]);
  }
  expect(sent).toBeGreaterThan(100);
});

/** Parses the platform's own form of events first, and the protocol's form afterwards. */
function readerOfBoth(): Read {
  return async (response, take) => {
    let pending: number[] = [];
    for await (const event of sentEvents(response)) {
      if (event.type === "data") pending = pending.concat(JSON.parse(event.data) as number | number[]);
      else if (event.type === "control") {
        take(pending, controlOf(event).streamNextOffset);
        pending = [];
      }
    }
  };
}

describe("streams process", () => {
  const headers = () => ({ authorization: `Bearer ${token}` });
  const text = async (url: string) => {
    expect((await fetch(`${url}/api/metrics`)).status).toBe(401);
    return (await fetch(`${url}/api/metrics`, { headers: headers() })).text();
  };
  const figure = async (name: string, url = streams.url) =>
    Number(new RegExp(`^${name} (.*)$`, "m").exec(await text(url))?.[1]);

  test("disconnects a slow reader after a complete event, and does not delay the others", async () => {
    // With a longer rotation than the rest of this test takes on a busy machine.
    const port = await freePort();
    const env = { ...platform.bindings, STREAMS_ROTATE_MS: "8000" };
    await using lasting = await serveStreams({
      programs: testPrograms(),
      host: "127.0.0.1",
      port,
      env,
      log: () => undefined,
    });
    const body = JSON.stringify("x".repeat(20_000));
    const slow = await fetch(`${lasting.url}/api/streams/slow?offset=-1&live=sse`, { headers: headers() });
    const quick = await fetch(`${lasting.url}/api/streams/slow?offset=-1&live=sse`, { headers: headers() });
    let quickly = 0;
    const drained = (async () => {
      for await (const event of sentEvents(quick))
        if (event.type === "data") quickly += (JSON.parse(event.data) as []).length;
    })();
    await delay(200);
    for (let i = 0; i < 400; i++) {
      await broker.js.publish("slow.read.a", body);
      // On a busy machine this process would be a slow reader too.
      while (quickly < i - 40) await delay(2);
    }
    let offset = "-1";
    let slowly = 0;
    for await (const event of sentEvents(slow)) {
      if (event.type === "data") slowly += (JSON.parse(event.data) as []).length;
      else if (event.type === "control") offset = controlOf(event).streamNextOffset;
    }
    expect(await figure("streams_slow_readers_total", lasting.url)).toBeGreaterThanOrEqual(1);
    expect(slowly).toBeLessThan(400);
    await drained;
    expect(quickly).toBe(400);
    while (slowly < 400) {
      const page = await fetch(`${lasting.url}/api/streams/slow?offset=${offset}`, { headers: headers() });
      slowly += ((await page.json()) as []).length;
      offset = page.headers.get("stream-next-offset") ?? "";
    }
    expect(slowly).toBe(400);
  });

  test("is not blocked by a client that requests many pages and reads none", async () => {
    const manager = await broker.connection.jetstreamManager();
    await manager.streams.add({ name: "large", subjects: ["large.>"], allow_direct: true });
    const mapping = { v: 1, stream: "large", subjectFilter: "large.>", description: "" };
    await platform.store().kvPut("stream_mappings", "large", JSON.stringify(mapping));
    const body = JSON.stringify("x".repeat(100_000));
    for (let n = 0; n < 200; n++) await broker.js.publish("large.a", body);
    const user = await signIn(platform, { realm: "auth", sub: "hoarder" });
    const before = logs.length;
    const statuses: number[] = [];
    const port = Number(new URL(streams.url).port);
    const sockets = Array.from({ length: 150 }, (_, n) => {
      const socket = connect(port, "127.0.0.1");
      socket.once("data", (head) => {
        statuses.push(Number(String(head).split(" ")[1]));
        socket.pause();
      });
      const target = `/api/streams/large?offset=${formatOffset(n)}`;
      socket.write(`GET ${target} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${user}\r\n\r\n`);
      return socket;
    });
    // A few of the client's requests are served, some wait, and the others are refused. How many depends on the
    // machine's speed.
    await expect.poll(() => [...new Set(statuses)].sort()).toEqual([200, 429]);
    const page = await fetch(`${streams.url}/api/streams/large?offset=${formatOffset(1)}`, {
      headers: headers(),
    });
    expect([page.status, ((await page.json()) as unknown[]).length > 30]).toEqual([200, true]);
    for (const socket of sockets) socket.destroy();
    expect(logs.slice(before).filter((line) => line.includes("broker"))).toEqual([]);
  });

  test("ends responses with a control event on rotation and on stop", async () => {
    const turned = await fetch(`${streams.url}/api/streams/torn?offset=now&live=sse`, { headers: headers() });
    const events = await readUntil(turned, () => false);
    expect(controlOf(events.at(-1) ?? { type: "", data: "{}", id: "" }).streamNextOffset).toMatch(/^\d{20}$/);
    const open = await fetch(`${streams.url}/api/streams/torn?offset=now&live=sse`, { headers: headers() });
    const waiting = fetch(`${streams.url}/api/streams/torn?offset=now&live=long-poll`, {
      headers: headers(),
    });
    await delay(200);
    streams.kill("SIGTERM");
    await readUntil(open, () => false);
    const { status, headers: end } = await waiting;
    expect([status, end.get("connection")]).toEqual([204, "close"]);
    await expect.poll(health).toBe(200);
  });

  test("limits the readers per user and in total, and frees their places", async () => {
    const user = await signIn(platform, { realm: "auth", sub: "greedy" });
    const gone = new AbortController();
    const open = (as: string) =>
      fetch(`${streams.url}/api/streams/torn?offset=now&live=sse`, {
        headers: { authorization: `Bearer ${as}` },
        signal: gone.signal,
      });
    // Keep a reference to each response: without one, the client closes the connection.
    const mine = await Promise.all(Array.from({ length: 100 }, () => open(user)));
    const count = (all: Response[], wanted: number) => all.filter(({ status }) => status === wanted).length;
    expect([count(mine, 200), count(mine, 429)]).toEqual([20, 80]);
    const others = await Promise.all(Array.from({ length: 50 }, () => open(token)));
    expect([count(others, 200), count(others, 503)]).toEqual([40, 10]);
    expect(await figure("streams_subscribers")).toBe(60);
    gone.abort();
    await expect.poll(() => figure("streams_subscribers")).toBe(0);
  });

  test("answers 503 after the broker is lost, and recovers with it", async () => {
    expect(await health()).toBe(200);
    await platform.broker?.pause("SIGKILL");
    await expect.poll(health).toBe(503);
    const refused = await fetch(`${streams.url}/api/streams/torn?offset=-1`, { headers: headers() });
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "1"]);
    await platform.broker?.resume();
    await expect.poll(health).toBe(200);
  });
});

test("retries to start the streams process until it succeeds", async () => {
  const said: string[] = [];
  const { execPath } = process;
  process.execPath = "/nowhere/node";
  setTimeout(() => {
    process.execPath = execPath;
  }, 300);
  const port = await freePort();
  await using late = await serveStreams({
    programs: testPrograms(),
    host: "127.0.0.1",
    port,
    env: platform.bindings,
    log: (line) => said.push(line),
  });
  expect((await fetch(`${late.url}/api/health`)).status).toBe(200);
  expect(said.find((line) => line.includes("starting it again"))).toContain("ENOENT");
});

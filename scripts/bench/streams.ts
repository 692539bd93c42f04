/**
 * Compares the streams process on durable storage with the protocol's in-memory reference server.
 *
 * node scripts/bench/streams.ts [--seconds 5] [--subscribers 5000] [--json result.json]
 */
import { fork } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { Agent, get } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { parseArgs } from "node:util";
import { cpuSeconds, memoryMiB } from "./measure.ts";
import type { LoadCommand, LoadReport } from "./streams-load.ts";
import { answerOf, file, type Server, startOurs, startReference } from "./streams-servers.ts";

interface Delivery {
  server: string;
  subscribers: number;
  perSecond: number;
  expected: number;
  received: number;
  p50: number;
  p99: number;
  max: number;
  /** Processor seconds that the server uses per second. */
  cpu: number;
}

interface CatchUp {
  server: string;
  messages: number;
  bytes: number;
  firstMs: number;
  medianMs: number;
  bestMs: number;
  /** Ratio of the medians. */
  megabytesPerSecond: number;
}

const MESSAGE_BYTES = 235;
const MESSAGES = 10_000;
const ROUNDS = 3;
const clock = () => performance.timeOrigin + performance.now();

/** Returns a message of typical size that contains its creation time. */
function message(): string {
  const head = `{"t":${clock().toFixed(3)},"text":"`;
  return `${head}${"x".repeat(MESSAGE_BYTES - head.length - 2)}"}`;
}

function load() {
  const child = fork(file("streams-load.ts"), { stdio: "inherit", serialization: "advanced" });
  const tell = (command: LoadCommand) => child.send(command);
  return {
    async open(server: Server, stream: string, subscribers: number): Promise<void> {
      const url = `${server.url(stream)}?offset=now&live=sse`;
      tell({ do: "open", url, headers: server.headers, subscribers, perSecond: 1000 });
      await answerOf<LoadReport>(child);
    },
    reset: () => tell({ do: "reset" }),
    async report(): Promise<Extract<LoadReport, { event: "report" }>> {
      tell({ do: "report" });
      const report = await answerOf<LoadReport>(child);
      if (report.event !== "report") throw new Error("the load did not report");
      return report;
    },
    async [Symbol.asyncDispose]() {
      const gone = new Promise((resolve) => child.once("exit", resolve));
      child.kill();
      await gone;
    },
  };
}

const at = (sorted: Float64Array, part: number) =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;

/** Publishes at a constant rate, and returns the delays until the subscribers receive the messages. */
async function deliver(
  server: Server,
  stream: string,
  clients: ReturnType<typeof load>,
  subscribers: number,
  perSecond: number,
  seconds: number,
): Promise<Delivery> {
  for (let i = 0; i < perSecond; i++) {
    await server.append(stream, [message()]);
    await delay(1000 / perSecond);
  }
  await delay(500);
  clients.reset();
  const before = cpuSeconds(server.pid);
  const begun = performance.now();
  const count = perSecond * seconds;
  for (let i = 0; i < count; i++) {
    await delay(Math.max(0, begun + (i * 1000) / perSecond - performance.now()));
    await server.append(stream, [message()]);
  }
  await delay(1000);
  const used = cpuSeconds(server.pid) - before;
  const { latencies, received } = await clients.report();
  latencies.sort();
  const [p50, p99, max] = [at(latencies, 0.5), at(latencies, 0.99), at(latencies, 1)];
  const expected = subscribers * count;
  return {
    server: server.name,
    subscribers,
    perSecond,
    expected,
    received,
    p50,
    p99,
    max,
    cpu: used / (seconds + 1),
  };
}

/** Returns the medians of several rounds, because the machine's speed varies. */
function typical(rounds: Delivery[]): Delivery {
  const middle = (of: (round: Delivery) => number) =>
    rounds.map(of).sort((a, b) => a - b)[Math.floor(rounds.length / 2)] ?? 0;
  const [first] = rounds;
  if (first === undefined) throw new Error("nothing was measured");
  return {
    ...first,
    received: middle(({ received }) => received),
    p50: middle(({ p50 }) => p50),
    p99: middle(({ p99 }) => p99),
    max: middle(({ max }) => max),
    cpu: middle(({ cpu }) => cpu),
  };
}

/** Measures the servers alternately, because the machine's speed varies. */
async function compare(servers: Server[], subscribers: number): Promise<Delivery[]> {
  const stream = `live${subscribers}`;
  const clients = servers.map(() => load());
  const rounds = servers.map((): Delivery[] => []);
  try {
    for (const [i, server] of servers.entries()) {
      await server.create(stream);
      await clients[i]?.open(server, stream, subscribers);
    }
    for (let round = 0; round < ROUNDS; round++)
      for (const [i, server] of servers.entries()) {
        const its = clients[i];
        if (its !== undefined) rounds[i]?.push(await deliver(server, stream, its, subscribers, 10, seconds));
      }
  } finally {
    for (const its of clients) await its[Symbol.asyncDispose]();
  }
  return rounds.map(typical);
}

async function readAll(server: Server, stream: string, agent: Agent): Promise<number> {
  let bytes = 0;
  for (let offset = "-1"; ; ) {
    const { next, done, size } = await new Promise<{ next: string; done: boolean; size: number }>(
      (resolve, reject) => {
        const { headers } = server;
        get(`${server.url(stream)}?offset=${offset}`, { agent, headers }, (response) => {
          let total = 0;
          response.on("data", (chunk: Buffer) => {
            total += chunk.length;
          });
          response.once("end", () => {
            const next = String(response.headers["stream-next-offset"]);
            resolve({ next, done: response.headers["stream-up-to-date"] === "true", size: total });
          });
        }).once("error", reject);
      },
    );
    bytes += size;
    offset = next;
    if (done) return bytes;
  }
}

async function catchUp(server: Server): Promise<CatchUp> {
  const stream = `catchup${Date.now()}`;
  await server.create(stream);
  for (let left = MESSAGES; left > 0; left -= 500)
    await server.append(stream, Array.from({ length: 500 }, message));
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const times: number[] = [];
  let bytes = 0;
  for (let i = 0; i < 21; i++) {
    const begun = performance.now();
    bytes = await readAll(server, stream, agent);
    times.push(performance.now() - begun);
  }
  agent.destroy();
  const [firstMs = 0, ...rest] = times;
  rest.sort((a, b) => a - b);
  const medianMs = rest[Math.floor(rest.length / 2)] ?? 0;
  const megabytesPerSecond = (MESSAGES * MESSAGE_BYTES) / 1e6 / (medianMs / 1000);
  return {
    server: server.name,
    messages: MESSAGES,
    bytes,
    firstMs,
    medianMs,
    bestMs: rest[0] ?? 0,
    megabytesPerSecond,
  };
}

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "5" },
    subscribers: { type: "string", default: "5000" },
    json: { type: "string" },
  },
});
const seconds = Number(values.seconds);
const many = Number(values.subscribers);
const dir = mkdtempSync(join(tmpdir(), "streams-bench-"));
const deliveries: Delivery[] = [];
const catchUps: CatchUp[] = [];
let idle: { subscribers: number; bytesEach: number } | undefined;
try {
  await using reference = await startReference();
  await using ours = await startOurs(dir);
  for (const subscribers of [100, 500]) deliveries.push(...(await compare([reference, ours], subscribers)));
  for (const server of [reference, ours]) catchUps.push(await catchUp(server));
  if (many > 0) {
    await using clients = load();
    await ours.create("many");
    await delay(3000);
    const before = memoryMiB(ours.pid);
    await clients.open(ours, "many", many);
    await delay(5000);
    idle = { subscribers: many, bytesEach: Math.round(((memoryMiB(ours.pid) - before) * 2 ** 20) / many) };
    deliveries.push(await deliver(ours, "many", clients, many, 1, seconds));
  }
} finally {
  rmSync(dir, { recursive: true, force: true, maxRetries: 5 });
}

const ms = (value: number) => Number(value.toFixed(1));
console.table(
  deliveries.map(({ server, subscribers, perSecond, expected, received, p50, p99, max, cpu }) => ({
    server,
    subscribers,
    "messages/s": perSecond,
    "received %": ms((100 * received) / expected),
    "p50 ms": ms(p50),
    "p99 ms": ms(p99),
    "max ms": ms(max),
    cores: Number(cpu.toFixed(2)),
  })),
);
console.table(
  catchUps.map(({ server, firstMs, medianMs, bestMs, megabytesPerSecond }) => ({
    server,
    "first ms": ms(firstMs),
    "median ms": ms(medianMs),
    "best ms": ms(bestMs),
    "MB/s": ms(megabytesPerSecond),
  })),
);
if (idle !== undefined)
  console.log(`An idle subscriber costs ${(idle.bytesEach / 1024).toFixed(1)} KB (of ${idle.subscribers}).`);
const [reference, ours] = catchUps;
if (reference !== undefined && ours !== undefined) {
  const ratio = (a: number | undefined, b: number | undefined) => Number(((a ?? 0) / (b ?? 1)).toFixed(1));
  console.log("Times better than the reference server in this run:");
  console.table({
    "p50, 100 subscribers": ratio(deliveries[0]?.p50, deliveries[1]?.p50),
    "p99, 100 subscribers": ratio(deliveries[0]?.p99, deliveries[1]?.p99),
    "p50, 500 subscribers": ratio(deliveries[2]?.p50, deliveries[3]?.p50),
    "p99, 500 subscribers": ratio(deliveries[2]?.p99, deliveries[3]?.p99),
    "catching up": ratio(ours.megabytesPerSecond, reference.megabytesPerSecond),
  });
}
if (values.json !== undefined)
  writeFileSync(values.json, `${JSON.stringify({ deliveries, catchUps, idle }, null, 2)}\n`);

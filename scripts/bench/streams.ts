/**
 * The streams process on durable JetStream beside the protocol's reference server in memory, in one run and in turn:
 * delivery to many subscribers, catching up, and (ours alone) 5,000 subscribers and what an idle one costs.
 *
 *   node scripts/bench/streams.ts [--seconds 10] [--subscribers 5000] [--json result.json]
 */
import { type ChildProcess, fork } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { Agent, get, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { connect } from "nats";
import { startSession } from "../../shared/access/sessions.ts";
import { newId, randomToken } from "../../shared/ids.ts";
import { provision } from "../../shared/store/provision.ts";
import { openStore } from "../../shared/store/store.ts";
import { findBroker } from "../broker/find.ts";
import { launchBroker } from "../broker/launch.ts";
import { brokerCaches } from "../platform.ts";
import { freePort } from "../ports.ts";
import { loadSecrets } from "../secrets.ts";
import type { LoadCommand, LoadReport } from "./streams-load.ts";

/** A server under measurement. */
interface Server extends AsyncDisposable {
  readonly name: string;
  readonly pid: number;
  readonly headers: Record<string, string>;
  /** Address of a stream, without parameters. */
  url(stream: string): string;
  create(stream: string): Promise<void>;
  /** Appends JSON texts in order; resolves when all are acknowledged. */
  append(stream: string, messages: string[]): Promise<void>;
}

interface Delivery {
  server: string;
  subscribers: number;
  perSecond: number;
  expected: number;
  received: number;
  p50: number;
  p99: number;
  max: number;
  /** Processor seconds of the server per second. */
  cpu: number;
}

interface CatchUp {
  server: string;
  messages: number;
  bytes: number;
  firstMs: number;
  medianMs: number;
  bestMs: number;
  /** Of the median. */
  megabytesPerSecond: number;
}

const MESSAGE_BYTES = 235;
const MESSAGES = 10_000;
const file = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const clock = () => performance.timeOrigin + performance.now();

/** A message of the size that counts, which says when it was made. */
function message(): string {
  const head = `{"t":${clock().toFixed(3)},"text":"`;
  return `${head}${"x".repeat(MESSAGE_BYTES - head.length - 2)}"}`;
}

const answerOf = <T>(child: ChildProcess) =>
  new Promise<T>((resolve, reject) => {
    child.once("message", (answer) => resolve(answer as T));
    child.once("exit", (code) => reject(new Error(`a process ended early (${code})`)));
  });

async function startReference(): Promise<Server> {
  const child = fork(file("streams-reference.ts"), { stdio: "inherit" });
  const { url: base } = await answerOf<{ url: string }>(child);
  const agent = new Agent({ keepAlive: true });
  const send = (method: string, stream: string, body: string) =>
    new Promise<void>((resolve, reject) => {
      const headers = { "content-type": "application/json" };
      const going = request(`${base}/${stream}`, { method, headers, agent }, (response) => {
        response.resume().once("end", () => {
          if ((response.statusCode ?? 500) < 300) resolve();
          else reject(new Error(`the reference server answered ${response.statusCode}`));
        });
      });
      going.once("error", reject);
      going.end(body);
    });
  return {
    name: "reference (memory)",
    pid: child.pid ?? 0,
    headers: {},
    url: (stream) => `${base}/${stream}`,
    create: (stream) => send("PUT", stream, ""),
    append: (stream, messages) => send("POST", stream, `[${messages.join(",")}]`),
    async [Symbol.asyncDispose]() {
      child.kill();
    },
  };
}

async function startOurs(dir: string): Promise<Server> {
  const secrets = await loadSecrets(dir);
  const binary = findBroker({
    explicit: process.env.NATS_SERVER_BIN,
    path: process.env.PATH,
    caches: brokerCaches(dir).reverse(),
  });
  const broker = await launchBroker({ binary, dir, syncInterval: "10s", passwords: secrets.broker });
  const store = openStore({ url: broker.wsUrl, user: "deploy", pass: secrets.broker.deploy });
  await provision(store, { replicas: 1 });
  const publicUrl = "http://localhost";
  const port = await freePort();
  const { broker: passwords, ...keys } = secrets;
  const child = fork(file("../streams.ts"), {
    stdio: "inherit",
    env: {
      PATH: process.env.PATH,
      ...keys,
      NATS_URL: broker.wsUrl,
      NATS_USER: "streams",
      NATS_PASS: passwords.streams,
      PUBLIC_URL: publicUrl,
      STREAMS_PORT: String(port),
      // Nothing ends on its own while it is measured.
      STREAMS_ROTATE_MS: "1000000",
      LOG_LEVEL: "warn",
    },
  });
  const base = `http://127.0.0.1:${port}`;
  for (;;) {
    if (
      await fetch(`${base}/api/health`).then(
        ({ ok }) => ok,
        () => false,
      )
    )
      break;
    await delay(50);
  }
  const { user, pass } = { user: "operator", pass: passwords.operator };
  const nats = await connect({ servers: `127.0.0.1:${broker.port}`, user, pass });
  const js = nats.jetstream();
  const manager = await js.jetstreamManager();
  const session = await startSession(
    {
      store,
      clock: { now: Date.now },
      config: { ...configOf(secrets.JWT_SIGNING_KEYS, publicUrl) },
      log: { debug() {}, info() {}, warn() {}, error() {} },
      request: { requestId: "bench", traceparent: undefined, client: "bench" },
      newId: () => newId(Date.now()),
      randomToken,
      afterwards: () => undefined,
    },
    { realm: "platform", sub: "bench", role: "owner", name: "bench", email: null, ttl: 3600 },
  );
  return {
    name: "ours (JetStream, file)",
    pid: child.pid ?? 0,
    headers: { authorization: `Bearer ${session.token}` },
    url: (stream) => `${base}/api/streams/${stream}`,
    async create(stream) {
      await manager.streams.add({ name: stream, subjects: [`${stream}.>`], allow_direct: true });
      const mapping = { v: 1, stream, subjectFilter: `${stream}.>`, description: "bench" };
      await store.kvPut("stream_mappings", stream, JSON.stringify(mapping));
    },
    async append(stream, messages) {
      await Promise.all(messages.map((body) => js.publish(`${stream}.a`, body)));
    },
    async [Symbol.asyncDispose]() {
      const gone = new Promise((resolve) => child.once("exit", resolve));
      child.kill();
      await gone;
      await nats.close();
      await store.close();
      await broker.stop();
    },
  };
}

function configOf(jwtSigningKeys: string, publicUrl: string) {
  return {
    publicUrl,
    jwtSigningKeys,
    allowedOrigins: [],
    replicas: 1,
    encryptionKeys: "",
    claimKey: "",
    streamsUrl: undefined,
    longPollMs: 1000,
    metricsToken: undefined,
    clientAddress: undefined,
  };
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

/** Processor seconds that a process has used (Linux; 0 elsewhere). */
function processorSeconds(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
    return (Number(fields[11]) + Number(fields[12])) / 100;
  } catch {
    return 0;
  }
}

/** Resident memory of a process in bytes (Linux; 0 elsewhere). */
function residentBytes(pid: number): number {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) * 1024;
  } catch {
    return 0;
  }
}

const at = (sorted: Float64Array, part: number) =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;

/** Publishes at an even pace to subscribers that are open, and tells how late the messages came. */
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
  const before = processorSeconds(server.pid);
  const begun = performance.now();
  const count = perSecond * seconds;
  for (let i = 0; i < count; i++) {
    await delay(Math.max(0, begun + (i * 1000) / perSecond - performance.now()));
    await server.append(stream, [message()]);
  }
  await delay(1000);
  const used = processorSeconds(server.pid) - before;
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

/** Reads a whole stream, page by page, over one connection. */
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
    seconds: { type: "string", default: "10" },
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
  for (const subscribers of [100, 500]) {
    for (const server of [reference, ours]) {
      await using clients = load();
      const stream = `live${subscribers}`;
      await server.create(stream);
      await clients.open(server, stream, subscribers);
      deliveries.push(await deliver(server, stream, clients, subscribers, 10, seconds));
    }
  }
  for (const server of [reference, ours]) catchUps.push(await catchUp(server));
  if (many > 0) {
    await using clients = load();
    await ours.create("many");
    await delay(3000);
    const before = residentBytes(ours.pid);
    await clients.open(ours, "many", many);
    await delay(5000);
    idle = { subscribers: many, bytesEach: Math.round((residentBytes(ours.pid) - before) / many) };
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
if (values.json !== undefined)
  writeFileSync(values.json, `${JSON.stringify({ deliveries, catchUps, idle }, null, 2)}\n`);

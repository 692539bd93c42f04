/** Starts the servers to compare: the streams process with a broker, and the protocol's reference server. */
import { type ChildProcess, fork } from "node:child_process";
import { Agent, request } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { connect } from "nats";
import { startSession } from "../../shared/access/sessions.ts";
import { openStore, provision } from "../../shared/store/broker/index.ts";
import { buckets } from "../../shared/store/subjects.ts";
import { launchBroker } from "../broker/launch.ts";
import { loadSecrets } from "../config/secrets.ts";
import { scriptDeps } from "../platform/deps.ts";
import { lastingBroker } from "../platform/platform.ts";
import { freePort } from "../process/ports.ts";

export interface Server extends AsyncDisposable {
  readonly name: string;
  readonly pid: number;
  readonly headers: Record<string, string>;
  /** Address of a stream without parameters. */
  url(stream: string): string;
  create(stream: string): Promise<void>;
  /** Appends JSON texts in order. Resolves when the server has acknowledged all of them. */
  append(stream: string, messages: string[]): Promise<void>;
}

export const file = (name: string) => fileURLToPath(new URL(name, import.meta.url));

export const answerOf = <T>(child: ChildProcess) =>
  new Promise<T>((resolve, reject) => {
    child.once("message", (answer) => resolve(answer as T));
    child.once("exit", (code) => reject(new Error(`a process ended early (${code})`)));
  });

export async function startReference(): Promise<Server> {
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

export async function startOurs(dir: string): Promise<Server> {
  const secrets = await loadSecrets(dir);
  const broker = await launchBroker({
    binary: lastingBroker(),
    dir,
    syncInterval: "10s",
    passwords: secrets.broker,
  });
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
      // Prevent sessions from expiring during the measurement.
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
  const variables = { ...keys, NATS_URL: broker.wsUrl, PUBLIC_URL: publicUrl };
  const session = await startSession(scriptDeps(store, variables), {
    realm: "platform",
    sub: "bench",
    role: "owner",
    name: "bench",
    email: null,
    ttl: 3600,
  });
  return {
    name: "ours (JetStream, file)",
    pid: child.pid ?? 0,
    headers: { authorization: `Bearer ${session.token}` },
    url: (stream) => `${base}/api/streams/${stream}`,
    async create(stream) {
      await manager.streams.add({ name: stream, subjects: [`${stream}.>`], allow_direct: true });
      const mapping = { v: 1, stream, subjectFilter: `${stream}.>`, description: "bench" };
      await store.kvPut(buckets.streamMappings, stream, JSON.stringify(mapping));
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

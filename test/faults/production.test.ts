/**
 * The production configuration on three brokers with TLS: it starts, the platform runs on it, and it refuses other
 * access.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { connect, headers, type NatsConnection, StringCodec } from "nats";
import { afterAll, beforeAll, expect, test } from "vitest";
import { renderProduction } from "../../scripts/broker/production.ts";
import { lastingBroker } from "../../scripts/platform/platform.ts";
import { freePort } from "../../scripts/process/ports.ts";
import { serve } from "../../shared/handlers/contract/kit.ts";
import { call, register } from "../support/auth.ts";
import { tempDir } from "../support/broker.ts";
import { certificates } from "../support/certificates.ts";
import { GO_ENV, missingGo, missingPython, need } from "../support/lacking.ts";
import { goClient, placeOrders, pythonClient, run } from "../support/orders.ts";
import { runScript, runStart } from "../support/start.ts";

const checkedIn = readFileSync(new URL("../../scripts/broker/production.conf", import.meta.url), "utf8");
const codec = StringCodec();
/** Any client may ask for the state of the bucket of registrations. */
const BUCKET = "$JS.API.STREAM.INFO.KV_handlers";
const SERVICES: readonly string[] = ["shipping", "billing", "orders"];
const brokers: ChildProcess[] = [];
const names = ["fn", "streams", "deploy", "operator", "system", "shipping", "billing", "orders"] as const;
const passwords = Object.fromEntries(names.map((name) => [name, randomBytes(12).toString("hex")]));
const credentials = (user: string) => ({ NATS_USER: user, NATS_PASS: String(passwords[user]) });
const dataDir = tempDir("production-data");
let ca: string;
let tcp: number[];
let urls: string;

beforeAll(async () => {
  const made = certificates(tempDir("certificates"));
  ca = made.ca;
  const free = (count: number) => Promise.all(Array.from({ length: count }, () => freePort()));
  const [client, web, cluster] = [await free(3), await free(3), await free(3)];
  tcp = client;
  urls = web.map((port) => `wss://localhost:${port}`).join(",");
  await Promise.all(
    client.map(async (port, i) => {
      const dir = tempDir("production");
      const variables = {
        NODE_SERVER_NAME: `n${i + 1}`,
        NODE_STORE_DIR: join(dir, "store"),
        NODE_CERT_FILE: made.cert,
        NODE_KEY_FILE: made.key,
        NODE_CA_FILE: made.ca,
        NODE_CLIENT_LISTEN: `127.0.0.1:${port}`,
        NODE_WEBSOCKET_LISTEN: `127.0.0.1:${web[i]}`,
        NODE_CLUSTER_LISTEN: `127.0.0.1:${cluster[i]}`,
        NODE_ROUTES: cluster.map((one) => `tls://127.0.0.1:${one}`),
        ...Object.fromEntries(names.map((name) => [`${name.toUpperCase()}_PASSWORD`, passwords[name]])),
      };
      const lines = Object.entries(variables).map(([name, value]) => `${name}: ${JSON.stringify(value)}`);
      writeFileSync(join(dir, "variables.conf"), `${[...lines, "NODE_MAX_FILE_STORE: 1GB"].join("\n")}\n`, {
        mode: 0o600,
      });
      writeFileSync(join(dir, "production.conf"), renderProduction(SERVICES));
      const child = spawn(lastingBroker(), ["-c", join(dir, "production.conf")], {
        stdio: ["ignore", "ignore", "pipe"],
      });
      brokers.push(child);
      const said: string[] = [];
      await new Promise<void>((resolve, reject) => {
        createInterface({ input: child.stderr }).on("line", (line) => {
          said.push(line);
          if (line.includes("Server is ready")) resolve();
        });
        child.once("exit", () => reject(new Error(said.join("\n"))));
      });
    }),
  );
});

afterAll(async () => {
  for (const child of brokers) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill("SIGKILL");
    await once(child, "exit");
  }
});

/** Headers of a message that deletes a key. */
function deletion() {
  const made = headers();
  made.set("KV-Operation", "DEL");
  return made;
}

const client = (user: string, pass = passwords[user]): Promise<NatsConnection> =>
  connect({
    servers: `localhost:${tcp[0]}`,
    user,
    ...(pass === undefined ? {} : { pass }),
    tls: { caFile: ca },
    ...(SERVICES.includes(user) ? {} : { inboxPrefix: `_INBOX.${user}` }),
    reconnect: false,
  });

const large = new Uint8Array(1_200_000).fill(7);
/** Handlers of a service, with a small and a large answer. */
const handlers = {
  quote: { description: "Quotes.", auth: "None", handle: () => "7 days" },
  label: {
    description: "A label in several parts.",
    auth: "None",
    maxBodyBytes: 2_000_000,
    respond: ({ body }: { body: Uint8Array }) => ({ status: body.length === large.length ? 200 : 400, body }),
  },
} as const;

test("the checked-in file matches the table of permissions", () => {
  expect(checkedIn).toBe(renderProduction());
});

test("the platform runs on it over TLS, with three replicas and a user per part", async () => {
  const keys = { DATA_DIR: dataDir, NODE_EXTRA_CA_CERTS: ca, NATS_URL: urls, NATS_REPLICAS: "3" };
  const as = (user: string) => ({ ...keys, ...credentials(user) });
  await using provisioning = runScript("provision", as("deploy"));
  expect(await provisioning.exited(), provisioning.output()).toBe(0);

  const port = await freePort();
  const env = { ...as("fn"), PORT: String(port), STREAMS_PORT: String(await freePort()) };
  await using started = runStart(env);
  await started.printed(/ready at/);
  const health = await fetch(`http://localhost:${port}/api/health`);
  expect(health.status).toBe(200);
  expect((await fetch(`http://localhost:${port}/api/_auth/invitations`)).status).toBe(200);

  const operator = await client("operator");
  const service = await client("shipping");
  const running = await serve({ connection: service, headers, service: "shipping", handlers });
  const at = { origin: `http://localhost:${port}` };
  const { body: invited } = await call(at, "GET", "/api/_auth/invitations");
  const { token } = await register(at, "/api/_auth", invited[0].token);
  const document = { id: "shop", uses: [{ service: "shipping", handlers: ["quote", "label"] }], modules: [] };
  const made = await call(at, "POST", "/api/admin/orbs?publish=true", { token, body: document });
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  expect(await call(at, "POST", "/api/shop/quote", { body: {} })).toMatchObject({
    status: 200,
    body: "7 days",
  });
  const labelled = await fetch(`${at.origin}/api/shop/label`, { method: "POST", body: large });
  expect(labelled.status).toBe(200);
  expect(Buffer.from(await labelled.arrayBuffer()).equals(large)).toBe(true);
  const statuses = async () =>
    (await call(at, "GET", "/api/admin/registry/shipping", { token })).body.map(
      (handler: { status: string }) => handler.status,
    );
  expect(await statuses()).toEqual(["available", "available"]);
  await running.stop();
  expect(await statuses()).toEqual(["absent", "absent"]);
  const unavailable = await call(at, "POST", "/api/shop/quote", { body: {} });
  expect(unavailable).toMatchObject({ status: 503, body: { code: "handler_unavailable" } });
  await service.close();
  await placeOrders(at, token, {
    NATS_URL: `tls://orders:${passwords.orders}@localhost:${tcp[0]}`,
    SSL_CERT_FILE: ca,
    NODE_EXTRA_CA_CERTS: ca,
  });

  const manager = await operator.jetstreamManager();
  for await (const { config } of manager.streams.list()) expect(config.num_replicas, config.name).toBe(3);
  await operator.close();
  started.child.kill("SIGTERM");
  await started.exited();
}, 300_000);

test("says how to trust an authority of your own, instead of that the broker is away", async () => {
  const env = { DATA_DIR: tempDir("untrusted"), NATS_URL: urls, NATS_REPLICAS: "3" };
  // Waiting would not change the certificate, so the command ends before the time limit of this test.
  await using provisioning = runScript("provision", { ...env, ...credentials("deploy") });
  expect(await provisioning.exited()).toBe(1);
  expect(provisioning.output()).toMatch(
    /cannot be reached\. The certificate of localhost:\d+ is not trusted \(\w+\)\. Set NODE_EXTRA_CA_CERTS to /,
  );
});

test("npm run host and its streams process trust the authority, and the doctor finds everything in order", async () => {
  const port = await freePort();
  const env = {
    DATA_DIR: dataDir,
    NODE_EXTRA_CA_CERTS: ca,
    NATS_URL: urls,
    NATS_REPLICAS: "3",
    PORT: String(port),
    STREAMS_PORT: String(await freePort()),
    ...credentials("fn"),
  };
  await using host = runScript("host", env);
  await host.printed(/ready at/);
  const streams = await fetch(`http://localhost:${env.STREAMS_PORT}/api/health`);
  expect(streams.status, await streams.text()).toBe(200);

  const doctor = async (more: Record<string, string> = {}) => {
    await using run = runScript("doctor/doctor", { ...env, ...more });
    const code = await run.exited();
    return { code, said: run.output() };
  };
  const well = await doctor({ NATS_SYSTEM_PASS: String(passwords.system) });
  expect(well.code, well.said).toBe(0);
  expect(well.said).toMatch(/WARN {2}tls {7}The certificate of localhost:\d+ expires in 1 days/);
  for (const name of ["n1", "n2", "n3"]) {
    expect(well.said).toMatch(new RegExp(`ok {4}disk {6}${name} stores `));
    expect(well.said).toMatch(new RegExp(`clock {5}The clock of ${name} is `));
    expect(well.said).toMatch(new RegExp(`ok {4}buffer {4}${name} buffers up to 512 MiB `));
  }
  expect(well.said).toMatch(/ok {4}rights {4}The broker user fn can /);
  expect(well.said).toMatch(/streams have 3 of 3 copies/);

  const reader = await doctor(credentials("streams"));
  expect(reader.code).toBe(1);
  expect(reader.said).toMatch(/FAIL {2}rights {4}The broker user streams cannot append a message/);
  const other = await doctor({ NATS_REPLICAS: "1" });
  expect(other.said).toMatch(/FAIL {2}replicas {2}These streams do not have 1 copies: /);
}, 120_000);

test("refuses connections without TLS, without a password, or on the wrong listener", async () => {
  const refused = async (attempt: Promise<NatsConnection>) =>
    attempt.then(
      async (connection) => {
        await connection.close();
        return "taken";
      },
      (error: Error) => error.message,
    );
  expect(await refused(client("operator"))).toBe("taken");
  expect(await refused(client("operator", "wrong"))).not.toBe("taken");
  expect(await refused(client("fn"))).not.toBe("taken");
  expect(
    await refused(connect({ servers: `localhost:${tcp[0]}`, tls: { caFile: ca }, reconnect: false })),
  ).not.toBe("taken");
});

test("a service cannot make the broker write to other subjects by choosing a reply subject", async () => {
  const [service, operator] = [await client("shipping"), await client("operator")];
  const key = "$KV.handlers.shipping.forged";
  const get = `$JS.API.DIRECT.GET.KV_handlers.${key}`;
  const manager = await operator.jetstreamManager();
  const before = (await manager.streams.info("KV_platform_admins")).state.messages;
  const heard: string[] = [];
  operator.subscribe("svc.billing.>", { callback: (_, message) => heard.push(message.subject) });
  await operator.flush();
  await service.request(key, codec.encode('{"role":"owner"}'), { timeout: 10_000 });
  for (const reply of ["$KV.platform_admins.shipping", "svc.billing.pay", "_INBOX.fn.x", "$KV.orbs.forged"]) {
    service.publish(key, codec.encode("{}"), { reply });
    service.publish(get, undefined, { reply });
    service.publish(BUCKET, undefined, { reply });
    const traced = headers();
    traced.set("Nats-Trace-Dest", reply);
    service.publish(key, codec.encode("{}"), { headers: traced });
  }
  await service.flush();
  // The service's own requests follow the others on the same connection. Any replica of the stream may reply.
  await expect.poll(async () => codec.decode((await service.request(get, undefined)).data)).toBe("{}");
  await operator.flush();
  expect((await manager.streams.info("KV_platform_admins")).state.messages).toBe(before);
  for (const [bucket, subject] of [
    ["KV_platform_admins", "$KV.platform_admins.shipping"],
    ["KV_orbs", "$KV.orbs.forged"],
  ] as const) {
    const stored = manager.streams.getMessage(bucket, { last_by_subj: subject });
    await expect(stored).rejects.toThrow("no message found");
  }
  expect(heard).toEqual([]);
  await service.request(key, undefined, { timeout: 10_000, headers: deletion() });
  await Promise.all([service.close(), operator.close()]);
});

test("a service can register and answer, and nothing else", async () => {
  const service = await client("shipping");
  const refusals: string[] = [];
  void (async () => {
    for await (const status of service.status()) {
      if (status.type === "error") refusals.push(String(status.permissionContext?.subject ?? status.data));
    }
  })();
  const operator = await client("operator");
  // Uses the service kit, which reads and writes its entry, and subscribes.
  const running = await serve({ connection: service, headers, service: "shipping", handlers });
  const asked = codec.encode(JSON.stringify({ orbId: "shop", handler: "shipping.quote", input: {} }));
  const answer = await operator.request("svc.shipping.quote", asked, { timeout: 10_000 });
  expect(JSON.parse(codec.decode(answer.data))).toBe("7 days");
  await running.stop({ unregister: true });
  expect(refusals).toEqual([]);

  const forbidden = {
    publish: [
      "$KV.handlers.billing.pay",
      "$JS.API.DIRECT.GET.KV_handlers",
      "$JS.API.DIRECT.GET.KV_handlers.$KV.handlers.billing.pay",
      "$KV.sessions.auth.a.b",
      "shop.content.owner.product.x",
      "platform.orbs.shop",
      "$JS.API.DIRECT.GET.øshop",
      "$JS.API.STREAM.MSG.GET.KV_platform_invitations",
      "$JS.API.CONSUMER.CREATE.øshop",
      "$JS.API.CONSUMER.CREATE.KV_handlers",
      "$JS.API.STREAM.MSG.GET.KV_handlers",
      "$JS.API.STREAM.UPDATE.KV_handlers",
      "$JS.API.STREAM.PURGE.KV_handlers",
      "$JS.API.STREAM.INFO.KV_sessions",
      "$JS.API.INFO",
      "$JS.API.STREAM.DELETE.øshop",
      "svc.billing.pay",
    ],
    subscribe: ["svc.billing.pay", "svc.>", "shop.>", "$KV.handlers.>", "_R_.>", "_feed.>", ">"],
  };
  for (const subject of forbidden.publish) service.publish(subject, codec.encode("{}"));
  for (const subject of forbidden.subscribe) service.subscribe(subject, { callback: () => undefined });
  await service.flush();
  await expect
    .poll(() => new Set(refusals).size)
    .toBe(new Set([...forbidden.publish, ...forbidden.subscribe]).size);
  await Promise.all([service.close(), operator.close()]);
});

test("a service receives no replies of others, although it may subscribe to every inbox", async () => {
  const [service, other, operator] = [
    await client("shipping"),
    await client("billing"),
    await client("operator"),
  ];
  const heard: string[] = [];
  service.subscribe("_INBOX.>", { callback: (_, message) => heard.push(message.subject) });
  await service.flush();
  for (const connection of [other, operator])
    await connection.request(BUCKET, undefined, { timeout: 10_000 });
  await service.request(BUCKET, undefined, { timeout: 10_000 });
  // Only the reply to its own request, once.
  expect(heard).toHaveLength(1);
  await Promise.all([service.close(), other.close(), operator.close()]);
});

/**
 * Registers, reads, and removes with a client of another language, and reports what it could read. Any replica may
 * answer a read, also one that has not stored the write yet, so each client repeats a read that finds nothing.
 */
const PYTHON = `
import asyncio, os, ssl, nats

async def main():
    refused = []
    async def failed(error):
        refused.append(str(error))
    tls = ssl.create_default_context(cafile=os.environ["CA"])
    connection = await nats.connect(os.environ["SERVER"], user="shipping", password=os.environ["PASS"], tls=tls,
                                    error_cb=failed, allow_reconnect=False)
    bucket = await connection.jetstream().key_value("handlers")
    await bucket.put("shipping.python", b"{}")
    for attempt in range(100):
        try:
            print((await bucket.get("shipping.python")).value.decode())
            break
        except nats.js.errors.KeyNotFoundError:
            await asyncio.sleep(0.05)
    await bucket.delete("shipping.python")
    assert refused == [], refused
    try:
        await asyncio.wait_for(bucket.get("billing.pay"), 1)
        print("read another service's registration")
    except Exception:
        print("refused")
    await connection.close()

asyncio.run(main())
`;
const GO = `
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	connection, err := nats.Connect(os.Getenv("SERVER"), nats.UserInfo("shipping", os.Getenv("PASS")), nats.RootCAs(os.Getenv("CA")))
	check(err)
	stream, err := jetstream.New(connection)
	check(err)
	short, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	bucket, err := stream.KeyValue(short, "handlers")
	check(err)
	_, err = bucket.PutString(short, "shipping.go", "{}")
	check(err)
	entry, err := bucket.Get(short, "shipping.go")
	for errors.Is(err, jetstream.ErrKeyNotFound) {
		time.Sleep(50 * time.Millisecond)
		entry, err = bucket.Get(short, "shipping.go")
	}
	check(err)
	fmt.Println(string(entry.Value()))
	check(bucket.Delete(short, "shipping.go"))
	another, stop := context.WithTimeout(context.Background(), time.Second)
	defer stop()
	if _, err := bucket.Get(another, "billing.pay"); err == nil {
		fmt.Println("read another service's registration")
	} else {
		fmt.Println("refused")
	}
}
`;

/** Runs a client as the service `shipping`, and returns what it printed. */
async function ran(program: string, args: string[], cwd: string): Promise<string> {
  const env = {
    ...process.env,
    ...GO_ENV,
    CA: ca,
    SERVER: `tls://localhost:${tcp[0]}`,
    PASS: String(passwords.shipping),
  };
  return (await run(program, args, { cwd, env })).stdout;
}

test("a service uses the key-value functions of the client for JavaScript", async () => {
  const service = await client("shipping");
  const bucket = await service.jetstream({ checkAPI: false }).views.kv("handlers");
  await bucket.put("shipping.js", "{}");
  await expect.poll(async () => (await bucket.get("shipping.js"))?.string()).toBe("{}");
  await bucket.delete("shipping.js");
  await service.close();
});

test("a service uses the key-value functions of the client for Python", async (context) => {
  need(context, missingPython());
  const python = await pythonClient();
  const dir = tempDir("production-python");
  writeFileSync(join(dir, "client.py"), PYTHON);
  expect(await ran(python, ["client.py"], dir)).toBe("{}\nrefused\n");
}, 300_000);

test("a service uses the key-value functions of the client for Go", async (context) => {
  need(context, missingGo());
  const dir = join(await goClient(), "client");
  mkdirSync(dir);
  writeFileSync(join(dir, "main.go"), GO);
  expect(await ran("go", ["run", "."], dir)).toBe("{}\nrefused\n");
}, 300_000);

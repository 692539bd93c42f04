/** The configuration of the only broker: the platform runs on it, and a service can do no more than it must. */
import { spawn, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { createConnection } from "node:net";
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
import { runScript, settings } from "../support/start.ts";

const codec = StringCodec();
const checkedIn = readFileSync(new URL("../../scripts/broker/single.conf", import.meta.url), "utf8");
const PASSWORDS = ["fn", "streams", "deploy", "operator", "system"] as const;
const passwords = Object.fromEntries(
  [...PASSWORDS, "shipping"].map((name) => [name, randomBytes(12).toString("hex")]),
);
const ports = { tcp: 0, web: 0 };
let broker: ReturnType<typeof spawn>;

/** Writes a configuration and the variables that its comment names, and returns its path. */
function written(configuration: string, users: readonly string[]): string {
  const dir = tempDir("single");
  const lines = [
    `NODE_STORE_DIR: ${JSON.stringify(join(dir, "store"))}`,
    "NODE_MAX_FILE_STORE: 1GB",
    ...users.map((name) => `${name.toUpperCase()}_PASSWORD: ${JSON.stringify(passwords[name])}`),
  ];
  writeFileSync(join(dir, "variables.conf"), `${lines.join("\n")}\n`, { mode: 0o600 });
  const path = join(dir, "single.conf");
  writeFileSync(
    path,
    configuration
      .replaceAll("127.0.0.1:4222", `127.0.0.1:${ports.tcp}`)
      .replaceAll("127.0.0.1:8443", `127.0.0.1:${ports.web}`),
  );
  return path;
}

const client = (user: string): Promise<NatsConnection> => {
  const inbox = user === "shipping" ? {} : { inboxPrefix: `_INBOX.${user}` };
  const pass = String(passwords[user]);
  return connect({ servers: `127.0.0.1:${ports.tcp}`, user, pass, ...inbox, reconnect: false });
};

beforeAll(async () => {
  [ports.tcp, ports.web] = [await freePort(), await freePort()];
  const path = written(renderProduction(["shipping:quote,track"], "single"), [...PASSWORDS, "shipping"]);
  broker = spawn(lastingBroker(), ["-c", path], { stdio: ["ignore", "ignore", "pipe"] });
  const said: string[] = [];
  await new Promise<void>((resolve, reject) => {
    if (broker.stderr === null) throw new Error("no output");
    createInterface({ input: broker.stderr }).on("line", (line) => {
      said.push(line);
      if (line.includes("Server is ready")) resolve();
    });
    broker.once("exit", () => reject(new Error(said.join("\n"))));
  });
});

afterAll(async () => {
  broker?.kill("SIGKILL");
  if (broker?.exitCode === null && broker.signalCode === null) await once(broker, "exit");
});

test("the checked-in file matches the table of permissions, and the broker accepts it as it is", () => {
  expect(checkedIn).toBe(renderProduction([], "single"));
  const checked = spawnSync(lastingBroker(), ["-t", "-c", written(checkedIn, PASSWORDS)], {
    encoding: "utf8",
  });
  expect(checked.stderr).toMatch(/is valid/);
  expect(checked.status).toBe(0);
});

test("its comment names exactly the variables that the broker needs", () => {
  const comment = checkedIn.split("\n").filter((line) => line.startsWith("#   "));
  const named = new Set(comment.join("\n").match(/[A-Z]+(?:_[A-Z]+)+(?=:)/g));
  const used = checkedIn.split("\n").filter((line) => !/^\s*#/.test(line));
  expect([...named].sort()).toEqual(
    [...new Set(used.join("\n").match(/(?<=\$)[A-Z]+(?:_[A-Z]+)+\b/g))].sort(),
  );
});

test("a name that a service cannot have is refused", () => {
  for (const name of ["a.b", "a:b.c", "a:", "a:b:c", "a:>"])
    expect(() => renderProduction([name], "single")).toThrow("is not the name of a service");
});

test("the platform runs on it, and a service answers and can do nothing else", async () => {
  const env = await settings({ NATS_URL: `ws://127.0.0.1:${ports.web}` });
  const as = (user: string) => ({ ...env, NATS_USER: user, NATS_PASS: String(passwords[user]) });
  await using provisioning = runScript("provision", as("deploy"));
  expect(await provisioning.exited(), provisioning.output()).toBe(0);
  await using host = runScript("host", as("fn"));
  await host.printed(/ready at/);

  const service = await client("shipping");
  const refusals = new Set<string>();
  void (async () => {
    for await (const status of service.status())
      if (status.type === "error") refusals.add(String(status.permissionContext?.subject ?? status.data));
  })();
  const quote = { description: "Quotes.", auth: "None", handle: () => "7 days" } as const;
  const running = await serve({ connection: service, headers, service: "shipping", handlers: { quote } });
  const at = { origin: `http://localhost:${env.PORT}` };
  const { body: invited } = await call(at, "GET", "/api/_auth/invitations");
  const { token } = await register(at, "/api/_auth", invited[0].token);
  const document = { id: "shop", uses: [{ service: "shipping", handlers: ["quote"] }], modules: [] };
  const made = await call(at, "POST", "/api/admin/orbs?publish=true", { token, body: document });
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  expect(await call(at, "POST", "/api/shop/quote", { body: {} })).toMatchObject({
    status: 200,
    body: "7 days",
  });
  const named = await service.services.add({ name: "shipping", version: "1.0.0", queue: "shipping" });
  named.addEndpoint("track", {
    subject: "svc.shipping.track",
    handler: (_, message) => message?.respondError(404, "There is no such parcel."),
  });
  const track = { name: "shipping.track", description: "Tracks.", auth: "None", kind: "nats" };
  const entry = JSON.stringify({ ...track, subject: "svc.shipping.track" });
  await service.request("$KV.handlers.shipping.track", codec.encode(entry));
  const uses = [{ service: "shipping", handlers: ["quote", "track"] }];
  await call(at, "PUT", "/api/admin/orbs/shop?publish=true", { token, body: { ...document, uses } });
  expect(await call(at, "POST", "/api/shop/track", { body: {} })).toMatchObject({
    status: 404,
    body: { code: "handler_refused", detail: "There is no such parcel." },
  });
  expect([...refusals]).toEqual([]);

  const forbidden = {
    publish: [
      "$KV.handlers.billing.pay",
      // Another handler of its own: with any number of them, it could fill the bucket, so that no other service registers.
      "$KV.handlers.shipping.more",
      "$KV.sessions.auth.a.b",
      "shop.content.owner.product.x",
      "$JS.API.DIRECT.GET.øshop",
      "$JS.API.STREAM.MSG.GET.KV_platform_invitations",
      "$JS.API.CONSUMER.CREATE.øshop",
      "$JS.API.STREAM.DELETE.øshop",
      "$JS.API.INFO",
    ],
    subscribe: ["svc.billing.pay", "svc.>", "shop.>", "$KV.handlers.>", "_feed.>", ">"],
  };
  for (const subject of forbidden.publish) service.publish(subject, codec.encode("{}"));
  for (const subject of forbidden.subscribe) service.subscribe(subject, { callback: () => undefined });
  await service.flush();
  await expect
    .poll(() => [...refusals].sort())
    .toEqual([...forbidden.publish, ...forbidden.subscribe].sort());
  const large = codec.encode(JSON.stringify({ ...track, description: "x".repeat(300_000) }));
  const refused = await service.request("$KV.handlers.shipping.track", large);
  expect(refused.json()).toMatchObject({ error: { description: expect.stringContaining("size") } });
  // The broker keeps up to 64 MiB for each connection that does not read, once for each of its subscriptions.
  const crowd: NatsConnection[] = [];
  const crowded = async () => {
    for (let at = 0; at < 20; at++) crowd.push(await client("shipping"));
  };
  // The client may notice that the broker closed the connection before it reads why.
  await expect(crowded()).rejects.toThrow(/maximum.*connections|EPIPE|ECONNRESET/i);
  // The service itself has a connection too.
  expect(crowd).toHaveLength(15);
  await Promise.all(crowd.map((one) => one.close()));
  const greedy = createConnection(ports.tcp, "127.0.0.1");
  let heard = "";
  greedy.setEncoding("utf8").on("data", (part: string) => {
    heard += part;
  });
  greedy.on("error", () => undefined);
  const own = { user: "shipping", pass: passwords.shipping, verbose: false };
  const flood = Array.from({ length: 501 }, (_, at) => `SUB _INBOX.flood ${at}\r\n`);
  greedy.write(`CONNECT ${JSON.stringify(own)}\r\n${flood.join("")}`);
  await expect.poll(() => heard).toMatch(/maximum subscriptions/i);
  greedy.destroy();
  await running.stop();
  await service.close();
  // A user of the platform cannot come over TCP, and a service cannot use another user's name.
  await expect(client("fn")).rejects.toThrow(/Authorization/i);
  await host[Symbol.asyncDispose]();
});

/** Returns what the broker replies: an error of a stream, or a status in the headers. */
async function replied(service: NatsConnection, subject: string, body: string, more: Record<string, string>) {
  const made = headers();
  for (const [name, value] of Object.entries(more)) made.set(name, value);
  const { data, headers: given } = await service.request(subject, codec.encode(body), {
    timeout: 10_000,
    headers: made,
  });
  const text = codec.decode(data);
  return text === ""
    ? given?.code
    : (JSON.parse(text) as { error?: { description: string } }).error?.description;
}

test("no header and no body of a service's request reaches the entries of other services", async () => {
  const [service, operator] = [await client("shipping"), await client("operator")];
  const key = "$KV.handlers.shipping.quote";
  const other = "$KV.handlers.billing.pay";
  await operator.request(other, codec.encode("{}"));
  await service.request(key, codec.encode("{}"));
  for (const [expected, more] of [
    [/rollup/, { "Nats-Rollup": "all" }],
    [/atomic publish/, { "Nats-Batch-Id": "x", "Nats-Batch-Sequence": "1" }],
    [/schedules/, { "Nats-Schedule": "@every 1s", "Nats-Schedule-Target": other }],
    [/source/, { "Nats-Stream-Source": "KV_orbs 1 > > x" }],
    [/counters/, { "Nats-Incr": "1" }],
  ] as const)
    expect(await replied(service, key, "{}", more)).toMatch(expected);
  for (const body of [{ last_by_subj: other }, { multi_last: ["$KV.handlers.>"], batch: 9 }, { seq: 1 }])
    expect(await replied(service, `$JS.API.DIRECT.GET.KV_handlers.${key}`, JSON.stringify(body), {})).toBe(
      408,
    );
  const manager = await operator.jetstreamManager();
  for (const subject of [key, other])
    expect((await manager.streams.getMessage("KV_handlers", { last_by_subj: subject })).string()).toBe("{}");
  await Promise.all([service.close(), operator.close()]);
});

test("a service's answer reaches the caller alone, once", async () => {
  const [service, operator] = [await client("shipping"), await client("operator")];
  const refused: string[] = [];
  void (async () => {
    for await (const status of service.status())
      if (status.type === "error") refused.push(String(status.permissionContext?.subject ?? status.data));
  })();
  service.subscribe("svc.shipping.quote", {
    callback: (_, message) => {
      const traced = headers();
      traced.set("Nats-Trace-Dest", "$KV.platform_admins.traced");
      message.respond(codec.encode("traced"), { headers: traced });
      service.publish(message.reply ?? "", codec.encode("answer"), { reply: "$KV.platform_admins.answered" });
      message.respond(codec.encode("again"));
    },
  });
  await service.flush();
  const heard: string[] = [];
  operator.subscribe("_INBOX.operator.call", {
    callback: (_, message) => heard.push(codec.decode(message.data)),
  });
  operator.publish("svc.shipping.quote", undefined, { reply: "_INBOX.operator.call" });
  await expect.poll(() => refused.length).toBe(2);
  await operator.flush();
  expect(heard).toEqual(["answer"]);
  const manager = await operator.jetstreamManager();
  for (const name of ["traced", "answered"])
    await expect(
      manager.streams.getMessage("KV_platform_admins", { last_by_subj: `$KV.platform_admins.${name}` }),
    ).rejects.toThrow("no message found");
  await Promise.all([service.close(), operator.close()]);
});

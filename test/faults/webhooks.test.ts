/** Webhooks: signatures, secrets, and receivers that are hostile or lie in a private network. */
import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { isReachable } from "../../scripts/config/addresses.ts";
import { networks } from "../../scripts/config/networks.ts";
import { poster } from "../../scripts/hooks/post.ts";
import { definitionFor } from "../../shared/definition/stored/live.ts";
import { createEntry } from "../../shared/entry/index.ts";
import { listDeliveries, redeliver } from "../../shared/hooks/after/list.ts";
import { OVERLAP_MS, renewSecret, resealSecrets, secretsOf } from "../../shared/hooks/after/secrets.ts";
import { HookWorker } from "../../shared/hooks/after/worker.ts";
import { createOrb } from "../../shared/orb/create.ts";
import { streams } from "../../shared/store/subjects.ts";
import { tempDir } from "../support/broker.ts";
import { certificates } from "../support/certificates.ts";
import { admin, failureOf, fileDeps, key, testDeps } from "../support/entries.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";

const { deps, store } = await fileDeps({ reconnect: true });
const files = certificates(tempDir("certificates"));
const ca = readFileSync(files.ca, "utf8");
const here = networks(["127.0.0.0/8"]);
const none = networks([]);
let receiver: Receiver;

beforeAll(async () => {
  receiver = await startReceiver(files);
});
afterAll(() => receiver[Symbol.asyncDispose]());

async function until<T>(read: () => T | Promise<T>, fits: (value: T) => boolean): Promise<T> {
  for (const deadline = Date.now() + 30_000; ; await delay(20)) {
    const value = await read();
    if (fits(value)) return value;
    if (Date.now() > deadline) throw new Error(`still ${JSON.stringify(value)}`);
  }
}

describe("the sender of webhooks", () => {
  const request = (url: string) => ({ url, headers: { "webhook-id": "x" }, body: "{}" });
  /** Of both senders, only one gives up before a busy machine has answered. */
  const send = poster({ allowed: here, ca, limitMs: 30_000 });
  const impatient = poster({ allowed: here, ca, limitMs: 500 });

  it.each<[string, Receiver["answer"], RegExp | undefined]>([
    ["accepts a status from 200 to 299", (response) => response.writeHead(200).end(), undefined],
    ["refuses a 500", (response) => response.writeHead(500).end(), /status 500/],
    ["gives up a receiver that never answers", () => undefined, /in time/],
    [
      "gives up a receiver that sends its headers forever",
      (response) => {
        const { socket } = response;
        socket?.write("HTTP/1.1 200 OK\r\n");
        const drip = setInterval(() => socket?.write("x: y\r\n"), 20);
        socket?.once("close", () => clearInterval(drip));
      },
      /in time/,
    ],
    [
      "does not read an answer without end",
      (response) => {
        response.writeHead(200);
        const flood = setInterval(() => response.write(Buffer.alloc(65_536)), 1);
        response.once("close", () => clearInterval(flood));
      },
      undefined,
    ],
    [
      "refuses headers without end",
      (response) => void response.writeHead(200, { big: "x".repeat(200_000) }).end(),
      /overflow|too large/i,
    ],
    ["reports a receiver that hangs up", (response) => response.destroy(), /hang up|ECONNRESET/],
  ])("%s", async (_what, answer, refusal) => {
    receiver.answer = answer;
    const sent = (refusal?.source === "in time" ? impatient : send)(request(receiver.url));
    if (refusal === undefined) await sent;
    else await expect(sent).rejects.toThrow(refusal);
  });

  it("does not follow a redirect, to a private address or elsewhere", async () => {
    receiver.answer = (response) =>
      response.writeHead(307, { location: `https://127.0.0.1:${receiver.port}/other` }).end();
    const before = receiver.received.length;
    await expect(send(request(receiver.url))).rejects.toThrow(/status 307/);
    expect(receiver.received.length).toBe(before + 1);
  });

  it("connects to no private address, whether named, written in any form, or resolved", async () => {
    const strict = poster({ allowed: none, ca, limitMs: 30_000 });
    const before = receiver.received.length;
    const hosts = ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "[::1]", "[::ffff:127.0.0.1]", "0"];
    for (const host of hosts) {
      const url = `https://${host}:${receiver.port}/hook`;
      await expect(strict(request(url)), host).rejects.toThrow(/not public/);
    }
    // One public address beside a private one does not help.
    const mixed = poster({
      allowed: none,
      ca,
      resolve: (_name, done) =>
        done(null, [
          { address: "8.8.8.8", family: 4 },
          { address: "127.0.0.1", family: 4 },
        ]),
    });
    await expect(mixed(request(`https://mixed.example:${receiver.port}`))).rejects.toThrow(/not public/);
    await expect(strict(request("http://example.org/"))).rejects.toThrow(/https/);
    expect(receiver.received.length).toBe(before);
  });

  it("refuses a certificate that no known authority signed", async () => {
    receiver.answer = (response) => response.writeHead(200).end();
    await expect(poster({ allowed: here })(request(receiver.url))).rejects.toThrow(/certificate/);
  });

  it.each([
    ["8.8.8.8", true],
    ["2606:4700::1111", true],
    ["10.1.2.3", false],
    ["100.64.0.1", false],
    ["169.254.169.254", false],
    ["172.31.255.255", false],
    ["192.168.1.1", false],
    ["224.0.0.1", false],
    ["255.255.255.255", false],
    ["::", false],
    ["fd00::1", false],
    ["fe80::1", false],
    ["::ffff:8.8.8.8", false],
    ["64:ff9b::7f00:1", false],
    ["2002:7f00:1::", false],
    ["2001:db8::1", false],
    ["ff02::1", false],
    ["name", false],
  ])("may reach %s: %s", (address, reachable) => {
    expect(isReachable(address, none)).toBe(reachable);
  });
});

describe("a webhook", () => {
  let number = 0;
  async function orbWith(url = receiver.url) {
    const id = `hooked-${++number}`;
    const document = {
      id,
      hooks: [{ id: "notify", on: ["entry.created"], url }],
      modules: [
        {
          id: "news",
          type: "CONTENT",
          schemas: [{ id: "post", fields: [{ name: "title", type: "string" }] }],
        },
      ],
    };
    await createOrb(deps, admin, { document, publish: true });
    return {
      id,
      create: async (title: string) => {
        const orb = await definitionFor(deps, id);
        if (orb === null) throw new Error("nothing is live");
        return createEntry(deps, admin, { orbId: id, orb, module: "news", values: { title } });
      },
      deliveries: async () => (await listDeliveries(deps, admin, { orb: id, limit: 50 })).items,
    };
  }
  /** Verifies a delivery with a library that receivers use. It also checks that the time is the present. */
  const verify = (secret: string, { headers, body }: Receiver["received"][number]) =>
    new Webhook(secret).verify(body, headers as Record<string, string>);
  let workers = 0;
  async function working<T>(run: () => Promise<T>): Promise<T> {
    const post = poster({ allowed: here, ca, limitMs: 2_000 });
    const worker = new HookWorker(deps, { name: `w${++workers}`, attempts: 2, retryMs: 20, post });
    worker.start();
    try {
      return await run();
    } finally {
      await worker.stop();
    }
  }

  it("is signed with its secret, and with the one before after a new one, and holds no value", async () => {
    receiver.answer = (response) => response.writeHead(204).end();
    const { id, create } = await orbWith();
    const first = await renewSecret(deps, admin, id, "notify");
    receiver.received.length = 0;
    await working(async () => {
      const { snapshot } = await create("private words");
      const [one] = await until(
        () => receiver.received,
        (all) => all.length === 1,
      );
      if (one === undefined) throw new Error("nothing received");
      expect(verify(first, one)).toEqual(JSON.parse(one.body));
      expect(() => verify(first, { ...one, body: one.body.replace("created", "deleted") })).toThrow();
      expect(one.headers["webhook-id"]).toBe(`${id}.notify.${snapshot.id}.1`);
      expect(JSON.parse(one.body)).toMatchObject({
        type: "entry.created",
        timestamp: snapshot.updatedAt,
        data: { hook: "notify", orb: id, module: "news", schema: "post", id: snapshot.id, revision: 1 },
      });
      expect(one.body).not.toContain("private words");
      const second = await renewSecret(deps, admin, id, "notify");
      await create("more words");
      const [, two] = await until(
        () => receiver.received,
        (all) => all.length === 2,
      );
      if (two === undefined) throw new Error("nothing received");
      for (const secret of [second, first]) expect(verify(secret, two)).toEqual(JSON.parse(two.body));
      expect(() => verify(second, one)).toThrow();
    });
    const later = { ...deps, clock: { now: () => Date.now() + OVERLAP_MS + 1 } };
    expect(await secretsOf(later, id, "notify")).toHaveLength(1);
    const all = await store.scan(streams.hooks, "_hooks.>", { fromSeq: 1, limit: 500, maxBytes: 1_000_000 });
    expect(all.messages.map((message) => message.text()).join("\n")).not.toContain("whsec_");
  });

  it("waits for its secret, is given up with the reason, and is delivered again on request", async () => {
    receiver.answer = (response) => response.writeHead(204).end();
    const { id, create, deliveries } = await orbWith();
    receiver.received.length = 0;
    await working(async () => {
      await create("a");
      const [failed] = await until(deliveries, (all) => all[0]?.status === "failed");
      expect(failed).toMatchObject({ attempts: 2, error: expect.stringContaining("no secret") });
      await renewSecret(deps, admin, id, "notify");
      await redeliver(deps, admin, id, failed?.id ?? "");
      await until(
        () => receiver.received,
        (all) => all.length === 1,
      );
      await until(deliveries, (all) => all.length === 1 && all[0]?.status === "delivered");
    });
  });

  it("keeps its secret when the encryption keys change", async () => {
    const { id } = await orbWith();
    await renewSecret(deps, admin, id, "notify");
    const keys = [{ kid: "new", k: key() }, ...JSON.parse(deps.config.encryptionKeys)];
    const rotating = testDeps(store, { ...deps.config, encryptionKeys: JSON.stringify(keys) });
    // The new secret is encrypted with the new key already, the one before is not.
    await renewSecret(rotating, admin, id, "notify");
    const before = await secretsOf(rotating, id, "notify");
    expect(before).toHaveLength(2);
    expect(await resealSecrets(rotating, id)).toEqual({ done: ["notify"], failed: [] });
    expect(await resealSecrets(rotating, id)).toEqual({ done: [], failed: [] });
    const onlyNew = testDeps(store, { ...deps.config, encryptionKeys: JSON.stringify(keys.slice(0, 1)) });
    expect(await secretsOf(onlyNew, id, "notify")).toEqual(before);
    await expect(secretsOf(deps, id, "notify")).rejects.toThrow(/ENCRYPTION_KEYS/);
  });

  it("has no secret where there is no webhook", async () => {
    const { id } = await orbWith();
    expect(await failureOf(renewSecret(deps, admin, id, "other"))).toMatchObject({
      code: "webhook_not_found",
    });
    expect(await failureOf(renewSecret(deps, admin, "no-orb", "notify"))).toMatchObject({
      code: "orb_not_found",
    });
  });
});

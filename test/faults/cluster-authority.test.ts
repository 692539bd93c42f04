/**
 * Attacks that need three brokers: writers that lose the leader of a stream and repeat on another host while orbs are
 * deleted or closed, and quotas that are spent on several hosts at once.
 */
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Functions } from "../../scripts/host/functions.ts";
import { adminToken, call, type SignedIn, user } from "../support/auth.ts";
import { serveBeside } from "../support/near.ts";
import { leaderOf, startPlatform, type TestPlatform } from "../support/platform.ts";

/** Milliseconds in which a busy cluster elects a new leader. */
const RECOVERY_MS = 15_000;
const QUOTA = 150;
/** Writes that each host may allow above a quota of this size: 8, and 1% of it. */
const ABOVE = 11;

let platform: TestPlatform;
let near: Functions[] = [];
/** The functions in workerd, and a long-lived host at each broker. */
let hosts: TestPlatform[];
let token: string;

beforeAll(async () => {
  platform = await startPlatform({ env: { NATS_BROKERS: "3", QUOTA_ACCOUNT_WRITES: String(QUOTA) } });
  const urls = platform.brokers.map(({ wsUrl }) => wsUrl);
  near = await Promise.all(urls.map((url) => serveBeside(platform, { NATS_URL: [url, ...urls].join(",") })));
  hosts = [platform, ...near.map(({ url }) => ({ ...platform, origin: url }))];
  token = await adminToken(platform);
});
afterAll(async () => {
  await Promise.all(near.map((host) => host.stop()));
  await platform?.stop();
});

type Answer = Awaited<ReturnType<typeof call>>;
type Request = Omit<NonNullable<Parameters<typeof call>[3]>, "once">;

const hostAt = (n: number): TestPlatform => hosts[n % hosts.length] ?? platform;
const ask = (host: TestPlatform, method: string, path: string, request: Request = {}) =>
  call(host, method, path, { ...request, once: true });

/** Repeats a request, on one host after another, until an answer says what happened. */
async function insist(method: string, path: string, request: Request = {}, first = 0): Promise<Answer> {
  for (let n = first, until = Date.now() + 2 * RECOVERY_MS; ; n++) {
    const answer = await ask(hostAt(n), method, path, request).catch(() => undefined);
    if (answer !== undefined && ![429, 502, 503, 504].includes(answer.status)) return answer;
    expect(Date.now()).toBeLessThan(until);
    await delay(100);
  }
}

const document = (id: string, access: object, more: object = {}) => ({
  id,
  uses: [{ service: "access", handlers: ["passkey", "invitations"] }],
  modules: [
    {
      id: "news",
      type: "CONTENT",
      schemas: [{ id: "note", access, fields: [{ name: "title", type: "string", ...more }] }],
    },
  ],
});
const OPEN = { read: "public", write: "user" };
const CLOSED = { read: "admin", write: "admin" };

/** Creates and publishes an orb. @returns the path of its notes */
async function newOrb(id: string, access: object = OPEN, more: object = {}): Promise<string> {
  const headers = { "idempotency-key": crypto.randomUUID() };
  const body = document(id, access, more);
  const made = await insist("POST", "/api/admin/orbs?publish=true", { token, body, headers });
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  return `/api/${id}/news/note`;
}

/** Adds a first entry, so that the orb has a stream. */
async function withStream(path: string): Promise<void> {
  const made = await insist("POST", path, { token, body: { values: { title: "first" } } });
  expect(made.status, JSON.stringify(made.body)).toBe(201);
}

/** A new user of an orb, also while a broker comes back. */
async function newUser(orb: string): Promise<SignedIn> {
  for (const until = Date.now() + RECOVERY_MS; ; await delay(100)) {
    try {
      return await user(platform, orb);
    } catch (error) {
      if (Date.now() > until) throw error;
    }
  }
}

/** Keeps the leader of an orb's stream away meanwhile, so that the others elect a new one. */
async function withoutLeader(orb: string, act: () => Promise<unknown>): Promise<void> {
  const leader = platform.brokers[await leaderOf(platform, `ø${orb}`, RECOVERY_MS)];
  await leader?.pause();
  try {
    await act();
  } finally {
    await leader?.resume();
  }
}

/** Writers on every host that go on after every answer. @returns a function that stops them and says how often they wrote */
function keepWriting(path: string, by: string, titleOf: (n: number) => string): () => Promise<number> {
  let stopped = false;
  let written = 0;
  const lanes = hosts.map(async (host) => {
    for (let n = 0; !stopped; n++) {
      const request = { token: by, body: { values: { title: titleOf(n) } } };
      const answer = await ask(host, "POST", `${path}?publish=true`, request).catch(() => undefined);
      if (answer?.status === 201) written++;
      await delay(40);
    }
  });
  return async () => {
    stopped = true;
    await Promise.all(lanes);
    return written;
  };
}

/** All entries of an orb: titles by id. */
async function entriesOf(orb: string): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (let cursor = ""; ; ) {
    const { body } = await insist("GET", `/api/admin/orbs/${orb}/entries?limit=200${cursor}`, { token });
    for (const { id, values } of body.items) found.set(id, values.title);
    if (typeof body.nextCursor !== "string") return found;
    cursor = `&cursor=${encodeURIComponent(body.nextCursor)}`;
  }
}

test("an account spends its quota once, however many hosts and brokers it uses", async () => {
  const path = await newOrb("counted");
  const member = await newUser("counted");
  const left = 60_000 - (Date.now() % 60_000);
  if (left < 15_000) await delay(left + 10);
  const window = Math.floor(Date.now() / 60_000);
  let sent = 0;
  let written = 0;
  const lane = async (n: number) => {
    while (sent++ < 2 * QUOTA) {
      const request = { token: member.token, body: { values: { title: "x" } } };
      if ((await ask(hostAt(n), "POST", path, request)).status === 201) written++;
    }
  };
  await Promise.all(Array.from({ length: 16 }, (_, n) => lane(n)));
  const windows = 1 + Math.floor(Date.now() / 60_000) - window;
  expect(written).toBeGreaterThan(0);
  expect(written).toBeLessThanOrEqual(windows * (QUOTA + hosts.length * ABOVE));
});

test("writers on several hosts that lose the leader and repeat store no value and no key twice", async () => {
  const path = await newOrb("elected", OPEN, { unique: true });
  await withStream(path);
  const acknowledged = new Map<string, string>();
  let stopped = false;
  // Two lanes want the same values under different keys, and each sends its requests to two hosts at once.
  const write = async (lane: number) => {
    for (let i = 0; !stopped; i++) {
      const title = `${lane >> 1}-${i}`;
      const headers = { "idempotency-key": `${title}-${lane}` };
      const request = { token, body: { values: { title } }, headers };
      const both = await Promise.all([0, 1].map((n) => insist("POST", path, request, lane + n)));
      for (const { status, body } of both) {
        if (status !== 201) {
          expect([status, body.code]).toEqual([409, "unique_conflict"]);
          continue;
        }
        expect(acknowledged.get(title) ?? body.id, title).toBe(body.id);
        acknowledged.set(title, body.id);
      }
    }
  };
  const lanes = Array.from({ length: 6 }, (_, lane) => write(lane));
  await withoutLeader("elected", async () => {
    const before = acknowledged.size;
    await expect.poll(() => acknowledged.size, { timeout: RECOVERY_MS }).toBeGreaterThan(before + 6);
  });
  stopped = true;
  await Promise.all(lanes);
  const stored = await entriesOf("elected");
  expect(new Set(stored.values()).size).toBe(stored.size);
  for (const [title, id] of acknowledged) expect(stored.get(id)).toBe(title);
});

test("no write for a deleted orb lands in the next one of its id while its leader is away", async () => {
  const path = await newOrb("again");
  await withStream(path);
  const member = await newUser("again");
  const stop = keepWriting(path, member.token, () => "old");
  await delay(500);
  await withoutLeader("again", async () => {
    // An answer that was lost: the repeated request finds the work done.
    const hidden = await insist("POST", "/api/admin/orbs/again/unpublish", { token });
    expect([200, 409], JSON.stringify(hidden.body)).toContain(hidden.status);
    const gone = await insist("DELETE", "/api/admin/orbs/again", { token });
    expect([204, 404], JSON.stringify(gone.body)).toContain(gone.status);
    await newOrb("again", { ...OPEN, write: "admin" });
  });
  await delay(500);
  expect(await stop()).toBeGreaterThan(0);
  expect([...(await entriesOf("again"))]).toEqual([]);
  expect((await insist("GET", path)).body.items).toEqual([]);
});

test("a schema that is closed while its leader is away leaves no live copy of racing writes to the public", async () => {
  const path = await newOrb("gated");
  await withStream(path);
  const stop = keepWriting(path, token, (n) => `t${n}`);
  await delay(500);
  await withoutLeader("gated", async () => {
    const body = document("gated", CLOSED);
    const drafted = await insist("PUT", "/api/admin/orbs/gated", { token, body });
    expect(drafted.status, JSON.stringify(drafted.body)).toBe(200);
    expect((await insist("POST", "/api/admin/orbs/gated/publish", { token })).status).toBe(200);
  });
  await delay(300);
  expect(await stop()).toBeGreaterThan(0);
  for (const host of hosts) expect((await ask(host, "GET", path)).status).toBe(401);
  const store = platform.operatorStore();
  const open = async () => {
    const live: string[] = [];
    for (let fromSeq = 1; ; ) {
      const page = await store.scan("øgated", "gated.content.public.>", { fromSeq, limit: 500 });
      for (const message of page.messages) {
        const last = await store.get("øgated", message.subject);
        if (last !== null && last.size > 0 && !last.text().includes('"tombstone":true'))
          live.push(message.subject);
      }
      const last = page.messages.at(-1);
      if (page.pending === 0 || last === undefined) return [...new Set(live)];
      fromSeq = last.seq + 1;
    }
  };
  // Moves that the election interrupted continue after the response.
  await expect.poll(open, { timeout: 2 * RECOVERY_MS }).toEqual([]);
});

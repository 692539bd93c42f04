/**
 * Changes made while a request body is still arriving take effect. The functions read the session and the definition
 * after the body, and again for each group of lines of an upload. These tests send slow bodies to every route that
 * takes one.
 */

import { connect, type Socket } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { beforeAll, expect, test } from "vitest";
import { createApp } from "../../functions/app.ts";
import { generated, operationsOf } from "../../functions/discovery/document.ts";
import { streams, subjects } from "../../shared/store/subjects.ts";
import type { Store } from "../../shared/store/types.ts";
import { adminToken, call, register, type SignedIn, user } from "../support/auth.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";
import { isWhole } from "../support/raw.ts";

/**
 * Milliseconds after which the functions have received the first part of a request and done all that they do before the
 * body.
 */
const REACHED_MS = 250;

let platform: TestPlatform;
let store: Store;
let token: string;
beforeAll(async () => {
  platform = await sharedPlatform();
  store = platform.operatorStore();
  token = await adminToken(platform);
});

const as = (method: string, path: string, body?: unknown, by = token) =>
  call(platform, method, path, { token: by, ...(body === undefined ? {} : { body }) });

interface SlowRequest {
  /** Sends the rest of the body and returns the response. */
  finish(): Promise<{ status: number; body: string }>;
}

/** Sends the head of a request and half of its body. */
async function begin(
  method: string,
  path: string,
  by: string,
  body: string,
  type = "application/json",
): Promise<SlowRequest> {
  const socket: Socket = connect(Number(new URL(platform.origin).port), "127.0.0.1");
  let got = "";
  const { promise: answered, resolve } = Promise.withResolvers<void>();
  // Latin-1 has one character per byte, so string lengths equal byte lengths. workerd keeps connections open despite
  // "Connection: close".
  socket.setEncoding("latin1").on("data", (text: string) => {
    got += text;
    if (isWhole(got, method)) resolve();
  });
  socket.once("close", resolve);
  socket.once("error", () => undefined);
  const half = Math.floor(body.length / 2);
  const head = [
    `${method} ${path} HTTP/1.1`,
    `Host: ${new URL(platform.origin).host}`,
    "Connection: close",
    `Authorization: Bearer ${by}`,
    "SessionID: none",
    `Content-Type: ${type}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  socket.write(`${head.join("\r\n")}\r\n\r\n${body.slice(0, half)}`);
  return {
    async finish() {
      socket.write(body.slice(half));
      await Promise.race([answered, wait(10_000)]);
      socket.destroy();
      return { status: Number(got.split(" ")[1] ?? 0), body: got.slice(got.indexOf("\r\n\r\n") + 4) };
    },
  };
}

const field = (more: object = {}) => ({ name: "title", type: "string", ...more });
const document = (id: string, access: object = { read: "public", write: "user" }, more: object = {}) => ({
  id,
  uses: [
    { service: "access", handlers: ["passkey", "invitations"] },
    { service: "transactions", handlers: ["record"] },
    { service: "settings", handlers: ["set"] },
    { service: "rules", handlers: ["evaluate"] },
  ],
  modules: [
    { id: "news", type: "CONTENT", schemas: [{ id: "article", access, fields: [field(more)] }] },
    { id: "ledger", type: "TRANSACTIONS", schemas: [{ id: "payment", fields: [field(more)] }] },
    { id: "choices", type: "SETTINGS", schemas: [{ id: "choice", fields: [field(more)] }] },
    {
      id: "pricing",
      type: "RULES",
      schemas: [{ id: "rule", fields: [{ name: "rules", type: "json" }] }],
    },
  ],
});

let number = 0;
async function newOrb(): Promise<string> {
  const id = `slow${++number}`;
  expect((await as("POST", "/api/admin/orbs?publish=true", document(id))).status).toBe(201);
  return id;
}

interface Operation {
  method: string;
  path: string;
  lines: boolean;
  open: boolean;
}

/** Lists every operation that takes a body, from the route tables. */
function operations(): Operation[] {
  const app = createApp(() => {
    throw new Error("this test needs no host");
  });
  const twins = app.own.routes
    .filter(({ method, path }) => ["POST", "PUT"].includes(method) && path.startsWith("/api/_orbs"))
    .map(({ method, path }) => ({ method, path: path.replace(/:([A-Za-z]+)/g, "{$1}") }));
  const described = [app.own, app.runtime].flatMap((half) =>
    operationsOf(generated(half).paths).flatMap(({ method, path, operation }) => {
      const content = (operation as { requestBody?: { content?: object } }).requestBody?.content;
      // A call route takes the body of its handler.
      const takes = content !== undefined || path.endsWith("/call/{handler}");
      const lines = Object.keys(content ?? {}).some((type) => type.includes("ndjson"));
      const open = operation.security.length === 0;
      return takes ? [{ method: method.toUpperCase(), path, lines, open }] : [];
    }),
  );
  const more = twins.flatMap(({ method, path }) => {
    const one = described.find(
      (other) => other.method === method && other.path === path.replace("/api/_orbs", "/api/admin/orbs"),
    );
    return one === undefined ? [] : [{ ...one, path }];
  });
  return [...described, ...more];
}

function addressOf({ path }: Operation, orb: string, id: string): string {
  return path
    .replace("{orbId}", orb)
    .replace("{moduleId}", "news")
    .replace("{schemaId}", "article")
    .replace("{handler}", "record")
    .replace(/\{(entryId|id)\}/, id)
    .replace(/\{[A-Za-z]+\}/g, "some");
}

/** Returns the state that a refused request must not change. */
async function written(orb: string): Promise<unknown> {
  const last = async (stream: string) => (await store.streamInfo(stream))?.state.last_seq;
  const buckets = [
    "platform_admins",
    "platform_invitations",
    "orb_users",
    "orb_invitations",
    "stream_mappings",
  ];
  return {
    entries: await last(streams.orb(orb)),
    orb: (await store.get(streams.platform, subjects.orbHistory(orb)))?.seq,
    definitions: (
      await store.scan(streams.platform, "platform.definitions.>", {
        fromSeq: 1,
        limit: 1,
        maxBytes: 64 * 1024 * 1024,
      })
    ).pending,
    buckets: await Promise.all(buckets.map((bucket) => last(streams.kv(bucket)))),
  };
}

async function secondAdmin(): Promise<SignedIn> {
  const { body } = await as("POST", "/api/_auth/invitations");
  return register(platform, "/api/_auth", body.token);
}

/** Starts every operation, ends the caller's access, and sends the rest of each body. */
async function walk(orb: string, id: string, by: SignedIn, own: boolean, end: () => Promise<unknown>) {
  const some = operations().filter(({ path }) => own || path.startsWith("/api/{orbId}"));
  expect(some.length).toBeGreaterThan(own ? 20 : 6);
  const begun = await Promise.all(
    some.map(async (operation) => {
      const { method, lines, open } = operation;
      const line = JSON.stringify({ module: "news", values: { title: "late" } });
      const body = lines
        ? // An import checks its first line, so that line must still be incomplete.
          operation.path.endsWith("/import")
          ? line
          : `${line}\n`.repeat(20)
        : JSON.stringify(
            open ? { add: true } : { role: "owner", status: "active", values: { title: "late" } },
          );
      const address = addressOf(operation, orb, id);
      const request = await begin(
        method,
        address,
        by.token,
        body,
        lines ? "application/x-ndjson" : undefined,
      );
      return { name: `${method} ${operation.path}`, open, lines, request };
    }),
  );
  await wait(REACHED_MS);
  await end();
  const before = await written(orb);
  const answers = await Promise.all(
    begun.map(async ({ request, ...one }) => ({ ...one, ...(await request.finish()) })),
  );
  for (const { name, open, lines, status, body } of answers) {
    // Sign-in routes need no token. Only adding a passkey to an account does.
    if (open) expect(status, `${name} ${body}`).toBeGreaterThanOrEqual(400);
    // The response to an upload starts with its first lines. The last line carries the status.
    else if (lines && status === 200)
      expect(body, name).toMatch(/"created":0,.*"status":401,"code":"access_ended"/);
    else expect(status, `${name} ${body}`).toBe(401);
  }
  expect(await written(orb)).toEqual(before);
}

async function entryOf(orb: string): Promise<string> {
  const made = await as("POST", `/api/admin/orbs/${orb}/entries`, {
    module: "news",
    values: { title: "first" },
  });
  expect(made.status).toBe(201);
  return made.body.id;
}

test("refuses a platform admin on every route if they are removed while the body arrives", async () => {
  const orb = await newOrb();
  const other = await secondAdmin();
  await walk(orb, await entryOf(orb), other, true, async () => {
    expect((await as("DELETE", `/api/_auth/admins/${other.id}`)).status).toBe(204);
  });
}, 30_000);

test("refuses a platform admin on every route if they sign out while the body arrives", async () => {
  const orb = await newOrb();
  const other = await secondAdmin();
  await walk(orb, await entryOf(orb), other, true, async () => {
    expect((await as("POST", "/api/_auth/signout", undefined, other.token)).status).toBe(204);
  });
}, 30_000);

test.each([
  ["disabled", { status: "disabled" }],
  ["demoted", { role: "user" }],
  ["removed", undefined],
])(
  "refuses an owner on every orb route if they are %s while the body arrives",
  async (_, change) => {
    const orb = await newOrb();
    const owner = await user(platform, orb, "owner");
    await walk(orb, owner.id, owner, false, async () => {
      const path = `/api/${orb}/users/${owner.id}`;
      const ended = await (change === undefined ? as("DELETE", path) : as("PUT", path, change));
      expect(ended.status).toBeLessThan(300);
    });
  },
  30_000,
);

test("refuses an invalid token before the body arrives", async () => {
  const orb = await newOrb();
  const [head, payload] = token.split(".");
  for (const path of [`/api/admin/orbs/${orb}/entries`, `/api/${orb}/users/1`, `/api/${orb}/news`]) {
    const response = await fetch(`${platform.origin}${path}`, {
      method: path.includes("users") ? "PUT" : "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${head}.${payload}.AAAA` },
      body: new ReadableStream({
        start: (controller) => controller.enqueue(new TextEncoder().encode('{"a"')),
      }),
      duplex: "half",
      signal: AbortSignal.timeout(4_500),
    } as RequestInit);
    expect(response.status).toBe(401);
    await response.body?.cancel();
  }
}, 30_000);

/** Changes to an orb while an entry for it arrives, with the expected status for a member and for a platform admin. */
const changes: [string, (orb: string) => Promise<unknown>, number, number][] = [
  [
    "starts to let only owners write",
    (orb) => republish(orb, document(orb, { read: "public", write: "owner" })),
    403,
    201,
  ],
  ["is unpublished", (orb) => as("POST", `/api/admin/orbs/${orb}/unpublish`), 404, 201],
  ["is deleted", (orb) => as("DELETE", `/api/admin/orbs/${orb}`), 404, 404],
  [
    "is deleted and recreated",
    async (orb) => {
      await as("DELETE", `/api/admin/orbs/${orb}`);
      return as("POST", "/api/admin/orbs?publish=true", document(orb, { read: "public", write: "owner" }));
    },
    // The accounts of the deleted orb do not exist in the new one.
    401,
    201,
  ],
];

const republish = (orb: string, next: object) => as("PUT", `/api/admin/orbs/${orb}?publish=true`, next);

test.each(changes)(
  "refuses a member's entry if the orb %s while the body arrives",
  async (_, change, status, managed) => {
    const orb = await newOrb();
    const member = await user(platform, orb);
    const body = JSON.stringify({ values: { title: "late" } });
    const address = `/api/${orb}/news`;
    const slow = await begin("POST", `${address}?publish=true`, member.token, body);
    const line = JSON.stringify({ module: "news", values: { title: "late" } });
    const byAdmin = await begin("POST", `/api/admin/orbs/${orb}/entries`, token, line);
    await wait(REACHED_MS);
    expect(((await change(orb)) as { status: number }).status).toBeLessThan(300);
    const before = await written(orb);
    const late = await slow.finish();
    expect([late.status, 401, 404].includes(late.status) ? late.status : 0, late.body).toBe(late.status);
    expect(late.status, late.body).toBe(status === 404 && late.status === 401 ? 401 : status);
    expect(await written(orb)).toEqual(before);
    // A platform admin can still write, under the active definition.
    expect((await byAdmin.finish()).status).toBe(managed);
  },
  30_000,
);

test("applies sensitive, unique and read rules that are published while the body arrives", async () => {
  const orb = await newOrb();
  const member = await user(platform, orb);
  const body = JSON.stringify({ values: { title: "kept secret" } });
  const paths = [
    `/api/${orb}/news?publish=true`,
    `/api/${orb}/news?publish=true`,
    `/api/${orb}/call/record`,
    `/api/${orb}/call/set`,
  ];
  const begun = await Promise.all(paths.map((path) => begin("POST", path, member.token, body)));
  await wait(REACHED_MS);
  const next = document(orb, { read: "admin", write: "user" }, { sensitive: true, unique: true });
  expect((await republish(orb, next)).status).toBe(200);
  const statuses = [];
  for (const request of begun) statuses.push((await request.finish()).status);
  expect(statuses).toEqual([201, 409, 200, 200]);
  const { messages } = await store.scan(streams.orb(orb), `${orb}.>`, {
    fromSeq: 1,
    limit: 1_000,
    maxBytes: 64 * 1024 * 1024,
  });
  for (const message of messages) expect(message.text()).not.toContain("kept secret");
  expect(messages.filter(({ subject }) => subject.includes(".content.public."))).toEqual([]);
});

test("stops an upload when the caller loses access, and reports what was written", async () => {
  const orb = await newOrb();
  const other = await secondAdmin();
  const line = `${JSON.stringify({ module: "news", publish: true, values: { title: "a" } })}\n`;
  let send: (text: string) => void = () => undefined;
  let close: () => void = () => undefined;
  const response = await fetch(`${platform.origin}/api/admin/orbs/${orb}/entries/bulk`, {
    method: "POST",
    headers: { "content-type": "application/x-ndjson", authorization: `Bearer ${other.token}` },
    body: new ReadableStream({
      start(controller) {
        send = (text) => controller.enqueue(new TextEncoder().encode(text));
        close = () => controller.close();
        send(line.repeat(150));
      },
    }),
    duplex: "half",
  } as RequestInit);
  const filter = `${orb}.content.public.>`;
  const count = async () => {
    const page = await store.scan(streams.orb(orb), filter, {
      fromSeq: 1,
      limit: 1,
      maxBytes: 64 * 1024 * 1024,
    });
    return page.messages.length + page.pending;
  };
  while ((await count()) < 150) await wait(20);
  expect((await as("DELETE", `/api/_auth/admins/${other.id}`)).status).toBe(204);
  send(line.repeat(150));
  close();
  const lines = (await response.text())
    .trim()
    .split("\n")
    .map((text) => JSON.parse(text));
  expect(lines.at(-1)).toMatchObject({
    done: false,
    total: 150,
    created: 150,
    failed: 0,
    status: 401,
    code: "access_ended",
  });
  expect(await count()).toBe(150);
}, 30_000);

test("imports nothing if the caller loses access during the import", async () => {
  const other = await secondAdmin();
  const exported = await fetch(`${platform.origin}/api/admin/orbs/${await newOrb()}/export`, {
    headers: { authorization: `Bearer ${token}` },
  });
  const text = (await exported.text()).replaceAll(`slow${number}`, `came${number}`);
  const slow = await begin("POST", "/api/admin/orbs/import", other.token, text, "application/x-ndjson");
  await wait(REACHED_MS);
  expect((await as("DELETE", `/api/_auth/admins/${other.id}`)).status).toBe(204);
  const { status, body } = await slow.finish();
  expect([status, body]).toEqual([401, expect.stringContaining("access_ended")]);
  expect((await as("GET", `/api/admin/orbs/came${number}`)).status).toBe(404);
}, 30_000);

/**
 * Changes made while a request body is still arriving take effect. The functions read the session and the definition
 * after the body, and again for each group of lines of an upload. These tests send slow bodies to every route that
 * takes one.
 */

import { setTimeout as wait } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { streams } from "../../shared/store/subjects.ts";
import { register, type SignedIn, user } from "../support/auth.ts";
import { fileAdmin } from "../support/file-admin.ts";
import {
  type BodyRoute,
  beginSplit,
  bodyRoutes,
  TRANSFERS,
  type Transfer,
  whenReached,
} from "../support/split-body.ts";
import { writtenState } from "../support/written.ts";

const { platform, store, token, as } = await fileAdmin({ link: true });

/** Sends the head of a request and half of its body. */
const begin = (
  method: string,
  path: string,
  by: string,
  body: string,
  options: { type?: string; transfer?: Transfer; headers?: Record<string, string> } = {},
) =>
  beginSplit(
    platform.origin,
    {
      method,
      path,
      by,
      body,
      headers: { SessionID: "none", ...options.headers },
      ...(options.type === undefined ? {} : { type: options.type }),
    },
    options.transfer,
  );

/** The type and the headers of a part of a resumable upload. */
const part = (body: string) => ({
  type: "application/offset+octet-stream",
  headers: { "tus-resumable": "1.0.0", "upload-length": String(body.length), "upload-offset": "0" },
});

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
    {
      id: "news",
      type: "CONTENT",
      schemas: [{ id: "article", access, fields: [field(more), { name: "paper", type: "file" }] }],
    },
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

function addressOf({ path }: BodyRoute, orb: string, id: string): string {
  return path
    .replace("{orbId}", orb)
    .replace("{moduleId}", "news")
    .replace("{schemaId}", "article")
    .replace("{handler}", "record")
    .replace(/\{(entryId|id)\}/, id)
    .replace(/\{[A-Za-z]+\}/g, "some");
}

async function secondAdmin(): Promise<SignedIn> {
  const { body } = await as("POST", "/api/_auth/invitations");
  return register(platform, "/api/_auth", body.token);
}

/** Starts every operation, ends the caller's access, and sends the rest of each body. */
async function walk(
  transfer: Transfer,
  target: { orb: string; id: string; own: boolean },
  by: SignedIn,
  end: () => Promise<unknown>,
) {
  const { orb, id, own } = target;
  const some = bodyRoutes().filter(({ path }) => own || path.startsWith("/api/{orbId}"));
  expect(some.length).toBeGreaterThan(own ? 20 : 6);
  const begun = some.map((operation) => {
    const { method, lines, open } = operation;
    const line = JSON.stringify({ module: "news", values: { title: "late" } });
    const body = lines
      ? // An import checks its first line, so that line must still be incomplete.
        operation.path.endsWith("/import")
        ? line
        : `${line}\n`.repeat(20)
      : JSON.stringify(open ? { add: true } : { role: "owner", status: "active", values: { title: "late" } });
    const address = addressOf(operation, orb, id);
    const request = begin(method, address, by.token, body, {
      transfer,
      ...(lines ? { type: "application/x-ndjson" } : {}),
      ...(operation.path.includes("/files/uploads") ? part(body) : {}),
    });
    return { name: `${method} ${operation.path}`, open, lines, request };
  });
  await whenReached(platform.origin, token);
  await end();
  const before = await writtenState(store, orb);
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
  expect(await writtenState(store, orb)).toEqual(before);
}

async function entryOf(orb: string): Promise<string> {
  const made = await as("POST", `/api/admin/orbs/${orb}/entries`, {
    module: "news",
    values: { title: "first" },
  });
  expect(made.status).toBe(201);
  return made.body.id;
}

describe.each(TRANSFERS)("a body with %s", (transfer) => {
  test("is refused from a platform admin on every route if they are removed while it arrives", async () => {
    const orb = await newOrb();
    const other = await secondAdmin();
    await walk(transfer, { orb, id: await entryOf(orb), own: true }, other, async () => {
      expect((await as("DELETE", `/api/_auth/admins/${other.id}`)).status).toBe(204);
    });
  });
});

describe("a body that arrives slowly", () => {
  // Both kinds of bodies take the same way once they have arrived.
  const [transfer] = TRANSFERS;

  test("is refused from a platform admin on every route if they sign out while it arrives", async () => {
    const orb = await newOrb();
    const other = await secondAdmin();
    await walk(transfer, { orb, id: await entryOf(orb), own: true }, other, async () => {
      expect((await as("POST", "/api/_auth/signout", undefined, other.token)).status).toBe(204);
    });
  });

  test.each([
    ["disabled", { status: "disabled" }],
    ["demoted", { role: "user" }],
    ["removed", undefined],
  ])("is refused from an owner on every orb route if they are %s while it arrives", async (_, change) => {
    const orb = await newOrb();
    const owner = await user(platform, orb, "owner");
    await walk(transfer, { orb, id: owner.id, own: false }, owner, async () => {
      const path = `/api/${orb}/users/${owner.id}`;
      const ended = await (change === undefined ? as("DELETE", path) : as("PUT", path, change));
      expect(ended.status).toBeLessThan(300);
    });
  });
});

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
      // After 5 s without more of the body, the answer would be 400. This limit only ends a test that hangs.
      signal: AbortSignal.timeout(60_000),
    } as RequestInit);
    expect(response.status).toBe(401);
    await response.body?.cancel();
  }
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
});

test("imports nothing if the caller loses access during the import", async () => {
  const other = await secondAdmin();
  const exported = await fetch(`${platform.origin}/api/admin/orbs/${await newOrb()}/export`, {
    headers: { authorization: `Bearer ${token}` },
  });
  const text = (await exported.text()).replaceAll(`slow${number}`, `came${number}`);
  const slow = begin("POST", "/api/admin/orbs/import", other.token, text, { type: "application/x-ndjson" });
  await whenReached(platform.origin, token);
  expect((await as("DELETE", `/api/_auth/admins/${other.id}`)).status).toBe(204);
  const { status, body } = await slow.finish();
  expect([status, body]).toEqual([401, expect.stringContaining("access_ended")]);
  expect((await as("GET", `/api/admin/orbs/came${number}`)).status).toBe(404);
});

/**
 * A field or the readers of a schema change while the values of an entry arrive. The entry is stored as the new
 * definition demands, by every route that writes values.
 */

import { connect } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { beforeAll, describe, expect, test } from "vitest";
import { streams, subjects } from "../../shared/store/subjects.ts";
import { call, type SignedIn, user } from "../support/auth.ts";
import { fileAdmin } from "../support/file-admin.ts";
import {
  beginSplit,
  halvesOf,
  headOf,
  type SlowRequest,
  type SplitAnswer,
  type SplitRequest,
  TRANSFERS,
  type Transfer,
  whenReached,
} from "../support/split-body.ts";
import { writtenState } from "../support/written.ts";

const { platform, store, token, as } = await fileAdmin({ link: true });
let member: SignedIn;
let owner: SignedIn;
beforeAll(async () => {
  member = await user(platform, "auth");
  owner = await user(platform, "auth", "owner");
});

interface Options {
  access?: { read: string; write: string };
  /** Attributes of the field `code`. */
  code?: object;
  /** Attributes of the field `extra`. Without them there is no such field. */
  extra?: object;
}

function document(
  id: string,
  { access = { read: "public", write: "user" }, code = {}, extra }: Options = {},
) {
  const fields = [
    { name: "title", type: "string" },
    { name: "code", type: "string", ...code },
    ...(extra === undefined ? [] : [{ name: "extra", type: "string", ...extra }]),
  ];
  return {
    id,
    uses: [
      { service: "transactions", handlers: ["record"] },
      { service: "settings", handlers: ["set"] },
    ],
    modules: [
      { id: "news", type: "CONTENT", schemas: [{ id: "article", access, fields }] },
      { id: "ledger", type: "TRANSACTIONS", schemas: [{ id: "payment", fields }] },
      { id: "choices", type: "SETTINGS", schemas: [{ id: "choice", fields }] },
    ],
  };
}

const republish = async (orb: string, options: Options) =>
  expect((await as("PUT", `/api/admin/orbs/${orb}?publish=true`, document(orb, options))).status).toBe(200);

let number = 0;
async function newOrb(): Promise<string> {
  const orb = `fields${++number}`;
  expect((await as("POST", "/api/admin/orbs?publish=true", document(orb))).status).toBe(201);
  return orb;
}

async function entryIn(orb: string): Promise<string> {
  const made = await as(
    "POST",
    `/api/${orb}/news?publish=true`,
    { values: { title: "first" } },
    member.token,
  );
  expect(made.status).toBe(201);
  return made.body.id;
}

const json = (value: unknown) => JSON.stringify(value);

/** Every route that writes values of an orb, with the status of its success. */
const WRITERS: Record<
  string,
  { of: (orb: string, values: object) => Promise<SplitRequest>; status: number }
> = {
  "the runtime creates": {
    of: async (orb, values) => ({
      method: "POST",
      path: `/api/${orb}/news?publish=true`,
      by: member.token,
      body: json({ values }),
    }),
    status: 201,
  },
  "the runtime updates": {
    of: async (orb, values) => ({
      method: "PUT",
      path: `/api/${orb}/news/${await entryIn(orb)}?publish=true`,
      by: member.token,
      body: json({ values }),
    }),
    status: 200,
  },
  "a platform admin creates": {
    of: async (orb, values) => ({
      method: "POST",
      path: `/api/admin/orbs/${orb}/entries?publish=true`,
      by: token,
      body: json({ module: "news", values }),
    }),
    status: 201,
  },
  "a platform admin updates": {
    of: async (orb, values) => ({
      method: "PUT",
      path: `/api/admin/orbs/${orb}/entries/${await entryIn(orb)}?publish=true`,
      by: token,
      body: json({ values }),
    }),
    status: 200,
  },
  "a bulk upload creates": {
    of: async (orb, values) => ({
      method: "POST",
      path: `/api/admin/orbs/${orb}/entries/bulk?publish=true`,
      by: token,
      type: "application/x-ndjson",
      body: `${json({ module: "news", values })}\n`,
    }),
    status: 201,
  },
  "a handler records": {
    of: async (orb, values) => ({
      method: "POST",
      path: `/api/${orb}/call/record`,
      by: member.token,
      body: json({ values }),
    }),
    status: 200,
  },
  "a handler sets": {
    of: async (orb, values) => ({
      method: "POST",
      path: `/api/${orb}/set`,
      by: owner.token,
      body: json({ values }),
    }),
    status: 200,
  },
};

/** A field can become sensitive only while its schema has no entries, so there is nothing to update. */
const CREATORS = Object.keys(WRITERS).filter((writer) => !writer.endsWith("updates"));

/** Starts one request by every writer. */
async function beginAll(orb: string, values: object, transfer: Transfer, writers = Object.keys(WRITERS)) {
  const begun: { writer: string; status: number; request: SlowRequest }[] = [];
  for (const [writer, { of, status }] of Object.entries(WRITERS)) {
    if (!writers.includes(writer)) continue;
    const request = beginSplit(platform.origin, await of(orb, values), transfer);
    begun.push({ writer, status, request });
  }
  await whenReached(platform.origin, token);
  return begun;
}

/** The status of a response. Each line of a bulk upload has its own. */
function statusOf({ status, body }: SplitAnswer): number {
  const line = /\{"line":1,"status":(\d+)/.exec(body)?.[1];
  return line === undefined ? status : Number(line);
}

/** Every message of an orb's stream. */
async function messagesOf(orb: string) {
  const all = { fromSeq: 1, limit: 10_000, maxBytes: 64 * 1024 * 1024 };
  return (await store.scan(streams.orb(orb), `${orb}.>`, all)).messages;
}

describe.each(TRANSFERS)("a body with %s", (transfer) => {
  test.each([
    ["becomes sensitive", { code: { sensitive: true } }, { code: "kept secret" }, CREATORS],
    ["is added as sensitive", { extra: { sensitive: true } }, { extra: "kept secret" }, Object.keys(WRITERS)],
  ])("is encrypted by every route if its field %s while it arrives", async (_, next, values, writers) => {
    const orb = await newOrb();
    const begun = await beginAll(orb, values, transfer, writers);
    await republish(orb, next);
    for (const { writer, status, request } of begun) {
      const response = await request.finish();
      expect([writer, statusOf(response)], response.body).toEqual([writer, status]);
      expect(response.body, writer).not.toContain("kept secret");
    }
    const messages = await messagesOf(orb);
    for (const message of messages) expect(message.text()).not.toContain("kept secret");
    const sealed = messages.filter((message) => message.text().includes("$sealed"));
    expect(sealed.length).toBeGreaterThanOrEqual(writers.length);
  });

  test("is refused by every route if its field becomes unique while it arrives, and the value is taken", async () => {
    const orb = await newOrb();
    const taken = { title: "first", code: "taken" };
    for (const writer of ["the runtime creates", "a handler records", "a handler sets"]) {
      // The settings of another account hold the value.
      const first = await WRITERS[writer]?.of(orb, taken);
      if (first === undefined) throw new Error("there is no such writer");
      const by = writer === "a handler sets" ? member.token : first.by;
      expect((await as(first.method, first.path, JSON.parse(first.body), by)).status).toBeLessThan(300);
    }
    const begun = await beginAll(orb, { title: "late", code: "taken" }, transfer);
    await republish(orb, { code: { unique: true } });
    const before = await writtenState(store, orb);
    for (const { writer, request } of begun) {
      const response = await request.finish();
      expect([writer, statusOf(response)], response.body).toEqual([writer, 409]);
      expect(response.body, writer).toContain("unique_conflict");
    }
    expect(await writtenState(store, orb)).toEqual(before);
  });

  test("is stored by only one route if its field becomes unique while it arrives", async () => {
    const orb = await newOrb();
    const begun = await beginAll(orb, { title: "late", code: "same" }, transfer);
    await republish(orb, { code: { unique: true } });
    const responses = await Promise.all(begun.map(({ request }) => request.finish()));
    // Each schema has its own values: entries, records and settings.
    const statuses = responses.map(statusOf);
    expect(statuses.slice(0, 5).filter((status) => status < 300)).toHaveLength(1);
    expect(statuses.slice(0, 5).filter((status) => status === 409)).toHaveLength(4);
    expect(statuses.slice(5)).toEqual([200, 200]);
  });

  test("is never stored for the public if reading is narrowed while it arrives", async () => {
    const orb = await newOrb();
    const begun = await beginAll(orb, { title: "for admins" }, transfer);
    await republish(orb, { access: { read: "admin", write: "user" } });
    for (const { writer, status, request } of begun) {
      const response = await request.finish();
      expect([writer, statusOf(response)], response.body).toEqual([writer, status]);
    }
    const messages = await messagesOf(orb);
    const late = messages.filter((message) => message.text().includes("for admins"));
    expect(late.filter(({ subject }) => subject.includes(".content.public."))).toEqual([]);
    expect(late.filter(({ subject }) => subject.includes(".content.admin."))).toHaveLength(5);
    expect((await call(platform, "GET", `/api/${orb}/news`)).status).toBe(401);
  });

  test("of an import is refused if the orb is deleted and recreated while it arrives", async () => {
    const from = await newOrb();
    await entryIn(from);
    const exported = await fetch(`${platform.origin}/api/admin/orbs/${from}/export`, {
      headers: { authorization: `Bearer ${token}` },
    });
    const orb = `again${number}`;
    const [head = "", entry = "", ...rest] = (await exported.text()).replaceAll(from, orb).split("\n");
    // The import begins with the whole line of the orb, and half of that of the entry.
    const half = { method: "POST", path: "/api/admin/orbs/import", by: token, type: "application/x-ndjson" };
    const body = [head, entry.padEnd(head.length + 200), ...rest].join("\n");
    const request = beginSplit(platform.origin, { ...half, body }, transfer);
    // In a cluster, a new stream does not respond at once.
    const mark = () => store.get(streams.orb(orb), subjects.importMark(orb, 1)).catch(() => null);
    while ((await mark()) === null) await wait(20);
    expect((await as("DELETE", `/api/admin/orbs/${orb}`)).status).toBe(204);
    const next = document(orb, { access: { read: "admin", write: "owner" }, code: { sensitive: true } });
    expect((await as("POST", "/api/admin/orbs?publish=true", next)).status).toBe(201);
    const before = await writtenState(store, orb);
    const { status, body: text } = await request.finish();
    expect([status, text]).toEqual([409, expect.stringContaining("write_conflict")]);
    expect(await writtenState(store, orb)).toEqual(before);
    expect((await as("GET", `/api/admin/orbs/${orb}/entries`)).body.items).toEqual([]);
  });

  test("of a pipelined request follows the definition that the request before it has published", async () => {
    const orb = await newOrb();
    const narrow: SplitRequest = {
      method: "PUT",
      path: `/api/admin/orbs/${orb}?publish=true`,
      by: token,
      body: json(document(orb, { access: { read: "public", write: "owner" } })),
    };
    const create: SplitRequest = {
      method: "POST",
      path: `/api/${orb}/news?publish=true`,
      by: member.token,
      body: json({ values: { title: "late" } }),
    };
    const [first, last] = halvesOf(create.body, transfer);
    const change =
      headOf(platform.origin, narrow, transfer, false) + halvesOf(narrow.body, transfer).join("");
    const split = await pipelined(change + headOf(platform.origin, create, transfer, false) + first, last);
    expect(split).toEqual([200, 403]);
    expect((await call(platform, "GET", `/api/${orb}/news`)).body.items).toEqual([]);
  });
});

/** Sends text over one connection, more text after the first response, and returns the statuses of both responses. */
async function pipelined(first: string, then: string): Promise<number[]> {
  const socket = connect(Number(new URL(platform.origin).port), "127.0.0.1");
  let got = "";
  const statuses = () => [...got.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status));
  socket.setEncoding("latin1").on("data", (text: string) => {
    got += text;
  });
  socket.once("error", () => undefined);
  const answered = async (count: number) => {
    for (const end = Date.now() + 30_000; Date.now() < end && statuses().length < count; ) await wait(10);
  };
  try {
    socket.write(first);
    await answered(1);
    socket.write(then);
    await answered(2);
    return statuses();
  } finally {
    socket.destroy();
  }
}

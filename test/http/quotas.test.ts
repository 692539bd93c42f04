/**
 * Each quota once over HTTP, while real windows may end at any time: these tests write until they are refused, and
 * expect no exact numbers. `test/store/quotas*.test.ts` have the rules, with a clock that stands still.
 */
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { adminToken, call, type SignedIn, user } from "../support/auth.ts";
import { createOrb } from "../support/orbs.ts";
import { startPlatform, type TestPlatform } from "../support/platform.ts";
import { until } from "../support/races.ts";
import { brokerClient, entryOf } from "../support/services.ts";

let platform: TestPlatform;
let admin: string;

/** Quotas of an account: writes, calls and conflicts. */
const [WRITES, CALLS, CONFLICTS] = [20, 5, 2];
/** Writes of all accounts in an orb. */
const ORB_WRITES = 24;

beforeAll(async () => {
  platform = await startPlatform({
    env: {
      QUOTA_ACCOUNT_WRITES: String(WRITES),
      QUOTA_ORB_WRITES: String(ORB_WRITES),
      QUOTA_ACCOUNT_CALLS: String(CALLS),
      QUOTA_ACCOUNT_MIB: "1",
      QUOTA_ORB_MIB: "2",
      QUOTA_ACCOUNT_CONFLICTS: String(CONFLICTS),
      STREAMS_MAX_PER_USER: "3",
      STREAMS_MAX_PER_ORB: "4",
    },
  });
  admin = await adminToken(platform);
  await platform.operatorStore().kvPut("handlers", "quota.echo", JSON.stringify(entryOf("quota.echo")));
});
afterAll(() => platform?.stop());

let orbs = 0;
/** Creates and publishes an orb that every signed-in user can write to. */
async function openOrb(id = `quota${++orbs}`): Promise<string> {
  await createOrb(platform, admin, {
    id,
    uses: [
      { service: "settings", handlers: ["get", "set"] },
      { service: "quota", handlers: ["echo"] },
    ],
    modules: [
      {
        id: "notes",
        type: "CONTENT",
        schemas: [
          {
            id: "note",
            access: { read: "user", write: "user" },
            fields: [
              { name: "text", type: "text" },
              { name: "pin", type: "string", unique: true, sensitive: true },
            ],
          },
          {
            id: "own",
            access: { read: "own", write: "user" },
            fields: [
              { name: "text", type: "string" },
              { name: "email", type: "string", unique: true },
            ],
          },
        ],
      },
      { id: "preferences", type: "SETTINGS", schemas: [{ id: "preference", fields: [] }] },
    ],
  });
  return id;
}

const write = (who: SignedIn | string, orb: string, values: object = {}) =>
  call(platform, "POST", `/api/${orb}/notes/note`, {
    token: typeof who === "string" ? who : who.token,
    body: { values },
  });

type Answer = Awaited<ReturnType<typeof call>>;

/** Sends requests one after the other until one is refused with 429. Returns it with the number of earlier ones. */
async function untilRefused(send: () => Promise<Answer>): Promise<{ before: Answer[]; refused: Answer }> {
  const before: Answer[] = [];
  for (let i = 0; i < 500; i++) {
    const answer = await send();
    if (answer.status === 429) return { before, refused: answer };
    before.push(answer);
  }
  throw new Error("no request was refused");
}

/** Returns the distinct statuses of responses. */
const statuses = (answers: readonly Answer[]) => [...new Set(answers.map(({ status }) => status))];

const times = <T>(count: number, act: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => act(i));

test("refuses an account's writes above its limit with 429 and Retry-After, without affecting other accounts", async () => {
  const orb = await openOrb();
  const [ann, bob] = [await user(platform), await user(platform)];
  const { before, refused } = await untilRefused(() => write(ann, orb));
  expect(statuses(before)).toEqual([201]);
  expect(before.length).toBeGreaterThanOrEqual(WRITES);
  expect(refused.headers.get("content-type")).toBe("application/problem+json");
  expect(refused.body).toEqual({
    type: "urn:problem:too_many_writes",
    title: "Too many requests",
    status: 429,
    code: "too_many_writes",
    scope: "account",
    detail: expect.stringMatching(
      /^Your account may write 20 times within 60 seconds, and has reached that limit\. Try again in \d+ seconds?\.$/,
    ),
  });
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
  expect((await write(bob, orb)).status).toBe(201);
  expect((await write(admin, orb)).status).toBe(201);
});

test("does not count refused callers against the orb's quota", async () => {
  const orb = await openOrb();
  const ann = await user(platform);
  const refused = await Promise.all(
    times(ORB_WRITES + 6, () => call(platform, "POST", `/api/${orb}/notes/note`, { body: { values: {} } })),
  );
  expect(statuses(refused)).toEqual([401]);
  expect((await write(ann, orb)).status).toBe(201);
});

test("refuses handler calls above the limit with 429 without a call of the service, and counts them by address without sign-in", async () => {
  const orb = await openOrb();
  const ann = await user(platform);
  const client = await brokerClient(platform);
  try {
    let asked = 0;
    client.subscribe("svc.quota.echo", {
      callback: (_, message) => {
        asked++;
        message.respond(message.data);
      },
    });
    await client.flush();
    const echo = (token: string | undefined) =>
      call(platform, "POST", `/api/${orb}/echo`, { body: {}, ...(token === undefined ? {} : { token }) });
    const mine = await untilRefused(() => echo(ann.token));
    expect(statuses(mine.before)).toEqual([200]);
    expect(mine.before.length).toBeGreaterThanOrEqual(CALLS);
    expect(asked).toBe(mine.before.length);
    expect(mine.refused.body).toMatchObject({ code: "too_many_calls", scope: "account" });
    const anonymous = await untilRefused(() => echo(undefined));
    expect(anonymous.refused.body).toMatchObject({
      code: "too_many_calls",
      scope: "client",
      detail: expect.stringMatching(/^Your network address may call handlers 5 times within 60 seconds/),
    });
    expect(statuses(await Promise.all(times(10, () => echo(admin))))).toEqual([200]);
  } finally {
    await client.close();
  }
});

describe("bytes", () => {
  const text = "x".repeat(300_000);

  test("refuses writes above the account's byte limit with 429 too_many_bytes", async () => {
    const orb = await openOrb();
    const [ann, bob] = [await user(platform), await user(platform)];
    const { before, refused } = await untilRefused(() => write(ann, orb, { text }));
    expect(before.length).toBeGreaterThanOrEqual(3);
    expect(refused.body).toMatchObject({
      code: "too_many_bytes",
      scope: "account",
      detail: expect.stringMatching(/^Your account may store values of 1 MiB within 86400 seconds/),
    });
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    expect((await write(bob, orb, { text: "little" })).status).toBe(201);
  });

  test("a full orb answers 507, still allows deletions and admin writes, and accepts writes again after a purge", async () => {
    const orb = await openOrb();
    const ann = await user(platform);
    const mine = await write(ann, orb, { text: "mine" });
    const large = [];
    for (let i = 0; i < 7; i++) large.push((await write(admin, orb, { text })).body.id);
    /** Writes as an account of its own each time, until a host has seen the new size of the orb. */
    const answers = async (status: number) => {
      await delay(500);
      return (await write(await user(platform), orb, { text: "small" })).status === status;
    };
    await until(() => answers(507));
    const full = await write(ann, orb, { text: "no room" });
    expect(full).toMatchObject({
      status: 507,
      body: {
        code: "orb_full",
        title: "Insufficient storage",
        detail:
          "This orb has reached its storage quota of 2 MiB. A platform admin can erase entries or raise the quota.",
      },
    });
    const { token } = ann;
    expect((await call(platform, "DELETE", `/api/${orb}/notes/note/${mine.body.id}`, { token })).status).toBe(
      204,
    );
    const more = await call(platform, "POST", `/api/admin/orbs/${orb}/entries`, {
      token: admin,
      body: { module: "notes", schema: "note", values: { text: "the admin's" } },
    });
    expect(more.status).toBe(201);
    for (const id of large) {
      const path = `/api/admin/orbs/${orb}/entries/${id}?purge=true`;
      expect((await call(platform, "DELETE", path, { token: admin })).status).toBe(204);
    }
    await until(() => answers(201));
  });
});

describe("unique values that the caller may not read", () => {
  test("refuses guesses of secrets with 429, whether the value is taken or free", async () => {
    const orb = await openOrb();
    const [ann, bob] = [await user(platform), await user(platform)];
    expect((await write(admin, orb, { pin: "0007" })).status).toBe(201);
    const { before, refused } = await untilRefused(() => write(ann, orb, { pin: "0007" }));
    expect(statuses(before)).toEqual([409]);
    expect(before.length).toBeGreaterThanOrEqual(CONFLICTS);
    expect(refused.body).toMatchObject({ code: "too_many_conflicts" });
    expect(refused.body).not.toHaveProperty("errors");
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    expect((await write(bob, orb, { pin: "0007" })).body.code).toBe("unique_conflict");
    expect((await write(admin, orb, { pin: "0007" })).body.code).toBe("unique_conflict");
  });

  test("counts each entry of a change of many as a guess", async () => {
    const orb = await openOrb();
    const [ann, bob] = [await user(platform), await user(platform)];
    const own = `/api/${orb}/notes/own`;
    const create = (who: SignedIn, values: object) =>
      call(platform, "POST", own, { token: who.token, body: { values } });
    expect((await create(bob, { email: "bob@example.org" })).status).toBe(201);
    // Even if a window ends meanwhile, both windows together allow only four conflicts.
    for (let i = 0; i < 2 * CONFLICTS + 1; i++) await create(ann, { text: "mine" });
    const many = await call(platform, "PATCH", `${own}?filter[text]=mine`, {
      token: ann.token,
      body: { values: { email: "bob@example.org" } },
    });
    expect([many.status, many.body.code]).toEqual([429, "too_many_conflicts"]);
  });
});

describe("stream readers", () => {
  test("limits the live readers of a user, and frees a place when one disconnects", async () => {
    const [ann, bob] = [await user(platform), await user(platform)];
    const follow = async (who: SignedIn) => {
      const gone = new AbortController();
      const url = `${platform.origin}/api/streams/heartbeat?offset=now&live=sse`;
      const response = await fetch(url, { headers: who.headers, signal: gone.signal });
      return { response, end: () => gone.abort() };
    };
    const readers = [];
    for (let i = 0; i < 5; i++) readers.push(await follow(ann));
    const refused = readers.filter(({ response }) => response.status === 429);
    expect(readers.filter(({ response }) => response.status === 200)).toHaveLength(3);
    expect(refused).toHaveLength(2);
    expect(await refused[0]?.response.json()).toMatchObject({ code: "too_many_streams" });
    expect(refused[0]?.response.headers.get("retry-after")).toBe("10");
    const more = await follow(bob);
    expect(more.response.status).toBe(200);
    readers.find(({ response }) => response.status === 200)?.end();
    let again = await follow(ann);
    await until(async () => {
      if (again.response.status !== 200) again = await follow(ann);
      return again.response.status === 200;
    });
    expect(again.response.status).toBe(200);
    for (const { end } of [...readers, more, again]) end();
  });

  test("limits the live readers of an orb, and frees a place when one disconnects", async () => {
    const orb = await openOrb();
    const mapping = { stream: `ø${orb}`, subjectFilter: `${orb}.*.public.>`, description: "" };
    await call(platform, "PUT", `/api/admin/streams/${orb}`, { token: admin, body: mapping });
    const people = await Promise.all(times(3, () => user(platform)));
    const follow = async (who: SignedIn) => {
      const gone = new AbortController();
      const url = `${platform.origin}/api/streams/${orb}?offset=now&live=sse`;
      const response = await fetch(url, { headers: who.headers, signal: gone.signal });
      return { response, end: () => gone.abort() };
    };
    const readers = [];
    for (const who of people) readers.push(await follow(who), await follow(who));
    const refused = readers.filter(({ response }) => response.status === 429);
    expect(readers.filter(({ response }) => response.status === 200)).toHaveLength(4);
    expect(await refused[0]?.response.json()).toMatchObject({ code: "too_many_streams" });
    readers.find(({ response }) => response.status === 200)?.end();
    const other = await user(platform);
    let again = await follow(other);
    await until(async () => {
      if (again.response.status !== 200) again = await follow(other);
      return again.response.status === 200;
    });
    expect(again.response.status).toBe(200);
    for (const { end } of [...readers, again]) end();
  });
});

test("OpenAPI lists 429 and 507 where they can happen", async () => {
  const orb = await openOrb();
  const { body } = await call(platform, "GET", `/api/openapi?orb=${orb}`);
  const paths = Object.entries(body.paths as Record<string, Record<string, { responses?: object }>>);
  const answers = (path: string, method: string) =>
    Object.keys(paths.find(([name]) => name === path)?.[1][method]?.responses ?? {});
  expect(answers(`/api/${orb}/notes/note`, "post")).toEqual(expect.arrayContaining(["429", "507"]));
  expect(answers(`/api/${orb}/notes/note/{id}`, "put")).toEqual(expect.arrayContaining(["429", "507"]));
  expect(answers(`/api/${orb}/notes/note/{id}`, "delete")).toContain("429");
  expect(answers(`/api/${orb}/set`, "post")).toEqual(expect.arrayContaining(["429", "507"]));
});

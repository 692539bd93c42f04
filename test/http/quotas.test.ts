import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { adminToken, call, type SignedIn, user } from "../support/auth.ts";
import { serveBeside } from "../support/near.ts";
import { createOrb } from "../support/orbs.ts";
import { startPlatform, type TestPlatform } from "../support/platform.ts";
import { until } from "../support/races.ts";
import { brokerClient, entryOf } from "../support/services.ts";

let platform: TestPlatform;
let admin: string;

/** Length of a window in seconds: short enough to wait for, and long enough for one test's requests. */
const WINDOW = 4;
/** Lengths of the longer windows in seconds. */
const [NEXT, LONG] = [WINDOW * 5, 86_400];

beforeAll(async () => {
  platform = await startPlatform({
    env: {
      QUOTA_WINDOW_SECONDS: String(WINDOW),
      QUOTA_ACCOUNT_WRITES: "10",
      QUOTA_ORB_WRITES: "24",
      QUOTA_ACCOUNT_CALLS: "5",
      QUOTA_ORB_CALLS: "12",
      QUOTA_ACCOUNT_MIB: "1",
      QUOTA_ORB_MIB: "2",
      QUOTA_ACCOUNT_CONFLICTS: "2",
      STREAMS_MAX_PER_USER: "3",
      STREAMS_MAX_PER_ORB: "4",
    },
  });
  admin = await adminToken(platform);
  await platform.operatorStore().kvPut("handlers", "quota.echo", JSON.stringify(entryOf("quota.echo")));
});
afterAll(() => platform?.stop());

/**
 * Waits for the next window, unless this one has enough time left for the requests that follow.
 * @param seconds length of the window
 * @param needed seconds that must be left
 */
async function inWindow(seconds = WINDOW, needed = WINDOW * 0.6): Promise<void> {
  const left = seconds * 1000 - (Date.now() % (seconds * 1000));
  if (left < needed * 1000) await delay(left + 5);
}

/** Waits for the next window. */
const nextWindow = () => inWindow(WINDOW, WINDOW);

let orbs = 0;
/** Creates and publishes an orb that every signed-in user can write to. */
async function openOrb(id = `quota${++orbs}`): Promise<string> {
  await createOrb(platform, admin, {
    id,
    uses: [
      { service: "settings", handlers: ["get", "set"] },
      { service: "transactions", handlers: ["record"] },
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
              { name: "slug", type: "string", unique: true },
              { name: "pin", type: "string", unique: true, sensitive: true },
            ],
          },
        ],
      },
      {
        id: "preferences",
        type: "SETTINGS",
        schemas: [
          { id: "preference", fields: [{ name: "pin", type: "string", unique: true, sensitive: true }] },
        ],
      },
    ],
  });
  return id;
}

const write = (who: SignedIn | string, orb: string, values: object = {}) =>
  call(platform, "POST", `/api/${orb}/notes`, {
    token: typeof who === "string" ? who : who.token,
    body: { values },
  });

/** Counts the responses by status and code. */
function tally(answers: readonly { status: number; body: { code?: string } }[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status, body } of answers) {
    const name = body?.code === undefined ? String(status) : `${status} ${body.code}`;
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

const times = <T>(count: number, act: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => act(i));

describe("writes", () => {
  test("refuses an account's writes above its limit with 429 until the next window, without affecting other accounts", async () => {
    const orb = await openOrb();
    const other = await openOrb();
    const [ann, bob] = [await user(platform), await user(platform)];
    await inWindow();
    const answers = await Promise.all(times(13, () => write(ann, orb)));
    expect(tally(answers)).toEqual({ "201": 10, "429 too_many_writes": 3 });
    const elsewhere = await write(ann, other);
    expect(elsewhere.headers.get("content-type")).toBe("application/problem+json");
    expect(elsewhere.body).toEqual({
      type: "urn:problem:too_many_writes",
      title: "Too many requests",
      status: 429,
      code: "too_many_writes",
      scope: "account",
      detail: expect.stringMatching(
        /^Your account may write 10 times within 4 seconds, and has reached that limit\. Try again in [1-4] seconds?\.$/,
      ),
    });
    expect(Number(elsewhere.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    expect((await write(bob, orb)).status).toBe(201);
    expect(tally(await Promise.all(times(15, () => write(admin, orb))))).toEqual({ "201": 15 });
    await delay(Number(elsewhere.headers.get("retry-after")) * 1000);
    expect((await write(ann, orb)).status).toBe(201);
  });

  test("counts every kind of write: updates, deletions, settings, and writes that fail validation", async () => {
    const orb = await openOrb();
    const ann = await user(platform);
    const made = await write(ann, orb);
    const at = `/api/${orb}/notes/${made.body.id}`;
    await nextWindow();
    const { token } = ann;
    const answers = [
      ...(await Promise.all(times(3, () => call(platform, "PUT", at, { token, body: { values: {} } })))),
      ...(await Promise.all(times(3, () => write(ann, orb, { nothing: "of this name" })))),
      await call(platform, "POST", `/api/${orb}/set`, { token, body: { values: { pin: "1" } } }),
      await call(platform, "POST", `${at}/publish`, { token }),
      await call(platform, "POST", `${at}/unpublish`, { token }),
      await call(platform, "DELETE", at, { token }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 422, 422, 422, 200, 200, 200, 204]);
    expect((await write(ann, orb)).body.code).toBe("too_many_writes");
  });

  test("limits the writes of an orb, but not those of other orbs", async () => {
    const [orb, other] = [await openOrb(), await openOrb()];
    const users = [await user(platform), await user(platform), await user(platform)];
    await nextWindow();
    const answers = await Promise.all(users.flatMap((who) => times(9, () => write(who, orb))));
    expect(tally(answers)).toEqual({ "201": 24, "429 too_many_writes": 3 });
    expect(answers.find(({ status }) => status === 429)?.body).toMatchObject({
      scope: "orb",
      detail: expect.stringMatching(/^This orb may write 24 times within 4 seconds/),
    });
    const [first] = users;
    if (first !== undefined) expect((await write(first, other)).status).toBe(201);
    expect((await write(admin, orb)).status).toBe(201);
  });

  test("does not count refused callers against the orb's quota", async () => {
    const orb = await openOrb();
    const ann = await user(platform);
    await inWindow();
    const refused = await Promise.all(
      times(30, () => call(platform, "POST", `/api/${orb}/notes`, { body: { values: {} } })),
    );
    expect(tally(refused)).toEqual({ "401 authentication_required": 30 });
    expect((await write(ann, orb)).status).toBe(201);
  });

  test("enforces a quota across two hosts with parallel writers", async () => {
    const orb = await openOrb();
    const ann = await user(platform);
    await using host = await serveBeside(platform);
    const beside = { ...platform, origin: host.url } as TestPlatform;
    await nextWindow();
    const answers = await Promise.all(
      times(40, (i) =>
        call(i % 2 === 0 ? platform : beside, "POST", `/api/${orb}/notes`, {
          token: ann.token,
          body: { values: {} },
        }),
      ),
    );
    expect(tally(answers)).toEqual({ "201": 10, "429 too_many_writes": 30 });
  });
});

describe("handler calls", () => {
  test("get 429 above the limit without a call of the service, and are counted by address without sign-in", async () => {
    const orb = await openOrb();
    const other = await openOrb();
    const [ann, bob] = [await user(platform), await user(platform)];
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
      const echo = (token: string | undefined, name: string) =>
        call(platform, "POST", `/api/${name}/echo`, { body: {}, ...(token === undefined ? {} : { token }) });
      await inWindow();
      const mine = await Promise.all(times(7, () => echo(ann.token, orb)));
      expect(tally(mine)).toEqual({ "200": 5, "429 too_many_calls": 2 });
      expect(asked).toBe(5);
      const anonymous = await Promise.all(times(7, () => echo(undefined, orb)));
      expect(tally(anonymous)).toEqual({ "200": 5, "429 too_many_calls": 2 });
      expect(anonymous.find(({ status }) => status === 429)?.body).toMatchObject({
        scope: "client",
        detail: expect.stringMatching(/^Your network address may call handlers 5 times within 4 seconds/),
      });
      // Ten of the orb's twelve calls are used.
      const more = await Promise.all(times(4, () => echo(bob.token, orb)));
      expect(tally(more)).toEqual({ "200": 2, "429 too_many_calls": 2 });
      expect(more.find(({ status }) => status === 429)?.body.scope).toBe("orb");
      expect((await echo(bob.token, other)).status).toBe(200);
      expect(tally(await Promise.all(times(10, () => echo(admin, orb))))).toEqual({ "200": 10 });
      await nextWindow();
      expect((await echo(ann.token, orb)).status).toBe(200);
    } finally {
      await client.close();
    }
  });
});

describe("bytes", () => {
  const text = "x".repeat(300_000);

  test("refuses writes above the account's byte limit with 429 too_many_bytes", async () => {
    const orb = await openOrb();
    const [ann, bob] = [await user(platform), await user(platform)];
    await inWindow();
    const answers = [];
    for (let i = 0; i < 5; i++) answers.push(await write(ann, orb, { text }));
    expect(tally(answers)).toEqual({ "201": 3, "429 too_many_bytes": 2 });
    const refused = answers.at(-1);
    expect(refused?.body).toMatchObject({
      scope: "account",
      detail: expect.stringMatching(/^Your account may store values of 1 MiB within 86400 seconds/),
    });
    expect(Number(refused?.headers.get("retry-after"))).toBeLessThanOrEqual(LONG);
    expect((await write(ann, orb, { text: "little" })).status).toBe(201);
    expect((await write(bob, orb, { text })).status).toBe(201);
  });

  test("a full orb answers 507, still allows deletions and admin writes, and accepts writes again after a purge", async () => {
    const orb = await openOrb();
    const ann = await user(platform);
    const mine = await write(ann, orb, { text: "mine" });
    const large = [];
    for (let i = 0; i < 7; i++) large.push((await write(admin, orb, { text })).body.id);
    await nextWindow();
    await until(async () => (await write(ann, orb)).status === 507);
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
    expect((await call(platform, "DELETE", `/api/${orb}/notes/${mine.body.id}`, { token })).status).toBe(204);
    const bulk = await call(platform, "POST", `/api/admin/orbs/${orb}/entries`, {
      token: admin,
      body: { module: "notes", values: { text: "the admin's" } },
    });
    expect(bulk.status).toBe(201);
    for (const id of large) {
      const path = `/api/admin/orbs/${orb}/entries/${id}?purge=true`;
      expect((await call(platform, "DELETE", path, { token: admin })).status).toBe(204);
    }
    await nextWindow();
    await until(async () => (await write(ann, orb)).status === 201);
    expect((await write(ann, orb)).status).toBe(201);
  });
});

describe("unique sensitive values", () => {
  test("refuses guesses after two conflicts with 429, whether the value is taken or free, with a growing wait", async () => {
    const orb = await openOrb();
    const other = await openOrb();
    const [ann, bob] = [await user(platform), await user(platform)];
    expect((await write(admin, orb, { pin: "0007" })).status).toBe(201);
    const own = await write(ann, orb, { pin: "own" });
    const at = `/api/${orb}/notes/${own.body.id}`;
    const { token } = ann;
    const ways = {
      create: (pin: string) => write(ann, orb, { pin }),
      update: (pin: string) => call(platform, "PUT", at, { token, body: { values: { pin } } }),
    };
    await inWindow(NEXT, WINDOW * 3);
    expect((await ways.update("0007")).body.code).toBe("unique_conflict");
    expect((await ways.create("0007")).body.code).toBe("unique_conflict");
    const waits: number[] = [];
    for (const [way, pin] of [
      ["create", "0007"],
      ["create", "0008"],
      ["update", "0007"],
      ["update", "0008"],
    ] as const) {
      const answer = await ways[way](pin);
      expect([way, pin, answer.status, answer.body.code, answer.body.errors]).toEqual([
        way,
        pin,
        429,
        "too_many_conflicts",
        undefined,
      ]);
      waits.push(Number(answer.headers.get("retry-after")));
    }
    expect(Math.max(...waits)).toBeLessThanOrEqual(WINDOW);
    // Writes without such a value still work, and so do other accounts, other orbs and platform admins.
    expect(
      (await call(platform, "PUT", at, { token, body: { values: { pin: "own", text: "t" } } })).status,
    ).toBe(200);
    expect((await write(bob, orb, { pin: "0007" })).body.code).toBe("unique_conflict");
    expect((await write(bob, orb, { pin: "0009" })).status).toBe(201);
    expect((await write(ann, other, { pin: "0007" })).status).toBe(201);
    for (let i = 0; i < 4; i++)
      expect((await write(admin, orb, { pin: "0007" })).body.code).toBe("unique_conflict");
    // The next short window allows two more conflicts. Then the longer window's limit of five is reached.
    await nextWindow();
    expect((await ways.create("0007")).body.code).toBe("unique_conflict");
    expect((await ways.update("0007")).body.code).toBe("unique_conflict");
    await nextWindow();
    const later = await ways.create("0010");
    expect(later.body.code).toBe("too_many_conflicts");
    expect(Number(later.headers.get("retry-after"))).toBeGreaterThan(WINDOW);
  });

  test("counts conflicts in settings.set as well", async () => {
    const orb = await openOrb();
    const [ann, bob] = [await user(platform), await user(platform)];
    const set = (who: SignedIn, pin: string) =>
      call(platform, "POST", `/api/${orb}/set`, { token: who.token, body: { values: { pin } } });
    await inWindow();
    expect((await set(ann, "0007")).status).toBe(200);
    const answers = [
      await set(bob, "0007"),
      await set(bob, "0007"),
      await set(bob, "0007"),
      await set(bob, "1"),
    ];
    expect(answers.map(({ body }) => body.code)).toEqual([
      "unique_conflict",
      "unique_conflict",
      "too_many_conflicts",
      "too_many_conflicts",
    ]);
  });

  test("parallel guesses through two hosts reveal at most the allowed conflicts", async () => {
    const orb = await openOrb();
    const ann = await user(platform);
    expect((await write(admin, orb, { pin: "0007" })).status).toBe(201);
    await using host = await serveBeside(platform);
    const beside = { ...platform, origin: host.url } as TestPlatform;
    await inWindow();
    const answers = await Promise.all(
      times(10, (i) =>
        call(i % 2 === 0 ? platform : beside, "POST", `/api/${orb}/notes`, {
          token: ann.token,
          body: { values: { pin: "0007" } },
        }),
      ),
    );
    expect(tally(answers)).toEqual({ "409 unique_conflict": 2, "429 too_many_conflicts": 8 });
  });

  test("counts neither free values nor conflicts of another field as a full conflict", async () => {
    const orb = await openOrb();
    const ann = await user(platform);
    expect((await write(admin, orb, { slug: "taken" })).status).toBe(201);
    await inWindow();
    const answers = [];
    for (let i = 0; i < 5; i++) answers.push(await write(ann, orb, { pin: `free${i}`, slug: "taken" }));
    for (let i = 0; i < 5; i++) answers.push(await write(ann, orb, { pin: `free${i}` }));
    expect(tally(answers)).toEqual({ "409 unique_conflict": 5, "201": 5 });
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
    const readers = await Promise.all(times(5, () => follow(ann)));
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
    const readers = await Promise.all(people.flatMap((who) => times(2, () => follow(who))));
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
  expect(answers(`/api/${orb}/notes`, "post")).toEqual(expect.arrayContaining(["429", "507"]));
  expect(answers(`/api/${orb}/notes/{id}`, "put")).toEqual(expect.arrayContaining(["429", "507"]));
  expect(answers(`/api/${orb}/notes/{id}`, "delete")).toContain("429");
  expect(answers(`/api/${orb}/set`, "post")).toEqual(expect.arrayContaining(["429", "507"]));
});

test("allows 300 writes, 50 at once, and 40 new sensitive values under the default quotas", async () => {
  await using usual = await startPlatform();
  const token = await adminToken(usual);
  const id = "usual";
  await createOrb(usual, token, {
    id,
    modules: [
      {
        id: "notes",
        type: "CONTENT",
        schemas: [
          {
            id: "note",
            access: { write: "user" },
            fields: [
              { name: "text", type: "string" },
              { name: "pin", type: "string", unique: true, sensitive: true },
            ],
          },
        ],
      },
    ],
  });
  const ann = await user(usual);
  for (let round = 0; round < 6; round++) {
    const answers = await Promise.all(
      times(50, (i) =>
        call(usual, "POST", `/api/${id}/notes`, {
          token: ann.token,
          body: { values: { text: `${round} ${i}` } },
        }),
      ),
    );
    expect(tally(answers)).toEqual({ "201": 50 });
  }
  for (let i = 0; i < 40; i++) {
    const { status } = await call(usual, "POST", `/api/${id}/notes`, {
      token: ann.token,
      body: { values: { pin: `p${i}` } },
    });
    expect(status).toBe(201);
  }
});

import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { buckets, kvSubject, streams } from "../../shared/store/subjects.ts";
import {
  adminToken,
  begin,
  call,
  complete,
  register,
  type SignedIn,
  signIn,
  subjectOf,
  user,
} from "../support/auth.ts";
import { activeRoutes } from "../support/described.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";

const ACCESS = { service: "access", handlers: ["passkey", "invitations", "bootstrap"] };
const PHONE =
  "Mozilla/5.0 (Linux; Android 14; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Mobile Safari/537.36";

let platform: TestPlatform;
let operator: string;

beforeAll(async () => {
  platform = await sharedPlatform();
  operator = await adminToken(platform);
  await call(platform, "POST", "/api/admin/orbs?publish=true", {
    token: operator,
    body: { id: "visits", uses: [ACCESS] },
  });
});
beforeEach(async () => {
  await platform.operatorStore().purge(streams.limits, "_limit.>");
});

/** A new account of a realm. */
async function someone(base: string): Promise<SignedIn> {
  if (base !== "/api/_auth") return user(platform, base.slice("/api/".length));
  const { body } = await call(platform, "POST", `${base}/invitations`, { token: operator });
  return register(platform, base, body.token);
}

interface Listed {
  id: string;
  current: boolean;
}

async function sessionsOf(base: string, token: string): Promise<Listed[]> {
  const { status, body } = await call(platform, "GET", `${base}/sessions`, { token });
  expect(status).toBe(200);
  return body;
}

const status = async (base: string, token: string) =>
  (await call(platform, "GET", `${base}/me`, { token })).status;

describe.each(["/api/_auth", "/api/auth", "/api/visits"])("sessions at %s", (base) => {
  test("are listed, newest first, with browser, system and network", async () => {
    const first = await someone(base);
    const { sessionId, publicKey } = await begin(platform, base);
    const done = await complete(platform, base, sessionId, first.authenticator.get(publicKey), {
      "user-agent": PHONE,
    });
    const listed = await sessionsOf(base, first.token);
    expect(listed).toEqual([
      {
        id: expect.any(String),
        createdAt: expect.any(String),
        expiresAt: expect.any(String),
        browser: "Chrome",
        system: "Android",
        network: null,
        current: false,
      },
      expect.objectContaining({ browser: null, system: null, current: true }),
    ]);
    expect((await sessionsOf(base, done.body.token)).map(({ current }) => current)).toEqual([true, false]);
  });

  test("end one by one, also the own one, which clears the cookie", async () => {
    const first = await someone(base);
    const second = await signIn(platform, base, first.authenticator);
    const [newest, oldest] = await sessionsOf(base, first.token);
    const end = (id: string | undefined) =>
      call(platform, "DELETE", `${base}/sessions/${id}`, { token: first.token });
    expect(await status(base, second.token)).toBe(200);
    const other = await end(newest?.id);
    expect([other.status, other.headers.get("set-cookie")]).toEqual([204, null]);
    expect(await status(base, second.token)).toBe(401);
    expect(await end(newest?.id)).toMatchObject({ status: 404, body: { code: "session_not_found" } });
    expect((await sessionsOf(base, first.token)).map(({ id }) => id)).toEqual([oldest?.id]);
    const own = await end(oldest?.id);
    expect(own.status).toBe(204);
    expect(own.headers.get("set-cookie")).toMatch(/^session_\w+=; Max-Age=0/);
    expect(await status(base, first.token)).toBe(401);
  });

  test("end all at once, except the own one", async () => {
    const first = await someone(base);
    const others: SignedIn[] = [];
    for (let i = 0; i < 3; i++) others.push(await signIn(platform, base, first.authenticator));
    const stranger = await someone(base);
    expect((await call(platform, "DELETE", `${base}/sessions`, { token: first.token })).status).toBe(204);
    for (const { token } of others) expect(await status(base, token)).toBe(401);
    expect(await status(base, first.token)).toBe(200);
    expect(await status(base, stranger.token)).toBe(200);
    expect(await sessionsOf(base, first.token)).toEqual([expect.objectContaining({ current: true })]);
    // Two sessions that end each other at the same moment leave at most one.
    const second = await signIn(platform, base, first.authenticator);
    await Promise.all(
      [first, second].map(({ token }) => call(platform, "DELETE", `${base}/sessions`, { token })),
    );
    const left = await Promise.all([first, second].map(({ token }) => status(base, token)));
    expect(left.filter((one) => one === 200).length).toBeLessThan(2);
  });

  test("of another account are neither listed nor ended", async () => {
    const [mine, theirs] = [await someone(base), await someone(base)];
    const [listed] = await sessionsOf(base, theirs.token);
    for (const id of [listed?.id, "-", "*", ">", "unknown", `${theirs.id}.${listed?.id}`]) {
      const path = `${base}/sessions/${encodeURIComponent(id ?? "")}`;
      expect((await call(platform, "DELETE", path, { token: mine.token })).status).toBe(404);
    }
    expect(await status(base, theirs.token)).toBe(200);
    for (const method of ["GET", "DELETE"])
      expect((await call(platform, method, `${base}/sessions`)).status).toBe(401);
  });
});

test("the sessions of users are not for platform admins", async () => {
  for (const base of ["/api/auth", "/api/visits"]) {
    for (const method of ["GET", "DELETE"]) {
      const answer = await call(platform, method, `${base}/sessions`, { token: operator });
      expect(answer).toMatchObject({ status: 403, body: { code: "other_realm" } });
    }
  }
});

test("a cookie from a foreign origin ends no session", async () => {
  const someOne = await someone("/api/auth");
  const headers = { cookie: `session_auth=${someOne.token}`, origin: "https://elsewhere.example" };
  const answer = await call(platform, "DELETE", "/api/auth/sessions", { headers });
  expect(answer).toMatchObject({ status: 403, body: { code: "origin_not_allowed" } });
});

test("ending sessions is audited", async () => {
  const mine = await someone("/api/auth");
  await signIn(platform, "/api/auth", mine.authenticator);
  const [newest] = await sessionsOf("/api/auth", mine.token);
  await call(platform, "DELETE", `/api/auth/sessions/${newest?.id}`, { token: mine.token });
  await call(platform, "DELETE", "/api/auth/sessions", { token: mine.token });
  const path = `/api/admin/audit?filter[actor]=${mine.id}&filter[action]=signout`;
  const { body } = await call(platform, "GET", path, { token: operator });
  expect(body.items.map(({ detail }: { detail: string }) => detail)).toEqual([
    "other_sessions",
    "one_session",
  ]);
});

test("a session that an earlier version began has no browser, system and network", async () => {
  const mine = await someone("/api/auth");
  const [own] = await sessionsOf("/api/auth", mine.token);
  const store = platform.operatorStore();
  const key = `auth.${subjectOf(mine.token)}.${own?.id}`;
  const { client, ...older } =
    (await store.kvGet(buckets.sessions, key))?.json<Record<string, unknown>>() ?? {};
  expect(Object.keys(client ?? {})).toEqual(["browser", "system", "network"]);
  await store.kvPut(buckets.sessions, key, JSON.stringify(older), { ttl: 600 });
  expect(await sessionsOf("/api/auth", mine.token)).toEqual([
    expect.objectContaining({ id: own?.id, browser: null, system: null, network: null, current: true }),
  ]);
});

test("a module that is older than an account route keeps its path", async () => {
  const schema = { id: "talk", access: { read: "public", write: "admin" }, fields: [] };
  const modules = [{ id: "sessions", type: "CONTENT", schemas: [schema] }];
  const document = { id: "forum", uses: [ACCESS], modules };
  const refused = await call(platform, "POST", "/api/admin/orbs", { token: operator, body: document });
  expect(refused).toMatchObject({
    status: 422,
    body: { errors: [{ path: "/modules/0/id", code: "reserved" }] },
  });
  // An earlier version could store this definition.
  const made = await call(platform, "POST", "/api/admin/orbs?publish=true", {
    token: operator,
    body: { ...document, modules: [{ ...modules[0], id: "lessons" }] },
  });
  expect(made.status).toBe(201);
  const store = platform.operatorStore();
  for (const [stream, subject] of [
    [streams.platform, "platform.orbs.forum"],
    [streams.kv(buckets.orbs), kvSubject(buckets.orbs, "forum")],
  ] as const) {
    const last = await store.get(stream, subject);
    const text = last?.text().replaceAll('"lessons"', '"sessions"') ?? "";
    await store.append(stream, { subject, data: text });
  }
  const listed = await call(platform, "GET", "/api/forum/sessions");
  expect(listed).toMatchObject({ status: 200, body: { items: [] } });
  const routes = await activeRoutes(platform, operator, "forum", 7);
  const paths = routes.map(({ method, path }) => `${method} ${path}`);
  expect(new Set(paths).size).toBe(paths.length);
  const changed = await call(platform, "PUT", "/api/admin/orbs/forum?publish=true", {
    token: operator,
    body: { ...document, name: "Forum" },
  });
  expect(changed.status).toBe(200);
  expect((await call(platform, "GET", "/api/forum/sessions")).status).toBe(200);
});

import { describe, expect, test } from "vitest";
import { call, complete, register, signIn, subjectOf } from "../support/auth.ts";
import { Authenticator } from "../support/authenticator.ts";
import { clearLimits, fileAdmin } from "../support/file-admin.ts";

const { platform, token, as } = await fileAdmin({ env: { QUOTA_NETWORK_SIGNUPS: "6" } });
clearLimits(platform);

const document = (id: string, access?: object, handlers: string[] = ["passkey"]) => ({
  id,
  ...(access === undefined ? {} : { access }),
  uses: [{ service: "access", handlers }],
  modules: [{ id: "news", type: "CONTENT", schemas: [{ id: "article", fields: [] }] }],
});
const OPEN = { signup: "open" };

const beginSignup = (base: string, body?: unknown, query = "signup=true") =>
  call(platform, "POST", `${base}/passkey/begin?${query}`, body === undefined ? {} : { body });

async function signUp(base: string, body?: unknown) {
  const device = new Authenticator(platform.origin);
  const begun = await beginSignup(base, body);
  expect(begun.status).toBe(200);
  const done = await complete(platform, base, begun.body.sessionId, device.create(begun.body.publicKey));
  return { device, done };
}

async function openOrb(id: string): Promise<string> {
  expect((await as("POST", "/api/admin/orbs?publish=true", document(id, OPEN))).status).toBe(201);
  return `/api/${id}`;
}

describe("open sign-up of an orb", () => {
  test("registers a user, who signs in again and has only the rights of a user", async () => {
    const base = await openOrb("open1");
    const { device, done } = await signUp(base, { name: "Ann", email: "ann@example.com" });
    expect(done.status).toBe(200);
    expect(done.headers.get("set-cookie")).toContain("session_open1=");
    const me = await as("GET", `${base}/me`, undefined, done.body.token);
    expect(me.body).toMatchObject({ name: "Ann", email: "ann@example.com", role: "user", status: "active" });
    for (const [method, path] of [
      ["GET", `${base}/users`],
      ["POST", `${base}/news`],
      ["GET", "/api/admin/orbs"],
    ] as const) {
      expect((await as(method, path, undefined, done.body.token)).status).toBe(403);
    }
    expect((await signIn(platform, base, device)).id).toBe(subjectOf(done.body.token));
    const listed = await as("GET", `${base}/users`);
    expect(listed.body.items).toMatchObject([{ name: "Ann", role: "user" }]);
    const { body } = await as("GET", "/api/admin/audit?filter[realm]=open1&filter[action]=register");
    expect(body.items).toMatchObject([
      { outcome: "ok", detail: "signup", target: subjectOf(done.body.token) },
    ]);
  });

  test("answers in the same way whether or not a name and an email are taken", async () => {
    const base = await openOrb("open2");
    const names = { name: "Ann", email: "ann@example.com" };
    const shapes: unknown[] = [];
    for (let i = 0; i < 2; i++) {
      const begun = await beginSignup(base, names);
      shapes.push(Object.keys(begun.body.publicKey).sort(), begun.body.publicKey.excludeCredentials);
      const device = new Authenticator(platform.origin);
      const response = device.create(begun.body.publicKey);
      expect((await complete(platform, base, begun.body.sessionId, response)).status).toBe(200);
    }
    expect(shapes.slice(2)).toEqual(shapes.slice(0, 2));
  });

  test("follows the published document: closing refuses new registrations and those that have begun", async () => {
    const base = await openOrb("open3");
    const begun = await beginSignup(base);
    expect((await as("PUT", "/api/admin/orbs/open3", document("open3"))).status).toBe(200);
    // A draft changes nothing.
    expect((await beginSignup(base)).status).toBe(200);
    expect((await as("POST", "/api/admin/orbs/open3/publish")).status).toBe(200);
    const device = new Authenticator(platform.origin);
    const response = device.create(begun.body.publicKey);
    const late = await complete(platform, base, begun.body.sessionId, response);
    expect(late).toMatchObject({ status: 403, body: { code: "signup_closed" } });
    expect(await beginSignup(base)).toMatchObject({ status: 403, body: { code: "signup_closed" } });
    const listed = await as("GET", `${base}/users`);
    expect(listed.body.items).toEqual([]);
  });

  test("accepts one completion of a challenge, and none of a challenge of another realm", async () => {
    const base = await openOrb("open4");
    const other = await openOrb("open5");
    const begun = await beginSignup(base);
    const device = new Authenticator(platform.origin);
    const response = device.create(begun.body.publicKey);
    expect((await complete(platform, other, begun.body.sessionId, response)).status).toBe(404);
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => complete(platform, base, begun.body.sessionId, response)),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 410, 410, 410, 410, 410]);
  });

  test("refuses floods with 429 and says when to try again; invitations still work", async () => {
    const base = await openOrb("open6");
    const answers = await Promise.all(Array.from({ length: 20 }, () => beginSignup(base)));
    // A minute may end in between.
    const accepted = answers.filter(({ status }) => status === 200).length;
    expect([6, 12]).toContain(accepted);
    const refused = answers.find(({ status }) => status !== 200);
    expect(refused).toMatchObject({ status: 429, body: { code: "too_many_signups", scope: "client" } });
    expect(Number(refused?.headers.get("retry-after"))).toBeGreaterThan(0);
    const both = document("open6", OPEN, ["passkey", "invitations"]);
    expect((await as("PUT", "/api/admin/orbs/open6?publish=true", both)).status).toBe(200);
    const { body } = await as("POST", `${base}/invitations`);
    await register(platform, base, body.token);
  });

  test("refuses signup=true together with an invitation, and names that deceive", async () => {
    const base = await openOrb("open7");
    const twice = await beginSignup(base, undefined, "signup=true&invite=abc");
    expect(twice).toMatchObject({ status: 422, body: { errors: [{ path: "/signup", code: "exclusive" }] } });
    for (const name of ["\u0410dmin", "Ann\u202e", "\u3164", "a\u2028b"]) {
      const { status, body } = await beginSignup(base, { name });
      expect({ status, path: body.errors?.[0]?.path }).toEqual({ status: 422, path: "/name" });
    }
    const { done } = await signUp(base, { name: "𝐀𝐝𝐦𝐢𝐧  Lee" });
    const me = await as("GET", `${base}/me`, undefined, done.body.token);
    expect(me.body.name).toBe("Admin Lee");
  });

  test("tells the sign-in page whether sign-up is open", async () => {
    const base = await openOrb("open8");
    expect((await call(platform, "GET", `${base}/signin`)).body).toContain("/signin?signup=true");
    expect((await call(platform, "GET", "/api/_auth/signin")).body).not.toContain("?signup=true");
  });

  test.each([
    ["without the service access", { ...document("bad", OPEN), uses: [] }, "/access", "needs_access"],
    ["without passkeys", document("bad", OPEN, ["invitations"]), "/access/signup", "needs_access"],
    [
      "with another role",
      document("bad", { signup: "open", signupRole: "admin" }),
      "/access/signupRole",
      "enum",
    ],
    ["with another way", document("bad", { signup: "all" }), "/access/signup", "enum"],
    ["with a further property", document("bad", { open: true }), "/access/open", "unknown_property"],
  ])("is refused in a document %s", async (_, body, path, code) => {
    const answer = await as("POST", "/api/admin/orbs", body);
    expect(answer).toMatchObject({ status: 422, body: { errors: [{ path, code }] } });
  });
});

describe("sign-up to the shared realm", () => {
  const SETTINGS = "/api/_auth/settings";
  const put = (signup: string, by?: string) => as("PUT", SETTINGS, { shared: { signup } }, by);

  test("is closed until a platform admin opens it, and closes again", async () => {
    expect((await as("GET", SETTINGS)).body).toEqual({
      shared: { signup: "invitation" },
      updatedAt: null,
      updatedBy: null,
    });
    expect(await beginSignup("/api/auth")).toMatchObject({ status: 403, body: { code: "signup_closed" } });
    const changed = await put("open");
    expect(changed).toMatchObject({
      status: 200,
      body: { shared: { signup: "open" }, updatedBy: subjectOf(token) },
    });
    expect((await as("GET", SETTINGS)).body).toEqual(changed.body);
    expect((await call(platform, "GET", "/api/auth/signin")).body).toContain("/signin?signup=true");
    const { done, device } = await signUp("/api/auth");
    expect(done.status).toBe(200);
    const begun = await beginSignup("/api/auth");
    expect((await put("invitation")).status).toBe(200);
    const response = new Authenticator(platform.origin).create(begun.body.publicKey);
    const late = await complete(platform, "/api/auth", begun.body.sessionId, response);
    expect(late).toMatchObject({ status: 403, body: { code: "signup_closed" } });
    await signIn(platform, "/api/auth", device);
    const { body } = await as("GET", "/api/admin/audit?filter[action]=settings&limit=2");
    expect(body.items.map((item: { detail: string }) => item.detail)).toEqual([
      "shared_signup_invitation",
      "shared_signup_open",
    ]);
  });

  test("is decided by platform admins only", async () => {
    await put("open");
    const { done } = await signUp("/api/auth");
    await put("invitation");
    expect((await call(platform, "PUT", SETTINGS, { body: { shared: { signup: "open" } } })).status).toBe(
      401,
    );
    expect((await call(platform, "GET", SETTINGS)).status).toBe(401);
    expect((await put("open", done.body.token)).status).toBe(403);
    for (const body of [{}, { shared: {} }, { shared: { signup: "all" } }, { signup: "open" }]) {
      expect((await as("PUT", SETTINGS, body)).status).toBe(422);
    }
    expect((await as("GET", SETTINGS)).body.shared).toEqual({ signup: "invitation" });
  });

  test("never exists for platform admins", async () => {
    const begun = await beginSignup("/api/_auth");
    expect(begun).toMatchObject({ status: 403, body: { code: "signup_closed" } });
  });
});

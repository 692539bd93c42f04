import { afterAll, describe, expect, test } from "vitest";
import { streams, subjects } from "../../shared/store/subjects.ts";
import { begin, call, complete, register, type SignedIn, signIn } from "../support/auth.ts";
import { Authenticator } from "../support/authenticator.ts";
import { startPlatform, type TestPlatform } from "../support/platform.ts";

const BASE = "/api/_auth";
const platform: TestPlatform = await startPlatform();
afterAll(() => platform.stop());

const payloadOf = (token: string) =>
  JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()) as Record<string, unknown>;

let first: SignedIn;

describe("bootstrap mode", () => {
  test("lists the one bootstrap invitation without authentication", async () => {
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => call(platform, "GET", `${BASE}/invitations`)),
    );
    const tokens = new Set(answers.map(({ body }) => body[0].token));
    expect(tokens.size).toBe(1);
    const [invitation] = answers[0]?.body ?? [];
    expect(invitation).toMatchObject({ status: "active", role: "owner" });
    const days = (Date.parse(invitation.expiresAt) - Date.parse(invitation.createdAt)) / 86_400_000;
    expect(days).toBe(7);
    expect(invitation.url).toBe(`${platform.origin}/api/_auth/signin?invite=${invitation.token}`);
    expect((await call(platform, "GET", "/api/admin/audit")).status).toBe(401);
    expect((await call(platform, "POST", `${BASE}/invitations`)).status).toBe(401);
    // A stale token from an earlier installation is ignored.
    expect((await call(platform, "GET", `${BASE}/invitations`, { token: "stale" })).status).toBe(200);
  });

  test("explains on the sign-in page how to get the first invitation", async () => {
    const { status, body } = await call(platform, "GET", `${BASE}/signin`);
    expect(status).toBe(200);
    expect(body).toContain("No account exists yet");
    expect(body).toContain("npm run admin:invite");
  });

  test("logs refused requests with their error code and without the secrets in the request", async () => {
    const { token } = (await call(platform, "GET", `${BASE}/invitations`)).body[0];
    const wrong = "w".repeat(32);
    const before = platform.logs.length;
    expect((await call(platform, "GET", `${BASE}/invitations/${wrong}`)).status).toBe(404);
    expect((await call(platform, "GET", `${BASE}/invitations/${token}`)).status).toBe(200);
    expect((await call(platform, "GET", `${BASE}/signin?invite=${wrong}`)).status).toBe(200);
    expect((await begin(platform, BASE, { invite: wrong })).answer.status).toBe(404);
    const device = new Authenticator(platform.origin);
    const begun = await begin(platform, BASE, { invite: token });
    const forged = device.create(begun.publicKey, { origin: "https://evil.example" });
    expect((await complete(platform, BASE, begun.sessionId, forged)).status).toBe(401);
    expect((await complete(platform, BASE, begun.sessionId, forged)).status).toBe(410);
    expect((await complete(platform, BASE, "unknown", forged)).status).toBe(404);
    const login = await begin(platform, BASE);
    expect((await complete(platform, BASE, login.sessionId, device.get(login.publicKey))).status).toBe(401);
    // Requests that fail validation or authentication are logged as well.
    const another = await begin(platform, BASE);
    const malformed = { sessionId: another.sessionId, credential: { id: "x" } };
    const post = (path: string, body?: unknown) => call(platform, "POST", `${BASE}/${path}`, { body });
    expect((await post("passkey/complete", malformed)).status).toBe(422);
    expect((await post("passkey/complete", "{")).status).toBe(422);
    expect((await post("invitations")).status).toBe(401);
    expect((await call(platform, "GET", `${BASE}/invitations?x=1`)).status).toBe(400);
    expect((await call(platform, "DELETE", `${BASE}/invitations/${wrong}`)).status).toBe(401);
    expect((await call(platform, "GET", `${BASE}/signin`)).status).toBe(200);
    const byAddress = platform.origin.replace("localhost", "127.0.0.1");
    expect((await fetch(`${byAddress}${BASE}/signin`, { redirect: "manual" })).status).toBe(302);
    // The log comes from another process and may arrive late.
    const accesses = () =>
      platform.logs
        .slice(before)
        .filter((line) => line.includes("bootstrap access"))
        .map((line) => JSON.parse(line.slice(line.indexOf("{"))) as { outcome: string; detail: string })
        .map(({ outcome, detail }) => `${outcome} ${detail}`);
    await expect
      .poll(accesses)
      .toEqual([
        "refused invitation_not_found",
        "ok checked",
        "refused invitation_not_found",
        "refused invitation_not_found",
        "ok begun",
        "refused passkey_refused",
        "refused session_used",
        "refused session_not_found",
        "ok begun",
        "refused passkey_refused",
        "ok begun",
        "refused validation_failed",
        "refused validation_failed",
        "refused authentication_required",
        "refused invalid_parameter",
        "refused authentication_required",
        "ok page",
        "ok redirected",
      ]);
    const told = platform.logs.slice(before).join("\n");
    expect(told).not.toContain(wrong);
    expect(told).not.toContain(token);
  });

  test("creates exactly one admin from parallel registrations and ends bootstrap mode", async () => {
    const { body } = await call(platform, "GET", `${BASE}/invitations`);
    const devices = Array.from({ length: 8 }, () => new Authenticator(platform.origin));
    // All registrations begin before the first one completes. A later one would be refused when it begins.
    const begun = await Promise.all(
      devices.map((_, i) =>
        begin(platform, BASE, i % 2 === 0 ? { invite: body[0].token } : { body: { invite: body[0].token } }),
      ),
    );
    const answers = await Promise.all(
      devices.map((device, i) =>
        complete(platform, BASE, begun[i]?.sessionId ?? "", device.create(begun[i]?.publicKey)),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(7).fill(410)]);
    const winner = answers.findIndex(({ status }) => status === 200);
    const { token, admin } = answers[winner]?.body ?? {};
    const authenticator = devices[winner];
    if (authenticator === undefined) throw new Error("no registration succeeded");
    first = { token, authenticator, id: admin.id, headers: { authorization: `Bearer ${token}` } };
    expect(admin.name).toBe(`user-${admin.id.slice(0, 8)}`);
    expect("email" in admin).toBe(false);

    expect((await call(platform, "GET", `${BASE}/invitations`)).status).toBe(401);
    expect((await call(platform, "GET", `${BASE}/invitations`, { token: "stale" })).status).toBe(401);
    const admins = await call(platform, "GET", `${BASE}/admins`, { token });
    expect(admins.body).toHaveLength(1);
    expect((await begin(platform, BASE, { invite: body[0].token })).answer.status).toBe(410);
  });

  test("records every bootstrap access in the log and the audit log", async () => {
    const { body } = await call(platform, "GET", "/api/admin/audit?filter[action]=bootstrap&limit=200", {
      token: first.token,
    });
    const items = body.items as { outcome: string; detail: string }[];
    const codes = (wanted: string) =>
      new Set(items.filter(({ outcome }) => outcome === wanted).map(({ detail }) => detail));
    expect(codes("ok")).toEqual(
      new Set(["created", "listed", "page", "redirected", "checked", "begun", "completed"]),
    );
    const refused = codes("refused");
    // Ignore the registrations that lost the race. Their code depends on whether an admin existed when they completed.
    for (const late of ["invitation_used", "invitation_revoked"]) refused.delete(late);
    expect(refused).toEqual(
      new Set([
        ...["invitation_not_found", "passkey_refused", "session_used", "session_not_found"],
        ...["validation_failed", "authentication_required", "invalid_parameter"],
      ]),
    );
    expect(items.filter(({ detail }) => detail === "completed")).toHaveLength(1);
    const logged = () => platform.logs.filter((line) => line.includes("bootstrap access"));
    expect(logged().length).toBeGreaterThanOrEqual(28);
    // An admin exists now, so refused requests are no longer logged as bootstrap access.
    const count = logged().length;
    expect((await call(platform, "GET", `${BASE}/invitations/${"w".repeat(32)}`)).status).toBe(404);
    expect((await begin(platform, BASE, { invite: "w".repeat(32) })).answer.status).toBe(404);
    await call(platform, "GET", `${BASE}/invitations`);
    expect(logged()).toHaveLength(count);
  });
});

test("logs every request in bootstrap mode, and limits those that the audit log records to 300", async () => {
  await using fresh = await startPlatform();
  const statuses: number[] = [];
  for (let i = 0; i < 16; i++) {
    const some = await Promise.all(
      Array.from({ length: 20 }, () => call(fresh, "POST", `${BASE}/invitations`)),
    );
    statuses.push(...some.map(({ status }) => status));
  }
  const count = (wanted: number) => statuses.filter((status) => status === wanted).length;
  expect([count(401), count(429)]).toEqual([300, 20]);
  const logged = (detail: string) =>
    fresh.logs.filter((line) => line.includes("bootstrap access") && line.includes(`"${detail}"`)).length;
  await expect
    .poll(() => [logged("authentication_required"), logged("too_many_requests")])
    .toEqual([300, 20]);
  const audited = await fresh
    .operatorStore()
    .scan(streams.platform, subjects.auditOf("platform", "bootstrap"), {
      fromSeq: 1,
      limit: 1_000,
      maxBytes: 16 * 1024 * 1024,
    });
  const refused = audited.messages.filter((message) => message.text().includes('"refused"'));
  expect(refused).toHaveLength(300);
  // While the broker is away, nothing can tell whether there is an admin.
  await Promise.all(fresh.brokers.map((broker) => broker.pause()));
  const away = await call(fresh, "POST", `${BASE}/passkey/begin`);
  expect([503, 504]).toContain(away.status);
  await expect.poll(() => logged(away.body.code)).toBe(1);
  await Promise.all(fresh.brokers.map((broker) => broker.resume()));
});

describe("platform admin", () => {
  test("gets a token with the documented claims that is valid for 12 hours", async () => {
    const claims = payloadOf(first.token);
    expect(claims).toMatchObject({
      sub: first.id,
      type: "platform",
      name: `user-${first.id.slice(0, 8)}`,
      email: "",
      iss: platform.origin,
    });
    expect(Number(claims.exp) - Number(claims.iat)).toBe(12 * 3600);
    expect(typeof claims.sid).toBe("string");
  });

  test("gets a token that verifies against the published keys", async () => {
    const { createRemoteJWKSet, jwtVerify } = await import("jose");
    const keys = createRemoteJWKSet(new URL(`${platform.origin}${BASE}/jwks`));
    const { payload, protectedHeader } = await jwtVerify(first.token, keys, { algorithms: ["EdDSA"] });
    expect(payload.sub).toBe(first.id);
    expect(protectedHeader.kid).toBeTypeOf("string");
  });

  test("can set a name and an email address", async () => {
    const { token } = first;
    const named = await call(platform, "PUT", `${BASE}/me`, {
      token,
      body: { name: "Grace", email: "grace@example.com" },
    });
    expect(named.body).toMatchObject({ name: "Grace", email: "grace@example.com" });
    const page = await call(platform, "GET", `${BASE}/signin?return=/api/docs`, { token });
    expect(page.body).toContain(">Grace</strong>");
    const again = await signIn(platform, BASE, first.authenticator);
    expect(payloadOf(again.token)).toMatchObject({ name: "Grace", email: "grace@example.com" });
    // A sign-in with an email is for the account that has it.
    const signInAs = async (email: string) => {
      const { sessionId, publicKey } = await begin(platform, BASE, { body: { email } });
      return complete(platform, BASE, sessionId, first.authenticator.get(publicKey));
    };
    expect((await signInAs("Grace@example.com")).status).toBe(200);
    expect(await signInAs("ada@example.com")).toMatchObject({
      status: 401,
      body: { code: "email_mismatch" },
    });
    for (const name of ["a\u202eb", "a\ud800b"]) {
      const wrong = await call(platform, "PUT", `${BASE}/me`, { token, body: { name, role: "x" } });
      expect(wrong.status).toBe(422);
      expect(wrong.body.errors.map(({ path }: { path: string }) => path).sort()).toEqual(["/name", "/role"]);
    }
  });

  test("gets 422 for an invalid invitation body, and no invitation is created", async () => {
    const { token } = first;
    const count = async () => (await call(platform, "GET", `${BASE}/invitations`, { token })).body.length;
    const before = await count();
    for (const [body, errors] of [
      [{ role: "user" }, [{ path: "/role", code: "enum" }]],
      [{ foo: 1 }, [{ path: "/foo", code: "unknown_property" }]],
      [[], [{ path: "", code: "type" }]],
    ] as const) {
      const refused = await call(platform, "POST", `${BASE}/invitations`, { token, body });
      expect(refused).toMatchObject({ status: 422, body: { errors } });
      expect((await call(platform, "POST", `${BASE}/invitations`, { body })).status).toBe(401);
    }
    expect(await count()).toBe(before);
    const made = await call(platform, "POST", `${BASE}/invitations`, { token, body: { role: "owner" } });
    expect(made).toMatchObject({ status: 201, body: { role: "owner" } });
    const path = `${BASE}/invitations/${made.body.token}`;
    expect((await call(platform, "DELETE", path, { token })).status).toBe(204);
  });

  test("can invite another admin, who sets a name and an email address while registering", async () => {
    const made = await call(platform, "POST", `${BASE}/invitations`, { token: first.token });
    expect(made.status).toBe(201);
    expect(made.body).toMatchObject({ status: "active" });
    const state = await call(platform, "GET", `${BASE}/invitations/${made.body.token}`);
    expect(state.body).toMatchObject({ status: "active" });
    const { sessionId, publicKey } = await begin(platform, BASE, {
      body: { invite: made.body.token, name: "Ada", email: "ada@example.com" },
    });
    const device = new Authenticator(platform.origin, { counts: false });
    const done = await complete(platform, BASE, sessionId, device.create(publicKey));
    expect(done.body.admin).toMatchObject({ name: "Ada", email: "ada@example.com", passkeys: 1 });
    // An authenticator without a signature counter can sign in any number of times.
    for (let i = 0; i < 3; i++) await signIn(platform, BASE, device);
    expect((await call(platform, "GET", `${BASE}/invitations/${made.body.token}`)).status).toBe(410);
    const listed = await call(platform, "GET", `${BASE}/invitations`, { token: first.token });
    const statuses = listed.body.map(({ status }: { status: string }) => status);
    expect(statuses).toEqual(["used", "revoked", "used"]);
  });

  test("can revoke an invitation", async () => {
    const { token } = first;
    const made = await call(platform, "POST", `${BASE}/invitations`, { token });
    const path = `${BASE}/invitations/${made.body.token}`;
    expect((await call(platform, "DELETE", path)).status).toBe(401);
    expect((await call(platform, "DELETE", path, { token })).status).toBe(204);
    expect((await call(platform, "DELETE", path, { token })).status).toBe(410);
    expect((await call(platform, "GET", path)).status).toBe(410);
    expect((await call(platform, "DELETE", `${BASE}/invitations/nobody`, { token })).status).toBe(404);
  });

  test("can have and name several passkeys, but cannot delete the last one", async () => {
    const { token } = first;
    const { sessionId, publicKey } = await begin(platform, BASE, { token, body: { add: true } });
    const excluded = (publicKey as { excludeCredentials: { id: string }[] }).excludeCredentials;
    expect(excluded).toHaveLength(1);
    const phone = new Authenticator(platform.origin);
    const added = await complete(platform, BASE, sessionId, phone.create(publicKey));
    expect(added.status).toBe(200);
    expect(added.body.admin).toMatchObject({ id: first.id, passkeys: 2 });
    expect((await signIn(platform, BASE, phone)).id).toBe(first.id);

    const list = () => call(platform, "GET", `${BASE}/passkeys`, { token });
    const [one, two] = (await list()).body;
    expect(one).toMatchObject({ name: "Passkey 1" });
    expect(two).toMatchObject({ name: "Passkey 2", backedUp: false, transports: ["internal"] });
    expect(two.lastUsedAt).not.toBeNull();
    const renamed = await call(platform, "PUT", `${BASE}/passkeys/${two.id}`, {
      token,
      body: { name: "Phone" },
    });
    expect(renamed.body).toMatchObject({ id: two.id, name: "Phone" });

    // Both are deleted at once: one of them stays.
    const remove = (id: string, by: string) =>
      call(platform, "DELETE", `${BASE}/passkeys/${id}`, { token: by });
    const answers = await Promise.all([remove(one.id, token), remove(two.id, token)]);
    expect(answers.map(({ status }) => status)).toContain(204);
    expect(answers.filter(({ status }) => status === 204)).toHaveLength(1);
    const [left, ...others] = (await call(platform, "GET", `${BASE}/passkeys`, { token })).body;
    expect(others).toEqual([]);
    const stays = left.id === one.id ? 0 : 1;
    // Deleting a passkey ends the sessions that it created. The caller's own session continues.
    const phones = await call(platform, "GET", `${BASE}/me`, { token: added.body.token });
    expect(phones.status).toBe(stays === 0 ? 401 : 200);
    const live = token;
    expect((await remove(left.id, live)).body.code).toBe("last_passkey");
    expect((await remove("nobody", live)).status).toBe(404);
    const gone = stays === 0 ? phone : first.authenticator;
    const kept = stays === 0 ? first.authenticator : phone;
    await expect(signIn(platform, BASE, gone)).rejects.toThrow("passkey_refused");
    first = { ...first, token: live, authenticator: kept, headers: { authorization: `Bearer ${live}` } };
    await signIn(platform, BASE, kept);
    expect((await begin(platform, BASE, { body: { add: true } })).answer.status).toBe(401);
  });

  test("keeps one admin when two remove each other at once, and refuses to remove the last one", async () => {
    const made = await call(platform, "POST", `${BASE}/invitations`, { token: first.token });
    const second = await register(platform, BASE, made.body.token);
    const admins = await call(platform, "GET", `${BASE}/admins`, { token: first.token });
    const ada = admins.body.find(({ name }: { name: string }) => name === "Ada").id;
    const remove = (id: string, token: string) => call(platform, "DELETE", `${BASE}/admins/${id}`, { token });
    expect((await remove(ada, second.token)).status).toBe(204);
    expect((await remove("nobody", second.token)).status).toBe(404);

    const answers = await Promise.all([remove(first.id, second.token), remove(second.id, first.token)]);
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 204)).toHaveLength(1);
    expect([401, 409]).toContain(statuses.find((status) => status !== 204));
    const [left, gone] = statuses[0] === 204 ? [second, first] : [first, second];
    expect((await call(platform, "GET", `${BASE}/me`, { token: gone.token })).status).toBe(401);
    await expect(signIn(platform, BASE, gone.authenticator)).rejects.toThrow("passkey_refused");
    const last = await remove(left.id, left.token);
    expect({ status: last.status, code: last.body.code }).toEqual({ status: 409, code: "last_admin" });
    first = left;
  });

  test("can read the audit log in pages, in both orders, with filters", async () => {
    const ask = (query: string) => call(platform, "GET", `/api/admin/audit?${query}`, { token: first.token });
    const all = (await ask("limit=200&sort=at")).body.items as { id: string; actor: string }[];
    expect(all.length).toBeGreaterThan(20);
    for (const sort of ["at", "-at"]) {
      const seen: string[] = [];
      for (let cursor = ""; ; ) {
        const { body } = await ask(`limit=7&sort=${sort}${cursor}`);
        seen.push(...body.items.map(({ id }: { id: string }) => id));
        if (body.nextCursor === null) break;
        cursor = `&cursor=${body.nextCursor}`;
      }
      const ids = all.map(({ id }) => id);
      expect(seen).toEqual(sort === "at" ? ids : ids.reverse());
    }
    const refused = await ask("filter[outcome]=refused&filter[action]=signin");
    expect(refused.body.items.length).toBeGreaterThan(0);
    for (const item of refused.body.items) {
      expect(item).toMatchObject({ realm: "platform", action: "signin" });
      expect(["passkey_refused", "email_mismatch"]).toContain(item.detail);
    }
    expect((await ask("filter[realm]=nowhere")).body).toEqual({ items: [], nextCursor: null });
    expect((await ask("filter[realm]=*")).body.items).toEqual([]);
    expect((await ask("unknown=1")).status).toBe(400);
    expect((await ask("cursor=x")).status).toBe(400);
    expect((await ask(`filter[actor]=${first.id}&limit=1`)).body.items[0].actor).toBe(first.id);
  });
});

describe("invalid requests", () => {
  test.each([
    ["malformed JSON", "{", "application/json", 400],
    ["a body that is not JSON", "{}", "text/plain", 415],
    ["an unknown property", '{"user":"x"}', "application/json", 422],
    ["a wrong type", '{"invite":5}', "application/json", 422],
  ])("refuses a begin request with %s", async (_, body, type, status) => {
    const response = await fetch(`${platform.origin}${BASE}/passkey/begin`, {
      method: "POST",
      headers: { "content-type": type },
      body,
    });
    expect(response.status).toBe(status);
    expect(response.headers.get("content-type")).toContain("application/problem+json");
  });

  test("accepts an empty body with any content type where the body is optional", async () => {
    const types = [undefined, "application/json", "application/x-www-form-urlencoded", "text/plain"];
    const post = async (path: string, type: string | undefined, body?: ReadableStream) => {
      const response = await fetch(`${platform.origin}${path}`, {
        method: "POST",
        headers: {
          ...first.headers,
          ...(type === undefined ? {} : { "content-type": type }),
        },
        ...(body === undefined ? {} : { body, duplex: "half" }),
      });
      return response.status;
    };
    const empty = () => new ReadableStream({ start: (controller) => controller.close() });
    for (const type of types) {
      for (const base of [BASE, "/api/auth"]) {
        expect([type, await post(`${base}/passkey/begin`, type)]).toEqual([type, 200]);
        expect([type, await post(`${base}/passkey/begin`, type, empty())]).toEqual([type, 200]);
        expect([type, await post(`${base}/invitations`, type)]).toEqual([type, 201]);
      }
    }
  });

  test("answers 415 not_json for an empty form body where a body is required", async () => {
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    for (const path of [`${BASE}/passkey/complete`, "/api/admin/orbs"]) {
      const { status, body } = await call(platform, "POST", path, { headers, token: first.token });
      expect([status, body.code]).toEqual([415, "not_json"]);
    }
  });

  test("refuses a complete request with no credential, a malformed one or an unknown session", async () => {
    const { sessionId } = await begin(platform, BASE);
    const post = (body: unknown) => call(platform, "POST", `${BASE}/passkey/complete`, { body });
    expect((await post({ sessionId })).status).toBe(422);
    expect((await post({ sessionId, assertion: { id: "x" } })).status).toBe(422);
    expect((await post({})).status).toBe(422);
    expect((await call(platform, "GET", `${BASE}/passkey/complete`)).status).toBe(405);
    const garbage = { id: "AA", rawId: "AA", type: "public-key" };
    const assertion = {
      ...garbage,
      response: { clientDataJSON: "!", authenticatorData: "!", signature: "!" },
    };
    expect((await post({ sessionId, assertion })).status).toBe(401);
    const credential = { ...garbage, response: { clientDataJSON: "e30", attestationObject: "oA" } };
    const fresh = await begin(platform, BASE);
    expect((await post({ sessionId: fresh.sessionId, credential })).status).toBe(401);
    expect((await post({ sessionId: "unknown", assertion })).status).toBe(404);
  });

  test("answers 401 with WWW-Authenticate for an Authorization header that is not a bearer token", async () => {
    for (const authorization of ["Basic eDp5", "Bearer", "Bearer a b", "token"]) {
      const { status, headers } = await call(platform, "GET", `${BASE}/me`, { headers: { authorization } });
      expect(status).toBe(401);
      expect(headers.get("www-authenticate")).toContain("Bearer");
    }
  });
});

import { createHmac, generateKeyPairSync, sign } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { seal } from "../../shared/seal.ts";
import { buckets, streams } from "../../shared/store/subjects.ts";
import { admin, adminToken, begin, call, complete, register, signIn, user } from "../support/auth.ts";
import { Authenticator, type Deviations } from "../support/authenticator.ts";
import { startPlatform, type TestPlatform } from "../support/platform.ts";

let platform: TestPlatform;
const AUTH = "/api/auth";
const PLATFORM = "/api/_auth";

beforeAll(async () => {
  platform = await startPlatform({ env: { ALLOWED_ORIGINS: "https://app.example" } });
  await adminToken(platform);
});
afterAll(() => platform?.stop());
// These tests are one busy client.
beforeEach(async () => {
  await platform.operatorStore().purge(streams.limits, "_limit.>");
});

async function invite(role = "user"): Promise<string> {
  const { body } = await call(platform, "POST", `${AUTH}/invitations`, {
    token: await adminToken(platform),
    body: { role },
  });
  return body.token;
}

/** The answer to a sign-in that deviates from what it should be. */
async function login(base: string, authenticator: Authenticator, deviate: Deviations) {
  const { sessionId, publicKey } = await begin(platform, base);
  return complete(platform, base, sessionId, authenticator.get(publicKey, deviate));
}

const b64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");

describe.each([
  ["platform", PLATFORM],
  ["shared realm", AUTH],
])("passkeys: %s", (_, base) => {
  let someone: Authenticator;
  beforeAll(async () => {
    const who = base === PLATFORM ? await admin(platform) : await user(platform);
    someone = who.authenticator;
  });

  const deviations: [string, Deviations][] = [
    ["another origin", { origin: "https://evil.example" }],
    ["an allowed origin that is not below the RP ID", { origin: "https://app.example" }],
    ["another RP ID", { rpId: "evil.example" }],
    ["another challenge", { challenge: "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" }],
    ["a ceremony of another kind", { type: "webauthn.create" }],
    ["a page that embeds ours", { crossOrigin: true }],
    ["a tampered signature", { tamper: true }],
    ["no user verification", { userVerified: false }],
    ["nobody present", { userPresent: false }],
    ["a user handle of somebody else", { userHandle: Buffer.from("f".repeat(32)).toString("base64url") }],
  ];
  test.each(deviations)("%s is refused", async (_name, deviate) => {
    const { status, body, headers } = await login(base, someone, deviate);
    expect({ status, code: body.code }).toEqual({ status: 401, code: "passkey_refused" });
    expect(headers.get("set-cookie")).toBeNull();
    await signIn(platform, base, someone);
  });

  test("a signature counter that goes back, or stands still, is refused", async () => {
    const counter = someone.passkeys[0]?.counter ?? 0;
    for (const told of [counter, counter - 1, 1, 0]) {
      expect((await login(base, someone, { counter: told })).status).toBe(401);
    }
    await signIn(platform, base, someone);
  });

  test("an unknown passkey is refused with the very same words as a known one with a wrong signature", async () => {
    const stranger = new Authenticator(platform.origin);
    const options = { challenge: "AAAA", rp: { id: "localhost" }, user: { id: "AAAA", name: "x" } };
    stranger.create(options);
    const unknown = await login(base, stranger, {});
    const wrong = await login(base, someone, { tamper: true });
    expect(unknown.status).toBe(401);
    expect(unknown.body).toEqual(wrong.body);
  });

  test("a challenge is used up by its first completion, good or bad", async () => {
    const { sessionId, publicKey } = await begin(platform, base);
    expect((await complete(platform, base, sessionId, someone.get(publicKey, { tamper: true }))).status).toBe(
      401,
    );
    const again = await complete(platform, base, sessionId, someone.get(publicKey));
    expect({ status: again.status, code: again.body.code }).toEqual({ status: 410, code: "session_used" });

    const fresh = await begin(platform, base);
    const response = someone.get(fresh.publicKey);
    expect((await complete(platform, base, fresh.sessionId, response)).status).toBe(200);
    expect((await complete(platform, base, fresh.sessionId, response)).status).toBe(410);
  });

  test("of parallel completions of one challenge, one succeeds", async () => {
    const { sessionId, publicKey } = await begin(platform, base);
    const responses = Array.from({ length: 12 }, () => someone.get(publicKey));
    const answers = await Promise.all(responses.map((r) => complete(platform, base, sessionId, r)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 410)).toHaveLength(11);
    await signIn(platform, base, someone);
  });

  test("a session id that is altered, made up, or spelt otherwise does not pass", async () => {
    const { sessionId, publicKey } = await begin(platform, base);
    const response = someone.get(publicKey);
    const flipped = `${sessionId.slice(0, -2)}${sessionId.endsWith("AA") ? "BB" : "AA"}`;
    for (const forged of [flipped, "*", ">", "a.b", "x".repeat(3_000), `${sessionId}.`, "../x"]) {
      const { status } = await complete(platform, base, forged, response);
      expect([404, 422, 400]).toContain(status);
    }
    expect((await complete(platform, base, sessionId, response)).status).toBe(200);
    // Base64url has several spellings of the same last bits: they are the same challenge.
    const parts = sessionId.split(".");
    const last = parts[4] ?? "";
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    for (let bits = 1; bits < 4; bits++) {
      const end = alphabet[alphabet.indexOf(last.at(-1) ?? "A") ^ bits] ?? "A";
      const respelt = [...parts.slice(0, 4), last.slice(0, -1) + end].join(".");
      expect((await complete(platform, base, respelt, someone.get(publicKey))).status).not.toBe(200);
    }
  });

  test("a challenge that expired is refused", async () => {
    const { publicKey } = await begin(platform, base);
    const { challenge } = publicKey as { challenge: string };
    const old = await seal(
      platform.bindings.ENCRYPTION_KEYS ?? "",
      JSON.stringify({
        realm: base === PLATFORM ? "platform" : "auth",
        purpose: "login",
        challenge,
        invitation: null,
        account: null,
        name: null,
        email: null,
        expiresAt: Date.now() - 1,
      }),
      "challenge",
    );
    const { status, body } = await complete(platform, base, old, someone.get(publicKey));
    expect({ status, code: body.code }).toEqual({ status: 410, code: "session_expired" });
  });

  test("a challenge for signing in does not register, and one for registering does not sign in", async () => {
    const forLogin = await begin(platform, base);
    const registration = new Authenticator(platform.origin).create({
      ...(forLogin.publicKey as object),
      rp: { id: "localhost" },
      user: { id: "AAAA", name: "x" },
    });
    expect((await complete(platform, base, forLogin.sessionId, registration)).status).toBe(401);

    const made = await call(platform, "POST", `${base}/invitations`, { token: await adminToken(platform) });
    const forRegistration = await begin(platform, base, { invite: made.body.token });
    const assertion = someone.get(forRegistration.publicKey);
    expect((await complete(platform, base, forRegistration.sessionId, assertion)).status).toBe(401);
  });

  test("a registration from elsewhere, or without verification, makes nothing", async () => {
    const { body } = await call(platform, "POST", `${base}/invitations`, {
      token: await adminToken(platform),
    });
    for (const deviate of [
      { origin: "https://evil.example" },
      { rpId: "evil.example" },
      { userVerified: false },
    ]) {
      const { sessionId, publicKey } = await begin(platform, base, { invite: body.token });
      const made = new Authenticator(platform.origin).create(publicKey, deviate);
      expect((await complete(platform, base, sessionId, made)).status).toBe(401);
    }
    await register(platform, base, body.token);
  });

  test("a passkey that is registered already cannot be registered again", async () => {
    const thief = new Authenticator(platform.origin);
    const { body } = await call(platform, "POST", `${base}/invitations`, {
      token: await adminToken(platform),
    });
    const { sessionId, publicKey } = await begin(platform, base, { invite: body.token });
    const response = thief.create(publicKey);
    expect((await complete(platform, base, sessionId, response)).status).toBe(200);
    const second = await call(platform, "POST", `${base}/invitations`, { token: await adminToken(platform) });
    const next = await begin(platform, base, { invite: second.body.token });
    const own = new Authenticator(platform.origin);
    const copied = own.create(next.publicKey, {}, thief.passkeys[0]?.id);
    const refused = await complete(platform, base, next.sessionId, copied);
    expect({ status: refused.status, code: refused.body.code }).toEqual({
      status: 409,
      code: "passkey_known",
    });
    // The invitation is still good, and the owner of the passkey still gets in.
    await register(platform, base, second.body.token);
    await signIn(platform, base, thief);
  });
});

describe("realms", () => {
  test("challenge and passkey of one realm are nothing in another", async () => {
    const operator = await admin(platform);
    const someone = await user(platform);
    const there = await begin(platform, AUTH);
    const crossed = await complete(
      platform,
      PLATFORM,
      there.sessionId,
      someone.authenticator.get(there.publicKey),
    );
    expect(crossed.status).toBe(404);
    expect((await login(PLATFORM, someone.authenticator, {})).status).toBe(401);
    expect((await login(AUTH, operator.authenticator, {})).status).toBe(401);
    const forUsers = await invite();
    expect((await begin(platform, PLATFORM, { invite: forUsers })).answer.status).toBe(404);
  });

  test("user handles differ, so that no passkey overwrites another in the browser", async () => {
    const device = new Authenticator(platform.origin);
    await register(platform, AUTH, await invite(), device);
    await register(platform, AUTH, await invite(), device);
    const made = await call(platform, "POST", `${PLATFORM}/invitations`, {
      token: await adminToken(platform),
    });
    await register(platform, PLATFORM, made.body.token, device);
    const handles = new Set(device.passkeys.map(({ userHandle }) => userHandle.toString()));
    expect(handles.size).toBe(3);
    expect(device.passkeys[0]?.userName).toContain("(Accounts)");
    expect(device.passkeys[2]?.userName).toContain("(Platform administration)");
  });
});

describe("invitations", () => {
  test("of many simultaneous registrations with one, exactly one succeeds", async () => {
    const token = await invite();
    const devices = Array.from({ length: 10 }, () => new Authenticator(platform.origin));
    const begun = await Promise.all(devices.map(() => begin(platform, AUTH, { invite: token })));
    const responses = devices.map((device, i) => device.create(begun[i]?.publicKey));
    const answers = await Promise.all(
      responses.map((response, i) => complete(platform, AUTH, begun[i]?.sessionId ?? "", response)),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(410)]);
    // The others are no accounts: their passkeys are not known.
    const signins = await Promise.all(devices.map((device) => login(AUTH, device, {})));
    expect(signins.filter(({ status }) => status === 200)).toHaveLength(1);
    expect((await call(platform, "GET", `${AUTH}/invitations/${token}`)).status).toBe(410);
  });

  test.each(["*", ">", "%2A", "%3E", "bootstrap", "auth.bootstrap", "a".repeat(129), "..", "%00", "a%20b"])(
    "guessing: %s is not known",
    async (code) => {
      const looked = await call(platform, "GET", `${AUTH}/invitations/${code}`);
      expect(looked.status).toBe(404);
      const begun = await call(platform, "POST", `${AUTH}/passkey/begin?invite=${code}`);
      expect([404, 400]).toContain(begun.status);
      expect((await call(platform, "GET", `${PLATFORM}/invitations/${code}`)).status).toBe(404);
    },
  );

  test("one that is revoked between begin and complete does not register", async () => {
    const token = await invite();
    const { sessionId, publicKey } = await begin(platform, AUTH, { invite: token });
    await call(platform, "DELETE", `${AUTH}/invitations/${token}`, { token: await adminToken(platform) });
    const answer = await complete(
      platform,
      AUTH,
      sessionId,
      new Authenticator(platform.origin).create(publicKey),
    );
    expect({ status: answer.status, code: answer.body.code }).toEqual({
      status: 410,
      code: "invitation_revoked",
    });
  });

  test("no token of one stands in the broker in the clear", async () => {
    const token = await invite();
    const store = platform.operatorStore();
    const everything = await store.kvList(buckets.orbInvitations, ">");
    expect(everything.length).toBeGreaterThan(0);
    expect(everything.map((entry) => entry.key + entry.text()).join()).not.toContain(token);
  });

  test("admins do not invite admins, and users invite nobody", async () => {
    const someone = await user(platform, "auth", "user");
    const manager = await user(platform, "auth", "admin");
    const asks = (token: string | undefined, role: string) =>
      call(platform, "POST", `${AUTH}/invitations`, {
        body: { role },
        ...(token === undefined ? {} : { token }),
      });
    expect((await asks(undefined, "user")).status).toBe(401);
    expect((await asks(someone.token, "user")).status).toBe(403);
    expect((await asks(manager.token, "user")).status).toBe(201);
    expect((await asks(manager.token, "admin")).status).toBe(403);
    expect((await asks(manager.token, "owner")).status).toBe(403);
    const owners = await asks(await adminToken(platform), "owner");
    // Nor do they read the code of one that makes owners.
    const listed = await call(platform, "GET", `${AUTH}/invitations`, { token: manager.token });
    expect(JSON.stringify(listed.body)).not.toContain(owners.body.token);
    expect(
      (await call(platform, "DELETE", `${AUTH}/invitations/${owners.body.token}`, { token: manager.token }))
        .status,
    ).toBe(403);
  });
});

describe("tokens", () => {
  const me = (token: string, base = PLATFORM) => call(platform, "GET", `${base}/me`, { token });
  const payloadOf = (token: string) =>
    JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()) as Record<string, unknown>;

  test("forged ones are refused, each alike", async () => {
    const good = await adminToken(platform);
    const payload = payloadOf(good);
    const [head = "", , signature = ""] = good.split(".");
    const { kid } = JSON.parse(Buffer.from(head, "base64url").toString()) as { kid: string };
    const jwks = (await call(platform, "GET", `${PLATFORM}/jwks`)).body.keys as { x: string; kid: string }[];
    expect(JSON.stringify(jwks)).not.toContain('"d"');
    const other = generateKeyPairSync("ed25519").privateKey;
    const unsigned = (header: object, claims: object) => `${b64(header)}.${b64(claims)}`;
    const withOther = unsigned({ alg: "EdDSA", kid, typ: "JWT" }, payload);
    const hmac = unsigned({ alg: "HS256", kid, typ: "JWT" }, payload);
    const publicBytes = Buffer.from(jwks[0]?.x ?? "", "base64url");
    const forged = {
      none: `${unsigned({ alg: "none", typ: "JWT" }, payload)}.`,
      "HS256 with the public key": `${hmac}.${createHmac("sha256", publicBytes).update(hmac).digest("base64url")}`,
      "another key": `${withOther}.${sign(null, Buffer.from(withOther), other).toString("base64url")}`,
      "other claims": `${head}.${b64({ ...payload, sub: "f".repeat(32) })}.${signature}`,
      truncated: good.slice(0, -4),
      nonsense: "not.a.token",
      wildcard: `${head}.${b64({ ...payload, sub: "*", sid: ">" })}.${signature}`,
    };
    const bodies = new Set<string>();
    for (const [name, token] of Object.entries(forged)) {
      const { status, body, headers } = await me(token);
      expect({ name, status }).toEqual({ name, status: 401 });
      expect(headers.get("www-authenticate")).toContain("Bearer");
      bodies.add(JSON.stringify(body));
    }
    expect(bodies.size).toBe(1);
    expect((await me(good)).status).toBe(200);
  });

  test("correctly signed ones of another kind, realm, issuer or time are refused", async () => {
    const { importJWK, SignJWT } = await import("jose");
    const [jwk] = JSON.parse(platform.bindings.JWT_SIGNING_KEYS ?? "[]");
    const key = await importJWK(jwk, "EdDSA");
    const operator = await admin(platform);
    const someone = await user(platform, "auth", "owner");
    const platformClaims = payloadOf(operator.token);
    const userClaims = payloadOf(someone.token);
    const make = (claims: Record<string, unknown>, header: object = {}) =>
      new SignJWT(claims).setProtectedHeader({ alg: "EdDSA", kid: jwk.kid, typ: "JWT", ...header }).sign(key);

    expect((await me(await make(platformClaims))).status).toBe(200);
    expect((await me(await make(userClaims), AUTH)).status).toBe(200);
    const now = Math.floor(Date.now() / 1000);
    const refusedAtPlatform: Record<string, unknown>[] = [
      { ...platformClaims, iss: "https://evil.example" },
      { ...platformClaims, exp: now - 60 },
      { ...platformClaims, type: "orb", orb: "platform", role: "owner" },
      { ...platformClaims, type: "orb", orb: "auth", role: "owner" },
      { ...platformClaims, type: undefined },
      { ...platformClaims, sid: undefined },
      { ...platformClaims, exp: undefined },
      { ...userClaims, type: "platform" },
      userClaims,
    ];
    for (const claims of refusedAtPlatform) expect((await me(await make(claims))).status).toBe(401);
    const refusedAtAuth: Record<string, unknown>[] = [
      platformClaims,
      { ...userClaims, orb: "shop" },
      { ...userClaims, orb: undefined },
      { ...userClaims, role: "god" },
      { ...userClaims, sub: operator.id },
      { ...platformClaims, type: "orb", orb: "auth", role: "owner" },
    ];
    for (const claims of refusedAtAuth) expect((await me(await make(claims), AUTH)).status).toBe(401);
    expect((await me(await make(platformClaims, { typ: "other" }))).status).toBe(401);
  });

  test("a role in a token does not outlive a change of the account", async () => {
    const someone = await user(platform, "auth", "admin");
    const list = () => call(platform, "GET", `${AUTH}/users`, { token: someone.token });
    expect((await list()).status).toBe(200);
    await call(platform, "PUT", `${AUTH}/users/${someone.id}`, {
      token: await adminToken(platform),
      body: { role: "user" },
    });
    expect((await list()).status).toBe(401);
    const again = await signIn(platform, AUTH, someone.authenticator);
    expect((await call(platform, "GET", `${AUTH}/users`, { token: again.token })).status).toBe(403);
  });

  test("signing out ends the token and its cookie, and only those", async () => {
    const someone = await user(platform);
    const other = await signIn(platform, AUTH, someone.authenticator);
    const out = await call(platform, "POST", `${AUTH}/signout`, { token: someone.token });
    expect(out.status).toBe(204);
    expect(out.headers.get("set-cookie")).toMatch(/^session_auth=; Max-Age=0/);
    expect((await me(someone.token, AUTH)).status).toBe(401);
    expect((await me(other.token, AUTH)).status).toBe(200);
  });

  test("a session id that an attacker fixed is never taken over", async () => {
    const someone = await user(platform);
    const { sessionId, publicKey } = await begin(platform, AUTH);
    const done = await complete(platform, AUTH, sessionId, someone.authenticator.get(publicKey), {
      cookie: "session_auth=attacker; sid=attacker",
    });
    expect(done.status).toBe(200);
    const sid = payloadOf(done.body.token).sid;
    expect(sid).not.toBe(payloadOf(someone.token).sid);
    expect(done.headers.get("set-cookie")).toContain(done.body.token);
    expect(sessionId).not.toContain(String(sid));
  });
});

describe("cookies and other sites", () => {
  async function cookieOf(base: string, authenticator: Authenticator): Promise<string> {
    const { sessionId, publicKey } = await begin(platform, base);
    const { headers } = await complete(platform, base, sessionId, authenticator.get(publicKey));
    return headers.get("set-cookie") ?? "";
  }

  test("they are out of reach for scripts, bound to the API, and not sent along by other sites", async () => {
    const someone = await user(platform);
    const cookie = await cookieOf(AUTH, someone.authenticator);
    expect(cookie).toMatch(/^session_auth=ey/);
    for (const part of ["HttpOnly", "SameSite=Lax", "Path=/api", "Max-Age=86400"])
      expect(cookie).toContain(part);
  });

  test("the cookie of one realm is nothing in another", async () => {
    const someone = await user(platform, "auth", "owner");
    const value = (await cookieOf(AUTH, someone.authenticator)).split(";")[0]?.split("=")[1] ?? "";
    const ask = (path: string, cookie: string) => call(platform, "GET", path, { headers: { cookie } });
    expect((await ask(`${AUTH}/me`, `session_auth=${value}`)).status).toBe(200);
    expect((await ask(`${PLATFORM}/me`, `session_auth=${value}`)).status).toBe(401);
    expect((await ask(`${PLATFORM}/me`, `session_platform=${value}`)).status).toBe(401);
    expect((await ask(`${PLATFORM}/admins`, `session_platform=${value}`)).status).toBe(401);
  });

  test("a cross-site POST with a cookie does nothing", async () => {
    const someone = await user(platform, "auth", "admin");
    const cookie = (await cookieOf(AUTH, someone.authenticator)).split(";")[0] ?? "";
    const post = (headers: Record<string, string>) =>
      call(platform, "POST", `${AUTH}/invitations`, { headers: { cookie, ...headers } });
    for (const headers of [
      {},
      { origin: "https://evil.example" },
      { origin: "null" },
      { origin: `${platform.origin}.evil.example` },
      { origin: platform.origin.replace("http:", "https:") },
    ] as Record<string, string>[]) {
      const { status, body } = await post(headers);
      expect({ status, code: body.code }).toEqual({ status: 403, code: "origin_not_allowed" });
    }
    expect((await post({ origin: platform.origin })).status).toBe(201);
    expect((await post({ origin: "https://app.example" })).status).toBe(201);
    // A bearer token is not sent along by browsers: it may come from anywhere.
    const bearer = { authorization: `Bearer ${someone.token}`, origin: "https://evil.example" };
    expect((await call(platform, "POST", `${AUTH}/invitations`, { headers: bearer })).status).toBe(201);
  });

  test("another site cannot sign its visitor in as somebody else", async () => {
    const attacker = await user(platform);
    const { sessionId, publicKey } = await begin(platform, AUTH);
    const response = attacker.authenticator.get(publicKey);
    const { status, headers } = await complete(platform, AUTH, sessionId, response, {
      origin: "https://evil.example",
    });
    expect(status).toBe(403);
    expect(headers.get("set-cookie")).toBeNull();
  });
});

describe("rate limits", () => {
  test.each([
    ["begin", "POST", `${AUTH}/passkey/begin`],
    ["invitation look-up", "GET", `${AUTH}/invitations/nobody`],
    ["bootstrap listing", "GET", `${PLATFORM}/invitations`],
  ])("%s: 429 with Retry-After", async (_, method, path) => {
    const statuses = new Set<number>();
    for (let round = 0; round < 7; round++) {
      const answers = await Promise.all(Array.from({ length: 20 }, () => call(platform, method, path)));
      for (const { status } of answers) statuses.add(status);
    }
    const { status, headers, body } = await call(platform, method, path);
    expect({ status, code: body.code }).toEqual({ status: 429, code: "too_many_requests" });
    expect(headers.get("retry-after")).toBe("60");
    expect(statuses.size).toBe(2);
  });
});

test("nothing that these attacks were refused with left a secret in log or audit", async () => {
  const token = await adminToken(platform);
  const audit = await call(platform, "GET", "/api/admin/audit?limit=200", { token });
  expect(audit.body.items.length).toBeGreaterThan(50);
  const told =
    JSON.stringify(audit.body) + platform.logs.filter((line) => !line.includes("bootstrap")).join("\n");
  expect(told).not.toMatch(/eyJ[A-Za-z0-9_-]{20,}\./);
});

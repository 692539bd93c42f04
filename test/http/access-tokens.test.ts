import { createHmac, generateKeyPairSync, sign } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { LimitRule } from "../../shared/access/limits.ts";
import { LIMIT_PER_WINDOW } from "../../shared/store/broker/provision.ts";
import { streams } from "../../shared/store/subjects.ts";
import { admin, adminToken, begin, call, complete, register, signIn, user } from "../support/auth.ts";
import { Authenticator } from "../support/authenticator.ts";
import { startPlatform, type TestPlatform } from "../support/platform.ts";

let platform: TestPlatform;
const AUTH = "/api/auth";
const PLATFORM = "/api/_auth";

beforeAll(async () => {
  platform = await startPlatform({ env: { ALLOWED_ORIGINS: "https://app.example" } });
  await adminToken(platform);
});
afterAll(() => platform?.stop());
// All tests share one client address. Clear the rate limits between them.
beforeEach(async () => {
  await platform.operatorStore().purge(streams.limits, "_limit.>");
});

const b64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");

describe("tokens", () => {
  const me = (token: string, base = PLATFORM) => call(platform, "GET", `${base}/me`, { token });
  const payloadOf = (token: string) =>
    JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()) as Record<string, unknown>;

  test("refuses forged tokens with identical responses", async () => {
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

  test("refuses correctly signed tokens of another type, realm or issuer, and expired ones", async () => {
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
      { ...userClaims, sub: operator.id },
      { ...platformClaims, type: undefined },
      { ...platformClaims, sid: undefined },
      { ...platformClaims, exp: undefined },
      { ...userClaims, type: "platform" },
    ];
    for (const claims of refusedAtPlatform) expect((await me(await make(claims))).status).toBe(401);
    // A valid session of another realm is no reason to sign out.
    expect((await me(await make(userClaims))).status).toBe(403);
    expect((await me(await make(platformClaims), AUTH)).status).toBe(403);
    const refusedAtAuth: Record<string, unknown>[] = [
      { ...userClaims, orb: "shop" },
      { ...userClaims, orb: undefined },
      { ...userClaims, role: "no role" },
      { ...userClaims, sub: operator.id },
      { ...platformClaims, type: "orb", orb: "auth", role: "owner" },
    ];
    for (const claims of refusedAtAuth) expect((await me(await make(claims), AUTH)).status).toBe(401);
    expect((await me(await make(platformClaims, { typ: "other" }))).status).toBe(401);
  });

  test("ends a session when the account's role changes", async () => {
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

  test("ends only the current session when the user signs out", async () => {
    const someone = await user(platform);
    const other = await signIn(platform, AUTH, someone.authenticator);
    const out = await call(platform, "POST", `${AUTH}/signout`, { token: someone.token });
    expect(out.status).toBe(204);
    expect(out.headers.get("set-cookie")).toMatch(/^session_auth=; Max-Age=0/);
    expect((await me(someone.token, AUTH)).status).toBe(401);
    expect((await me(other.token, AUTH)).status).toBe(200);
  });

  test("ignores a session id that an attacker set", async () => {
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

describe("cookies and cross-site requests", () => {
  async function cookieOf(base: string, authenticator: Authenticator): Promise<string> {
    const { sessionId, publicKey } = await begin(platform, base);
    const { headers } = await complete(platform, base, sessionId, authenticator.get(publicKey));
    return headers.get("set-cookie") ?? "";
  }

  test("sets session cookies with HttpOnly, SameSite=Lax and Path=/api", async () => {
    const someone = await user(platform);
    const cookie = await cookieOf(AUTH, someone.authenticator);
    expect(cookie).toMatch(/^session_auth=ey/);
    for (const part of ["HttpOnly", "SameSite=Lax", "Path=/api", "Max-Age=86400"])
      expect(cookie).toContain(part);
  });

  test("refuses the session cookie of another realm", async () => {
    const someone = await user(platform, "auth", "owner");
    const value = (await cookieOf(AUTH, someone.authenticator)).split(";")[0]?.split("=")[1] ?? "";
    const ask = (path: string, cookie: string) => call(platform, "GET", path, { headers: { cookie } });
    expect((await ask(`${AUTH}/me`, `session_auth=${value}`)).status).toBe(200);
    expect((await ask(`${PLATFORM}/me`, `session_auth=${value}`)).status).toBe(401);
    expect((await ask(`${PLATFORM}/me`, `session_platform=${value}`)).status).toBe(401);
    expect((await ask(`${PLATFORM}/admins`, `session_platform=${value}`)).status).toBe(401);
  });

  test("refuses a repeated session cookie for both accounts", async () => {
    const [victim, attacker] = [await user(platform), await user(platform)];
    const ask = (...tokens: string[]) =>
      call(platform, "GET", `${AUTH}/me`, {
        headers: { cookie: tokens.map((token) => `session_auth=${token}`).join("; ") },
      });
    expect((await ask(victim.token)).status).toBe(200);
    expect((await ask(attacker.token, victim.token)).status).toBe(401);
    expect((await ask(victim.token, attacker.token)).status).toBe(401);
  });

  test("uses a __Host- session cookie over https and ignores cookies of any other name", async () => {
    const publicUrl = "https://platform.example";
    await using secure = await startPlatform({ env: { PUBLIC_URL: publicUrl } });
    const at = { ...secure, origin: `http://localhost:${secure.settings.port}` };
    const here = (invite: string, base: string) => register(at, base, invite, new Authenticator(publicUrl));
    const { body: first } = await call(at, "GET", `${PLATFORM}/invitations`);
    const operator = await here(first[0].token, PLATFORM);
    const invited = async () => {
      const { body } = await call(at, "POST", `${AUTH}/invitations`, {
        token: operator.token,
        body: { role: "admin" },
      });
      return here(body.token, AUTH);
    };
    const [victim, attacker] = [await invited(), await invited()];

    // The sign-in completes while a sibling subdomain has set cookies for all hosts below example.
    const { sessionId, publicKey } = await begin(at, AUTH);
    const done = await complete(at, AUTH, sessionId, victim.authenticator.get(publicKey), {
      cookie: `session_auth=${attacker.token}`,
      origin: publicUrl,
    });
    const set = done.headers.get("set-cookie") ?? "";
    expect(set).toMatch(/^__Host-session_auth=ey/);
    for (const part of ["HttpOnly", "SameSite=Lax", "Secure", "Path=/;"]) expect(`${set};`).toContain(part);
    expect(set).not.toContain("Domain");

    const own = set.split(";")[0] ?? "";
    const ask = async (cookie: string, path = `${AUTH}/me`) => {
      const { status, body } = await call(at, "GET", path, { headers: { cookie } });
      return status === 200 ? body.id : status;
    };
    const tossed = `session_auth=${attacker.token}`;
    const around = [
      tossed,
      `__Secure-${tossed}`,
      `__host-${tossed}`,
      `\xa0__Host-${tossed}`,
      `"__Host-${tossed}"`,
    ];
    for (const cookie of around) {
      expect(await ask(cookie)).toBe(401);
      expect(await ask(`${cookie}; ${own}`)).toBe(victim.id);
      expect(await ask(`${own}; ${cookie}`)).toBe(victim.id);
    }
    expect(await ask(`session_platform=${operator.token}`, `${PLATFORM}/me`)).toBe(401);
    expect(await ask(`__Host-session_platform=${operator.token}`, `${PLATFORM}/me`)).toBe(operator.id);

    // A page of a sibling subdomain is same-site, so the browser sends the cookie.
    const post = await call(at, "POST", `${AUTH}/invitations`, {
      headers: { cookie: own, origin: "https://evil.example" },
    });
    expect({ status: post.status, code: post.body.code }).toEqual({
      status: 403,
      code: "origin_not_allowed",
    });

    const out = await call(at, "POST", `${AUTH}/signout`, {
      headers: { cookie: `${tossed}; ${own}`, origin: publicUrl },
    });
    expect(out.headers.get("set-cookie")).toMatch(/^__Host-session_auth=; Max-Age=0; Path=\/; Secure/);
    expect(await ask(`${tossed}; ${own}`)).toBe(401);
    const { components } = (await call(at, "GET", "/api/openapi")).body;
    expect(components.securitySchemes.cookie.name).toBe("__Host-session_auth");
  });

  test("refuses a cross-site write with a cookie", async () => {
    const someone = await user(platform, "auth", "admin");
    const cookie = (await cookieOf(AUTH, someone.authenticator)).split(";")[0] ?? "";
    const write = (headers: Record<string, string>) =>
      call(platform, "PUT", `${AUTH}/me`, { headers, body: { name: "Ann" } });
    for (const headers of [
      {},
      { origin: "https://evil.example" },
      { origin: "null" },
      { origin: `${platform.origin}.evil.example` },
      { origin: platform.origin.replace("http:", "https:") },
    ] as Record<string, string>[]) {
      const { status, body } = await write({ cookie, ...headers });
      expect({ status, code: body.code }).toEqual({ status: 403, code: "origin_not_allowed" });
    }
    expect((await write({ cookie, origin: platform.origin })).status).toBe(200);
    expect((await write({ cookie, origin: "https://app.example" })).status).toBe(200);
    // Browsers do not add a bearer token by themselves, so any origin may send one.
    const bearer = { authorization: `Bearer ${someone.token}`, origin: "https://evil.example" };
    expect((await write(bearer)).status).toBe(200);
  });

  test("refuses a cookie POST with Origin * when ALLOWED_ORIGINS is *", async () => {
    await using open = await startPlatform({ env: { ALLOWED_ORIGINS: "*" } });
    const someone = await user(open, "auth", "admin");
    const headers = { cookie: `session_auth=${someone.token}`, origin: "*" };
    const read = await call(open, "GET", `${AUTH}/me`, { headers });
    expect(read.status).toBe(200);
    expect(read.headers.get("access-control-allow-origin")).toBe("*");
    expect(read.headers.get("access-control-allow-credentials")).toBeNull();
    const { status, body } = await call(open, "POST", `${AUTH}/invitations`, { headers });
    expect({ status, code: body.code }).toEqual({ status: 403, code: "origin_not_allowed" });
    const own = await call(open, "POST", `${AUTH}/invitations`, {
      headers: { ...headers, origin: open.origin },
    });
    expect(own.status).toBe(201);
  });

  test("refuses a cross-site sign-in, so that an attacker cannot replace the user's session", async () => {
    const attacker = await user(platform);
    const { sessionId, publicKey } = await begin(platform, AUTH);
    const response = attacker.authenticator.get(publicKey);
    const { status, headers } = await complete(platform, AUTH, sessionId, response, {
      origin: "https://evil.example",
    });
    expect(status).toBe(403);
    expect(headers.get("set-cookie")).toBeNull();
  });

  test.each([PLATFORM, AUTH])("refuses a cross-site sign-out at %s", async (base) => {
    // A cross-site form sends no cookie, and its content type needs no preflight request.
    const post = (origin: string) =>
      call(platform, "POST", `${base}/signout`, { headers: { origin, "content-type": "text/plain" } });
    const { status, body, headers } = await post("https://evil.example");
    expect({ status, code: body.code }).toEqual({ status: 403, code: "origin_not_allowed" });
    expect(headers.get("set-cookie")).toBeNull();
    for (const origin of [platform.origin, "https://app.example"]) {
      const own = await post(origin);
      expect(own.status).toBe(204);
      expect(own.headers.get("set-cookie")).toContain("Max-Age=0");
    }
  });

  test("sends Vary: Origin once on cacheable responses, with and without an Origin header", async () => {
    for (const path of [`${PLATFORM}/jwks`, "/api/openapi", "/api/nowhere/at/all"]) {
      for (const headers of [{}, { origin: "https://app.example" }]) {
        const { headers: told } = await call(platform, "GET", path, { headers });
        expect([
          path,
          told
            .get("vary")
            ?.split(", ")
            .filter((name) => name === "Origin"),
        ]).toEqual([path, ["Origin"]]);
      }
    }
  });
});

describe("rate limits", () => {
  /** Counts attempts of the client that has made one, until so many are left. */
  async function leave(left: number, rule: LimitRule): Promise<void> {
    const store = platform.operatorStore();
    const { subjects: counted } = await store.subjects(streams.limits, `_limit.${rule}.*`);
    const [subject = ""] = counted;
    expect(counted).toEqual([subject]);
    const attempts = Array.from({ length: LIMIT_PER_WINDOW - left - 1 }, () => ({ subject, data: "" }));
    await store.pipeline(streams.limits, attempts);
  }

  test.each<[LimitRule, string, string]>([
    ["begin", "POST", `${AUTH}/passkey/begin`],
    ["invitation", "GET", `${AUTH}/invitations/nobody`],
    ["bootstrap", "GET", `${PLATFORM}/invitations`],
  ])("answers %s requests above the limit with 429 and Retry-After", async (rule, method, path) => {
    const ask = () => call(platform, method, path);
    const first = await ask();
    await leave(10, rule);
    const answers = await Promise.all(Array.from({ length: 20 }, ask));
    const statuses = answers.map(({ status }) => status);
    expect(statuses.toSorted()).toEqual([...Array(10).fill(first.status), ...Array(10).fill(429)]);
    const { status, headers, body } = await call(platform, method, path);
    expect({ status, code: body.code }).toEqual({ status: 429, code: "too_many_requests" });
    expect(headers.get("retry-after")).toBe("60");
  });

  test("refuses completions of a used challenge above the rate limit with 429", async () => {
    const { sessionId } = await begin(platform, AUTH);
    const nothing = { clientDataJSON: "AAAA", authenticatorData: "AAAA", signature: "AAAA" };
    const assertion = { id: "AAAA", rawId: "AAAA", type: "public-key", response: nothing };
    const again = () => complete(platform, AUTH, sessionId, assertion);
    const first = await again();
    await leave(10, "complete");
    const answers = await Promise.all(Array.from({ length: 30 }, again));
    expect(first.status).not.toBe(429);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(20);
  });
});

/** The sign-in of programs such as `orb login`: a person allows, the program exchanges a code for an API token. */
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { CANS } from "../../shared/access/credentials/rights.ts";
import { buckets, streams } from "../../shared/store/subjects.ts";
import { admin, adminToken, call, type SignedIn, signIn, user } from "../support/auth.ts";
import { startPlatform, type TestPlatform } from "../support/platform.ts";
import { createToken, inSeconds, programRequest, scope, VERIFIER } from "../support/tokens.ts";

const REDIRECT = "http://127.0.0.1:51234/callback";
const STATE = "0123456789abcdef";
const TRUSTED = "https://app.example";

let platform: TestPlatform;
let root: string;

beforeAll(async () => {
  platform = await startPlatform({ env: { ALLOWED_ORIGINS: TRUSTED } });
  root = await adminToken(platform);
  for (const [id, uses] of [
    ["shop", [{ service: "access", handlers: ["passkey", "invitations"] }]],
    ["blog", []],
  ] as const) {
    const body = { id, uses, modules: [] };
    expect((await as(root, "POST", "/api/admin/orbs?publish=true", body)).status).toBe(201);
  }
  return () => platform.stop();
});
// All tests share one client address. Clear the limits between them.
beforeEach(async () => {
  await platform.operatorStore().purge(streams.limits, "_limit.>");
});

const as = (token: string | undefined, method: string, path: string, body?: unknown, headers = {}) =>
  call(platform, method, path, {
    headers,
    ...(token === undefined ? {} : { token }),
    ...(body === undefined ? {} : { body }),
  });
const outcome = ({ status, body }: { status: number; body: { code?: string } }) => [status, body?.code];
const REFUSED = [401, "code_refused"];

const personOf = (base: string): Promise<SignedIn> =>
  base === "/api/_auth" ? admin(platform) : user(platform, base.slice("/api/".length));
const scopeOf = (base: string) => (base === "/api/shop" ? "shop:read" : "*:read");

async function allowed(base: string, by: string, more: object = {}): Promise<string> {
  const made = await as(by, "POST", `${base}/signin/program`, programRequest(scopeOf(base), more));
  expect([made.status, made.body]).toEqual([201, expect.anything()]);
  return made.body.code;
}

const exchange = (base: string, code: string, more: object = {}) =>
  as(undefined, "POST", `${base}/signin/program/token`, { code, verifier: VERIFIER, ...more });

const tokensOf = async (base: string, by: string) => (await as(by, "GET", `${base}/tokens`)).body as object[];

/** The newest audit records of a realm's tokens. */
async function audited(realm: string, most: number): Promise<object[]> {
  const { body } = await as(
    root,
    "GET",
    `/api/admin/audit?filter[realm]=${realm}&filter[action]=token&limit=${most}`,
  );
  return body.items;
}

describe("a program that a person allowed", () => {
  test.each(["/api/_auth", "/api/auth", "/api/shop"])(
    "gets an API token of that person at %s",
    async (base) => {
      const person = await personOf(base);
      const more = { redirect: REDIRECT, state: STATE };
      const made = await as(
        person.token,
        "POST",
        `${base}/signin/program`,
        programRequest(scopeOf(base), more),
      );
      expect(made.headers.get("cache-control")).toBe("no-store");
      const url = new URL(made.body.url);
      expect(`${url.origin}${url.pathname}`).toBe(REDIRECT);
      const { code } = made.body;
      expect(Object.fromEntries(url.searchParams)).toEqual({ code, state: STATE, iss: platform.origin });

      const answer = await exchange(base, code, { redirect: REDIRECT });
      expect([answer.status, answer.headers.get("cache-control")]).toEqual([201, "no-store"]);
      const { token, ...shown } = answer.body;
      expect(shown).toMatchObject({
        name: "orb on laptop",
        scopes: [scope(base === "/api/shop" ? "shop" : "*", "read")],
        createdBy: person.id,
      });
      const days = (Date.parse(shown.expiresAt) - Date.now()) / 86_400_000;
      expect(days).toBeGreaterThan(29.9);
      expect(days).toBeLessThanOrEqual(30);
      expect((await as(token, "GET", `${base}/me`)).body.id).toBe(person.id);

      const realm = base === "/api/_auth" ? "platform" : base.slice("/api/".length);
      expect(await audited(realm, 2)).toMatchObject([
        { detail: "created", actor: person.id, target: `${person.id}/${shown.id}`, outcome: "ok" },
        { detail: "program_allowed", actor: person.id, target: person.id, outcome: "ok" },
      ]);
      const logs = platform.logs.join("\n");
      for (const secret of [code, VERIFIER, token]) expect(logs).not.toContain(secret);
    },
  );

  test("can look at its token and end it, whatever its scopes are", async () => {
    const person = await user(platform);
    const { body } = await exchange("/api/auth", await allowed("/api/auth", person.token));
    const { token, id } = body;
    expect(outcome(await as(token, "GET", "/api/auth/tokens"))).toEqual([403, "missing_scope"]);
    const current = await as(token, "GET", "/api/auth/tokens/current");
    expect([current.status, current.body]).toMatchObject([200, { id, name: "orb on laptop" }]);
    expect(JSON.stringify(current.body)).not.toContain(token.slice(-49));
    // The token is of another realm.
    expect(outcome(await as(token, "DELETE", "/api/_auth/tokens/current"))).toEqual([403, "other_realm"]);
    expect((await as(token, "DELETE", "/api/auth/tokens/current")).status).toBe(204);
    expect(outcome(await as(token, "GET", "/api/auth/me"))).toEqual([401, "invalid_token"]);
    expect(await audited("auth", 1)).toMatchObject([{ detail: "revoked", target: `${person.id}/${id}` }]);
    for (const method of ["GET", "DELETE"])
      expect(outcome(await as(person.token, method, "/api/auth/tokens/current"))).toEqual([
        404,
        "api_token_not_found",
      ]);
  });
});

describe("a code", () => {
  test("works once, even for exchanges at the same time", async () => {
    const person = await user(platform);
    const code = await allowed("/api/auth", person.token);
    const answers = await Promise.all([1, 2, 3, 4].map(() => exchange("/api/auth", code)));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 401, 401, 401]);
    expect(outcome(await exchange("/api/auth", code))).toEqual(REFUSED);
    expect(await tokensOf("/api/auth", person.token)).toHaveLength(1);
  });

  test("is refused with one text for every reason, and creates nothing", async () => {
    const person = await user(platform);
    const code = await allowed("/api/auth", person.token, { redirect: REDIRECT, state: STATE });
    const details = new Set<string>();
    for (const [base, given, more] of [
      ["/api/auth", "unknown", { redirect: REDIRECT }],
      ["/api/auth", code, { redirect: REDIRECT, verifier: VERIFIER.replace("a", "b") }],
      ["/api/auth", code, { redirect: REDIRECT.replace("51234", "51235") }],
      ["/api/auth", code, { redirect: REDIRECT.replace("127.0.0.1", "[::1]") }],
      ["/api/auth", code, {}],
      ["/api/_auth", code, { redirect: REDIRECT }],
      ["/api/shop", code, { redirect: REDIRECT }],
    ] as const) {
      const answer = await exchange(base, given, more);
      expect(outcome(answer)).toEqual(REFUSED);
      details.add(answer.body.detail);
    }
    expect(details.size).toBe(1);
    expect(await tokensOf("/api/auth", person.token)).toEqual([]);
    expect(await audited("auth", 1)).toMatchObject([
      { outcome: "refused", detail: "code_refused", actor: person.id },
    ]);
    // The refused attempts did not use the code up.
    expect((await exchange("/api/auth", code, { redirect: REDIRECT })).status).toBe(201);
  });

  test("ends with the session in which the person allowed the program", async () => {
    const person = await user(platform);
    const again = await signIn(platform, "/api/auth", person.authenticator);
    const code = await allowed("/api/auth", again.token);
    expect((await as(again.token, "POST", "/api/auth/signout")).status).toBe(204);
    expect(outcome(await exchange("/api/auth", code))).toEqual(REFUSED);
    expect(await tokensOf("/api/auth", person.token)).toEqual([]);
  });

  test("does not work for an account that was disabled meanwhile", async () => {
    const person = await user(platform, "shop");
    const code = await allowed("/api/shop", person.token);
    const path = `/api/shop/users/${person.id}`;
    expect((await as(root, "PUT", path, { status: "disabled" })).status).toBe(200);
    expect((await exchange("/api/shop", code)).status).toBe(401);
  });

  test("is stored as a hash, and for a minute at most", async () => {
    const person = await user(platform);
    const code = await allowed("/api/auth", person.token);
    const kept = await platform.operatorStore().kvList(buckets.challenges, ">", { maxBytes: 1_000_000 });
    const text = kept.map((entry) => entry.key + entry.text()).join("\n");
    expect(text).toContain(person.id);
    expect(text).not.toContain(code);
  });

  test("cannot be exchanged by a page of another site", async () => {
    const code = await allowed("/api/auth", (await user(platform)).token);
    const body = { code, verifier: VERIFIER };
    const origin = "https://evil.example";
    expect(outcome(await as(undefined, "POST", "/api/auth/signin/program/token", body, { origin }))).toEqual([
      403,
      "origin_not_allowed",
    ]);
  });
});

describe("allowing a program", () => {
  test("needs a session of the realm, and no API token", async () => {
    const body = programRequest("*:read");
    const path = "/api/_auth/signin/program";
    expect(outcome(await as(undefined, "POST", path, body))).toEqual([401, "authentication_required"]);
    const { token } = await createToken(platform, "/api/_auth", root, [scope("*", ...CANS)]);
    expect(outcome(await as(token, "POST", path, body))).toEqual([403, "session_required"]);
    for (const base of ["/api/auth", "/api/shop"])
      expect(outcome(await as(root, "POST", `${base}/signin/program`, body))).toEqual([403, "other_realm"]);
  });

  test("needs a click on the platform's own page", async () => {
    const cookie = `session_platform=${root}`;
    const send = (headers: Record<string, string>) =>
      as(undefined, "POST", "/api/_auth/signin/program", programRequest("*:read"), { cookie, ...headers });
    expect((await send({ origin: platform.origin })).status).toBe(201);
    for (const headers of [
      {},
      { origin: "null" },
      { origin: "https://evil.example" },
      { origin: "http://127.0.0.1:51234" },
      // Pages of this origin may use the cookie for other requests.
      { origin: TRUSTED },
    ])
      expect(outcome(await send(headers as Record<string, string>))).toEqual([403, "origin_not_allowed"]);
  });

  test.each([
    "https://127.0.0.1:51234/callback",
    "http://localhost:51234/callback",
    "http://127.0.0.1/callback",
    "http://127.0.0.1:0/callback",
    "http://127.0.0.1:65536/callback",
    "http://127.0.0.1:51234/",
    "http://127.0.0.1:51234/callback/",
    "http://127.0.0.1:51234/callback?next=x",
    "http://127.0.0.1:51234/callback#x",
    "http://127.0.0.1:51234@evil.example/callback",
    "http://user@127.0.0.1:51234/callback",
    "http://127.0.0.1.evil.example:51234/callback",
    "http://127.0.0.2:51234/callback",
    "http://0.0.0.0:51234/callback",
    "http://[::1]:51234/callback\n",
    "http://[::ffff:127.0.0.1]:51234/callback",
    "javascript:alert(1)//:1/callback",
    "",
  ])("refuses the redirect %j, on the page too", async (redirect) => {
    const body = programRequest("*:read", { redirect, state: STATE });
    expect(await as(root, "POST", "/api/_auth/signin/program", body)).toMatchObject({
      status: 422,
      body: { errors: [{ path: "/redirect" }] },
    });
    const page = await pageOf("/api/_auth", { ...body, days: "30" }, root);
    expect(page.body).toContain("This address is not complete");
    expect(page.body).not.toContain("<script");
  });

  test.each([
    ["program", "orb. Click Allow to update"],
    ["program", "<b>"],
    ["host", "a\u202Eb"],
    ["scope", "*:everything"],
    ["scope", "*:read  shop:read"],
    ["scope", ""],
    ["days", 366],
    ["days", 0],
    ["days", 1.5],
    ["challenge", "short"],
    ["challenge", `${"a".repeat(42)}+`],
    ["state", "short"],
    ["state", undefined],
    ["method", "plain"],
  ])("refuses %s: %j", async (name, value) => {
    const body = programRequest("*:read", { redirect: REDIRECT, state: STATE, [name]: value });
    expect(outcome(await as(root, "POST", "/api/_auth/signin/program", body))).toEqual([
      422,
      "validation_failed",
    ]);
  });

  test("refuses scopes that the account's own tokens cannot have", async () => {
    const person = await user(platform, "shop", "owner");
    for (const wanted of ["*:read", "blog:read"]) {
      const made = await as(person.token, "POST", "/api/shop/signin/program", programRequest(wanted));
      expect(made).toMatchObject({ status: 422, body: { errors: [{ path: "/scopes/0/orb" }] } });
      const page = await pageOf("/api/shop", { ...programRequest(wanted), days: "30" }, person.token);
      expect(page.body).toContain("The program asks for too much");
    }
  });

  test("counts towards the limit of tokens", async () => {
    const person = await user(platform);
    const code = await allowed("/api/auth", person.token);
    const expiresAt = inSeconds(3_600);
    for (let i = 0; i < 50; i++)
      await createToken(platform, "/api/auth", person.token, [scope("*", "read")], { expiresAt });
    expect(outcome(await exchange("/api/auth", code))).toEqual([409, "too_many_tokens"]);
  });
});

const pageOf = (base: string, parameters: object, session?: string) =>
  as(
    undefined,
    "GET",
    `${base}/signin/program?${new URLSearchParams(parameters as Record<string, string>)}`,
    undefined,
    session === undefined ? {} : { cookie: `session_${realmOf(base)}=${session}` },
  );
const realmOf = (base: string) => (base === "/api/_auth" ? "platform" : base.slice("/api/".length));

describe("the page", () => {
  test("sends people who are not signed in to the sign-in page, which leads back", async () => {
    const parameters = { ...programRequest("*:read"), days: "30" };
    const page = await pageOf("/api/auth", parameters);
    const location = new URL(page.headers.get("location") ?? "", platform.origin);
    expect([page.status, location.pathname]).toEqual([302, "/api/auth/signin"]);
    const back = location.searchParams.get("return") ?? "";
    expect(back).toMatch(/^\/api\/auth\/signin\/program\?program=orb&/);
    expect(Object.fromEntries(new URL(back, platform.origin).searchParams)).toEqual(parameters);
    // A platform admin has no account in this realm.
    expect((await pageOf("/api/auth", parameters, root)).status).toBe(302);
  });

  test("names the program, the computer, the account and its rights, and cannot be framed", async () => {
    const person = await user(platform, "shop");
    const parameters = { ...programRequest("shop:read,publish"), days: "30" };
    const { status, body, headers } = await pageOf("/api/shop", parameters, person.token);
    expect(status).toBe(200);
    for (const text of [
      '<strong dir="auto">orb</strong> on the computer <strong dir="auto">laptop</strong>',
      `user-${person.id.slice(0, 8)}</strong>`,
      "In the application shop, it may",
      ">Read<",
      ">Publish<",
    ])
      expect(body).toContain(text);
    for (const text of [">Write<", ">Manage<"]) expect(body).not.toContain(text);
    expect(headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
    expect(headers.get("x-frame-options")).toBe("DENY");
    expect(headers.get("referrer-policy")).toBe("no-referrer");
    expect(headers.get("cache-control")).toBe("no-store");
  });

  test("of an orb without accounts of its own is that of the shared realm", async () => {
    const page = await pageOf("/api/blog", { program: "orb" });
    expect([page.status, page.headers.get("location")]).toEqual([
      302,
      "/api/auth/signin/program?program=orb",
    ]);
    expect((await as(root, "POST", "/api/blog/signin/program", {})).status).toBe(405);
  });

  test("says how the sign-in of a program ended", async () => {
    expect((await pageOf("/api/auth", { result: "done" })).body).toContain("You are signed in");
    expect((await pageOf("/api/auth", { result: "failed" })).body).toContain("The program is not signed in");
    expect((await pageOf("/api/auth", { result: "constructor" })).body).toContain(
      "This address is not complete",
    );
  });
});

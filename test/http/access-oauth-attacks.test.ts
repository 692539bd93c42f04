import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { streams } from "../../shared/store/subjects.ts";
import { adminToken, call } from "../support/auth.ts";
import {
  beginAt,
  type Issuer,
  type Misbehaviour,
  providerOf,
  returnFrom,
  startIssuer,
} from "../support/issuer.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";

let platform: TestPlatform;
let issuer: Issuer;
let other: Issuer;
const base = "/api/oa-attacked";
let number = 0;

async function newOrb(id: string, providers: object[], origin = platform): Promise<void> {
  const { status, body } = await call(origin, "POST", "/api/admin/orbs?publish=true", {
    token: await adminToken(platform),
    body: {
      id,
      access: { signup: "open", providers },
      uses: [{ service: "access", handlers: ["oauth"] }],
    },
  });
  expect(body.errors).toBeUndefined();
  expect(status).toBe(201);
}

beforeAll(async () => {
  [platform, issuer, other] = await Promise.all([sharedPlatform(), startIssuer(), startIssuer()]);
  await newOrb("oa-attacked", [providerOf(issuer), providerOf(other, "other")]);
});
afterAll(async () => {
  await issuer?.[Symbol.asyncDispose]();
  await other?.[Symbol.asyncDispose]();
});
beforeEach(async () => {
  issuer.behave = {};
  await platform.operatorStore().purge(streams.limits, "_limit.>");
});

const NOT_BEGUN = { status: 404, body: { code: "session_not_found" } };
const REFUSED = { status: 401, body: { code: "identity_refused" } };
const UNAVAILABLE = { status: 502, body: { code: "provider_unavailable" } };

async function users(id = "oa-attacked"): Promise<number> {
  const token = await adminToken(platform);
  return (await call(platform, "GET", `/api/${id}/users`, { token })).body.items.length;
}

describe("the browser's return", () => {
  test("is refused without the cookie of the browser that began (login CSRF)", async () => {
    const [mine, victims] = [await beginAt(platform, base), await beginAt(platform, base)];
    expect(await returnFrom(platform, issuer, mine, { cookie: "" })).toMatchObject(NOT_BEGUN);
    expect(await returnFrom(platform, issuer, mine, { cookie: victims.cookie })).toMatchObject(NOT_BEGUN);
    const twice = `${mine.cookie}; ${mine.cookie}`;
    expect(await returnFrom(platform, issuer, mine, { cookie: twice })).toMatchObject(NOT_BEGUN);
    expect(issuer.exchanged).toEqual([]);
    expect(await users()).toBe(0);
  });

  test("keeps its cookie from scripts and other sites", async () => {
    const { headers } = await call(platform, "GET", `${base}/oauth/main`);
    const [cookie] = headers.getSetCookie();
    expect(cookie).toMatch(
      /^oauth_oa-attacked\.main=[^;]+; Max-Age=600; Path=\/api; HttpOnly; SameSite=Lax$/,
    );
    expect(headers.get("cache-control")).toBe("no-store");
  });

  test("works once (replay of state), and so does a code", async () => {
    const begun = await beginAt(platform, base);
    const code = "a-code-to-replay";
    expect((await returnFrom(platform, issuer, begun, { parameters: { code } })).status).toBe(302);
    expect(await returnFrom(platform, issuer, begun)).toMatchObject({
      status: 410,
      body: { code: "session_used" },
    });
    const next = await beginAt(platform, base);
    expect(await returnFrom(platform, issuer, next, { parameters: { code } })).toMatchObject(REFUSED);
  });

  test("must come from the provider at which the sign-in began (mix-up)", async () => {
    const mixed = async (iss: string) =>
      returnFrom(platform, issuer, await beginAt(platform, base), { parameters: { iss } });
    const before = issuer.exchanged.length;
    expect(await mixed(other.issuer)).toMatchObject(REFUSED);
    expect(await mixed("")).toMatchObject(REFUSED);
    const begun = await beginAt(platform, base);
    expect(await returnFrom(platform, other, { ...begun, provider: "other" })).toMatchObject(NOT_BEGUN);
    const renamed = begun.cookie.replace("oa-attacked", "oa-other");
    expect(await returnFrom(platform, issuer, begun, { cookie: renamed })).toMatchObject(NOT_BEGUN);
    // No code has left the platform.
    expect([issuer.exchanged.length, other.exchanged.length]).toEqual([before, 0]);
  });

  test("names each parameter once, and gives no other answer", async () => {
    const before = issuer.exchanged.length;
    const iss = encodeURIComponent(issuer.issuer);
    for (const more of ["code=other", `iss=${iss}`, "id_token=a.b.c", "response=a.b.c"]) {
      const { sent, cookie } = await beginAt(platform, base);
      const path = `${base}/oauth/main/callback?code=one&state=${sent.get("state")}&iss=${iss}&${more}`;
      const { status } = await call(platform, "GET", path, { headers: { cookie } });
      expect([400, 401], more).toContain(status);
    }
    expect(issuer.exchanged.length).toBe(before);
  });

  test("tells people and programs why the provider did not sign them in", async () => {
    const parameters = { error: "access_denied", error_description: "<script>alert(1)</script>" };
    const program = await returnFrom(platform, issuer, await beginAt(platform, base), { parameters });
    expect(program).toMatchObject({ status: 401, body: { code: "provider_denied" } });
    const accept = "text/html";
    const person = await returnFrom(platform, issuer, await beginAt(platform, base), { parameters, accept });
    expect(person.status).toBe(401);
    expect(person.headers.get("content-type")).toContain("text/html");
    expect(person.body).toContain("You are not signed in");
    expect(person.body).not.toContain("alert(1)");
  });

  test.each([
    "https://evil.example/",
    "//evil.example/",
    "/\\evil.example/",
    "/.//evil.example/",
    "https://user@evil.example/",
    "javascript:alert(1)",
    "http:/evil.example",
  ])("never leads to %s (open redirect)", async (address) => {
    const begun = await beginAt(platform, base, `?return=${encodeURIComponent(address)}`);
    const { headers } = await returnFrom(platform, issuer, begun);
    expect(headers.get("location")).toBe(`${platform.origin}/console/account/${base.slice("/api/".length)}`);
  });
});

describe("an ID token", () => {
  const past = Math.floor(Date.now() / 1000) - 3_600;
  test.each<[string, Misbehaviour]>([
    ["of another issuer", { claims: { iss: "https://accounts.example" } }],
    ["for another client", { claims: { aud: "another-client" } }],
    ["for several clients", { claims: { aud: ["the-client", "another-client"], azp: "another-client" } }],
    ["with another nonce", { claims: { nonce: "of another sign-in" } }],
    ["without a nonce", { claims: { nonce: undefined } }],
    ["that has expired", { claims: { iat: past, exp: past + 300 } }],
    ["without a subject", { claims: { sub: undefined } }],
    ["with a subject that is too long", { claims: { sub: "x".repeat(256) } }],
    ["without a signature", { signature: "none" }],
    ["with the signature of another key", { signature: "other" }],
    ["signed with the public key as a secret", { signature: "public" }],
    ["of a key that is not published", { header: { kid: "2" } }],
    ["with a header that must be understood", { header: { crit: ["x"], x: 1 } }],
    ["for several clients, without a party", { claims: { aud: ["the-client", "another-client"] } }],
    ["for no client", { claims: { aud: [] } }],
    ["that is not valid yet", { claims: { nbf: past + 7_200 } }],
    ["with a time of expiry that is a text", { claims: { exp: String(past + 7_200) } }],
    ["with an empty subject", { claims: { sub: "" } }],
    ["with a blank subject", { claims: { sub: " " } }],
    ["with a subject that is a list", { claims: { sub: ["ann"] } }],
    ["that is encrypted", { token: { id_token: "e30.e30.e30.e30.e30" } }],
    ["that is missing", { token: { id_token: undefined } }],
  ])("%s is refused", async (_, behave) => {
    const before = await users();
    const begun = await beginAt(platform, base);
    issuer.behave = behave;
    expect(await returnFrom(platform, issuer, begun)).toMatchObject(REFUSED);
    expect(await users()).toBe(before);
  });
});

describe("a provider", () => {
  const FAILING = ["hangs", "huge", "redirects", "fails", "drips", "unpacks", "challenges"] as const;
  test.each(FAILING)("whose token endpoint %s is unavailable", async (token) => {
    const begun = await beginAt(platform, base);
    issuer.behave = { token };
    expect(await returnFrom(platform, issuer, begun)).toMatchObject(UNAVAILABLE);
  });

  test.each<NonNullable<Misbehaviour["jwks"]>>([
    ...FAILING,
    () => null,
    () => ({ keys: {} }),
    () => ({ keys: [null] }),
    () => ({ keys: [] }),
    (key) => ({ keys: [key, key] }),
    (key) => ({ keys: Array.from({ length: 400 }, () => key) }),
    (key) => ({ keys: [{ ...key, n: "AQAB" }] }),
    (key) => ({ keys: [{ ...key, n: "_".repeat(200_000) }] }),
    (key) => ({ keys: [{ ...key, e: "_".repeat(300) }] }),
    (key) => ({ keys: [{ ...key, use: "enc" }] }),
    (key) => ({ keys: [{ ...key, kty: "oct", k: "c2VjcmV0" }] }),
  ])("signs nobody in with the keys %s", async (jwks) => {
    await using strange = await startIssuer();
    const id = `oa-keys-${++number}`;
    await newOrb(id, [providerOf(strange)]);
    const begun = await beginAt(platform, `/api/${id}`);
    strange.behave = { jwks };
    const { status, body } = await returnFrom(platform, strange, begun);
    expect([401, 502]).toContain(status);
    expect(body.code).toMatch(/^(identity_refused|provider_unavailable)$/);
    expect(await users(id)).toBe(0);
  });

  test.each<NonNullable<Misbehaviour["discovery"]>>([
    ...FAILING,
    { issuer: "https://accounts.example" },
    { token_endpoint: "http://internal.example/token" },
    { token_endpoint: "https://169.254.169.254/token" },
    { jwks_uri: undefined },
    { authorization_endpoint: "javascript:alert(1)" },
  ])("whose metadata is %j is unavailable", async (discovery) => {
    await using strange = await startIssuer();
    strange.behave = { discovery };
    const id = `oa-strange-${++number}`;
    await newOrb(id, [providerOf(strange)]);
    expect(await call(platform, "GET", `/api/${id}/oauth/main`)).toMatchObject(UNAVAILABLE);
  });

  test("is unknown", async () => {
    expect(await call(platform, "GET", `${base}/oauth/unknown`)).toMatchObject({
      status: 404,
      body: { code: "provider_not_found" },
    });
  });
});

test("logs neither secrets nor codes nor tokens", async () => {
  issuer.behave = { token: "fails" };
  await returnFrom(platform, issuer, await beginAt(platform, base));
  const logged = platform.logs.join("\n");
  expect(logged).toContain("provider_unavailable");
  for (const secret of [issuer.clientSecret, "a-code-to-replay", "a-token-of-ann", "sealed:", "code-1"]) {
    expect(logged).not.toContain(secret);
  }
});

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

  test("keeps its cookie from scripts, other sites and other paths", async () => {
    const { headers } = await call(platform, "GET", `${base}/oauth/main`);
    const [cookie] = headers.getSetCookie();
    expect(cookie).toMatch(
      /^oauth_oa-attacked=[^;]+; Max-Age=600; Path=\/api\/oa-attacked\/oauth\/main\/callback; HttpOnly; SameSite=Lax$/,
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
    expect(headers.get("location")).toBe(`${platform.origin}${base}/signin`);
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
  ])("%s is refused", async (_, behave) => {
    const before = await users();
    const begun = await beginAt(platform, base);
    issuer.behave = behave;
    expect(await returnFrom(platform, issuer, begun)).toMatchObject(REFUSED);
    expect(await users()).toBe(before);
  });
});

describe("a provider", () => {
  test.each<NonNullable<Misbehaviour["token"]>>(["hangs", "huge", "redirects", "fails"])(
    "whose token endpoint %s is unavailable",
    async (token) => {
      const begun = await beginAt(platform, base);
      issuer.behave = { token };
      expect(await returnFrom(platform, issuer, begun)).toMatchObject(UNAVAILABLE);
    },
  );

  test.each<NonNullable<Misbehaviour["discovery"]>>([
    "hangs",
    "huge",
    "redirects",
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

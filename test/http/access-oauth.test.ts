import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { identityId } from "../../shared/access/oauth/identities.ts";
import { MASK } from "../../shared/definition/document/text.ts";
import { buckets, kvSubject, streams } from "../../shared/store/subjects.ts";
import { adminToken, call, signIn, subjectOf, user } from "../support/auth.ts";
import {
  beginAt,
  cookiesOf,
  type Issuer,
  providerOf,
  returnFrom,
  signInAt,
  startIssuer,
} from "../support/issuer.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";

let platform: TestPlatform;
let token: string;
let issuer: Issuer;
beforeAll(async () => {
  [platform, issuer] = await Promise.all([sharedPlatform(), startIssuer()]);
  token = await adminToken(platform);
});
afterAll(() => issuer?.[Symbol.asyncDispose]());
// All tests share one client address. Clear the limits between them.
beforeEach(async () => {
  const store = platform.operatorStore();
  await Promise.all([
    store.purge(streams.limits, "_limit.>"),
    store.purge(streams.quotas, "_quota.>"),
    store.purge(streams.longQuotas, "_quota.>"),
  ]);
});

const as = (method: string, path: string, body?: unknown, by = token) =>
  call(platform, method, path, { token: by, ...(body === undefined ? {} : { body }) });

const document = (id: string, more: object = {}, handlers = ["passkey", "invitations", "oauth"]) => ({
  id,
  access: { signup: "open", providers: [providerOf(issuer)], ...more },
  uses: [{ service: "access", handlers }],
  modules: [{ id: "news", type: "CONTENT", schemas: [{ id: "article", fields: [] }] }],
});

async function orb(id: string, more: object = {}): Promise<string> {
  const made = await as("POST", "/api/admin/orbs?publish=true", document(id, more));
  expect(made.status).toBe(201);
  return `/api/${id}`;
}

/** The session of an answer, as a bearer token. */
const tokenOf = ({ headers }: { headers: Headers }) =>
  /session_[^=]*=([^;]+)/.exec(headers.getSetCookie().join("; "))?.[1] ?? "";

const identities = async (base: string, by: string) =>
  (await as("GET", `${base}/identities`, undefined, by)).body;

test("a browser keeps three unfinished sign-ins, and drops the oldest ones", async () => {
  const bases = await Promise.all(["oa-a", "oa-b", "oa-c", "oa-d", "oa-e"].map((id) => orb(id)));
  const jar = new Map<string, string>();
  const first: Awaited<ReturnType<typeof beginAt>>[] = [];
  for (const base of [...bases, ...bases]) {
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join("; ");
    const { status, headers } = await call(platform, "GET", `${base}/oauth/main`, {
      headers: cookie === "" ? {} : { cookie },
    });
    expect(status).toBe(302);
    for (const set of headers.getSetCookie()) {
      const [pair = "", ...attributes] = set.split(";");
      const at = pair.indexOf("=");
      if (attributes.some((one) => one.trim() === "Max-Age=0")) jar.delete(pair.slice(0, at));
      else jar.set(pair.slice(0, at), pair.slice(at + 1));
    }
    expect(jar.size).toBeLessThanOrEqual(3);
    const sent = new URL(headers.get("location") ?? "").searchParams;
    first.push({ base, provider: "main", cookie: "", sent });
  }
  // The newest sign-ins can be completed, the older ones cannot.
  const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join("; ");
  const statuses: number[] = [];
  for (const begun of first.slice(-4))
    statuses.push((await returnFrom(platform, issuer, begun, { cookie })).status);
  expect(statuses).toEqual([404, 302, 302, 302]);
});

describe("a first sign-in", () => {
  test("registers a user where sign-up is open, and finds the account again", async () => {
    const base = await orb("oa-open");
    const begun = await beginAt(platform, base, "?return=/api/oa-open/me");
    expect(Object.fromEntries(begun.sent)).toMatchObject({
      client_id: issuer.clientId,
      redirect_uri: `${platform.origin}${base}/oauth/main/callback`,
      response_type: "code",
      scope: "openid profile email",
      code_challenge_method: "S256",
    });
    issuer.behave = { claims: { name: "Ann", email: "ann@example.com", email_verified: true } };
    const first = await returnFrom(platform, issuer, begun);
    expect(first.status).toBe(302);
    expect(first.headers.get("location")).toBe(`${platform.origin}/api/oa-open/me`);
    const sent = issuer.exchanged.at(-1);
    expect(sent?.body.get("grant_type")).toBe("authorization_code");
    const basic = Buffer.from(sent?.authorization?.slice("Basic ".length) ?? "", "base64").toString();
    expect(decodeURIComponent(basic.replaceAll("+", "%20"))).toBe(
      `${issuer.clientId}:${issuer.clientSecret}`,
    );
    const me = await as("GET", `${base}/me`, undefined, tokenOf(first));
    expect(me.body).toMatchObject({ name: "Ann", email: "ann@example.com", role: "user", passkeys: 0 });

    const again = await signInAt(platform, issuer, base);
    expect(again.headers.get("location")).toBe(`${platform.origin}/console/account/oa-open`);
    expect(subjectOf(tokenOf(again))).toBe(me.body.id);
    expect(await identities(base, tokenOf(again))).toMatchObject([
      { provider: "main", issuer: issuer.issuer, label: "ann@example.com" },
    ]);
  });

  test("needs an invitation where sign-up is closed, and uses it once", async () => {
    const base = await orb("oa-invited", { signup: "invitation" });
    expect(await signInAt(platform, issuer, base)).toMatchObject({
      status: 403,
      body: { code: "signup_closed" },
    });
    const { body: invitation } = await as("POST", `${base}/invitations`, { role: "admin" });
    const first = await signInAt(platform, issuer, base, `?invite=${invitation.token}`);
    expect(first.status).toBe(302);
    expect((await as("GET", `${base}/me`, undefined, tokenOf(first))).body.role).toBe("admin");
    const second = await signInAt(platform, issuer, base, `?invite=${invitation.token}`, { sub: "bob" });
    expect(second).toMatchObject({ status: 410, body: { code: "invitation_used" } });
    // The account needs no invitation to sign in again.
    expect((await signInAt(platform, issuer, base)).status).toBe(302);
  });

  test("creates one account if two browsers register at the same moment", async () => {
    const base = await orb("oa-twice");
    const begun = await Promise.all([beginAt(platform, base), beginAt(platform, base)]);
    issuer.behave = {};
    const done = await Promise.all(begun.map((one) => returnFrom(platform, issuer, one)));
    for (const { status, body } of done) {
      if (status !== 302) expect(["identity_known", "identity_in_use"]).toContain(body.code);
    }
    expect(done.some(({ status }) => status === 302)).toBe(true);
    const { body } = await as("GET", `${base}/users`);
    expect(body.items.length).toBe(1);
    expect(subjectOf(tokenOf(await signInAt(platform, issuer, base)))).toBe(body.items[0].id);
  });

  test("follows a registration that was interrupted, but not one that still runs", async () => {
    const base = await orb("oa-cut");
    const id = await identityId(issuer.issuer, "ann");
    const leave = (createdAt: string) =>
      platform.operatorStore().kvPut(
        buckets.orbCredentials,
        `oa-cut.identity.${id}`,
        JSON.stringify({
          v: 1,
          id,
          account: "f".repeat(32),
          issuer: issuer.issuer,
          subject: "ann",
          createdAt,
        }),
      );
    await leave(new Date().toISOString());
    expect(await signInAt(platform, issuer, base)).toMatchObject({
      status: 409,
      body: { code: "identity_in_use" },
    });
    await leave("2026-01-01T00:00:00.000Z");
    expect((await signInAt(platform, issuer, base)).status).toBe(302);
    expect((await as("GET", `${base}/users`)).body.items.length).toBe(1);
  });

  test("never uses an account because of its email", async () => {
    const base = await orb("oa-email");
    const victim = await user(platform, "oa-email", "owner");
    await as("PUT", `${base}/me`, { email: "victim@example.com" }, victim.token);
    const claims = { sub: "attacker", email: "victim@example.com" };
    const attacker = await signInAt(platform, issuer, base, "", claims);
    expect(subjectOf(tokenOf(attacker))).not.toBe(victim.id);
    const { body } = await as("GET", `${base}/me`, undefined, tokenOf(attacker));
    // The provider has not verified the email, so the account does not get it either.
    expect(body).toMatchObject({ role: "user" });
    expect(body.email).toBeUndefined();
  });
});

describe("linked identities", () => {
  async function begunLink(base: string, by: string, headers: Record<string, string> = {}) {
    const begun = await call(platform, "POST", `${base}/oauth/main/link`, { token: by, headers });
    expect(begun.status).toBe(200);
    const sent = new URL(begun.body.url).searchParams;
    const session = `session_${base.split("/").at(-1)}=${by}`;
    return { base, provider: "main", cookie: `${cookiesOf(begun.headers)}; ${session}`, sent };
  }

  test("sign in to the account, and end with their sessions", async () => {
    const base = await orb("oa-link");
    const member = await user(platform, "oa-link");
    issuer.behave = { claims: { sub: "link-1" } };
    const linked = await returnFrom(platform, issuer, await begunLink(base, member.token));
    expect(linked.status).toBe(302);
    expect(tokenOf(linked)).toBe("");
    const signedIn = await signInAt(platform, issuer, base, "", { sub: "link-1" });
    expect(subjectOf(tokenOf(signedIn))).toBe(member.id);

    const [identity] = await identities(base, member.token);
    expect((await as("DELETE", `${base}/identities/${identity.id}`, undefined, member.token)).status).toBe(
      204,
    );
    expect((await as("GET", `${base}/me`, undefined, tokenOf(signedIn))).status).toBe(401);
    expect((await as("GET", `${base}/me`, undefined, member.token)).status).toBe(200);
    expect(await identities(base, member.token)).toEqual([]);
    const gone = await as("DELETE", `${base}/identities/${identity.id}`, undefined, member.token);
    expect(gone).toMatchObject({ status: 404, body: { code: "identity_not_found" } });
    const { body } = await as("GET", "/api/admin/audit?filter[realm]=oa-link&filter[action]=identity");
    expect(body.items.map(({ detail }: { detail: string }) => detail).sort()).toEqual(["linked", "unlinked"]);
    // The identity is free again.
    const other = await signInAt(platform, issuer, base, "", { sub: "link-1" });
    expect(subjectOf(tokenOf(other))).not.toBe(member.id);
  });

  test("belong to one account, and the last way to sign in stays", async () => {
    const base = await orb("oa-last");
    const owner = await signInAt(platform, issuer, base, "", { sub: "last-1" });
    const member = await user(platform, "oa-last");
    issuer.behave = { claims: { sub: "last-1" } };
    const taken = await returnFrom(platform, issuer, await begunLink(base, member.token));
    expect(taken).toMatchObject({ status: 409, body: { code: "identity_known" } });
    const [identity] = await identities(base, tokenOf(owner));
    const path = `${base}/identities/${identity.id}`;
    expect(await as("DELETE", path, undefined, tokenOf(owner))).toMatchObject({
      status: 409,
      body: { code: "last_identity" },
    });
    expect((await as("DELETE", path, undefined, member.token)).status).toBe(404);
    // With an identity, the last passkey may go.
    issuer.behave = { claims: { sub: "last-2" } };
    expect((await returnFrom(platform, issuer, await begunLink(base, member.token))).status).toBe(302);
    const { body } = await as("GET", `${base}/passkeys`, undefined, member.token);
    expect((await as("DELETE", `${base}/passkeys/${body[0].id}`, undefined, member.token)).status).toBe(204);
  });

  test("need a session that still exists", async () => {
    const base = await orb("oa-session");
    const member = await user(platform, "oa-session");
    const begun = await begunLink(base, member.token);
    await as("POST", `${base}/signout`, undefined, member.token);
    issuer.behave = { claims: { sub: "session-1" } };
    const answer = await returnFrom(platform, issuer, begun);
    expect(answer).toMatchObject({ status: 403, body: { code: "other_session" } });
    const { token: again } = await signIn(platform, base, member.authenticator);
    expect(await identities(base, again)).toEqual([]);
    const foreign = await call(platform, "POST", `${base}/oauth/main/link`, {
      headers: { cookie: `session_oa-session=${again}`, origin: "https://evil.example" },
    });
    expect(foreign.status).toBe(403);
    expect((await call(platform, "POST", `${base}/oauth/main/link`)).status).toBe(401);
  });

  test("are linked only with the session that began", async () => {
    const base = await orb("oa-planted");
    const [attacker, victim] = [await user(platform, "oa-planted"), await user(platform, "oa-planted")];
    issuer.behave = { claims: { sub: "planted-1" } };
    const sessions = {
      none: "",
      "another account": `; session_oa-planted=${victim.token}`,
      "another session": `; session_oa-planted=${(await signIn(platform, base, attacker.authenticator)).token}`,
      "two sessions": `; session_oa-planted=${victim.token}; session_oa-planted=${attacker.token}`,
    };
    for (const [name, session] of Object.entries(sessions)) {
      const begun = await begunLink(base, attacker.token);
      const cookie = begun.cookie.split("; ")[0] + session;
      const answer = await returnFrom(platform, issuer, begun, { cookie });
      expect(answer, name).toMatchObject({ status: 403, body: { code: "other_session" } });
    }
    expect(await identities(base, attacker.token)).toEqual([]);
    expect(await identities(base, victim.token)).toEqual([]);
  });

  test("do not sign in to a disabled account, and go with a removed one", async () => {
    const base = await orb("oa-gone");
    const first = await signInAt(platform, issuer, base, "", { sub: "gone-1" });
    const id = subjectOf(tokenOf(first));
    await as("PUT", `${base}/users/${id}`, { status: "disabled" });
    expect(await signInAt(platform, issuer, base, "", { sub: "gone-1" })).toMatchObject({
      status: 403,
      body: { code: "account_disabled" },
    });
    const store = platform.operatorStore();
    const subject = kvSubject(buckets.orbCredentials, "oa-gone.identity.*");
    const stored = await store.get(streams.kv(buckets.orbCredentials), subject);
    expect(stored?.json<object>()).toMatchObject({ account: id, subject: "gone-1", issuer: issuer.issuer });
    expect((await as("DELETE", `${base}/users/${id}`)).status).toBe(204);
    const after = await store.get(streams.kv(buckets.orbCredentials), subject);
    expect(after === null || after.data.length === 0).toBe(true);
  });
});

describe("providers in a document", () => {
  const secretIn = (value: unknown) => {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    return text.includes(issuer.clientSecret) || text.includes("sealed:");
  };

  test("hide the client secret in every answer, and keep it when the mask comes back", async () => {
    const base = await orb("oa-doc");
    const path = "/api/admin/orbs/oa-doc";
    const got = await as("GET", path);
    expect(got.body.access.providers[0].clientSecret).toBe(MASK);
    const changed = { ...got.body, name: "Renamed" };
    const kept = await as("PUT", `${path}?publish=true`, changed);
    expect(kept.status).toBe(200);
    const replaced = structuredClone(kept.body);
    replaced.access.providers[0].clientSecret = "another secret of the client";
    const answers = [
      got,
      kept,
      await as("PUT", `${path}?dryRun=true`, replaced),
      await as("PUT", path, replaced),
      await as("GET", `${path}?revision=published`),
      await as("GET", `${path}/revisions`),
      await as("GET", `${path}/revisions/1`),
      await as("GET", `${path}/revisions/3`),
      await as("GET", `${path}/revisions/3?against=1`),
      await as("POST", `${path}/revisions/1/restore?dryRun=true`),
      await as("POST", `${path}/revisions/1/restore?publish=true`),
      await call(platform, "GET", `${base}/openapi.json`),
    ];
    for (const { body } of answers) {
      expect(secretIn(body)).toBe(false);
      expect(JSON.stringify(body)).not.toContain("another secret");
    }
    expect(answers[2]?.body.summary).toEqual(["changed the client secret of provider main"]);
    expect(answers[2]?.body.changes).toEqual([
      { op: "replace", path: "/access/providers/0/clientSecret", value: MASK },
    ]);
    expect((await signInAt(platform, issuer, base)).status).toBe(302);
    // Nothing stores it in plain text.
    const history = await platform.operatorStore().scan(streams.platform, ">", { fromSeq: 1, limit: 10_000 });
    expect(history.messages.some((message) => message.text().includes(issuer.clientSecret))).toBe(false);
  });

  test("lose the secret with their issuer, and cannot use that of another orb", async () => {
    await orb("oa-moved");
    const { body } = await as("GET", "/api/admin/orbs/oa-moved");
    body.access.providers[0].issuer = "https://evil.example";
    const path = "/access/providers/0/clientSecret";
    expect((await as("PUT", "/api/admin/orbs/oa-moved", body)).body.errors).toMatchObject([
      { path, code: "mask" },
    ]);
    const masked = document("oa-masked", { providers: [{ ...providerOf(issuer), clientSecret: MASK }] });
    expect((await as("POST", "/api/admin/orbs", masked)).body.errors).toMatchObject([{ path, code: "mask" }]);
    const headers = { authorization: `Bearer ${token}` };
    const file = await (await fetch(`${platform.origin}/api/admin/orbs/oa-moved/export`, { headers })).text();
    expect(file).not.toContain(issuer.clientSecret);
    const sealed = JSON.parse(file.split("\n")[0] ?? "").document.access.providers[0].clientSecret;
    const stolen = document("oa-stolen", { providers: [{ ...providerOf(issuer), clientSecret: sealed }] });
    expect((await as("POST", "/api/admin/orbs", stolen)).body.errors).toMatchObject([
      { path, code: "not_decryptable" },
    ]);
    // An import on the same platform can sign in again.
    expect((await as("DELETE", "/api/admin/orbs/oa-moved")).status).toBe(204);
    const response = await fetch(`${platform.origin}/api/admin/orbs/import`, {
      method: "POST",
      headers: { ...headers, "content-type": "application/x-ndjson" },
      body: file,
    });
    expect(response.status).toBe(201);
    expect((await signInAt(platform, issuer, "/api/oa-moved")).status).toBe(302);
  });

  test.each([
    [{ issuer: "http://idp.example" }, "issuer"],
    [{ issuer: "https://10.0.0.1" }, "issuer"],
    [{ issuer: "https://keycloak" }, "issuer"],
    [{ issuer: "https://db.internal" }, "issuer"],
    [{ issuer: "https://idp.example/?a=b" }, "issuer"],
    [{ issuer: "https://a:b@idp.example" }, "issuer"],
    [{ clientId: "" }, "clientId"],
    [{ id: "../x" }, "id"],
    [{ clientSecret: "x".repeat(1_001) }, "clientSecret"],
  ])("refuses %j", async (part, name) => {
    const wrong = document("oa-wrong", { providers: [{ ...providerOf(issuer), ...part }] });
    const { status, body } = await as("POST", "/api/admin/orbs", wrong);
    expect(status).toBe(422);
    expect(body.errors.map(({ path }: { path: string }) => path)).toEqual([`/access/providers/0/${name}`]);
  });

  test("need the handler oauth, and other orbs have no such routes", async () => {
    const without = await as("POST", "/api/admin/orbs", document("oa-without", {}, ["passkey"]));
    expect(without.body.errors).toMatchObject([{ path: "/access/providers", code: "needs_access" }]);
    const plain = { ...document("oa-plain", {}, ["passkey"]), access: { signup: "open" } };
    expect((await as("POST", "/api/admin/orbs?publish=true", plain)).status).toBe(201);
    expect((await call(platform, "GET", "/api/oa-plain/oauth/main")).status).toBe(404);
    expect((await call(platform, "GET", "/api/auth/oauth/main")).status).toBe(404);
    expect((await call(platform, "GET", "/api/_auth/oauth/main")).status).toBe(404);
  });
});

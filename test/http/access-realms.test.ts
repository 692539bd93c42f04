import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { inviteAdmin } from "../../scripts/admin-invite.ts";
import type { OrbDocument } from "../../shared/definition/document/document.ts";
import { buckets, streams } from "../../shared/store/subjects.ts";
import {
  admin,
  adminToken,
  begin,
  call,
  complete,
  register,
  signIn,
  subjectOf,
  user,
} from "../support/auth.ts";
import { Authenticator } from "../support/authenticator.ts";
import { startPlatform, type TestPlatform } from "../support/platform.ts";

let platform: TestPlatform;

const ACCESS = { service: "access", handlers: ["passkey", "invitations", "bootstrap"] };

/** Stores a definition as the live one. */
async function live(document: Record<string, unknown> & { id: string }): Promise<void> {
  const full = {
    uses: [],
    modules: [],
    languages: ["en"],
    markets: [],
    ...document,
  } as unknown as OrbDocument;
  await platform
    .operatorStore()
    .kvPut(
      buckets.orbs,
      document.id,
      JSON.stringify({ v: 1, orb: document.id, revision: 1, at: new Date().toISOString(), document: full }),
    );
}

beforeAll(async () => {
  platform = await startPlatform();
  await adminToken(platform);
  await live({ id: "shop", name: "Corner <shop>", uses: [ACCESS], session: { ttl: 3600 } });
  await live({ id: "bank", uses: [ACCESS] });
  await live({ id: "blog" });
  await live({ id: "closed", uses: [{ service: "access", handlers: ["passkey"] }] });
});
afterAll(() => platform?.stop());
beforeEach(async () => {
  await platform.operatorStore().purge(streams.limits, "_limit.>");
});

const payloadOf = (token: string) =>
  JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()) as Record<string, unknown>;

describe("shared realm at /api/auth", () => {
  test("reports every invalid member of a completion request", async () => {
    const { sessionId } = await begin(platform, "/api/auth");
    const faults = async (body: unknown) => {
      const headers = { SessionID: sessionId };
      const answer = await call(platform, "POST", "/api/auth/passkey/complete", { body, headers });
      expect(answer.status).toBe(422);
      return answer.body.errors.map(({ path, code }: { path: string; code: string }) => `${path} ${code}`);
    };
    const common = ["/id required", "/rawId required", "/type required"];
    expect(await faults({})).toEqual([...common, "/response required"]);
    expect(await faults({ response: { attestationObject: 5 } })).toEqual([
      ...common,
      "/response/clientDataJSON required",
      "/response/attestationObject type",
    ]);
    const used = { id: "AA", rawId: "AA", type: "public-key", response: { clientDataJSON: "e30" } };
    expect(await faults(used)).toEqual([
      "/response/authenticatorData required",
      "/response/signature required",
    ]);
    expect(await faults([])).toEqual([" type"]);
    expect(await faults({ ...used, type: "x", response: null })).toEqual(["/type enum", "/response type"]);
  });

  test("invites, looks up the invitation, registers and signs in", async () => {
    const token = await adminToken(platform);
    expect((await call(platform, "POST", "/api/auth/invitations")).status).toBe(401);
    const made = await call(platform, "POST", "/api/auth/invitations", { token });
    expect(made.status).toBe(201);
    const code = made.body.token;
    const days = (Date.parse(made.body.expiresAt) - Date.now()) / 86_400_000;
    expect(days).toBeGreaterThan(6.99);
    expect(days).toBeLessThanOrEqual(7);
    expect((await call(platform, "GET", `/api/auth/invitations/${code}`)).status).toBe(200);
    expect((await call(platform, "GET", "/api/auth/invitations/unknown")).status).toBe(404);

    const begun = await call(platform, "POST", `/api/auth/passkey/begin?invite=${code}`);
    expect(begun.body).toMatchObject({ isRegistration: true, sessionId: expect.any(String) });
    expect(begun.body.publicKey).toMatchObject({
      rp: { id: "localhost" },
      authenticatorSelection: { residentKey: "required", userVerification: "required" },
    });
    const device = new Authenticator(platform.origin);
    const done = await call(platform, "POST", "/api/auth/passkey/complete", {
      headers: { SessionID: begun.body.sessionId },
      body: device.create(begun.body.publicKey),
    });
    expect(done.status).toBe(200);
    expect(Object.keys(done.body)).toEqual(["token"]);
    expect(done.headers.get("set-cookie")).toMatch(/^session_auth=ey.*HttpOnly.*SameSite=Lax/);
    expect(done.headers.get("set-cookie")).not.toContain("Secure");
    expect((await call(platform, "GET", `/api/auth/invitations/${code}`)).status).toBe(410);

    const login = await call(platform, "POST", "/api/auth/passkey/begin");
    expect(login.body).toMatchObject({ isRegistration: false });
    expect(login.body.publicKey.allowCredentials).toBeUndefined();
    const without = await call(platform, "POST", "/api/auth/passkey/complete", {
      body: device.get(login.body.publicKey),
    });
    expect(without.status).toBe(400);
    expect(without.body.errors).toEqual([
      { path: "/sessionid", code: "required", message: "is required (header sessionid)" },
    ]);
    const signed = await signIn(platform, "/api/auth", device);
    expect(payloadOf(signed.token)).toMatchObject({
      type: "orb",
      orb: "auth",
      role: "user",
      iss: platform.origin,
    });
  });

  test.each(["ES256", "EdDSA", "RS256"] as const)("registers and signs in with %s", async (algorithm) => {
    const { body } = await call(platform, "POST", "/api/auth/invitations", {
      token: await adminToken(platform),
    });
    const device = new Authenticator(platform.origin, { algorithm });
    await register(platform, "/api/auth", body.token, device);
    await signIn(platform, "/api/auth", device);
    const { sessionId, publicKey } = await begin(platform, "/api/auth");
    const tampered = device.get(publicKey, { tamper: true });
    expect((await complete(platform, "/api/auth", sessionId, tampered)).status).toBe(401);
  });

  test("accepts a passkey whose id is too long for a storage key", async () => {
    const { body } = await call(platform, "POST", "/api/auth/invitations", {
      token: await adminToken(platform),
    });
    const device = new Authenticator(platform.origin);
    const { sessionId, publicKey } = await begin(platform, "/api/auth", { invite: body.token });
    const made = device.create(publicKey, {}, randomBytes(400));
    const done = await complete(platform, "/api/auth", sessionId, made);
    expect(done.status).toBe(200);
    await signIn(platform, "/api/auth", device);
    const list = await call(platform, "GET", "/api/auth/passkeys", { token: done.body.token });
    const path = `/api/auth/passkeys/${list.body[0].id}`;
    const renamed = await call(platform, "PUT", path, { token: done.body.token, body: { name: "Long" } });
    expect(renamed.body).toMatchObject({ name: "Long" });
  });

  test("does not reveal whether an email address has an account", async () => {
    const shape = async (body: unknown) => {
      const answer = await call(platform, "POST", "/api/_auth/passkey/begin", { body });
      const { challenge: _, ...publicKey } = answer.body.options.publicKey;
      return { status: answer.status, publicKey };
    };
    expect(await shape({ email: "known@example.com" })).toEqual(await shape({ email: "nobody@example.com" }));
    expect(await shape({ email: "x@example.com" })).toEqual(await shape({}));
  });
});

describe("orb that uses the access service", () => {
  test("gets its first owner through the bootstrap invitation", async () => {
    const token = await adminToken(platform);
    expect((await call(platform, "POST", "/api/shop/bootstrap")).status).toBe(401);
    const one = await call(platform, "POST", "/api/shop/bootstrap", { token });
    const two = await call(platform, "POST", "/api/shop/bootstrap", { token });
    expect(one.body).toMatchObject({ role: "owner", status: "active" });
    expect(two.body.token).toBe(one.body.token);
    expect((await call(platform, "GET", "/api/shop/bootstrap", { token })).body).toEqual({ bootstrap: true });
    const owner = await register(platform, "/api/shop", one.body.token);
    expect(payloadOf(owner.token)).toMatchObject({ orb: "shop", role: "owner" });
    expect((await call(platform, "GET", "/api/shop/bootstrap", { token: owner.token })).body).toEqual({
      bootstrap: false,
    });
    expect((await call(platform, "POST", "/api/shop/bootstrap", { token })).status).toBe(409);
    expect((await call(platform, "POST", "/api/shop/bootstrap", { token: owner.token })).status).toBe(403);
    const colleague = await call(platform, "POST", "/api/shop/invitations", {
      token: owner.token,
      body: { role: "owner" },
    });
    expect(colleague.status).toBe(201);
    expect(colleague.body.url).toBe(`${platform.origin}/api/shop/signin?invite=${colleague.body.token}`);
  });

  test("refuses to complete a registration whose bootstrap invitation was revoked and replaced", async () => {
    const token = await adminToken(platform);
    await live({ id: "club", uses: [ACCESS] });
    const leaked = (await call(platform, "POST", "/api/club/bootstrap", { token })).body.token;
    const { sessionId, publicKey } = await begin(platform, "/api/club", { invite: leaked });
    expect((await call(platform, "DELETE", `/api/club/invitations/${leaked}`, { token })).status).toBe(204);
    const next = (await call(platform, "POST", "/api/club/bootstrap", { token })).body.token;
    expect(next).not.toBe(leaked);
    const thief = new Authenticator(platform.origin);
    const answer = await complete(platform, "/api/club", sessionId, thief.create(publicKey));
    expect(answer.body).toMatchObject({ status: 410, code: "invitation_revoked" });
    const looked = await call(platform, "GET", `/api/club/invitations/${leaked}`);
    expect(looked.body).toMatchObject({ status: 410, code: "invitation_revoked" });
    await register(platform, "/api/club", next);
  });

  test("uses the session lifetime of its definition and its own cookie", async () => {
    const someone = await user(platform, "shop");
    const { sessionId, publicKey } = await begin(platform, "/api/shop");
    const done = await complete(platform, "/api/shop", sessionId, someone.authenticator.get(publicKey));
    const claims = payloadOf(done.body.token);
    expect(Number(claims.exp) - Number(claims.iat)).toBe(3600);
    expect(done.headers.get("set-cookie")).toMatch(/^session_shop=ey.*Max-Age=3600/);
  });

  test("has users whose tokens, cookies, passkeys and invitations other realms refuse", async () => {
    const shopper = await user(platform, "shop", "owner");
    const banker = await user(platform, "bank", "owner");
    const ask = (path: string, token: string) => call(platform, "GET", path, { token });
    expect((await ask("/api/shop/users", shopper.token)).status).toBe(200);
    for (const path of [
      "/api/bank/users",
      "/api/bank/me",
      "/api/auth/me",
      "/api/_auth/me",
      "/api/_auth/admins",
    ]) {
      const { status, body } = await ask(path, shopper.token);
      expect([path, status, body.code]).toEqual([path, 403, "other_realm"]);
      expect(body.detail).toContain("of the realm shop");
    }
    // The specification wants 401 here for everything but a platform admin's token.
    expect((await ask("/api/_auth/invitations", shopper.token)).status).toBe(401);
    expect((await ask("/api/shop/me", shopper.token)).status).toBe(200);
    await expect(signIn(platform, "/api/bank", shopper.authenticator)).rejects.toThrow("passkey_refused");
    const cookie = `session_shop=${banker.token}; session_bank=${shopper.token}`;
    expect((await call(platform, "GET", "/api/bank/me", { headers: { cookie } })).status).toBe(401);
    const invitation = await call(platform, "POST", "/api/shop/invitations", { token: shopper.token });
    expect((await begin(platform, "/api/bank", { invite: invitation.body.token })).answer.status).toBe(404);
    expect((await call(platform, "GET", `/api/bank/invitations/${invitation.body.token}`)).status).toBe(404);
    const there = await begin(platform, "/api/shop");
    const crossed = await complete(
      platform,
      "/api/bank",
      there.sessionId,
      banker.authenticator.get(there.publicKey),
    );
    expect(crossed.status).toBe(404);
  });

  test("lists, disables, enables and removes users, and ends their sessions at once", async () => {
    const manager = await user(platform, "bank", "admin");
    const owner = await user(platform, "bank", "owner");
    const someone = await user(platform, "bank");
    const list = await call(platform, "GET", "/api/bank/users?filter[role]=user", { token: manager.token });
    expect(list.body.items.map(({ id }: { id: string }) => id)).toEqual([someone.id]);
    expect((await call(platform, "GET", "/api/bank/users", { token: someone.token })).status).toBe(403);

    const change = (id: string, body: unknown, token = manager.token) =>
      call(platform, "PUT", `/api/bank/users/${id}`, { token, body });
    expect((await change(owner.id, { status: "disabled" })).status).toBe(403);
    expect((await change(someone.id, { role: "admin" })).status).toBe(403);
    expect((await change(someone.id, {})).status).toBe(422);
    expect((await change("nobody", { status: "disabled" })).status).toBe(404);
    expect((await change(someone.id, { status: "disabled" })).body).toMatchObject({ status: "disabled" });
    expect((await call(platform, "GET", "/api/bank/me", { token: someone.token })).status).toBe(401);
    await expect(signIn(platform, "/api/bank", someone.authenticator)).rejects.toThrow("account_disabled");
    await change(someone.id, { status: "active" });
    await signIn(platform, "/api/bank", someone.authenticator);
    expect((await change(someone.id, { role: "admin" }, owner.token)).body).toMatchObject({ role: "admin" });
    const remove = (token: string) => call(platform, "DELETE", `/api/bank/users/${someone.id}`, { token });
    expect((await remove(manager.token)).status).toBe(403);
    expect((await remove(owner.token)).status).toBe(204);
    expect((await remove(owner.token)).status).toBe(404);
    await expect(signIn(platform, "/api/bank", someone.authenticator)).rejects.toThrow("passkey_refused");
    const { body } = await call(
      platform,
      "GET",
      `/api/admin/audit?filter[realm]=bank&filter[target]=${someone.id}`,
      {
        token: await adminToken(platform),
      },
    );
    const details = body.items.map(({ detail }: { detail: string | null }) => detail);
    for (const detail of ["removed", "role_admin", "active", "disabled"]) expect(details).toContain(detail);
  });

  test("shows its escaped name on its sign-in page", async () => {
    const { status, body } = await call(platform, "GET", "/api/shop/signin");
    expect(status).toBe(200);
    expect(body).toContain("Corner &lt;shop&gt;");
    expect(body).not.toContain("<shop>");
    expect(body).toContain('data-base="/api/shop"');
  });

  test("has only the routes of the handlers that it uses", async () => {
    const token = await adminToken(platform);
    expect((await call(platform, "POST", "/api/closed/passkey/begin")).status).toBe(200);
    expect((await call(platform, "POST", "/api/closed/invitations", { token })).status).toBe(404);
    expect((await call(platform, "POST", "/api/closed/bootstrap", { token })).status).toBe(404);
    expect((await call(platform, "GET", "/api/shop/passkey/begin")).status).toBe(405);
    expect((await call(platform, "GET", "/api/shop/passkey/nothing")).status).toBe(404);
  });
});

describe("orb that does not use the access service", () => {
  test("redirects its sign-in page to the shared realm and keeps the query", async () => {
    const { status, headers } = await call(platform, "GET", "/api/blog/signin?invite=x&return=%2Fapi%2Fblog");
    expect(status).toBe(302);
    expect(headers.get("location")).toBe("/api/auth/signin?invite=x&return=%2Fapi%2Fblog");
  });

  test("has no realm of its own", async () => {
    expect((await call(platform, "POST", "/api/blog/passkey/begin")).status).toBe(404);
    expect(
      (await call(platform, "GET", "/api/blog/users", { token: await adminToken(platform) })).status,
    ).toBe(404);
  });

  test("answers 404 for access routes of an orb that does not exist", async () => {
    for (const path of ["/api/nowhere/signin", "/api/nowhere/me", "/api/No*where/signin", "/api/-/me"]) {
      expect((await call(platform, "GET", path)).status).toBe(404);
    }
  });
});

test("lets an admin without a passkey in with an invitation from npm run admin:invite", async () => {
  const { url } = await inviteAdmin(platform.settings);
  expect(url).toContain(`${platform.origin}/api/_auth/signin?invite=`);
  const invite = new URL(url).searchParams.get("invite") ?? "";
  const someone = await register(platform, "/api/_auth", invite);
  expect(subjectOf(someone.token)).not.toBe((await admin(platform)).id);
  expect((await call(platform, "GET", "/api/_auth/admins", { token: someone.token })).body).toHaveLength(2);
});

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { recoverAdmin } from "../../scripts/admin-invite.ts";
import { admin, begin, call, complete, register, signIn, user } from "../support/auth.ts";
import { Authenticator } from "../support/authenticator.ts";
import { clearLimits, fileAdmin } from "../support/file-admin.ts";

const { platform, token, as } = await fileAdmin();
clearLimits(platform);

const SHARED = "/api/auth";
const linkFor = (id: string, by = token) => as("POST", `${SHARED}/users/${id}/recovery`, undefined, by);

/** Recovers an account. Returns the new passkey, and the response with which the recovery ended. */
async function recover(base: string, invite: string, body?: object) {
  return (await beginRecovery(base, invite, body))();
}

/** Begins a recovery, and returns a function that completes it. */
async function beginRecovery(base: string, invite: string, body?: object) {
  const device = new Authenticator(platform.origin);
  const begun = await begin(platform, base, { invite, ...(body === undefined ? {} : { body }) });
  expect(begun.answer.status).toBe(200);
  return async () => {
    const done = await complete(platform, base, begun.sessionId, device.create(begun.publicKey));
    return { device, done };
  };
}

describe("a recovery link", () => {
  test("is described, opens a page with the account's name, and lets the user in again", async () => {
    const lost = await user(platform);
    await as("PUT", `${SHARED}/me`, { name: "Ann Lee" }, lost.token);
    const made = await linkFor(lost.id);
    expect(made).toMatchObject({
      status: 201,
      body: { purpose: "recover", account: lost.id, role: "user", status: "active" },
    });
    const { token: invite, url } = made.body;
    expect(url).toBe(`${platform.origin}${SHARED}/signin?invite=${invite}`);
    const checked = await call(platform, "GET", `${SHARED}/invitations/${invite}`);
    expect(checked.body).toMatchObject({ status: "active", purpose: "recover", name: "Ann Lee" });
    expect((await call(platform, "GET", `${SHARED}/signin?invite=${invite}`)).body).toContain("Ann Lee");
    const listed = await as("GET", `${SHARED}/invitations`);
    expect(listed.body).toContainEqual(made.body);

    const { device, done } = await recover(SHARED, invite, { removePasskeys: true });
    expect(done.status).toBe(200);
    expect((await as("GET", `${SHARED}/me`, undefined, lost.token)).status).toBe(401);
    const me = await as("GET", `${SHARED}/me`, undefined, done.body.token);
    expect(me.body).toMatchObject({ id: lost.id, name: "Ann Lee", passkeys: 1 });
    expect((await signIn(platform, SHARED, device)).id).toBe(lost.id);
    await expect(signIn(platform, SHARED, lost.authenticator)).rejects.toThrow("passkey_refused");
    const used = await call(platform, "GET", `${SHARED}/invitations/${invite}`);
    expect(used).toMatchObject({ status: 410, body: { code: "invitation_used" } });
  });

  test("keeps the other passkeys by default, and does not create a second passkey on their device", async () => {
    const lost = await user(platform);
    const { body } = await linkFor(lost.id);
    const begun = await begin(platform, SHARED, { invite: body.token });
    expect(begun.publicKey).toMatchObject({
      excludeCredentials: [{ id: lost.authenticator.passkeys[0]?.id.toString("base64url") }],
    });
    const { done } = await recover(SHARED, body.token);
    expect(done.status).toBe(200);
    expect((await signIn(platform, SHARED, lost.authenticator)).id).toBe(lost.id);
  });

  test("works only once, even if it is used six times at once", async () => {
    const lost = await user(platform);
    const { body } = await linkFor(lost.id);
    const begun = await Promise.all(Array.from({ length: 6 }, () => beginRecovery(SHARED, body.token)));
    const uses = await Promise.all(begun.map((use) => use()));
    expect(uses.map(({ done }) => done.status).sort()).toEqual([200, 410, 410, 410, 410, 410]);
    expect((await as("GET", `${SHARED}/users?limit=200`)).body.items).toContainEqual(
      expect.objectContaining({ id: lost.id, passkeys: 2 }),
    );
  });

  test("is refused after its revocation, and for other purposes", async () => {
    const lost = await user(platform);
    const { body } = await linkFor(lost.id);
    const named = await begin(platform, SHARED, { invite: body.token, body: { name: "Eve" } });
    expect(named.answer).toMatchObject({ status: 422, body: { errors: [{ code: "not_a_registration" }] } });
    const invitation = await as("POST", `${SHARED}/invitations`);
    for (const invite of [invitation.body.token, undefined]) {
      const begun = await begin(platform, SHARED, {
        body: { removePasskeys: true, ...(invite === undefined ? {} : { invite }) },
      });
      expect(begun.answer).toMatchObject({ status: 422, body: { errors: [{ code: "not_a_recovery" }] } });
    }
    expect((await begin(platform, "/api/_auth", { invite: body.token })).answer.status).toBe(404);
    const begun = await begin(platform, SHARED, { invite: body.token });
    expect((await as("DELETE", `${SHARED}/invitations/${body.token}`)).status).toBe(204);
    const response = new Authenticator(platform.origin).create(begun.publicKey);
    const late = await complete(platform, SHARED, begun.sessionId, response);
    expect(late).toMatchObject({ status: 410, body: { code: "invitation_revoked" } });
    expect((await begin(platform, SHARED, { invite: body.token })).answer.status).toBe(410);
  });

  test("is created only by those who may manage the account", async () => {
    const owner = await user(platform, "auth", "owner");
    const helper = await user(platform, "auth", "admin");
    const lost = await user(platform);
    expect((await linkFor(lost.id, helper.token)).status).toBe(201);
    expect((await linkFor(owner.id, helper.token)).status).toBe(403);
    expect((await linkFor(helper.id, helper.token)).status).toBe(403);
    expect((await linkFor(helper.id, owner.token)).status).toBe(201);
    expect((await linkFor(lost.id, lost.token)).status).toBe(403);
    expect((await call(platform, "POST", `${SHARED}/users/${lost.id}/recovery`)).status).toBe(401);
    const first = (await admin(platform)).id;
    expect((await as("POST", `/api/_auth/admins/${first}/recovery`, undefined, owner.token)).status).toBe(
      403,
    );
    expect(await linkFor(first, owner.token)).toMatchObject({
      status: 404,
      body: { code: "user_not_found" },
    });
  });

  test("of an orb's own realm works there only, and ends with its creator's role", async () => {
    const document = {
      id: "lodge",
      uses: [{ service: "access", handlers: ["passkey", "invitations"] }],
      modules: [],
    };
    expect((await as("POST", "/api/admin/orbs?publish=true", document)).status).toBe(201);
    const helper = await user(platform, "lodge", "admin");
    const lost = await user(platform, "lodge");
    expect((await linkFor(lost.id)).status).toBe(404);
    const { body } = await as("POST", `/api/lodge/users/${lost.id}/recovery`, undefined, helper.token);
    expect(body.url).toContain("/api/lodge/signin?invite=");
    expect((await begin(platform, SHARED, { invite: body.token })).answer.status).toBe(404);
    expect((await as("PUT", `/api/lodge/users/${helper.id}`, { role: "user" })).status).toBe(200);
    const begun = await begin(platform, "/api/lodge", { invite: body.token });
    expect(begun.answer).toMatchObject({ status: 410, body: { code: "invitation_revoked" } });
    const again = await as("POST", `/api/lodge/users/${lost.id}/recovery`);
    const { done } = await recover("/api/lodge", again.body.token);
    expect(done.headers.get("set-cookie")).toContain("session_lodge=");
  });
});

describe("recovery codes", () => {
  const createCodes = (base: string, by: string) => as("POST", `${base}/recovery-codes`, undefined, by);
  const beginBy = (base: string, recoveryCode: string, more: object = {}) =>
    begin(platform, base, { body: { recoveryCode, ...more } });

  test.each([SHARED, "/api/_auth", "/api/cabin"])("let an account of %s in again, once", async (base) => {
    const document = { id: "cabin", uses: [{ service: "access", handlers: ["passkey", "invitations"] }] };
    if (base === "/api/cabin") await as("POST", "/api/admin/orbs?publish=true", { ...document, modules: [] });
    const { body } = await as("POST", `${base}/invitations`);
    const lost = await register(platform, base, body.token);
    const none = await as("GET", `${base}/recovery-codes`, undefined, lost.token);
    expect(none).toMatchObject({ status: 200, body: { remaining: 0, createdAt: null } });
    const made = await createCodes(base, lost.token);
    expect(made).toMatchObject({ status: 201, body: { remaining: 10, codes: { length: 10 } } });
    expect(made.headers.get("cache-control")).toContain("no-store");
    const counted = await as("GET", `${base}/recovery-codes`, undefined, lost.token);
    expect(counted.body).toEqual({ remaining: 10, createdAt: made.body.createdAt });

    const [first, second] = made.body.codes;
    const begun = await beginBy(base, first.toLowerCase(), { removePasskeys: true });
    const device = new Authenticator(platform.origin);
    const done = await complete(platform, base, begun.sessionId, device.create(begun.publicKey));
    expect(done.status).toBe(200);
    expect((await as("GET", `${base}/me`, undefined, lost.token)).status).toBe(401);
    expect((await signIn(platform, base, device)).id).toBe(lost.id);
    const again = await beginBy(base, second);
    expect(again.answer).toMatchObject({ status: 401, body: { code: "recovery_code_refused" } });
    const left = await as("GET", `${base}/recovery-codes`, undefined, done.body.token);
    expect(left.body).toEqual({ remaining: 0, createdAt: null });
  });

  test("need a session, and are accepted as the only reason for a passkey", async () => {
    for (const method of ["GET", "POST"])
      expect((await call(platform, method, `${SHARED}/recovery-codes`)).status).toBe(401);
    expect((await createCodes(SHARED, token)).status).toBe(403);
    const code = "2222-2222-2222-2222-2222-2222";
    for (const more of [{ invite: "abc" }, { name: "Ann" }]) {
      const both = await beginBy(SHARED, code, more);
      expect(both.answer.status).toBe("invite" in more ? 422 : 401);
    }
    const signup = await call(platform, "POST", `${SHARED}/passkey/begin?signup=true`, {
      body: { recoveryCode: code },
    });
    expect(signup).toMatchObject({ status: 422, body: { errors: [{ code: "exclusive" }] } });
  });

  test("are refused with 429 after too many guesses of a network", async () => {
    const codes: string[] = [];
    for (let i = 0; i < 25; i++) {
      const { answer } = await beginBy(SHARED, "2222-2222-2222-2222-2222-2222");
      codes.push(answer.body.code);
      if (answer.status === 429) expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
    }
    expect(codes.slice(-3)).toEqual(Array(3).fill("too_many_requests"));
    expect(codes.filter((code) => code === "recovery_code_refused").length).toBeLessThan(21);
  });
});

describe("recovery of platform admins", () => {
  async function another() {
    const { body } = await as("POST", "/api/_auth/invitations");
    return register(platform, "/api/_auth", body.token);
  }

  test("by another admin adds a passkey to the same account", async () => {
    const lost = await another();
    const made = await as("POST", `/api/_auth/admins/${lost.id}/recovery`);
    expect(made).toMatchObject({ status: 201, body: { role: "owner", account: lost.id } });
    const { done } = await recover("/api/_auth", made.body.token, { removePasskeys: true });
    expect(done.body.admin).toMatchObject({ id: lost.id, passkeys: 1 });
    expect((await as("GET", "/api/_auth/me", undefined, lost.token)).status).toBe(401);
    const unknown = await as("POST", `/api/_auth/admins/${"0".repeat(32)}/recovery`);
    expect(unknown).toMatchObject({ status: 404, body: { code: "admin_not_found" } });
  });

  test("by npm run admin:invite -- --recover names the account or lists the accounts of that name", async () => {
    const lost = await another();
    const name = "Kim Lee";
    await as("PUT", "/api/_auth/me", { name }, lost.token);
    const { url } = await recoverAdmin(platform.settings, name);
    const invite = new URL(url).searchParams.get("invite") ?? "";
    const { done } = await recover("/api/_auth", invite);
    expect(done.body.admin).toMatchObject({ id: lost.id, name, passkeys: 2 });

    await expect(recoverAdmin(platform.settings, "nobody")).rejects.toThrow(
      /no platform admin .*"nobody".*Kim Lee/,
    );
    const twin = await another();
    await as("PUT", "/api/_auth/me", { name }, twin.token);
    await expect(recoverAdmin(platform.settings, name)).rejects.toThrow(
      `2 platform admins have the name "${name}"`,
    );
    const byId = await recoverAdmin(platform.settings, twin.id);
    expect(byId.url).toContain("/api/_auth/signin?invite=");
  });

  test("by npm run admin:invite says how to use it after a mistake", async () => {
    const run = promisify(execFile)(process.execPath, ["scripts/admin-invite.ts", "--recover"]);
    await expect(run).rejects.toMatchObject({
      stderr: expect.stringContaining("npm run admin:invite -- [--recover <name or id>]"),
    });
  });
});

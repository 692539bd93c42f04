import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { seal } from "../../shared/kernel/seal.ts";
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
// All tests share one client address. Clear the rate limits between them.
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

/** Completes a sign-in with a response that deviates in one way from a valid one. */
async function login(base: string, authenticator: Authenticator, deviate: Deviations) {
  const { sessionId, publicKey } = await begin(platform, base);
  return complete(platform, base, sessionId, authenticator.get(publicKey, deviate));
}

describe.each([
  ["platform", PLATFORM],
  ["shared", AUTH],
])("passkey sign-in and registration in the %s realm", (_, base) => {
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
    ["the type of a registration", { type: "webauthn.create" }],
    ["a cross-origin iframe", { crossOrigin: true }],
    ["a tampered signature", { tamper: true }],
    ["no user verification", { userVerified: false }],
    ["no user presence", { userPresent: false }],
    ["the user handle of another account", { userHandle: Buffer.from("f".repeat(32)).toString("base64url") }],
  ];
  test.each(deviations)("refuses a sign-in with %s", async (_name, deviate) => {
    const { status, body, headers } = await login(base, someone, deviate);
    expect({ status, code: body.code }).toEqual({ status: 401, code: "passkey_refused" });
    expect(headers.get("set-cookie")).toBeNull();
    await signIn(platform, base, someone);
  });

  test("refuses a signature counter that decreases or stays the same", async () => {
    const counter = someone.passkeys[0]?.counter ?? 0;
    for (const told of [counter, counter - 1, 1, 0]) {
      expect((await login(base, someone, { counter: told })).status).toBe(401);
    }
    await signIn(platform, base, someone);
  });

  test("gives the same error for an unknown passkey and for a wrong signature", async () => {
    const stranger = new Authenticator(platform.origin);
    const options = { challenge: "AAAA", rp: { id: "localhost" }, user: { id: "AAAA", name: "x" } };
    stranger.create(options);
    const unknown = await login(base, stranger, {});
    const wrong = await login(base, someone, { tamper: true });
    expect(unknown.status).toBe(401);
    expect(unknown.body).toEqual(wrong.body);
  });

  test("accepts a challenge only once, even if the first completion fails", async () => {
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

  test("accepts one of several parallel completions of the same challenge", async () => {
    const { sessionId, publicKey } = await begin(platform, base);
    const responses = Array.from({ length: 12 }, () => someone.get(publicKey));
    const answers = await Promise.all(responses.map((r) => complete(platform, base, sessionId, r)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 410)).toHaveLength(11);
    await signIn(platform, base, someone);
  });

  test("refuses a session id that is altered, invented or encoded differently", async () => {
    const { sessionId, publicKey } = await begin(platform, base);
    const response = someone.get(publicKey);
    const flipped = `${sessionId.slice(0, -2)}${sessionId.endsWith("AA") ? "BB" : "AA"}`;
    for (const forged of [flipped, "*", ">", "a.b", "x".repeat(3_000), `${sessionId}.`, "../x"]) {
      const { status } = await complete(platform, base, forged, response);
      expect([404, 422, 400]).toContain(status);
    }
    expect((await complete(platform, base, sessionId, response)).status).toBe(200);
    // The unused low bits of the last base64url character allow several encodings of the same challenge.
    const parts = sessionId.split(".");
    const last = parts[4] ?? "";
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    for (let bits = 1; bits < 4; bits++) {
      const end = alphabet[alphabet.indexOf(last.at(-1) ?? "A") ^ bits] ?? "A";
      const respelt = [...parts.slice(0, 4), last.slice(0, -1) + end].join(".");
      expect((await complete(platform, base, respelt, someone.get(publicKey))).status).not.toBe(200);
    }
  });

  test("refuses an expired challenge with 410 session_expired", async () => {
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

  test("refuses to register with a sign-in challenge and to sign in with a registration challenge", async () => {
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

  test("refuses a registration with a wrong origin, a wrong RP ID, an attestation certificate or no user verification", async () => {
    const { body } = await call(platform, "POST", `${base}/invitations`, {
      token: await adminToken(platform),
    });
    for (const deviate of [
      { origin: "https://evil.example" },
      { rpId: "evil.example" },
      { userVerified: false },
      { crossOrigin: true },
      { certificate: Buffer.from("a certificate that names where to ask about it") },
    ]) {
      const { sessionId, publicKey } = await begin(platform, base, { invite: body.token });
      const made = new Authenticator(platform.origin).create(publicKey, deviate);
      expect((await complete(platform, base, sessionId, made)).status).toBe(401);
    }
    await register(platform, base, body.token);
  });

  test("refuses attestations of every format except a packed one that the passkey itself signed", async () => {
    const { body } = await call(platform, "POST", `${base}/invitations`, {
      token: await adminToken(platform),
    });
    const certificate = Buffer.from("a certificate");
    const attempt = async (deviate: object) => {
      const { sessionId, publicKey } = await begin(platform, base, { invite: body.token });
      const made = new Authenticator(platform.origin).create(publicKey, deviate);
      return (await complete(platform, base, sessionId, made)).status;
    };
    for (const format of [
      "tpm",
      "android-key",
      "android-safetynet",
      "apple",
      "fido-u2f",
      "unknown",
      "packed",
    ])
      expect([format, await attempt({ format, certificate })]).toEqual([format, 401]);
    expect(await attempt({ format: "packed" })).toBe(200);
  });

  test("refuses to register a passkey that is already registered", async () => {
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
    // The invitation is still usable, and the passkey's owner can still sign in.
    await register(platform, base, second.body.token);
    await signIn(platform, base, thief);
  });
});

describe.each([
  ["platform", PLATFORM],
  ["shared", AUTH],
])("stolen token in the %s realm", (_, base) => {
  /** Creates an account with a passkey, and a second session of it whose token is stolen. */
  async function robbed() {
    const made = await call(platform, "POST", `${base}/invitations`, { token: await adminToken(platform) });
    const owner = await register(platform, base, made.body.token);
    const stolen = await signIn(platform, base, owner.authenticator);
    return {
      owner,
      stolen,
      begun: await begin(platform, base, { token: stolen.token, body: { add: true } }),
    };
  }
  const thief = () => new Authenticator(platform.origin);

  test("cannot add a passkey after its session has ended", async () => {
    const { owner, stolen, begun } = await robbed();
    expect((await call(platform, "POST", `${base}/signout`, { token: stolen.token })).status).toBe(204);
    const device = thief();
    const refused = await complete(platform, base, begun.sessionId, device.create(begun.publicKey));
    expect({ status: refused.status, code: refused.body.code }).toEqual({
      status: 401,
      code: "passkey_refused",
    });
    expect((await login(base, device, {})).status).toBe(401);
    expect((await call(platform, "GET", `${base}/passkeys`, { token: owner.token })).body).toHaveLength(1);
  });

  test("cannot add a passkey after the passkey that created its session is removed", async () => {
    const { owner, begun } = await robbed();
    const phone = new Authenticator(platform.origin);
    const adding = await begin(platform, base, { token: owner.token, body: { add: true } });
    const added = await complete(platform, base, adding.sessionId, phone.create(adding.publicKey));
    const { token } = added.body;
    const [lost] = (await call(platform, "GET", `${base}/passkeys`, { token })).body;
    expect((await call(platform, "DELETE", `${base}/passkeys/${lost.id}`, { token })).status).toBe(204);
    const refused = await complete(platform, base, begun.sessionId, thief().create(begun.publicKey));
    expect(refused.status).toBe(401);
    expect((await call(platform, "GET", `${base}/passkeys`, { token })).body).toHaveLength(1);
  });
});

describe("realm isolation", () => {
  test("refuses a challenge, passkey or invitation of another realm", async () => {
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

  test("gives each account its own user handle, so that one passkey does not overwrite another in the browser", async () => {
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
  test("lets exactly one of ten simultaneous registrations use an invitation", async () => {
    const token = await invite();
    const devices = Array.from({ length: 10 }, () => new Authenticator(platform.origin));
    const begun = await Promise.all(devices.map(() => begin(platform, AUTH, { invite: token })));
    const responses = devices.map((device, i) => device.create(begun[i]?.publicKey));
    const answers = await Promise.all(
      responses.map((response, i) => complete(platform, AUTH, begun[i]?.sessionId ?? "", response)),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(410)]);
    // The other registrations create no account, so their passkeys are unknown.
    const signins = await Promise.all(devices.map((device) => login(AUTH, device, {})));
    expect(signins.filter(({ status }) => status === 200)).toHaveLength(1);
    expect((await call(platform, "GET", `${AUTH}/invitations/${token}`)).status).toBe(410);
  });

  test.each(["*", ">", "%2A", "%3E", "bootstrap", "auth.bootstrap", "a".repeat(129), "..", "%00", "a%20b"])(
    "answers 404 for the invitation code %s",
    async (code) => {
      const looked = await call(platform, "GET", `${AUTH}/invitations/${code}`);
      expect(looked.status).toBe(404);
      const begun = await call(platform, "POST", `${AUTH}/passkey/begin?invite=${code}`);
      expect([404, 400]).toContain(begun.status);
      expect((await call(platform, "GET", `${PLATFORM}/invitations/${code}`)).status).toBe(404);
    },
  );

  test("refuses to complete a registration whose invitation was revoked after it began", async () => {
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

  test("revokes the invitations of an admin who is removed", async () => {
    const token = await adminToken(platform);
    const path = `${PLATFORM}/invitations`;
    const invited = await call(platform, "POST", path, { token });
    const other = await register(platform, PLATFORM, invited.body.token);
    const made = await call(platform, "POST", path, { token: other.token });
    expect(made.body).toMatchObject({ status: "active", createdBy: other.id });
    const { sessionId, publicKey } = await begin(platform, PLATFORM, { invite: made.body.token });
    const removed = await call(platform, "DELETE", `${PLATFORM}/admins/${other.id}`, { token });
    expect(removed.status).toBe(204);
    const response = new Authenticator(platform.origin).create(publicKey);
    for (const answer of [
      await complete(platform, PLATFORM, sessionId, response),
      (await begin(platform, PLATFORM, { invite: made.body.token })).answer,
      await call(platform, "GET", `${path}/${made.body.token}`),
    ]) {
      expect(answer).toMatchObject({ status: 410, body: { code: "invitation_revoked" } });
    }
    const { body } = await call(platform, "GET", path, { token });
    const listed = (body as { token: string }[]).find((one) => one.token === made.body.token);
    expect(listed).toMatchObject({ status: "revoked", createdBy: other.id });
  });

  test("stores no invitation token in plain text", async () => {
    const token = await invite();
    const store = platform.operatorStore();
    const everything = await store.kvList(buckets.orbInvitations, ">");
    expect(everything.length).toBeGreaterThan(0);
    expect(everything.map((entry) => entry.key + entry.text()).join()).not.toContain(token);
  });

  test("lets admins invite only users, and lets users invite no one", async () => {
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
    // Admins cannot read the token of an invitation that creates owners.
    const listed = await call(platform, "GET", `${AUTH}/invitations`, { token: manager.token });
    expect(JSON.stringify(listed.body)).not.toContain(owners.body.token);
    expect(
      (await call(platform, "DELETE", `${AUTH}/invitations/${owners.body.token}`, { token: manager.token }))
        .status,
    ).toBe(403);
  });
});

test("writes no session token to the log or the audit log", async () => {
  const token = await adminToken(platform);
  const audit = await call(platform, "GET", "/api/admin/audit?limit=200", { token });
  expect(audit.body.items.length).toBeGreaterThan(50);
  const told =
    JSON.stringify(audit.body) + platform.logs.filter((line) => !line.includes("bootstrap")).join("\n");
  expect(told).not.toMatch(/eyJ[A-Za-z0-9_-]{20,}\./);
});

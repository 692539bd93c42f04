import { describe, expect, test } from "vitest";
import { anonymous } from "../../shared/access/actor.ts";
import { listAudit } from "../../shared/access/audit-log.ts";
import { authenticate } from "../../shared/access/authenticate.ts";
import { begin } from "../../shared/access/ceremony/begin.ts";
import { complete } from "../../shared/access/ceremony/complete.ts";
import { platformRealm, type Realm, sharedRealm } from "../../shared/access/realms.ts";
import type { Completed } from "../../shared/access/sessions.ts";
import { changePlatformSettings, isSignupOpen, readPlatformSettings } from "../../shared/access/settings.ts";
import { listUsers } from "../../shared/access/users.ts";
import type { Deps } from "../../shared/deps.ts";
import { AppError } from "../../shared/kernel/errors.ts";
import { streams } from "../../shared/store/subjects.ts";
import type { Store } from "../../shared/store/types.ts";
import { fileAccess, ORIGIN } from "../support/access.ts";
import { Authenticator } from "../support/authenticator.ts";
import { countingStore, stoppingStore } from "../support/counting.ts";
import { admin, failureOf, NO_QUOTAS, user } from "../support/entries.ts";

const { broker, store, deps } = await fileAccess();

let number = 0;
/** A realm of an orb's own, without accounts. */
const realmOf = (signup: Realm["signup"] = "open"): Realm => {
  const name = `club${++number}`;
  return { ...sharedRealm, name, base: `/api/${name}`, signup };
};

async function signUp(realm: Realm, device: Authenticator, over: Store = store): Promise<Completed> {
  const { sessionId, publicKey } = await begin(deps(), { realm, signup: true });
  return complete(deps(over), { realm, sessionId, response: device.create(publicKey) });
}

async function login(realm: Realm, device: Authenticator): Promise<Completed> {
  const { sessionId, publicKey } = await begin(deps(), { realm });
  return complete(deps(), { realm, sessionId, response: device.get(publicKey) });
}

const usersOf = async (realm: Realm) =>
  (await listUsers(deps(), admin, { realm, from: 1, limit: 100 })).users;

test("registers an active account with the role user, and a second one with the same name and email", async () => {
  const realm = realmOf();
  for (const device of [new Authenticator(ORIGIN), new Authenticator(ORIGIN)]) {
    const begun = await begin(deps(), { realm, signup: true, name: "Ann", email: "ann@example.com" });
    expect(begun).toMatchObject({ isRegistration: true, publicKey: { excludeCredentials: [] } });
    const response = device.create(begun.publicKey);
    const { account, session } = await complete(deps(), { realm, sessionId: begun.sessionId, response });
    expect(account).toMatchObject({ name: "Ann", role: "user", status: "active", invitation: null });
    const actor = await authenticate(deps(), { bearer: session.token }, { realms: [realm.name] });
    expect(actor).toMatchObject({ kind: "orb", role: "user", sub: account.id });
    expect((await login(realm, device)).account.id).toBe(account.id);
  }
  expect(await usersOf(realm)).toHaveLength(2);
});

describe("interrupted sign-up", () => {
  // More calls than a sign-up makes: the last rounds succeed.
  test.each(Array.from({ length: 10 }, (_, i) => i))(
    "leaves either no account or one that can sign in after a crash before call %i",
    async (n) => {
      const realm = realmOf();
      const device = new Authenticator(ORIGIN);
      const done = await signUp(realm, device, stoppingStore(store, n)).catch(() => null);
      const users = await usersOf(realm);
      const again = await login(realm, device).catch(() => null);
      expect(users).toHaveLength(again === null ? 0 : 1);
      if (done !== null) expect(again?.account.id).toBe(done.account.id);
      // The same device can sign up afresh.
      const { account } = again ?? (await signUp(realm, device));
      expect((await login(realm, device)).account.id).toBe(account.id);
      expect(await usersOf(realm)).toHaveLength(1);
    },
  );
});

test("accepts a challenge once, however often it is completed at the same time", async () => {
  const realm = realmOf();
  const { sessionId, publicKey } = await begin(deps(), { realm, signup: true });
  const devices = Array.from({ length: 6 }, () => new Authenticator(ORIGIN));
  const results = await Promise.allSettled(
    devices.map((device) => complete(deps(), { realm, sessionId, response: device.create(publicKey) })),
  );
  expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  expect(await usersOf(realm)).toHaveLength(1);
});

test("refuses a passkey that another account has, and leaves that account as it is", async () => {
  const realm = realmOf();
  const device = new Authenticator(ORIGIN);
  const { account } = await signUp(realm, device);
  const { sessionId, publicKey } = await begin(deps(), { realm, signup: true });
  const thief = new Authenticator(ORIGIN);
  const response = thief.create(publicKey, {}, device.passkeys[0]?.id);
  const failure = await failureOf(complete(deps(), { realm, sessionId, response }));
  expect(failure).toMatchObject({ code: "passkey_known" });
  expect((await login(realm, device)).account.id).toBe(account.id);
  expect(await usersOf(realm)).toHaveLength(1);
});

describe("closed sign-up", () => {
  test("refuses to begin in the platform realm, in the shared realm and in an orb that does not open it", async () => {
    for (const realm of [platformRealm, sharedRealm, realmOf("invitation")]) {
      expect(await failureOf(begin(deps(), { realm, signup: true }))).toMatchObject({
        kind: "forbidden",
        code: "signup_closed",
      });
    }
  });

  test("refuses to complete what began while it was open, and audits it", async () => {
    const realm = realmOf();
    const { sessionId, publicKey } = await begin(deps(), { realm, signup: true });
    const response = new Authenticator(ORIGIN).create(publicKey);
    const closed: Realm = { ...realm, signup: "invitation" };
    const failure = await failureOf(complete(deps(), { realm: closed, sessionId, response }));
    expect(failure).toMatchObject({ kind: "forbidden", code: "signup_closed" });
    expect(await usersOf(realm)).toEqual([]);
    const { items } = await listAudit(deps(), admin, { realm: realm.name, newestFirst: true, limit: 1 });
    expect(items).toMatchObject([{ action: "register", outcome: "refused", detail: "signup_closed" }]);
  });
});

test("opens and closes the shared realm by a setting that only platform admins read and change", async () => {
  const open = { shared: { signup: "open" } } as const;
  for (const by of [anonymous, user("u1", "owner")]) {
    await expect(async () => readPlatformSettings(deps(), by)).rejects.toThrow(AppError);
    await expect(changePlatformSettings(deps(), by, open)).rejects.toThrow(AppError);
  }
  expect(await readPlatformSettings(deps(), admin)).toEqual({
    shared: { signup: "invitation" },
    updatedAt: null,
    updatedBy: null,
  });
  const changed = await changePlatformSettings(deps(), admin, open);
  expect(changed).toMatchObject({ ...open, updatedBy: "admin1" });
  expect(await readPlatformSettings(deps(), admin)).toEqual(changed);
  expect(await isSignupOpen(deps(), platformRealm)).toBe(false);
  const { items } = await listAudit(deps(), admin, { action: "settings", newestFirst: true, limit: 1 });
  expect(items).toMatchObject([{ realm: "platform", actor: "admin1", detail: "shared_signup_open" }]);

  const device = new Authenticator(ORIGIN);
  const { account } = await signUp(sharedRealm, device);
  const { sessionId, publicKey } = await begin(deps(), { realm: sharedRealm, signup: true });
  await changePlatformSettings(deps(), admin, { shared: { signup: "invitation" } });
  const response = new Authenticator(ORIGIN).create(publicKey);
  expect(await failureOf(complete(deps(), { realm: sharedRealm, sessionId, response }))).toMatchObject({
    code: "signup_closed",
  });
  // Closing sign-up keeps the accounts.
  expect((await login(sharedRealm, device)).account.id).toBe(account.id);
});

test("keeps sign-up to the shared realm closed on a broker without a bucket for settings", async () => {
  const older = broker.store("operator");
  await older.deleteStream(streams.kv("platform_settings"));
  expect(await isSignupOpen(deps(), sharedRealm)).toBe(false);
});

describe("floods", () => {
  const quotas = { ...NO_QUOTAS, networkSignups: 4, realmSignups: 10 };
  /** A fixed time, so that no period ends during a test. */
  const at = (time: number, client: string): Deps => {
    const limited = deps(store, { quotas });
    return { ...limited, clock: { now: () => time }, request: { ...limited.request, client } };
  };
  const NOON = Date.UTC(2030, 0, 1, 12);
  const accepted = async (realm: Realm, client: string, times: number, time = NOON) => {
    const begun = await Promise.allSettled(
      Array.from({ length: times }, () => begin(at(time, client), { realm, signup: true })),
    );
    for (const one of begun) {
      if (one.status === "rejected") expect(one.reason).toMatchObject({ code: "too_many_signups" });
    }
    return begun.filter(({ status }) => status === "fulfilled").length;
  };

  test("admits only the allowed number of registrations of a network, however many begin at once", async () => {
    const realm = realmOf();
    expect(await accepted(realm, "203.0.113.1", 12)).toBe(4);
    // Another address of the same IPv6 network shares its limit.
    expect(await accepted(realm, "2001:db8::1", 4)).toBe(4);
    expect(await accepted(realm, "2001:db8::2", 1)).toBe(0);
    const failure = await failureOf(begin(at(NOON, "203.0.113.1"), { realm, signup: true }));
    expect(failure).toMatchObject({ kind: "too_many", retryAfter: 60, data: { scope: "client" } });
    // Each minute admits another network's share, and the day admits ten times as many in all.
    let all = 0;
    for (let minute = 1; minute < 40; minute++) {
      all += await accepted(realmOf(), "203.0.113.2", 2, NOON + minute * 60_000);
    }
    expect(all).toBe(40);
  });

  test("limits the registrations of a realm from all networks together, and does not affect other realms", async () => {
    const realm = realmOf();
    let all = 0;
    for (let i = 0; i < 8; i++) all += await accepted(realm, `198.51.100.${i}`, 2);
    expect(all).toBe(10);
    const failure = await failureOf(begin(at(NOON, "198.51.100.99"), { realm, signup: true }));
    expect(failure).toMatchObject({ data: { scope: "realm" }, retryAfter: 3600 });
    expect(await accepted(realmOf(), "198.51.100.100", 1)).toBe(1);
    // One network that is refused does not use up a realm's share.
    const other = realmOf();
    expect(await accepted(other, "198.51.100.101", 30)).toBe(4);
    expect(await accepted(other, "198.51.100.102", 3)).toBe(3);
  });
});

test("makes the expected number of broker requests and round trips", async () => {
  const counted = countingStore(store, undefined, 30);
  const realm = realmOf();
  const limited = deps(counted.store, { quotas: { ...NO_QUOTAS, networkSignups: 9, realmSignups: 9 } });
  const { sessionId, publicKey } = await begin(limited, { realm, signup: true });
  expect({ trips: counted.trips, requests: counted.calls.length }).toEqual({ trips: 3, requests: 4 });
  counted.reset();
  const response = new Authenticator(ORIGIN).create(publicKey);
  await complete(limited, { realm, sessionId, response });
  expect({ trips: counted.trips, requests: counted.calls.length }).toEqual({ trips: 4, requests: 6 });
});

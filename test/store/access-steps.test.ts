import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { generateKeys } from "../../scripts/config/secrets.ts";
import { type Actor, actorId, system } from "../../shared/access/actor.ts";
import { authenticate } from "../../shared/access/authenticate.ts";
import { bootstrapRealm, ensureBootstrap, listInBootstrapMode } from "../../shared/access/bootstrap.ts";
import { begin, beginAdding } from "../../shared/access/ceremony/begin.ts";
import { complete } from "../../shared/access/ceremony/complete.ts";
import { checkInvitation } from "../../shared/access/check-invitation.ts";
import { createInvitation, listInvitations } from "../../shared/access/invitations.ts";
import { keys, platformRealm, type Realm, sharedRealm } from "../../shared/access/realms.ts";
import { type Completed, endSession } from "../../shared/access/sessions.ts";
import {
  changeUser,
  eraseRealm,
  listAdmins,
  listUsers,
  removeAdmin,
  removeUser,
} from "../../shared/access/users.ts";
import type { Deps } from "../../shared/deps.ts";
import { buckets, streams } from "../../shared/store/subjects.ts";
import type { Store } from "../../shared/store/types.ts";
import { Authenticator } from "../support/authenticator.ts";
import { startBroker, type TestBroker } from "../support/broker.ts";
import { countingStore } from "../support/counting.ts";
import { admin, testDeps, user } from "../support/entries.ts";

const ORIGIN = "http://localhost:8787";
let broker: TestBroker;
let store: Store;
let config: Partial<Deps["config"]>;

beforeAll(async () => {
  broker = await startBroker();
  store = broker.store("fn");
  const keys = await generateKeys();
  config = { jwtSigningKeys: keys.JWT_SIGNING_KEYS, encryptionKeys: keys.ENCRYPTION_KEYS, publicUrl: ORIGIN };
});
afterAll(() => broker.stop());

const deps = (over: Store = store) => testDeps(over, config);

async function register(
  over: Store,
  realm: Realm,
  invite: string,
  device: Authenticator,
): Promise<Completed> {
  const { sessionId, publicKey } = await begin(deps(), { realm, invite });
  return complete(deps(over), { realm, sessionId, response: device.create(publicKey) });
}

async function login(over: Store, realm: Realm, device: Authenticator): Promise<Completed> {
  const { sessionId, publicKey } = await begin(deps(), { realm });
  return complete(deps(over), { realm, sessionId, response: device.get(publicKey) });
}

const accountOf = async (id: string) =>
  (await store.kvGet(buckets.orbUsers, `auth.${id}`))?.json<{ credentials: string[] }>();

/** A store that fails from its n-th call on, before the broker sees anything: the process died there. */
function dying(after: number): Store {
  return countingStore(store, (_, index) => {
    if (index >= after) throw new Error("died");
  }).store;
}

/** As on the first day. */
async function wipe(): Promise<void> {
  const operator = broker.store("operator");
  for (const bucket of [
    buckets.platformAdmins,
    buckets.platformInvitations,
    buckets.platformCredentials,
    buckets.sessions,
  ]) {
    await operator.purge(streams.kv(bucket), ">");
  }
  await operator.purge(streams.limits, ">");
}

describe("a registration that is cut short", () => {
  // More steps than there are: the last rounds go through.
  test.each(Array.from({ length: 18 }, (_, i) => i))(
    "before call %i: the operator gets in by himself",
    async (n) => {
      await wipe();
      const bootstrap = await ensureBootstrap(deps());
      const device = new Authenticator(ORIGIN);
      await register(dying(n), platformRealm, bootstrap?.token ?? "", device).catch(() => undefined);
      const begun = device.passkeys.length;

      // What he can do: sign in with the passkey that he has now, or else open the same invitation again.
      const again = await login(store, platformRealm, device).catch(() => null);
      if (again === null) {
        const open = await ensureBootstrap(deps());
        expect(open?.token).toBe(bootstrap?.token);
        const done = await register(store, platformRealm, open?.token ?? "", device);
        expect(done.account.status).toBe("active");
      }
      expect(begun).toBe(1);
      expect(await ensureBootstrap(deps())).toBeNull();
      expect(await listInBootstrapMode(deps())).toBeNull();
      expect(await listAdmins(deps(), admin)).toHaveLength(1);
      const { session } = await login(store, platformRealm, device);
      const actor = await authenticate(deps(), { bearer: session.token }, { platform: true });
      expect(actor).toMatchObject({ kind: "platform" });
      await expect(register(store, platformRealm, bootstrap?.token ?? "", device)).rejects.toMatchObject({
        kind: "gone",
      });
    },
  );
});

test("a bootstrap invitation that has expired is told from one that never was, also once another one is there", async () => {
  await wipe();
  const old = await ensureBootstrap(deps());
  const later = { ...deps(), clock: { now: () => Date.now() + 8 * 86_400_000 } };
  const check = (code = "") => checkInvitation(later, { realm: platformRealm, code });
  await expect(check(old?.token)).rejects.toMatchObject({ code: "invitation_expired" });
  const listings = await Promise.all([1, 2, 3].map(() => listInBootstrapMode(later)));
  const tokens = new Set(listings.map((listing) => listing?.[0]?.token));
  expect(tokens.size).toBe(1);
  const [token = ""] = tokens;
  expect(token).not.toBe(old?.token);
  await expect(check(old?.token)).rejects.toMatchObject({ kind: "gone", code: "invitation_expired" });
  // Whose clock is behind must not take the old one for good.
  const behind = checkInvitation(deps(), { realm: platformRealm, code: old?.token ?? "" });
  await expect(behind).rejects.toMatchObject({ code: "invitation_expired" });
  await expect(check(token)).resolves.toMatchObject({ status: "active" });
  await expect(check("nobody")).rejects.toMatchObject({ kind: "not_found" });
});

test("of registrations that all saw the invitation unused, one wins, and nothing is left of the others", async () => {
  const { token } = await createInvitation(deps(), system, { realm: sharedRealm, role: "user" });
  const devices = Array.from({ length: 8 }, () => new Authenticator(ORIGIN));
  const begun = await Promise.all(devices.map(() => begin(deps(), { realm: sharedRealm, invite: token })));
  const before = await store.kvList(buckets.orbUsers, "auth.*", { maxBytes: 1e8 });
  const results = await Promise.allSettled(
    devices.map((device, i) =>
      complete(deps(), {
        realm: sharedRealm,
        sessionId: begun[i]?.sessionId ?? "",
        response: device.create(begun[i]?.publicKey),
      }),
    ),
  );
  expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  for (const result of results) {
    if (result.status === "rejected") expect(result.reason).toMatchObject({ code: "invitation_used" });
  }
  expect(await store.kvList(buckets.orbUsers, "auth.*", { maxBytes: 1e8 })).toHaveLength(before.length + 1);
  const signins = await Promise.allSettled(devices.map((device) => login(store, sharedRealm, device)));
  expect(signins.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
});

describe("removing an account wins over a sign-in that is going on", () => {
  test.each([0, 1, 2, 3, 4, 5, 6, 7])("disabled before call %i of the sign-in", async (n) => {
    const invitation = await createInvitation(deps(), system, { realm: sharedRealm, role: "user" });
    const device = new Authenticator(ORIGIN);
    const { account } = await register(store, sharedRealm, invitation.token, device);
    let disabling: Promise<unknown> | undefined;
    const racing = countingStore(store, (_, index) => {
      if (index === n)
        disabling = changeUser(deps(), admin, { realm: sharedRealm, id: account.id, status: "disabled" });
    });
    const signed = await login(racing.store, sharedRealm, device).catch(() => null);
    await disabling;
    if (signed !== null) {
      const asked = authenticate(deps(), { bearer: signed.session.token }, { realms: ["auth"] });
      await expect(asked).rejects.toMatchObject({ code: "invalid_token" });
    }
    await expect(login(store, sharedRealm, device)).rejects.toMatchObject({ code: "account_disabled" });
    await changeUser(deps(), admin, { realm: sharedRealm, id: account.id, status: "active" });
    await login(store, sharedRealm, device);
  });
});

describe("ending a session wins over a passkey that it is adding", () => {
  test.each(Array.from({ length: 12 }, (_, i) => i))("signed out before call %i", async (n) => {
    const realm = sharedRealm;
    const invitation = await createInvitation(deps(), system, { realm, role: "user" });
    const { session, account } = await register(store, realm, invitation.token, new Authenticator(ORIGIN));
    const actor = await authenticate(deps(), { bearer: session.token }, { realms: ["auth"] });
    const { sessionId, publicKey } = await beginAdding(deps(), actor, realm);
    const device = new Authenticator(ORIGIN);
    let ended: Promise<void> | undefined;
    const racing = countingStore(store, (_, index) => {
      if (index === n) ended = endSession(deps(), realm.name, account.id, session.sid);
    });
    const response = device.create(publicKey);
    const added = await complete(deps(racing.store), { realm, sessionId, response }).catch(() => null);
    await ended;
    const { credentials } = (await accountOf(account.id)) ?? { credentials: [] };
    expect(credentials).toHaveLength(added === null ? 1 : 2);
    // Only what ended after the last look at it is too late.
    if (n < 8) expect(added).toBeNull();
    if (added !== null) return;
    await expect(login(store, realm, device)).rejects.toMatchObject({ code: "passkey_refused" });
    expect(await store.kvList(buckets.sessions, `auth.${account.id}.*`, { maxBytes: 1e8 })).toEqual([]);
  });
});

test("removing an admin that was cut short is finished by asking again", async () => {
  await wipe();
  const bootstrap = await ensureBootstrap(deps());
  const first = await register(store, platformRealm, bootstrap?.token ?? "", new Authenticator(ORIGIN));
  for (let n = 0; n < 12; n++) {
    const device = new Authenticator(ORIGIN);
    const invitation = await createInvitation(deps(), system, { realm: platformRealm, role: "owner" });
    const second = await register(store, platformRealm, invitation.token, device);
    const cut = await removeAdmin(deps(dying(n)), admin, second.account.id).then(
      () => true,
      () => false,
    );
    if (!cut) {
      await removeAdmin(deps(), admin, second.account.id).catch((error: unknown) => {
        expect(error).toMatchObject({ kind: "not_found" });
      });
    }
    await expect(login(store, platformRealm, device)).rejects.toMatchObject({ code: "passkey_refused" });
    await expect(
      authenticate(deps(), { bearer: second.session.token }, { platform: true }),
    ).rejects.toMatchObject({ code: "invalid_token" });
  }
  await expect(removeAdmin(deps(), admin, first.account.id)).rejects.toMatchObject({ code: "last_admin" });
});

describe("an invitation does not outlive its maker's right to invite", () => {
  /** A new account, as an actor whose request is under way, whatever becomes of the account meanwhile. */
  async function maker(realm: Realm, role: "owner" | "admin"): Promise<Actor> {
    const { token } = await createInvitation(deps(), system, { realm, role });
    const { account } = await register(store, realm, token, new Authenticator(ORIGIN));
    const operator: Actor = { kind: "platform", sub: account.id, name: "", email: null, sid: "s", exp: 4e9 };
    return realm === platformRealm ? operator : user(account.id, role);
  }

  test("demoted, disabled: what he could not make any more is withdrawn", async () => {
    const realm = sharedRealm;
    const by = await maker(realm, "owner");
    const made = await Promise.all(
      (["owner", "admin", "user"] as const).map((role) => createInvitation(deps(), by, { realm, role })),
    );
    const states = async () => {
      const listed = await listInvitations(deps(), admin, realm);
      return made.map(({ token }) => listed.find((one) => one.token === token)?.status);
    };
    await changeUser(deps(), admin, { realm, id: actorId(by), role: "admin" });
    expect(await states()).toEqual(["revoked", "revoked", "active"]);
    await changeUser(deps(), admin, { realm, id: actorId(by), status: "disabled" });
    expect(await states()).toEqual(["revoked", "revoked", "revoked"]);
    for (const { token } of made) {
      const begun = begin(deps(), { realm, invite: token });
      await expect(begun).rejects.toMatchObject({ code: "invitation_revoked" });
    }
  });

  test.each([
    ["platform", platformRealm],
    ["shared realm", sharedRealm],
  ])(
    "removed: neither one that was begun with, nor one that was under way, is good: %s",
    async (_, realm) => {
      const by = await maker(realm, "owner");
      const before = await createInvitation(deps(), by, { realm, role: "owner" });
      const device = new Authenticator(ORIGIN);
      const { sessionId, publicKey } = await begin(deps(), { realm, invite: before.token });
      if (realm === platformRealm) await removeAdmin(deps(), admin, actorId(by));
      else await removeUser(deps(), admin, { realm, id: actorId(by) });
      const response = device.create(publicKey);
      await expect(complete(deps(), { realm, sessionId, response })).rejects.toMatchObject({
        code: "invitation_revoked",
      });
      // His request had passed its check when he was removed: the list of what was to be withdrawn lacks this one.
      const after = await createInvitation(deps(), by, { realm, role: "owner" });
      const operator = broker.store("operator");
      const accounts = await operator.kvList(realm.buckets.accounts, keys.all(realm));
      await expect(register(store, realm, after.token, device)).rejects.toMatchObject({
        code: "invitation_revoked",
      });
      // Nothing is left of it, so that the device may be used with a good one.
      expect(await operator.kvList(realm.buckets.accounts, keys.all(realm))).toHaveLength(accounts.length);
      expect(device.passkeys).toHaveLength(2);
      for (const { id } of device.passkeys) {
        const key = await keys.credential(realm, Buffer.from(id).toString("base64url"));
        expect(await store.kvGet(realm.buckets.credentials, key)).toBeNull();
      }
    },
  );

  test("what a removed operator made elsewhere is no good either; an orb's first owner gets a new one", async () => {
    const realm: Realm = { ...sharedRealm, name: "crew", base: "/api/crew" };
    const by = await maker(platformRealm, "owner");
    const first = await bootstrapRealm(deps(), by, realm);
    expect((await bootstrapRealm(deps(), admin, realm)).token).toBe(first.token);
    const other = await createInvitation(deps(), by, { realm, role: "admin" });
    await removeAdmin(deps(), admin, actorId(by));
    for (const { token } of [first, other]) {
      await expect(register(store, realm, token, new Authenticator(ORIGIN))).rejects.toMatchObject({
        code: "invitation_revoked",
      });
    }
    const next = await bootstrapRealm(deps(), await maker(platformRealm, "owner"), realm);
    expect(next.token).not.toBe(first.token);
    const { account } = await register(store, realm, next.token, new Authenticator(ORIGIN));
    expect(account).toMatchObject({ role: "owner", status: "active" });
  });
});

test("users are listed in pages, and nobody is missed", async () => {
  const realm: Realm = { ...sharedRealm, name: "club", base: "/api/club" };
  const ids = new Set<string>();
  for (let i = 0; i < 7; i++) {
    const invitation = await createInvitation(deps(), system, { realm, role: i === 0 ? "admin" : "user" });
    ids.add((await register(store, realm, invitation.token, new Authenticator(ORIGIN))).account.id);
  }
  const seen: string[] = [];
  for (let from: number | null = 1; from !== null; ) {
    const page: Awaited<ReturnType<typeof listUsers>> = await listUsers(deps(), admin, {
      realm,
      from,
      limit: 3,
    });
    seen.push(...page.users.map(({ id }) => id));
    from = page.next;
  }
  expect(seen).toHaveLength(7);
  expect(new Set(seen)).toEqual(ids);
  const admins = await listUsers(deps(), admin, { realm, from: 1, limit: 50, role: "admin" });
  expect(admins.users).toHaveLength(1);

  await eraseRealm(deps(), "club");
  expect((await listUsers(deps(), admin, { realm, from: 1, limit: 50 })).users).toEqual([]);
  for (const bucket of [buckets.orbUsers, buckets.orbCredentials, buckets.orbInvitations, buckets.sessions]) {
    expect(await store.kvList(bucket, "club.>", { maxBytes: 1e8 })).toEqual([]);
  }
  // Other realms keep theirs.
  expect(
    (await listUsers(deps(), admin, { realm: sharedRealm, from: 1, limit: 50 })).users.length,
  ).toBeGreaterThan(0);
});

test("who registered but for the last step is listed as active, also where only those are asked for", async () => {
  const realm: Realm = { ...sharedRealm, name: "cut", base: "/api/cut" };
  const { token } = await createInvitation(deps(), system, { realm, role: "user" });
  // The account becomes active by the last write of all to the bucket of accounts.
  let writes = 0;
  const cut: Store = {
    ...store,
    kvPut: async (bucket, ...rest) => {
      if (bucket === buckets.orbUsers && ++writes === 2) throw new Error("died");
      return store.kvPut(bucket, ...rest);
    },
  };
  await expect(register(cut, realm, token, new Authenticator(ORIGIN))).rejects.toThrow("died");
  expect((await store.kvList(buckets.orbUsers, "cut.*", { maxBytes: 1e8 }))[0]?.json()).toMatchObject({
    status: "pending",
  });
  const listed = async (status?: "active" | "disabled") =>
    (await listUsers(deps(), admin, { realm, from: 1, limit: 50, status })).users.map((one) => one.status);
  expect(await listed()).toEqual(["active"]);
  expect(await listed("active")).toEqual(["active"]);
  expect(await listed("disabled")).toEqual([]);
});

test("what each act asks of the broker", async () => {
  const device = new Authenticator(ORIGIN);
  const counted = countingStore(store, undefined, 30);
  const owned = await createInvitation(deps(), system, { realm: sharedRealm, role: "owner" });
  const owner = await register(store, sharedRealm, owned.token, new Authenticator(ORIGIN));
  const maker = user(owner.account.id, "owner");
  const measured: Record<string, { trips: number; requests: number }> = {};
  async function measure<T>(name: string, act: () => Promise<T>): Promise<T> {
    counted.reset();
    const result = await act();
    measured[name] = { trips: counted.trips, requests: counted.calls.length };
    return result;
  }
  const with_ = deps(counted.store);
  const realm = sharedRealm;
  const invitation = await measure("invite", () => createInvitation(with_, maker, { realm, role: "user" }));
  const forNew = await measure("begin registration", () => begin(with_, { realm, invite: invitation.token }));
  await measure("complete registration", () =>
    complete(with_, { realm, sessionId: forNew.sessionId, response: device.create(forNew.publicKey) }),
  );
  const forLogin = await measure("begin sign-in", () => begin(with_, { realm }));
  const { session } = await measure("complete sign-in", () =>
    complete(with_, { realm, sessionId: forLogin.sessionId, response: device.get(forLogin.publicKey) }),
  );
  await measure("authenticated request", () =>
    authenticate(with_, { bearer: session.token }, { platform: true, realms: ["auth"] }),
  );
  expect(measured).toEqual({
    invite: { trips: 1, requests: 2 },
    "begin registration": { trips: 1, requests: 3 },
    "complete registration": { trips: 4, requests: 11 },
    "begin sign-in": { trips: 1, requests: 1 },
    "complete sign-in": { trips: 3, requests: 8 },
    "authenticated request": { trips: 1, requests: 1 },
  });
});

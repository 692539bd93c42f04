import { describe, expect, test } from "vitest";
import type { AccountRecord } from "../../shared/access/accounts.ts";
import { type Actor, actorId, system } from "../../shared/access/actor.ts";
import { authenticate } from "../../shared/access/authenticate.ts";
import { bootstrapRealm, ensureBootstrap, listInBootstrapMode } from "../../shared/access/bootstrap.ts";
import { begin, beginAdding } from "../../shared/access/ceremony/begin.ts";
import { complete } from "../../shared/access/ceremony/complete.ts";
import { createInvitation, listInvitations } from "../../shared/access/invitations.ts";
import { unlink } from "../../shared/access/oauth/identities.ts";
import { removePasskey } from "../../shared/access/passkeys.ts";
import { keys, platformRealm, type Realm, sharedRealm } from "../../shared/access/realms.ts";
import { checkInvitation } from "../../shared/access/recovery/usable.ts";
import { type Completed, endSession } from "../../shared/access/sessions.ts";
import {
  changeUser,
  eraseRealm,
  listAdmins,
  listUsers,
  removeAdmin,
  removeUser,
} from "../../shared/access/users.ts";
import { buckets, streams } from "../../shared/store/subjects.ts";
import type { Store } from "../../shared/store/types.ts";
import { fileAccess, ORIGIN } from "../support/access.ts";
import { Authenticator } from "../support/authenticator.ts";
import { countingStore, stoppingStore } from "../support/counting.ts";
import { admin, user } from "../support/entries.ts";

const { broker, store, deps } = await fileAccess();

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

/** A store that fails from its n-th call on. */
const dying = (after: number): Store => stoppingStore(store, after);

/** Removes all accounts, invitations, passkeys and sessions of the platform. */
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

describe("interrupted registration", () => {
  // More calls than a registration makes: the last rounds succeed.
  test.each(Array.from({ length: 18 }, (_, i) => i))(
    "lets the admin in again after a crash before call %i",
    async (n) => {
      await wipe();
      const bootstrap = await ensureBootstrap(deps());
      const device = new Authenticator(ORIGIN);
      await register(dying(n), platformRealm, bootstrap?.token ?? "", device).catch(() => undefined);
      const begun = device.passkeys.length;

      // The admin can sign in with the new passkey, or open the same invitation again.
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

test("distinguishes an expired bootstrap invitation from an unknown one, even after its replacement", async () => {
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
  // A process whose clock is behind must refuse the old invitation as well.
  const behind = checkInvitation(deps(), { realm: platformRealm, code: old?.token ?? "" });
  await expect(behind).rejects.toMatchObject({ code: "invitation_expired" });
  await expect(check(token)).resolves.toMatchObject({ status: "active" });
  await expect(check("nobody")).rejects.toMatchObject({ kind: "not_found" });
});

test("lets one of several parallel registrations use an invitation, and leaves no account of the others", async () => {
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

describe("an account is disabled during a sign-in", () => {
  test.each([0, 1, 2, 3, 4, 5, 6, 7])("before call %i: no usable session remains", async (n) => {
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

describe("a session ends while it adds a passkey", () => {
  test.each(Array.from({ length: 12 }, (_, i) => i))(
    "before call %i: a refused passkey cannot sign in",
    async (n) => {
      const realm = sharedRealm;
      const invitation = await createInvitation(deps(), system, { realm, role: "user" });
      const { session, account } = await register(store, realm, invitation.token, new Authenticator(ORIGIN));
      const actor = await authenticate(deps(), { bearer: session.token }, { realms: ["auth"] });
      const { sessionId, publicKey } = await beginAdding(deps(), actor, { realm });
      const device = new Authenticator(ORIGIN);
      const racing = countingStore(store, async (_, index) => {
        if (index === n) await endSession(deps(), realm.name, account.id, session.sid);
      });
      const response = device.create(publicKey);
      const added = await complete(deps(racing.store), { realm, sessionId, response }).catch(() => null);
      const { credentials } = (await accountOf(account.id)) ?? { credentials: [] };
      expect(credentials).toHaveLength(added === null ? 1 : 2);
      // Only a session that ends after the last check is too late.
      if (n < 8) expect(added).toBeNull();
      if (added !== null) return;
      await expect(login(store, realm, device)).rejects.toMatchObject({ code: "passkey_refused" });
      expect(await store.kvList(buckets.sessions, `auth.${account.id}.*`, { maxBytes: 1e8 })).toEqual([]);
    },
  );
});

describe("the last way to sign in", () => {
  const issuer = "https://idp.example.com";
  const provider = { id: "main", issuer, clientId: "client" };
  const club: Realm = {
    ...sharedRealm,
    handlers: new Set(["passkey", "invitations", "oauth"]),
    providers: [provider],
  };
  const [first, second] = ["a".repeat(43), "b".repeat(43)];

  /** Registers an account with a passkey, and lists identities in it. */
  async function member(...identities: { id: string; issuer: string }[]) {
    const { token } = await createInvitation(deps(), system, { realm: club, role: "user" });
    const { session, account } = await register(store, club, token, new Authenticator(ORIGIN));
    const at = new Date().toISOString();
    for (const { id, issuer: from } of identities) {
      const record = {
        v: 1,
        id,
        account: account.id,
        issuer: from,
        subject: "ann",
        label: null,
        createdAt: at,
      };
      await store.kvPut(buckets.orbCredentials, `auth.identity.${id}`, JSON.stringify(record));
    }
    const listed = { ...account, identities };
    await store.kvPut(buckets.orbUsers, `auth.${account.id}`, JSON.stringify(listed));
    const actor = await authenticate(deps(), { bearer: session.token }, { realms: ["auth"] });
    return { id: account.id, passkey: account.credentials[0] ?? "", actor, session };
  }

  const ways = async (id: string): Promise<number> => {
    const record = await store.kvGet(buckets.orbUsers, `auth.${id}`);
    const { credentials = [], identities = [] } = record?.json<Partial<AccountRecord>>() ?? {};
    return credentials.length + identities.filter((one) => one.issuer === issuer).length;
  };

  test("stays when all ways are removed in the same millisecond", async () => {
    for (let round = 0; round < 10; round++) {
      const { id, passkey, actor } = await member({ id: first, issuer }, { id: second, issuer });
      const removals = await Promise.allSettled([
        removePasskey(deps(), actor, { realm: club, id: passkey }),
        unlink(deps(), actor, { realm: club, id: first }),
        unlink(deps(), actor, { realm: club, id: second }),
      ]);
      const refused = removals.filter(({ status }) => status === "rejected");
      expect(refused).toMatchObject([
        { reason: { code: expect.stringMatching(/^last_(passkey|identity)$/) } },
      ]);
      expect(await ways(id)).toBe(1);
    }
  });

  test("is not an identity of a provider that the orb no longer offers", async () => {
    const { passkey, actor } = await member({ id: first, issuer: "https://gone.example.com" });
    await expect(removePasskey(deps(), actor, { realm: club, id: passkey })).rejects.toMatchObject({
      code: "last_passkey",
    });
    await unlink(deps(), actor, { realm: club, id: first });
  });

  test("is not a passkey in an orb without sign-in by passkeys", async () => {
    const { passkey, actor } = await member({ id: first, issuer });
    const realm = { ...club, handlers: new Set(["oauth"]) };
    await expect(unlink(deps(), actor, { realm, id: first })).rejects.toMatchObject({
      code: "last_identity",
    });
    await removePasskey(deps(), actor, { realm, id: passkey });
  });

  test("stays while a request may take back the other one, because its session has ended", async () => {
    const { id, passkey, actor, session } = await member();
    const { sessionId, publicKey } = await beginAdding(deps(), actor, { realm: club });
    const response = new Authenticator(ORIGIN).create(publicKey);
    let removal: Promise<void> | undefined;
    // Between the write that lists the new passkey and the check of the session.
    const racing = {
      ...store,
      kvPut: async (...given: Parameters<Store["kvPut"]>) => {
        const revision = await store.kvPut(...given);
        if (given[0] !== buckets.orbUsers || removal !== undefined) return revision;
        removal = removePasskey(deps(), actor, { realm: club, id: passkey });
        await Promise.allSettled([removal, endSession(deps(), club.name, id, session.sid)]);
        return revision;
      },
    };
    const adding = complete(deps(racing), { realm: club, sessionId, response });
    await expect(adding).rejects.toMatchObject({ code: "passkey_refused" });
    await expect(removal).rejects.toMatchObject({ code: "last_passkey" });
    expect(await ways(id)).toBe(1);
  });
});

test("finishes an interrupted removal of an admin when it is repeated", async () => {
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

describe("invitations of an account that loses its rights", () => {
  /** Creates an account and returns it as the actor of a running request, whatever happens to the account meanwhile. */
  async function maker(realm: Realm, role: "owner" | "admin"): Promise<Actor> {
    const { token } = await createInvitation(deps(), system, { realm, role });
    const { account } = await register(store, realm, token, new Authenticator(ORIGIN));
    const operator: Actor = { kind: "platform", sub: account.id, name: "", email: null, sid: "s", exp: 4e9 };
    return realm === platformRealm ? operator : user(account.id, role);
  }

  test("revokes the invitations that a demoted or disabled account could no longer create", async () => {
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
    "refuses the invitations of a removed account, begun or created during the removal: %s",
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
      // The creator's request passed its check before the removal, so the removal did not see this invitation.
      const after = await createInvitation(deps(), by, { realm, role: "owner" });
      const operator = broker.store("operator");
      const accounts = await operator.kvList(realm.buckets.accounts, keys.all(realm));
      await expect(register(store, realm, after.token, device)).rejects.toMatchObject({
        code: "invitation_revoked",
      });
      // The refused registration leaves nothing behind, so the device can use a valid invitation.
      expect(await operator.kvList(realm.buckets.accounts, keys.all(realm))).toHaveLength(accounts.length);
      expect(device.passkeys).toHaveLength(2);
      for (const { id } of device.passkeys) {
        const key = await keys.credential(realm, Buffer.from(id).toString("base64url"));
        expect(await store.kvGet(realm.buckets.credentials, key)).toBeNull();
      }
    },
  );

  test("refuses invitations of a removed admin in other realms and replaces an orb's bootstrap invitation", async () => {
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

test("lists every user once across pages, and erases one realm only", async () => {
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
  // Other realms keep their users.
  expect(
    (await listUsers(deps(), admin, { realm: sharedRealm, from: 1, limit: 50 })).users.length,
  ).toBeGreaterThan(0);
});

test("lists an account as active although its registration lacks the last write", async () => {
  const realm: Realm = { ...sharedRealm, name: "cut", base: "/api/cut" };
  const { token } = await createInvitation(deps(), system, { realm, role: "user" });
  // The second write to the bucket of accounts is the one that activates the account.
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

test("makes the expected number of broker requests and round trips per operation", async () => {
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

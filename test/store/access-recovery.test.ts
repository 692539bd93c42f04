import { describe, expect, test } from "vitest";
import { type Actor, anonymous, system } from "../../shared/access/actor.ts";
import { listAudit } from "../../shared/access/audit-log.ts";
import { authenticate } from "../../shared/access/authenticate.ts";
import { begin, beginAdding } from "../../shared/access/ceremony/begin.ts";
import { complete } from "../../shared/access/ceremony/complete.ts";
import { createInvitation, listInvitations } from "../../shared/access/invitations.ts";
import { createApiToken } from "../../shared/access/machines/tokens.ts";
import { platformRealm, type Realm, sharedRealm } from "../../shared/access/realms.ts";
import { createRecovery } from "../../shared/access/recovery/links.ts";
import { checkInvitation } from "../../shared/access/recovery/usable.ts";
import { revokeInvitation } from "../../shared/access/revocation.ts";
import type { Completed } from "../../shared/access/sessions.ts";
import { changeUser, removeUser } from "../../shared/access/users.ts";
import { buckets } from "../../shared/store/subjects.ts";
import type { Store } from "../../shared/store/types.ts";
import { fileAccess, ORIGIN } from "../support/access.ts";
import { Authenticator } from "../support/authenticator.ts";
import { countingStore, stoppingStore } from "../support/counting.ts";
import { admin, failureOf, user } from "../support/entries.ts";

const realm = sharedRealm;
const { store, deps } = await fileAccess();

interface Person extends Completed {
  device: Authenticator;
  id: string;
}

async function person(role: "owner" | "admin" | "user" = "user", of: Realm = realm): Promise<Person> {
  const { token } = await createInvitation(deps(), system, { realm: of, role });
  const device = new Authenticator(ORIGIN);
  const { sessionId, publicKey } = await begin(deps(), { realm: of, invite: token });
  const done = await complete(deps(), { realm: of, sessionId, response: device.create(publicKey) });
  return { ...done, device, id: done.account.id };
}

async function login(device: Authenticator, over: Store = store): Promise<Completed> {
  const { sessionId, publicKey } = await begin(deps(), { realm });
  return complete(deps(over), { realm, sessionId, response: device.get(publicKey) });
}

async function recover(
  invite: string,
  device: Authenticator,
  removePasskeys: boolean,
  over: Store = store,
): Promise<Completed> {
  const { sessionId, publicKey } = await begin(deps(), { realm, invite, removePasskeys });
  return complete(deps(over), { realm, sessionId, response: device.create(publicKey) });
}

const isLive = async ({ session }: Completed) =>
  authenticate(deps(), { bearer: session.token }, { realms: ["auth"] }).then(
    () => true,
    () => false,
  );
const stored = async (id: string) =>
  (await store.kvGet(buckets.orbUsers, `auth.${id}`))?.json<Record<string, unknown>>();
const linkFor = (id: string, by: Actor = system) => createRecovery(deps(), by, { realm, id });
const details = async (id: string) =>
  (
    await listAudit(deps(), admin, { action: "recovery", target: id, newestFirst: false, limit: 20 })
  ).items.map(({ detail }) => detail);

describe.each([
  ["kept", false],
  ["removed", true],
])("a recovery with old passkeys %s", (word, removes) => {
  test("adds a passkey to the account, ends its sessions and is audited", async () => {
    const lost = await person();
    const other = await person();
    const second = await login(lost.device);
    const link = await linkFor(lost.id);
    expect(link).toMatchObject({ purpose: "recover", account: lost.id, role: "user", status: "active" });
    expect(Date.parse(link.expiresAt) - Date.parse(link.createdAt)).toBe(86_400_000);
    const found = new Authenticator(ORIGIN);
    const done = await recover(link.token, found, removes);
    expect(done.account).toMatchObject({ id: lost.id, name: lost.account.name, role: "user" });
    expect(done.account.credentials).toHaveLength(removes ? 1 : 2);
    expect(await isLive(done)).toBe(true);
    expect([await isLive(lost), await isLive(second), await isLive(other)]).toEqual([false, false, true]);
    expect((await login(found)).account.id).toBe(lost.id);
    const old = await login(lost.device).catch((error: unknown) => error);
    if (removes) expect(old).toMatchObject({ code: "passkey_refused" });
    else expect(old).toMatchObject({ account: { id: lost.id } });
    expect(await details(lost.id)).toEqual(["link_created", `link_used_passkeys_${word}`]);
    expect(await stored(lost.id)).not.toHaveProperty("recovered");
    const again = begin(deps(), { realm, invite: link.token });
    expect(await failureOf(again)).toMatchObject({ kind: "gone", code: "invitation_used" });
  });

  // More calls than a recovery makes: the last rounds succeed.
  test.each(Array.from({ length: 26 }, (_, i) => i))(
    "can be finished after a crash before call %i",
    async (n) => {
      const lost = await person();
      const { token } = await linkFor(lost.id);
      const found = new Authenticator(ORIGIN);
      await recover(token, found, removes, stoppingStore(store, n)).catch(() => undefined);
      // Either the new passkey signs in, or the link still works. Never both, and never neither.
      const entered = await login(found).catch(() => null);
      const begun = await begin(deps(), { realm, invite: token }).then(
        () => null,
        (error: unknown) => error,
      );
      if (entered !== null) expect(begun).toMatchObject({ code: "invitation_used" });
      else {
        expect(begun).toBeNull();
        await recover(token, found, removes);
      }
      expect(await isLive(lost)).toBe(false);
      const { credentials } = (await login(found)).account;
      expect(credentials).toHaveLength(removes ? 1 : 2);
      const old = await login(lost.device).then(
        () => true,
        () => false,
      );
      expect(old).toBe(!removes);
      expect(await stored(lost.id)).not.toHaveProperty("recovered");
      const [newest] = await listInvitations(deps(), admin, realm);
      expect(newest).toMatchObject({ token, status: "used" });
      expect(await details(lost.id)).toContain(`link_used_passkeys_${word}`);
    },
  );
});

test("lets one of six concurrent uses win", async () => {
  const lost = await person();
  const { token } = await linkFor(lost.id);
  const devices = Array.from({ length: 6 }, () => new Authenticator(ORIGIN));
  const begun = await Promise.all(devices.map(() => begin(deps(), { realm, invite: token })));
  const results = await Promise.allSettled(
    devices.map((device, i) =>
      complete(deps(), {
        realm,
        sessionId: begun[i]?.sessionId ?? "",
        response: device.create(begun[i]?.publicKey),
      }),
    ),
  );
  expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  for (const result of results) {
    if (result.status === "rejected") expect(result.reason).toMatchObject({ code: "invitation_used" });
  }
  const signins = await Promise.allSettled(devices.map((device) => login(device)));
  expect(signins.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  expect(await stored(lost.id)).toMatchObject({ credentials: [expect.any(String), expect.any(String)] });
  expect(await store.kvList(buckets.orbCredentials, "auth.*", { maxBytes: 1e8 })).not.toHaveLength(0);
});

test("makes the expected number of broker requests and round trips per operation", async () => {
  const counted = countingStore(store, undefined, 30);
  const lost = await person();
  const measured: Record<string, { trips: number; requests: number }> = {};
  async function measure<T>(name: string, act: () => Promise<T>): Promise<T> {
    counted.reset();
    const result = await act();
    measured[name] = { trips: counted.trips, requests: counted.calls.length };
    return result;
  }
  const with_ = deps(counted.store);
  const link = await measure("create a link", () => createRecovery(with_, system, { realm, id: lost.id }));
  const begun = await measure("begin", () => begin(with_, { realm, invite: link.token }));
  const response = new Authenticator(ORIGIN).create(begun.publicKey);
  await measure("complete", () => complete(with_, { realm, sessionId: begun.sessionId, response }));
  expect(measured).toEqual({
    "create a link": { trips: 4, requests: 5 },
    begin: { trips: 3, requests: 5 },
    complete: { trips: 14, requests: 18 },
  });
});

describe("a revocation races with a use", () => {
  test.each(Array.from({ length: 16 }, (_, i) => i))("before call %i: exactly one succeeds", async (n) => {
    const lost = await person();
    const { token } = await linkFor(lost.id);
    let revoking: Promise<boolean> | undefined;
    const racing = countingStore(store, (_, index) => {
      if (index === n)
        revoking = revokeInvitation(deps(), admin, { realm, code: token }).then(
          () => true,
          (error: unknown) => {
            expect(error).toMatchObject({ code: "invitation_used" });
            return false;
          },
        );
    });
    const found = new Authenticator(ORIGIN);
    const used = await recover(token, found, false, racing.store).then(
      () => true,
      (error: unknown) => {
        expect(error).toMatchObject({ code: "invitation_revoked" });
        return false;
      },
    );
    // A use that needs fewer calls has ended before the revocation.
    const revoked = (await revoking) ?? !used;
    expect(revoked).toBe(!used);
    expect(await stored(lost.id)).toMatchObject({
      credentials: used ? [expect.any(String), expect.any(String)] : [expect.any(String)],
    });
  });
});

describe("a recovery link no longer works", () => {
  const refused = async (token: string, code = "invitation_revoked") => {
    expect(await failureOf(checkInvitation(deps(), { realm, code: token }))).toMatchObject({ code });
    expect(await failureOf(begin(deps(), { realm, invite: token }))).toMatchObject({ code });
  };
  const statusOf = async (token: string) =>
    (await listInvitations(deps(), admin, realm)).find((one) => one.token === token)?.status;

  test.each([
    ["is disabled", (id: string) => changeUser(deps(), admin, { realm, id, status: "disabled" })],
    ["gets another role", (id: string) => changeUser(deps(), admin, { realm, id, role: "admin" })],
    ["is removed", (id: string) => removeUser(deps(), admin, { realm, id })],
  ])("after the account %s, even for those who have begun", async (_, change) => {
    const lost = await person();
    const { token } = await linkFor(lost.id);
    const { sessionId, publicKey } = await begin(deps(), { realm, invite: token });
    await change(lost.id);
    await refused(token);
    expect(await statusOf(token)).toBe("revoked");
    const response = new Authenticator(ORIGIN).create(publicKey);
    expect(await failureOf(complete(deps(), { realm, sessionId, response }))).toMatchObject({
      code: "invitation_revoked",
    });
    const passkeys = await store.kvGet(buckets.orbCredentials, `auth.${response.id}`);
    expect(passkeys).toBeNull();
  });

  test("after another link was created", async () => {
    const lost = await person();
    const first = await linkFor(lost.id);
    const second = await linkFor(lost.id);
    await refused(first.token);
    expect([await statusOf(first.token), await statusOf(second.token)]).toEqual(["revoked", "active"]);
    await recover(second.token, new Authenticator(ORIGIN), false);
  });

  test("after a day", async () => {
    const lost = await person();
    const { token } = await linkFor(lost.id);
    const later = { ...deps(), clock: { now: () => Date.now() + 86_400_000 } };
    expect(await failureOf(begin(later, { realm, invite: token }))).toMatchObject({
      code: "invitation_expired",
    });
  });

  test("after its creator lost the right to manage the account, even for those who have begun", async () => {
    const lost = await person();
    const helper = await person("admin");
    const { token } = await linkFor(lost.id, user(helper.id, "admin"));
    const { sessionId, publicKey } = await begin(deps(), { realm, invite: token });
    await changeUser(deps(), admin, { realm, id: helper.id, role: "user" });
    const response = new Authenticator(ORIGIN).create(publicKey);
    expect(await failureOf(complete(deps(), { realm, sessionId, response }))).toMatchObject({
      code: "invitation_revoked",
    });
    await refused(token);
    // The creator's request passed its check before the change of role, which did not see this link.
    const late = await linkFor(lost.id, user(helper.id, "admin"));
    expect(await failureOf(recover(late.token, new Authenticator(ORIGIN), true))).toMatchObject({
      code: "invitation_revoked",
    });
    expect((await login(lost.device)).account.credentials).toHaveLength(1);
  });
});

describe("the right to create a recovery link", () => {
  test("is given to admins for users, and to owners and platform admins for every account", async () => {
    const accounts = { user: await person(), admin: await person("admin"), owner: await person("owner") };
    const makers: [Actor, boolean, boolean, boolean][] = [
      [anonymous, false, false, false],
      [user("u"), false, false, false],
      [user("a", "admin"), true, false, false],
      [user("o", "owner"), true, true, true],
      [user("o", "owner", "another"), false, false, false],
      [admin, true, true, true],
    ];
    for (const [by, ...expected] of makers) {
      const made = [];
      for (const { id } of Object.values(accounts)) {
        made.push(
          await linkFor(id, by).then(
            () => true,
            () => false,
          ),
        );
      }
      expect(made).toEqual(expected);
    }
  });

  test("does not cover accounts of another realm, and disabled or unknown ones", async () => {
    const elsewhere: Realm = { ...sharedRealm, name: "crew", base: "/api/crew" };
    const { id } = await person("user", elsewhere);
    for (const unknown of [id, "0".repeat(32), "*", ">", ""]) {
      expect(await failureOf(linkFor(unknown))).toMatchObject({ kind: "not_found", code: "user_not_found" });
    }
    const owner = user("o", "owner");
    const foreign = createRecovery(deps(), owner, { realm: elsewhere, id });
    expect(await failureOf(foreign)).toMatchObject({ kind: "forbidden" });
    expect(await failureOf(createRecovery(deps(), owner, { realm: platformRealm, id }))).toMatchObject({
      kind: "forbidden",
    });
    const lost = await person();
    await changeUser(deps(), admin, { realm, id: lost.id, status: "disabled" });
    expect(await failureOf(linkFor(lost.id))).toMatchObject({ code: "account_disabled" });
  });

  test("a link of one realm does not work in another", async () => {
    const lost = await person();
    const { token } = await linkFor(lost.id);
    for (const other of [platformRealm, { ...sharedRealm, name: "crew", base: "/api/crew" }]) {
      const begun = begin(deps(), { realm: other, invite: token });
      expect(await failureOf(begun)).toMatchObject({ code: "invitation_not_found" });
    }
  });
});

describe("a session that adds a passkey while a recovery ends it", () => {
  test.each(Array.from({ length: 14 }, (_, i) => i))(
    "before call %i of the recovery: its passkey does not remain",
    async (n) => {
      const lost = await person();
      const actor = await authenticate(deps(), { bearer: lost.session.token }, { realms: ["auth"] });
      const { sessionId, publicKey } = await beginAdding(deps(), actor, { realm });
      const { token } = await linkFor(lost.id);
      const thief = new Authenticator(ORIGIN);
      const response = thief.create(publicKey);
      let adding: Promise<unknown> | undefined;
      const racing = countingStore(store, (_, index) => {
        if (index === n) adding = complete(deps(), { realm, sessionId, response }).catch(() => null);
      });
      const found = new Authenticator(ORIGIN);
      const done = await recover(token, found, true, racing.store).catch(() => null);
      await adding;
      expect(done).not.toBeNull();
      expect((await login(found)).account.credentials).toHaveLength(1);
      expect(await failureOf(login(thief))).toMatchObject({ code: "passkey_refused" });
    },
  );
});

describe("API tokens of a recovered account", () => {
  const DAY_MS = 86_400_000;
  const createToken = async (over: Store, { session }: Completed) => {
    const actor = await authenticate(deps(), { bearer: session.token }, { realms: ["auth"] });
    const expiresAt = new Date(Date.now() + DAY_MS).toISOString();
    const scopes = [{ orb: "*", can: ["read" as const] }];
    return createApiToken(deps(over), actor, { realm, name: "ci", expiresAt, scopes });
  };
  const works = (text: string) =>
    authenticate(deps(), { bearer: text }, { realms: ["auth"] }).then(
      () => true,
      () => false,
    );

  test("end when its passkeys are removed, and stay when they are kept", async () => {
    for (const removes of [false, true]) {
      const lost = await person();
      const { text } = await createToken(store, lost);
      expect(await works(text)).toBe(true);
      await recover((await linkFor(lost.id)).token, new Authenticator(ORIGIN), removes);
      expect(await works(text)).toBe(!removes);
    }
  });

  test.each(Array.from({ length: 16 }, (_, i) => i))(
    "do not outlive the recovery if a session creates one before call %i",
    async (n) => {
      const lost = await person();
      const { token } = await linkFor(lost.id);
      let creating: Promise<{ text: string } | null> | undefined;
      const racing = countingStore(store, (_, index) => {
        if (index === n) creating = createToken(store, lost).catch(() => null);
      });
      await recover(token, new Authenticator(ORIGIN), true, racing.store);
      const made = await creating;
      if (made !== null && made !== undefined) expect(await works(made.text)).toBe(false);
    },
  );
});

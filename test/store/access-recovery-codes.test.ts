import { describe, expect, test } from "vitest";
import { type Actor, anonymous, system } from "../../shared/access/actor.ts";
import { listAudit } from "../../shared/access/audit-log.ts";
import { authenticate } from "../../shared/access/authenticate.ts";
import { begin } from "../../shared/access/ceremony/begin.ts";
import { complete } from "../../shared/access/ceremony/complete.ts";
import { createInvitation } from "../../shared/access/invitations.ts";
import { CODES_PER_ACCOUNT, CODES_PER_NETWORK } from "../../shared/access/limits.ts";
import { type Realm, sharedRealm } from "../../shared/access/realms.ts";
import { createRecoveryCodes, recoveryCodesOf } from "../../shared/access/recovery/codes.ts";
import { createRecovery } from "../../shared/access/recovery/links.ts";
import { type Completed, endSession } from "../../shared/access/sessions.ts";
import { changeUser, removeUser } from "../../shared/access/users.ts";
import type { Deps } from "../../shared/deps.ts";
import { AppError } from "../../shared/kernel/errors.ts";
import { buckets, streams } from "../../shared/store/subjects.ts";
import type { Store } from "../../shared/store/types.ts";
import { fileAccess, ORIGIN } from "../support/access.ts";
import { Authenticator } from "../support/authenticator.ts";
import { countingStore, stoppingStore } from "../support/counting.ts";
import { admin, failureOf } from "../support/entries.ts";

const realm = sharedRealm;
const { broker, store, deps: fromOneNetwork } = await fileAccess();
let network = 0;
/** Each call comes from another network, so that limits do not add up. */
const deps = (over: Store = store, client = `10.0.${network++ >> 8}.${network & 255}`): Deps => {
  const all = fromOneNetwork(over);
  return { ...all, request: { ...all.request, client } };
};

interface Person extends Completed {
  device: Authenticator;
  id: string;
  actor: Actor;
}

async function person(of: Realm = realm): Promise<Person> {
  const { token } = await createInvitation(deps(), system, { realm: of, role: "user" });
  const device = new Authenticator(ORIGIN);
  const { sessionId, publicKey } = await begin(deps(), { realm: of, invite: token });
  const done = await complete(deps(), { realm: of, sessionId, response: device.create(publicKey) });
  const actor = await authenticate(deps(), { bearer: done.session.token }, { realms: [of.name] });
  return { ...done, device, id: done.account.id, actor };
}

async function login(device: Authenticator): Promise<Completed> {
  const { sessionId, publicKey } = await begin(deps(), { realm });
  return complete(deps(), { realm, sessionId, response: device.get(publicKey) });
}

async function recover(recoveryCode: string, device: Authenticator, removePasskeys: boolean, over = store) {
  const { sessionId, publicKey } = await begin(deps(), { realm, recoveryCode, removePasskeys });
  return complete(deps(over), { realm, sessionId, response: device.create(publicKey) });
}

const codesFor = ({ actor }: Person) => createRecoveryCodes(deps(), actor, realm);
const remaining = async ({ actor }: Person) => (await recoveryCodesOf(deps(), actor, realm)).remaining;
const refusedBegin = async (recoveryCode: string, of: Realm = realm) =>
  expect(await failureOf(begin(deps(), { realm: of, recoveryCode }))).toMatchObject({
    kind: "unauthenticated",
    code: "recovery_code_refused",
  });
const isLive = async ({ session }: Completed) =>
  authenticate(deps(), { bearer: session.token }, { realms: ["auth"] }).then(
    () => true,
    () => false,
  );
const sets = async () =>
  (await broker.store("operator").kvList(buckets.orbCredentials, "auth.codes.*", { maxBytes: 1e8 })).length;

test("creates ten codes that differ, without characters that look alike, and stores no secret", async () => {
  const someone = await person();
  expect(await recoveryCodesOf(deps(), someone.actor, realm)).toEqual({ remaining: 0, createdAt: null });
  const { codes, ...state } = await codesFor(someone);
  expect(new Set(codes).size).toBe(10);
  for (const code of codes) expect(code).toMatch(/^([2-9A-HJ-NP-Z]{4}-){5}[2-9A-HJ-NP-Z]{4}$/);
  expect(await recoveryCodesOf(deps(), someone.actor, realm)).toEqual(state);
  expect(state.remaining).toBe(10);
  const operator = broker.store("operator");
  for (const bucket of [buckets.orbCredentials, buckets.orbUsers]) {
    const stored = await operator.scan(streams.kv(bucket), ">", { fromSeq: 1, limit: 1_000, maxBytes: 1e8 });
    const all = stored.messages.map((message) => message.subject + message.text()).join("\n");
    for (const code of codes) expect(all).not.toContain(code.replaceAll("-", "").slice(8));
  }
});

describe.each([
  ["kept", false],
  ["removed", true],
])("a recovery by code with old passkeys %s", (word, removes) => {
  test("adds a passkey, ends all sessions, voids all codes and is audited", async () => {
    const lost = await person();
    const { codes } = await codesFor(lost);
    const found = new Authenticator(ORIGIN);
    // People type codes in their own way.
    const typed = (codes[4] ?? "").toLowerCase().replaceAll("-", " ");
    const done = await recover(typed, found, removes);
    expect(done.account).toMatchObject({ id: lost.id });
    expect(done.account.credentials).toHaveLength(removes ? 1 : 2);
    expect([await isLive(done), await isLive(lost)]).toEqual([true, false]);
    for (const code of codes.slice(3, 6)) await refusedBegin(code);
    expect((await login(found)).account.id).toBe(lost.id);
    const { items } = await listAudit(deps(), admin, { target: lost.id, newestFirst: false, limit: 50 });
    const recovery = items.filter(({ action }) => action === "recovery");
    expect(recovery.map(({ detail }) => detail)).toEqual(["codes_created", `codes_used_passkeys_${word}`]);
  });

  test.each(Array.from({ length: 24 }, (_, i) => i))(
    "can be finished after a crash before call %i",
    async (n) => {
      const lost = await person();
      const [code = "", another = ""] = (await codesFor(lost)).codes;
      const found = new Authenticator(ORIGIN);
      await recover(code, found, removes, stoppingStore(store, n)).catch(() => undefined);
      const entered = await login(found).catch(() => null);
      if (entered === null) await recover(code, found, removes);
      await refusedBegin(code);
      await refusedBegin(another);
      expect(await isLive(lost)).toBe(false);
      const { account } = await login(found);
      expect(account.credentials).toHaveLength(removes ? 1 : 2);
      expect(account).not.toHaveProperty("recovered");
      expect(account).not.toHaveProperty("codes");
    },
  );
});

test("lets one of six codes that are used at the same time win", async () => {
  const lost = await person();
  const { codes } = await codesFor(lost);
  const before = await sets();
  const devices = Array.from({ length: 6 }, () => new Authenticator(ORIGIN));
  const results = await Promise.allSettled(
    devices.map((device, i) => recover(codes[i] ?? "", device, false)),
  );
  expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  for (const result of results) {
    if (result.status === "rejected") expect(result.reason).toMatchObject({ code: "recovery_code_refused" });
  }
  const signins = await Promise.allSettled(devices.map((device) => login(device)));
  expect(signins.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  expect(await sets()).toBe(before - 1);
});

describe("codes no longer work", () => {
  test("after new ones were created, even for those who have begun", async () => {
    const lost = await person();
    const old = await codesFor(lost);
    const [code = ""] = old.codes;
    const { sessionId, publicKey } = await begin(deps(), { realm, recoveryCode: code });
    const before = await sets();
    const fresh = await codesFor(lost);
    expect(await sets()).toBe(before);
    for (const each of old.codes.slice(0, 3)) await refusedBegin(each);
    const response = new Authenticator(ORIGIN).create(publicKey);
    expect(await failureOf(complete(deps(), { realm, sessionId, response }))).toMatchObject({
      code: "recovery_code_refused",
    });
    await recover(fresh.codes[0] ?? "", new Authenticator(ORIGIN), false);
  });

  test("while the account is disabled, and after its removal", async () => {
    const lost = await person();
    const [code = ""] = (await codesFor(lost)).codes;
    const { sessionId, publicKey } = await begin(deps(), { realm, recoveryCode: code });
    const before = await sets();
    await changeUser(deps(), admin, { realm, id: lost.id, status: "disabled" });
    await refusedBegin(code);
    const response = new Authenticator(ORIGIN).create(publicKey);
    expect(await failureOf(complete(deps(), { realm, sessionId, response }))).toMatchObject({
      code: "recovery_code_refused",
    });
    await removeUser(deps(), admin, { realm, id: lost.id });
    await refusedBegin(code);
    expect(await sets()).toBe(before - 1);
  });

  test("after a recovery link removed the old passkeys, but still after one that kept them", async () => {
    for (const removePasskeys of [false, true]) {
      const lost = await person();
      const [code = ""] = (await codesFor(lost)).codes;
      const { token } = await createRecovery(deps(), system, { realm, id: lost.id });
      const begun = await begin(deps(), { realm, invite: token, removePasskeys });
      const response = new Authenticator(ORIGIN).create(begun.publicKey);
      await complete(deps(), { realm, sessionId: begun.sessionId, response });
      if (removePasskeys) await refusedBegin(code);
      else await begin(deps(), { realm, recoveryCode: code });
    }
  });

  test("in another realm", async () => {
    const lost = await person();
    const [code = ""] = (await codesFor(lost)).codes;
    await refusedBegin(code, { ...sharedRealm, name: "crew", base: "/api/crew" });
  });
});

describe("a session that ends while it creates codes", () => {
  test.each(Array.from({ length: 8 }, (_, i) => i))("before call %i: leaves none that work", async (n) => {
    const someone = await person();
    const racing = countingStore(store, async (_, index) => {
      if (index === n) await endSession(deps(), realm.name, someone.id, sidOf(someone));
    });
    const made = await createRecoveryCodes(deps(racing.store), someone.actor, realm).catch(() => null);
    if (made === null) expect(await remaining(someone)).toBe(0);
    // Only a session that ends after the last check is too late.
    expect(made === null).toBe(n < 4);
  });

  const sidOf = ({ actor }: Person) => (actor.kind === "orb" ? actor.sid : "");
});

test("are created and counted only by the signed-in account", async () => {
  for (const by of [anonymous, system, admin]) {
    await expect(async () => createRecoveryCodes(deps(), by, realm)).rejects.toThrow(AppError);
    await expect(async () => recoveryCodesOf(deps(), by, realm)).rejects.toThrow(AppError);
  }
});

describe("guesses", () => {
  const GUESS = "2222-2222-2222-2222-2222-2222";
  const NOON = Date.UTC(2030, 0, 1, 12);
  /** A fixed time, so that no period ends during a test. */
  const at = (client: string, time = NOON): Deps => ({ ...deps(store, client), clock: { now: () => time } });
  const attempts = async (client: string, code: string, times: number, time = NOON) => {
    const codes: string[] = [];
    for (let i = 0; i < times; i++) {
      const failure = await failureOf(begin(at(client, time), { realm, recoveryCode: code }));
      codes.push(failure.code);
    }
    return codes;
  };

  test("are limited for each network, also with a valid code and at the same time", async () => {
    const { minute, day } = CODES_PER_NETWORK;
    const codes = await attempts("203.0.113.1", GUESS, minute + 2);
    expect(codes.filter((code) => code === "recovery_code_refused")).toHaveLength(minute);
    expect(codes.slice(minute)).toEqual(["too_many_requests", "too_many_requests"]);
    const [valid = ""] = (await codesFor(await person())).codes;
    expect(await attempts("203.0.113.1", valid, 1)).toEqual(["too_many_requests"]);
    const burst = await Promise.all(
      Array.from({ length: 30 }, () => failureOf(begin(at("203.0.113.2"), { realm, recoveryCode: GUESS }))),
    );
    expect(burst.filter(({ code }) => code === "recovery_code_refused")).toHaveLength(minute);
    let admitted = 0;
    for (let i = 0; i < day / minute + 2; i++) {
      const made = await attempts("203.0.113.3", GUESS, minute, NOON + i * 60_000);
      admitted += made.filter((code) => code === "recovery_code_refused").length;
    }
    expect(admitted).toBe(day);
  });

  test("are limited for each account, from all networks", async () => {
    const [valid = ""] = (await codesFor(await person())).codes;
    const wrong = `${valid.slice(0, 10)}2222-2222-2222-2222`;
    for (let i = 0; i < CODES_PER_ACCOUNT; i++)
      expect(await attempts(`198.51.100.${i}`, wrong, 1)).toEqual(["recovery_code_refused"]);
    expect(await attempts("198.51.100.200", valid, 1)).toEqual(["too_many_requests"]);
    // An hour later, the account accepts its code again.
    await begin(at("198.51.100.201", NOON + 3_600_000), { realm, recoveryCode: valid });
  });

  test.each(["", "2222", "*", "auth.codes.*", "0000-0000-0000-0000-0000-0000", "A".repeat(64), "😀"])(
    "that are no codes are refused in the same way: %j",
    async (code) => {
      await refusedBegin(code);
    },
  );

  test("make the same requests to the broker for an unknown set of codes as for a wrong secret, except those about the account", async () => {
    const [valid = ""] = (await codesFor(await person())).codes;
    const count = async (code: string) => {
      const counted = countingStore(store, undefined, 5);
      await failureOf(begin(deps(counted.store), { realm, recoveryCode: code }));
      return counted.calls.length;
    };
    const unknown = await count(GUESS);
    expect(await count(`${valid.slice(0, 10)}2222-2222-2222-2222`)).toBe(unknown + 2);
  });
});

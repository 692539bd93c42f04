/** API tokens on hosts that cache: round trips, and how a token ends on every host. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { generateKeys } from "../../scripts/config/secrets.ts";
import { authenticate } from "../../shared/access/authenticate.ts";
import { createServiceAccount } from "../../shared/access/machines/services.ts";
import { createApiToken, listApiTokens, revokeApiToken } from "../../shared/access/machines/tokens.ts";
import { sharedRealm } from "../../shared/access/realms.ts";
import { startSession } from "../../shared/access/sessions.ts";
import { changeUser, removeUser } from "../../shared/access/users.ts";
import type { Deps } from "../../shared/deps.ts";
import { openCachedStore } from "../../shared/store/cache/cached-store.ts";
import { buckets } from "../../shared/store/subjects.ts";
import { startBroker, type TestBroker } from "../support/broker.ts";
import { countingStore, stoppingStore } from "../support/counting.ts";
import { testDeps } from "../support/entries.ts";
import { until } from "../support/races.ts";

let broker: TestBroker;
let config: Partial<Deps["config"]>;
beforeAll(async () => {
  broker = await startBroker();
  config = { jwtSigningKeys: (await generateKeys()).JWT_SIGNING_KEYS };
});
afterAll(() => broker.stop());

const realms = { platform: true, realms: ["auth"] };
const operator = { kind: "platform", sub: "root", name: "", email: null, sid: "s", exp: 0 } as const;

/** The platform admin with a session, which must last while a token is created. */
async function signedIn(deps: Deps) {
  const { sid } = await startSession(deps, {
    realm: "platform",
    sub: operator.sub,
    role: "owner",
    name: "",
    email: null,
    ttl: 600,
  });
  return { ...operator, sid };
}

/** A service account of the shared realm with one token. */
async function account(deps: Deps, role = "user") {
  const { id } = await createServiceAccount(deps, operator, { realm: sharedRealm, name: "robot", role });
  const creator = await signedIn(deps);
  const create = (by: Deps = deps, expiresAt: string | null = null) =>
    createApiToken(by, creator, {
      realm: sharedRealm,
      account: id,
      name: "t",
      expiresAt,
      scopes: [{ orb: "*", can: ["read"] }],
    });
  return { id, create, token: await create() };
}

const open = async (deps: Deps, bearer: string) => {
  const actor = await authenticate(deps, { bearer }, realms).catch(() => null);
  return actor?.kind === "orb" ? actor.role : null;
};

test("a read by token takes one round trip, as one by session", async () => {
  const counted = countingStore(broker.store(), undefined, 5);
  const deps = testDeps(counted.store, config);
  const { id, token } = await account(deps);
  const session = await startSession(deps, {
    realm: "auth",
    sub: id,
    role: "user",
    name: "",
    email: null,
    ttl: 60,
  });
  // The first use is recorded after the response.
  await authenticate(deps, { bearer: token.text }, realms);
  await deps.settled();
  for (const consistency of ["cached", "leader"] as const) {
    const trips: number[] = [];
    for (const bearer of [session.token, token.text]) {
      counted.reset();
      await authenticate(deps, { bearer }, realms, consistency);
      trips.push(counted.trips);
    }
    expect(trips).toEqual([1, 1]);
    expect(counted.calls).toEqual(["kvGet", "kvGet"]);
  }
});

test("a text with a wrong checksum costs no request to the broker, and any other wrong text one round trip", async () => {
  const counted = countingStore(broker.store(), undefined, 5);
  const deps = testDeps(counted.store, config);
  const { token } = await account(deps);
  const { writeTokenText, readTokenText } = await import("../../shared/access/credentials/token-text.ts");
  const parts = readTokenText(token.text);
  if (parts === null) throw new Error("not a token");
  const wrong = writeTokenText(parts, deps.randomToken(32));
  for (const [bearer, trips] of [
    [`${token.text.slice(0, -1)}!`, 0],
    [token.text.slice(0, -1), 0],
    [wrong, 1],
  ] as const) {
    counted.reset();
    expect(await open(deps, bearer)).toBeNull();
    expect([bearer.length, counted.trips]).toEqual([bearer.length, trips]);
  }
});

/** A host that caches, and another process. */
async function twoHosts() {
  const host = openCachedStore({ ...broker.access(), replicas: 1 }, { checkMs: 60_000, freeze: true });
  const there = testDeps(broker.store(), config);
  const here = testDeps(host, config);
  const warm = await account(there);
  const known = async (bearer: string) => {
    await until(async () => {
      const { misses } = host.stats();
      const role = await open(here, bearer);
      return role !== null && host.stats().misses === misses && host.stats().hits > 0;
    });
    await here.settled();
    await until(async () => {
      const { misses } = host.stats();
      await open(here, bearer);
      return host.stats().misses === misses;
    });
  };
  await known(warm.token.text);
  return { host, here, there, known, [Symbol.asyncDispose]: () => host.close() };
}

describe("a token that a host has cached", () => {
  test("is read without the broker", async () => {
    await using hosts = await twoHosts();
    const { token } = await account(hosts.there);
    await hosts.known(token.text);
    const { misses } = hosts.host.stats();
    for (let i = 0; i < 10; i++) expect(await open(hosts.here, token.text)).toBe("user");
    expect(hosts.host.stats().misses).toBe(misses);
  });

  test("ends there soon after another process revokes it, and others of the account stay", async () => {
    await using hosts = await twoHosts();
    const { id, token, create } = await account(hosts.there);
    const other = await create();
    await hosts.known(token.text);
    await hosts.known(other.text);
    await revokeApiToken(hosts.there, operator, { realm: sharedRealm, account: id, id: token.id });
    await until(async () => (await open(hosts.here, token.text)) === null);
    expect(await open(hosts.here, other.text)).toBe("user");
    await revokeApiToken(hosts.here, operator, { realm: sharedRealm, account: id, id: other.id });
    expect(await open(hosts.here, other.text)).toBeNull();
  });

  test("follows the account's role, status and removal", async () => {
    await using hosts = await twoHosts();
    const { id, token } = await account(hosts.there);
    await hosts.known(token.text);
    const change = (input: { role?: string; status?: "active" | "disabled" }) =>
      changeUser(hosts.there, operator, { realm: sharedRealm, id, ...input });
    await change({ role: "admin" });
    await until(async () => (await open(hosts.here, token.text)) === "admin");
    await change({ status: "disabled" });
    await until(async () => (await open(hosts.here, token.text)) === null);
    await change({ status: "active" });
    await until(async () => (await open(hosts.here, token.text)) === "admin");
    await removeUser(hosts.there, operator, { realm: sharedRealm, id });
    await until(async () => (await open(hosts.here, token.text)) === null);
    expect(hosts.host.stats().resets).toBe(0);
  });

  test("ends at its expiry", async () => {
    await using hosts = await twoHosts();
    const { create } = await account(hosts.there);
    const token = await create(hosts.there, new Date(Date.now() + 600_000).toISOString());
    await hosts.known(token.text);
    hosts.here.clock = { now: () => Date.now() + 601_000 };
    expect(await open(hosts.here, token.text)).toBeNull();
  });
});

test("a use is recorded once an hour by all hosts together, and never brings a revoked token back", async () => {
  const deps = testDeps(broker.store(), config);
  const { id, token } = await account(deps);
  const used = async () => {
    const [one] = await listApiTokens(deps, operator, { realm: sharedRealm, account: id });
    return one?.lastUsedAt ?? null;
  };
  expect(await used()).toBeNull();
  await authenticate(deps, { bearer: token.text }, realms);
  await deps.settled();
  const first = await used();
  expect(first).not.toBeNull();
  await authenticate(deps, { bearer: token.text }, realms);
  await deps.settled();
  expect(await used()).toBe(first);
  deps.clock = { now: () => Date.now() + 3_700_000 };
  await authenticate(deps, { bearer: token.text }, realms);
  const revoked = revokeApiToken(deps, operator, { realm: sharedRealm, account: id, id: token.id });
  await Promise.all([deps.settled(), revoked]);
  expect(await open(deps, token.text)).toBeNull();
  expect(await deps.store.kvList(buckets.apiTokens, `auth.${id}.*`, { maxBytes: 100_000 })).toEqual([]);
});

test("a read-only process does not record when a token was used", async () => {
  const deps = testDeps(broker.store(), config);
  const { token } = await account(deps);
  const counted = countingStore(broker.store());
  const reader = { ...testDeps(counted.store, config), readOnly: true };
  expect(await open(reader, token.text)).toBe("user");
  await reader.settled();
  expect(counted.calls).toEqual(["kvGet", "kvGet"]);
});

test("a creation that stops anywhere leaves no token that works without its text", async () => {
  const deps = testDeps(broker.store(), config);
  const { id } = await account(deps);
  const creator = await signedIn(deps);
  for (let calls = 0; calls < 8; calls++) {
    const failing = { ...deps, store: stoppingStore(deps.store, calls) };
    const input = { realm: sharedRealm, account: id, name: "t", expiresAt: null, scopes: [] };
    await createApiToken(failing, creator, input).catch(() => undefined);
  }
  // The remaining token is listed, so that it can be revoked.
  for (const one of await listApiTokens(deps, operator, { realm: sharedRealm, account: id }))
    await revokeApiToken(deps, operator, { realm: sharedRealm, account: id, id: one.id });
  expect(await listApiTokens(deps, operator, { realm: sharedRealm, account: id })).toEqual([]);
});

test("a broker that an older version provisioned refuses tokens, and accounts can be removed", async () => {
  await using old = await startBroker();
  const deps = testDeps(old.store(), config);
  const { id, token } = await account(deps);
  await old.store("operator").deleteStream(`KV_${buckets.apiTokens}`);
  expect(await open(deps, token.text)).toBeNull();
  await removeUser(deps, operator, { realm: sharedRealm, id });
});

import { afterAll, beforeAll, expect, test } from "vitest";
import { generateKeys } from "../../scripts/config/secrets.ts";
import { endSession, endSessions, readSession, startSession } from "../../shared/access/sessions.ts";
import { eraseRealm } from "../../shared/access/users.ts";
import type { Deps } from "../../shared/deps.ts";
import { provision, republishedFilter } from "../../shared/store/broker/provision.ts";
import { type CachedStore, openCachedStore } from "../../shared/store/cache/cached-store.ts";
import { buckets, kvSubject, streams } from "../../shared/store/subjects.ts";
import type { Store } from "../../shared/store/types.ts";
import { startBroker, type TestBroker } from "../support/broker.ts";
import { testDeps } from "../support/entries.ts";
import { until } from "../support/races.ts";

const REALM = "shop";
let broker: TestBroker;
let config: Partial<Deps["config"]>;

beforeAll(async () => {
  broker = await startBroker();
  config = { jwtSigningKeys: (await generateKeys()).JWT_SIGNING_KEYS };
});
afterAll(() => broker.stop());

/** A host that caches sessions, and another process that creates and ends them. */
async function setUp(checkMs = 60_000) {
  const host: CachedStore = openCachedStore({ ...broker.access(), replicas: 1 }, { checkMs, freeze: true });
  const there = testDeps(broker.store(), config);
  const here = testDeps(host, config);
  const begin = async (sub: string, deps: Deps = there, credential = "key") => {
    const { sid } = await startSession(deps, {
      realm: REALM,
      sub,
      role: "user",
      name: sub,
      email: null,
      credential,
      ttl: 600,
    });
    return { sub, sid, open: async () => (await readSession(here, REALM, sub, sid)) !== null };
  };
  const first = await begin("warm");
  // Once a read needs no broker request, the host receives all change notices.
  await until(async () => {
    const { hits } = host.stats();
    await first.open();
    return host.stats().hits > hits;
  });
  return { host, here, there, begin, [Symbol.asyncDispose]: () => host.close() };
}

/** Reads until the session is cached. */
async function remembered(host: CachedStore, session: { open(): Promise<boolean> }): Promise<void> {
  expect(await session.open()).toBe(true);
  const { misses } = host.stats();
  expect(await session.open()).toBe(true);
  expect(host.stats().misses).toBe(misses);
}

test("reads a session once and ends it at its expiry time", async () => {
  await using s = await setUp();
  const session = await s.begin("anna");
  await remembered(s.host, session);
  s.here.clock = { now: () => Date.now() + 601_000 };
  expect(await session.open()).toBe(false);
});

test("ends a session soon after another process ends it, and at once after this process does", async () => {
  await using s = await setUp();
  const sessions = [await s.begin("ben"), await s.begin("ben"), await s.begin("ben", s.here)] as const;
  for (const session of sessions) await remembered(s.host, session);
  await endSession(s.there, REALM, "ben", sessions[0].sid);
  await until(async () => !(await sessions[0].open()));
  expect(await sessions[1].open()).toBe(true);
  await endSessions(s.there, REALM, "ben", { but: sessions[2].sid });
  await until(async () => !(await sessions[1].open()));
  expect(await sessions[2].open()).toBe(true);
  await endSessions(s.here, REALM, "ben");
  expect(await sessions[2].open()).toBe(false);
  // Other cached sessions are still valid.
  expect(s.host.stats().resets).toBe(0);
});

test("ends only the sessions of a removed passkey", async () => {
  await using s = await setUp();
  const [old, asking, other] = [
    await s.begin("cleo"),
    await s.begin("cleo"),
    await s.begin("cleo", s.there, "b"),
  ];
  await endSessions(s.here, REALM, "cleo", { credential: "key", but: asking.sid });
  expect([await old.open(), await asking.open(), await other.open()]).toEqual([false, true, true]);
});

test("ends more sessions than fit on a page, at most 256 at a time", async () => {
  await using s = await setUp();
  const sessions = await Promise.all(Array.from({ length: 600 }, () => s.begin("hugo")));
  const { store } = s.there;
  let open = 0;
  let most = 0;
  const counting: Store = {
    ...store,
    async kvDelete(...of) {
      most = Math.max(most, ++open);
      return store.kvDelete(...of).finally(() => open--);
    },
  };
  await endSessions({ ...s.there, store: counting }, REALM, "hugo", { but: sessions[300]?.sid ?? "" });
  const left = await store.kvList(buckets.sessions, `${REALM}.hugo.*`);
  expect(left.map(({ key }) => key)).toEqual([`${REALM}.hugo.${sessions[300]?.sid}`]);
  expect(most).toBeLessThanOrEqual(256);
});

test("finds a session that was looked up before it was created", async () => {
  await using s = await setUp();
  for (const deps of [s.there, s.here]) {
    const sid = deps.randomToken(16);
    expect(await readSession(s.here, REALM, "dora", sid)).toBeNull();
    const session = await s.begin("dora", { ...deps, randomToken: () => sid });
    if (deps === s.here) expect(await session.open()).toBe(true);
    else await until(session.open);
  }
});

test("ends all sessions of an erased orb and leaves nothing behind", async () => {
  await using s = await setUp();
  const session = await s.begin("emil");
  await remembered(s.host, session);
  await eraseRealm(s.there, REALM);
  await until(async () => !(await session.open()));
  const left = await s.there.store.scan(
    streams.kv(buckets.sessions),
    kvSubject(buckets.sessions, `${REALM}.>`),
    {
      fromSeq: 1,
      limit: 10,
    },
  );
  expect(left.messages).toEqual([]);
});

test("notices soon that a session was purged without a change notice", async () => {
  await using s = await setUp(50);
  const session = await s.begin("fritz");
  expect(await session.open()).toBe(true);
  await broker
    .store("operator")
    .purge(streams.kv(buckets.sessions), kvSubject(buckets.sessions, `${REALM}.fritz.>`));
  await until(async () => !(await session.open()));
});

test("provisioning adds change notices to buckets of an older version and keeps their contents", async () => {
  const operator: Store = broker.store("operator");
  const name = streams.kv(buckets.sessions);
  await operator.kvPut(buckets.sessions, "shop.gustav.s", "{}");
  const { republish: _, ...silent } = (await operator.streamInfo(name))?.config ?? { name };
  await operator.updateStream(silent);
  expect(republishedFilter((await operator.streamInfo(name))?.config ?? silent)).toBeUndefined();
  await provision(broker.store("deploy"), { replicas: 1 });
  expect(republishedFilter((await operator.streamInfo(name))?.config ?? silent)).toBe(
    kvSubject(buckets.sessions, ">"),
  );
  expect(await operator.kvGet(buckets.sessions, "shop.gustav.s")).not.toBeNull();
});

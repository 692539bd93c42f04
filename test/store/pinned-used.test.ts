/** What a host stores about callers who name a revision of a definition: few small messages, and none for others. */
import { beforeEach, expect, it } from "vitest";
import { type Actor, anonymous } from "../../shared/access/actor.ts";
import type { LiveOrb } from "../../shared/definition/live-orb.ts";
import { requireLive } from "../../shared/definition/stored/live.ts";
import { listUses, MOST_USES, noteUse, USED_DAYS } from "../../shared/entry/pinned/used.ts";
import { createOrb } from "../../shared/orb/create.ts";
import { streams, subjects } from "../../shared/store/subjects.ts";
import { countingStore } from "../support/counting.ts";
import { admin, fileDeps } from "../support/entries.ts";
import { document } from "../support/stepped-orbs.ts";

const { deps: plain, store } = await fileDeps();
const counted = countingStore(store);
const DAY_MS = 86_400_000;
let time = Date.parse("2026-01-01T08:00:00Z");
const hostOf = () => {
  const pending: Promise<unknown>[] = [];
  return {
    ...plain,
    config: { ...plain.config },
    store: counted.store,
    clock: { ...plain.clock, now: () => time },
    afterwards: (work: Promise<unknown>) => void pending.push(work),
    settled: () => Promise.all(pending.splice(0)),
  };
};
const user = (sub: string): Actor => ({
  kind: "orb",
  realm: "auth",
  sub,
  sid: "s",
  exp: 0,
  name: sub,
  role: "user",
});
let live: LiveOrb;
let serial = 0;

beforeEach(async () => {
  const orb = `pinned-used-${++serial}`;
  await createOrb(plain, admin, { document: document(orb), publish: true });
  live = await requireLive(plain, orb);
  counted.reset();
});

const uses = async () => (await listUses(plain, admin, live.orb)).items;
const size = async () =>
  (await store.subjects(streams.platform, subjects.pinnedUses(live.orb))).subjects.length;

it("writes each caller once a day, on each host, after the response", async () => {
  const [one, other] = [hostOf(), hostOf()];
  noteUse(one, live, 1, anonymous);
  noteUse(one, live, 1, anonymous);
  noteUse(one, live, 1, user("ann"));
  await one.settled();
  const before = counted.calls.length;
  noteUse(one, live, 1, user("ann"));
  await one.settled();
  expect(counted.calls.length).toBe(before);
  // Another host finds the message of today, and writes nothing.
  noteUse(other, live, 1, user("ann"));
  await other.settled();
  expect(counted.calls.slice(before)).toEqual(["get"]);
  const first = "2026-01-01";
  expect(await uses()).toMatchObject([
    { revision: 1, kind: expect.any(String), first, last: first },
    { revision: 1, kind: expect.any(String), first, last: first },
  ]);
  time += 3 * DAY_MS;
  noteUse(one, live, 1, user("ann"));
  await one.settled();
  const [newest] = await uses();
  expect(newest).toMatchObject({ kind: "account", realm: "auth", id: "ann", first, last: "2026-01-04" });
  expect(await size()).toBe(2);
});

it("lists the newest revision first, and keeps messages no longer than they count", async () => {
  const host = hostOf();
  for (const revision of [1, 3, 2]) noteUse(host, live, revision, anonymous);
  await host.settled();
  expect((await uses()).map(({ revision }) => revision)).toEqual([3, 2, 1]);
  const [subject = ""] = (await store.subjects(streams.platform, subjects.pinnedUses(live.orb))).subjects;
  const message = await store.get(streams.platform, subject);
  expect(message?.header("Nats-TTL")).toBe(`${USED_DAYS * 86_400}s`);
});

it("writes nothing on a host that must not write, and tries again after a failure", async () => {
  const host = hostOf();
  noteUse({ ...host, readOnly: true }, live, 1, anonymous);
  await host.settled();
  expect(counted.calls).toEqual([]);
  const failing = { ...host, store: { ...host.store, get: () => Promise.reject(new Error("cut")) } };
  noteUse(failing, live, 1, anonymous);
  await expect(host.settled()).rejects.toThrow("cut");
  noteUse(host, live, 1, anonymous);
  await host.settled();
  expect(await size()).toBe(1);
});

it("counts further callers together", async () => {
  const host = hostOf();
  for (let at = 0; at < MOST_USES; at += 100) {
    for (let i = at; i < at + 100; i++) noteUse(host, live, 1, user(`u${i}`));
    await host.settled();
  }
  expect(await size()).toBe(MOST_USES);
  for (const late of ["late-1", "late-2"]) noteUse(host, live, 1, user(late));
  await host.settled();
  expect(await size()).toBe(MOST_USES + 1);
  const kinds = (await uses()).map(({ kind }) => kind);
  expect(kinds.filter((kind) => kind === "others")).toHaveLength(1);
  expect(kinds).toHaveLength(MOST_USES + 1);
});

/** Publication of change sets at a planned time. */
import { afterEach, describe, expect, it } from "vitest";
import type { Actor } from "../../shared/access/actor.ts";
import { keys, platformRealm } from "../../shared/access/realms.ts";
import { contentOf } from "../../shared/changes/content/content.ts";
import { publishSet, requireEach } from "../../shared/changes/content/publish.ts";
import { takeOut } from "../../shared/changes/content/take-out.ts";
import { writingInto } from "../../shared/changes/content/within.ts";
import { requireSet } from "../../shared/changes/record/record.ts";
import { openSet } from "../../shared/changes/review/change.ts";
import type { ReadContent } from "../../shared/changes/review/content.ts";
import {
  approveSet,
  closeSet,
  rejectSet,
  requestReview,
  updateSet,
} from "../../shared/changes/review/review.ts";
import { publishDue, tryDue } from "../../shared/changes/scheduled/due.ts";
import { ScheduleKeeper } from "../../shared/changes/scheduled/keeper.ts";
import { setDamaged } from "../../shared/definition/stored/live-record.ts";
import { createEntry, loadEntry, updateEntry } from "../../shared/entry/index.ts";
import { AppError, unavailable } from "../../shared/kernel/errors.ts";
import { feedSubject } from "../../shared/store/broker/provision.ts";
import { buckets, streams, subjects } from "../../shared/store/subjects.ts";
import { Stopped, stoppingStore } from "../support/counting.ts";
import { admin, callerIn, failureOf, fileOrb, storedValues, type TestDeps } from "../support/entries.ts";
import { until } from "../support/hooks.ts";

const { deps: plain, orb, store } = await fileOrb();
/** Milliseconds by which the clock of the tests is ahead. */
let ahead = 0;
const deps: TestDeps = { ...plain, clock: { now: () => Date.now() + ahead } };
const HOUR = 3_600_000;
const context = { orbId: "shop", orb };
const read: ReadContent = (with_, of, { id }) => contentOf(with_, of, id);
const inOneHour = () => new Date(deps.clock.now() + HOUR).toISOString();

/** Stores the account of the caller of most tests. */
const account = (more: object = {}) =>
  store.kvPut(
    buckets.platformAdmins,
    keys.account(platformRealm, "admin1"),
    JSON.stringify({
      ...{
        v: 1,
        id: "admin1",
        name: "Admin",
        email: null,
        role: "owner",
        status: "active",
        invitation: null,
      },
      ...{ credentials: [], createdAt: new Date().toISOString(), updatedAt: new Date().toISOString() },
      ...more,
    }),
  );
await account();
await store.append(streams.platform, { subject: subjects.orbPlace("shop"), data: "{}" });

async function product(): Promise<string> {
  const entry = { module: "catalog", schema: "product", values: { title: { en: "Old" } }, publish: true };
  return (await createEntry(deps, admin, { ...context, ...entry })).snapshot.id;
}
async function patch(set: string, id: string, en: string): Promise<void> {
  const { deps: within, into } = await writingInto(deps, callerIn(admin, orb), orb, set);
  await updateEntry(within, admin, { ...context, id, values: { title: { en } }, merge: true, into });
}
async function opened(...ids: string[]): Promise<string> {
  const { set } = await openSet(deps, admin, { ...context, title: "Spring sale" }, read);
  for (const id of ids) await patch(set.id, id, "New");
  return set.id;
}
const plan = async (set: string, publishAt: string | null, actor: Actor = admin) =>
  (await updateSet(deps, actor, { ...context, set, publishAt }, read, requireEach)).set;
async function scheduled(...ids: string[]): Promise<string> {
  const set = await opened(...ids);
  expect(await plan(set, inOneHour())).toMatchObject({ state: "SCHEDULED" });
  return set;
}
const setOf = async (set: string) => (await requireSet(deps, "shop", set)).set;
const titleOf = async (id: string) => {
  const head = (await loadEntry(deps, "shop", id))?.head;
  return [head?.revision, (storedValues(head).title as { en: string }).en];
};
const dueOf = async (set: string) => {
  const message = await store.get(streams.orb("shop"), subjects.changeDue("shop", set));
  return message === null || message.size === 0 ? null : message.json<{ at: string }>().at;
};
const lastAudit = async (set: string) => {
  const found = await store.get(streams.platform, subjects.audit("shop", "change"));
  const record = found?.json<{ target: string; detail: string; outcome: string; actor: string }>();
  return record?.target === set ? [record.actor, record.outcome, record.detail] : undefined;
};
/** Makes the time of all sets that are scheduled now come. */
const wait = () => {
  ahead += HOUR + 1_000;
};

describe("a scheduled change set", () => {
  it("is left to the hooks process by hosts for whose memory it is too large", async () => {
    const id = await product();
    const set = await scheduled(id);
    wait();
    const small = { ...deps, config: { ...deps.config, publishBytes: 10 } };
    expect(await failureOf(publishSet(small, admin, { ...context, set }))).toMatchObject({
      code: "change_too_large",
    });
    expect(await tryDue(small, "shop", set)).toBe("waiting");
    expect(await titleOf(id)).toEqual([1, "Old"]);
    expect(await tryDue(deps, "shop", set)).toBe("published");
  });

  it("goes live when its time has come, and not before", async () => {
    const id = await product();
    const set = await scheduled(id);
    const { plan: planned } = await setOf(set);
    expect(planned).toMatchObject({ by: { realm: "platform", sub: "admin1" } });
    expect(await dueOf(set)).toBe(planned?.at);
    expect(await publishDue(deps, "shop", set)).toBe("early");
    expect(await titleOf(id)).toEqual([1, "Old"]);
    wait();
    expect(await publishDue(deps, "shop", set)).toBe("published");
    expect(await titleOf(id)).toEqual([2, "New"]);
    expect(await setOf(set)).toMatchObject({ state: "PUBLISHED", published: { by: "admin1" } });
    expect((await setOf(set)).plan).toBeUndefined();
    expect(await lastAudit(set)).toEqual(["admin1", "ok", `published ${planned?.hash}`]);
    expect(await publishDue(deps, "shop", set)).toBe("over");
    expect(await titleOf(id)).toEqual([2, "New"]);
  });

  it("can be moved, renamed, given up, rejected, closed and published at once", async () => {
    const id = await product();
    const set = await scheduled(id);
    const later = new Date(deps.clock.now() + 3 * HOUR).toISOString();
    expect(await plan(set, later)).toMatchObject({ state: "SCHEDULED", plan: { at: later } });
    expect(await dueOf(set)).toBe(later);
    const renamed = await updateSet(deps, admin, { ...context, set, title: "Sale" }, read, requireEach);
    expect(renamed.set).toMatchObject({ state: "SCHEDULED", title: "Sale", plan: { at: later } });
    wait();
    expect(await publishDue(deps, "shop", set)).toBe("early");
    expect((await plan(set, null)).state).toBe("OPEN");
    expect((await setOf(set)).plan).toBeUndefined();
    await plan(set, inOneHour());
    await rejectSet(deps, admin, { ...context, set, comment: "No" }, read);
    expect(await setOf(set)).toMatchObject({ state: "OPEN" });
    await plan(set, inOneHour());
    await publishSet(deps, admin, { ...context, set });
    expect(await titleOf(id)).toEqual([2, "New"]);
    const other = await scheduled(id);
    await closeSet(deps, admin, { ...context, set: other });
    wait();
    expect(await publishDue(deps, "shop", other)).toBe("over");
    expect(await titleOf(id)).toEqual([2, "New"]);
  });

  it("refuses times that have passed, and an empty set", async () => {
    const id = await product();
    const set = await opened();
    expect((await failureOf(plan(set, inOneHour()))).code).toBe("change_empty");
    await patch(set, id, "New");
    const past = await failureOf(plan(set, new Date(deps.clock.now() - 1).toISOString()));
    expect([past.kind, past.errors]).toMatchObject(["invalid", [{ path: "/publishAt", code: "range" }]]);
    expect((await setOf(set)).state).toBe("OPEN");
  });

  it("is scheduled no longer after any write into it", async () => {
    const [a, b] = [await product(), await product()];
    const set = await scheduled(a, b);
    await patch(set, a, "Newer");
    expect(await setOf(set)).toMatchObject({ state: "OPEN" });
    wait();
    expect(await publishDue(deps, "shop", set)).toBe("over");
    expect(await titleOf(a)).toEqual([1, "Old"]);
    await plan(set, inOneHour());
    await takeOut(deps, callerIn(admin, orb), orb, { set, entry: b });
    expect((await setOf(set)).state).toBe("OPEN");
    await plan(set, inOneHour());
    // Many writes at the same moment end it once, and none is lost.
    const others = await Promise.all(Array.from({ length: 5 }, () => product()));
    await Promise.all(others.map((id) => patch(set, id, "New")));
    expect((await setOf(set)).state).toBe("OPEN");
    expect((await contentOf(deps, orb, set)).entries).toBe(6);
  });

  it("never goes live with content that was written while it was being scheduled", async () => {
    for (let round = 0; round < 8; round++) {
      const id = await product();
      const set = await opened(id);
      await Promise.allSettled([plan(set, inOneHour()), patch(set, id, "Newer")]);
      const { state, plan: planned } = await setOf(set);
      const { hash } = await contentOf(deps, orb, set);
      if (state === "SCHEDULED") expect(planned?.hash).toBe(hash);
      else expect([state, planned?.hash]).toEqual(["OPEN", undefined]);
    }
  });

  it("is scheduled by the approval, if the time was planned before", async () => {
    const id = await product();
    const publishAt = inOneHour();
    const { set: made } = await openSet(deps, admin, { ...context, title: "Sale", publishAt }, read);
    expect(made).toMatchObject({ state: "OPEN", plan: { at: publishAt } });
    const of = { ...context, set: made.id };
    await patch(made.id, id, "New");
    await requestReview(deps, admin, of, read);
    await approveSet(deps, admin, of, read);
    expect(await plan(made.id, publishAt)).toMatchObject({ state: "SCHEDULED" });
    // An edit voids the approval. The approval of content that was planned schedules the set.
    await patch(made.id, id, "Newer");
    expect((await failureOf(publishSet(deps, admin, of))).code).toBe("approval_void");
    expect(await plan(made.id, publishAt)).toMatchObject({ state: "OPEN", plan: { at: publishAt } });
    await requestReview(deps, admin, of, read);
    const approved = await approveSet(deps, admin, of, read);
    expect(approved.set).toMatchObject({ state: "SCHEDULED", plan: { hash: approved.content.hash } });
    expect((await plan(made.id, null)).state).toBe("APPROVED");
    await plan(made.id, publishAt);
    wait();
    expect(await publishDue(deps, "shop", made.id)).toBe("published");
    expect(await titleOf(id)).toEqual([2, "Newer"]);
    // A time that has passed before the approval publishes nothing.
    const late = await openSet(deps, admin, { ...context, title: "Late", publishAt: inOneHour() }, read);
    await patch(late.set.id, id, "Late");
    await requestReview(deps, admin, { ...context, set: late.set.id }, read);
    await approveSet(deps, admin, { ...context, set: late.set.id }, read);
    await patch(late.set.id, id, "Later");
    await plan(late.set.id, inOneHour());
    wait();
    await requestReview(deps, admin, { ...context, set: late.set.id }, read);
    const after = await approveSet(deps, admin, { ...context, set: late.set.id }, read);
    expect(after.set.state).toBe("APPROVED");
  });

  it("is not scheduled by an approval of content that nobody has planned to publish", async () => {
    const id = await product();
    const noted = await openSet(deps, admin, { ...context, title: "Sale", publishAt: inOneHour() }, read);
    const edited = await scheduled(id);
    const rejected = await scheduled(id);
    const pending = await opened(id);
    await requestReview(deps, admin, { ...context, set: pending }, read);
    await approveSet(deps, admin, { ...context, set: pending }, read);
    await patch(pending, id, "Seen");
    await plan(pending, inOneHour());
    await rejectSet(deps, admin, { ...context, set: rejected, comment: "No" }, read);
    for (const set of [noted.set.id, edited, pending]) await patch(set, id, "Unseen");
    for (const set of [noted.set.id, edited, rejected, pending]) {
      const of = { ...context, set };
      if ((await setOf(set)).state !== "IN_REVIEW") await requestReview(deps, admin, of, read);
      expect((await approveSet(deps, admin, of, read)).set).toMatchObject({
        state: "APPROVED",
        plan: { by: { sub: "admin1" } },
      });
      expect(await plan(set, inOneHour())).toMatchObject({ state: "SCHEDULED" });
    }
  });

  it("is scheduled only with the content that the caller has seen", async () => {
    const id = await product();
    const set = await opened(id);
    const { hash } = await contentOf(deps, orb, set);
    await patch(set, id, "Newer");
    const input = { ...context, set, publishAt: inOneHour(), hash };
    const refused = await failureOf(updateSet(deps, admin, input, read, requireEach));
    const now = await contentOf(deps, orb, set);
    expect([refused.code, refused.data]).toEqual(["hash_mismatch", { hash: now.hash }]);
    expect((await setOf(set)).state).toBe("OPEN");
    const { set: planned } = await updateSet(deps, admin, { ...input, hash: now.hash }, read, requireEach);
    expect(planned).toMatchObject({ state: "SCHEDULED", plan: { hash: now.hash } });
  });
});

describe("a publication that is refused at its time", () => {
  afterEach(() => account());

  it("leaves the reason, and is not tried again", async () => {
    const id = await product();
    const set = await scheduled(id);
    const publishAt = (await setOf(set)).plan?.at;
    await updateEntry(deps, admin, {
      ...{ ...context, id, values: { title: { en: "Theirs" } } },
      ...{ merge: true, publish: true },
    });
    wait();
    const keeper = new ScheduleKeeper(deps);
    await keeper.look();
    const refused = { publishAt, by: "admin1", code: "change_conflict" };
    expect(await setOf(set)).toMatchObject({ state: "OPEN", refused });
    expect(await lastAudit(set)).toEqual(["admin1", "refused", "publication change_conflict"]);
    expect(await dueOf(set)).toBeNull();
    const { revision } = await setOf(set);
    await keeper.look();
    await keeper.stop();
    expect((await setOf(set)).revision).toBe(revision);
    expect(await titleOf(id)).toEqual([2, "Theirs"]);
    // Scheduling it again forgets the reason.
    await patch(set, id, "Theirs");
    expect((await plan(set, inOneHour())).refused).toBeUndefined();
  });

  it("comes when the account is gone, or has lost its rights", async () => {
    const id = await product();
    const set = await scheduled(id);
    await account({ status: "disabled" });
    wait();
    expect(await publishDue(deps, "shop", set)).toBe("refused");
    expect((await setOf(set)).refused?.code).toBe("scheduler_gone");
    expect(await titleOf(id)).toEqual([1, "Old"]);
    await account();
    // The token of the account was revoked.
    const token = { id: "t1", scopes: [{ orb: "*", can: ["read", "write", "publish"] as const }] };
    const by: Actor = { ...admin, token } as Actor;
    await plan(set, inOneHour(), by);
    wait();
    expect(await publishDue(deps, "shop", set)).toBe("refused");
    expect((await setOf(set)).refused?.code).toBe("scheduler_gone");
    expect(await titleOf(id)).toEqual([1, "Old"]);
  });

  it("keeps approvals that still hold", async () => {
    const id = await product();
    const set = await opened(id);
    await requestReview(deps, admin, { ...context, set }, read);
    await approveSet(deps, admin, { ...context, set }, read);
    await plan(set, inOneHour());
    await account({ status: "disabled" });
    wait();
    expect(await publishDue(deps, "shop", set)).toBe("refused");
    expect(await setOf(set)).toMatchObject({ state: "APPROVED", refused: { code: "scheduler_gone" } });
  });

  it("follows errors that may be gone soon only after several attempts", async () => {
    const id = await product();
    const set = await scheduled(id);
    wait();
    let left = 3;
    const failing: TestDeps["store"] = {
      ...deps.store,
      batch: (...given) =>
        left-- > 0 ? Promise.reject(unavailable("no answer")) : deps.store.batch(...given),
    };
    const keeper = new ScheduleKeeper({ ...deps, store: failing });
    await keeper.look();
    expect(await setOf(set)).toMatchObject({ state: "SCHEDULED" });
    // The next attempt follows after a pause.
    for (let looks = 0; looks < 6 && (await setOf(set)).state === "SCHEDULED"; looks++) {
      ahead += 150_000;
      await keeper.look();
    }
    expect(await titleOf(id)).toEqual([2, "New"]);
    const never = await scheduled(id);
    wait();
    left = Number.POSITIVE_INFINITY;
    for (let looks = 0; looks < 20 && (await setOf(never)).state === "SCHEDULED"; looks++) {
      ahead += 150_000;
      await keeper.look();
    }
    await keeper.stop();
    expect(await setOf(never)).toMatchObject({ state: "OPEN", refused: { code: "broker_unavailable" } });
  });
});

describe("the attempts to publish a set", () => {
  /** A store whose batches fail while `left` is positive. */
  const failing = { left: 0, calls: 0 };
  const flaky: TestDeps["store"] = {
    ...deps.store,
    batch: (...given) => {
      failing.calls += 1;
      return failing.left-- > 0 ? Promise.reject(unavailable("no answer")) : deps.store.batch(...given);
    },
  };
  const never = { left: Number.POSITIVE_INFINITY, calls: 0 };

  it("are limited in all processes together, also without a hooks process", async () => {
    const id = await product();
    const set = await scheduled(id);
    wait();
    Object.assign(failing, never);
    let attempts = 0;
    for (; attempts < 20 && (await setOf(set)).state === "SCHEDULED"; attempts++) {
      await tryDue({ ...deps, store: flaky }, "shop", set).catch(() => undefined);
      // A request that comes before the next attempt starts none.
      const { calls } = failing;
      if ((await setOf(set)).state === "SCHEDULED")
        expect(await tryDue({ ...deps, store: flaky }, "shop", set)).toBe("waiting");
      expect(failing.calls).toBe(calls);
      ahead += 150_000;
    }
    expect(attempts).toBe(8);
    expect(await setOf(set)).toMatchObject({ state: "OPEN", refused: { code: "broker_unavailable" } });
    expect(await dueOf(set)).toBeNull();
  });

  it("are made by one of several requests at the same moment", async () => {
    const id = await product();
    const set = await scheduled(id);
    wait();
    const all = await Promise.all(Array.from({ length: 6 }, () => tryDue(deps, "shop", set)));
    expect(all.filter((outcome) => outcome === "published")).toHaveLength(1);
    expect(await titleOf(id)).toEqual([2, "New"]);
    expect(await dueOf(set)).toBeNull();
  });

  it("do not count while the broker is away", async () => {
    const id = await product();
    const set = await scheduled(id);
    const keeper = new ScheduleKeeper({ ...deps, store: flakyAway() });
    await keeper.look();
    wait();
    away = true;
    for (let looks = 0; looks < 12; looks++) {
      ahead += 150_000;
      await keeper.look().catch(() => undefined);
    }
    away = false;
    // The first attempt meets an error that may be gone soon.
    Object.assign(failing, never);
    ahead += 150_000;
    await keeper.look();
    expect(await setOf(set)).toMatchObject({ state: "SCHEDULED" });
    failing.left = 0;
    for (let looks = 0; looks < 6 && (await setOf(set)).state === "SCHEDULED"; looks++) {
      ahead += 150_000;
      await keeper.look();
    }
    await keeper.stop();
    expect(await titleOf(id)).toEqual([2, "New"]);
  });
  let away = false;
  /** The store above, which also fails in all that a publication reads and writes while the broker is away. */
  function flakyAway(): TestDeps["store"] {
    const orFail = <A extends unknown[], R>(call: (...given: A) => Promise<R>) => {
      return (...given: A): Promise<R> => (away ? Promise.reject(unavailable("no answer")) : call(...given));
    };
    return {
      ...flaky,
      get: orFail(flaky.get),
      append: orFail(flaky.append),
      batch: orFail(flaky.batch),
      kvGet: orFail(flaky.kvGet),
    };
  }

  it("wait while the operator has to decide about lost messages", async () => {
    const id = await product();
    const set = await scheduled(id);
    wait();
    await setDamaged(deps, "shop", { from: 1, to: 2, at: "now" });
    const before = await dueSeq(set);
    for (let looks = 0; looks < 10; looks++) {
      expect((await failureOf(tryDue(deps, "shop", set))).code).toBe("orb_damaged");
      expect((await failureOf(publishDue(deps, "shop", set, { isLast: true }))).code).toBe("orb_damaged");
      ahead += 150_000;
    }
    expect(await setOf(set)).toMatchObject({ state: "SCHEDULED" });
    expect(await dueSeq(set)).toBe(before);
    await setDamaged(deps, "shop", undefined);
    expect(await tryDue(deps, "shop", set)).toBe("published");
  });
  const dueSeq = async (set: string) =>
    (await store.get(streams.orb("shop"), subjects.changeDue("shop", set)))?.seq;

  it("leave no words of a hook for all readers of the set", async () => {
    const id = await product();
    const set = await scheduled(id);
    wait();
    const error = new AppError("invalid", "write_refused", "The price 12 is secret.");
    const refusing = { ...deps, store: { ...deps.store, batch: () => Promise.reject(error) } };
    expect(await tryDue(refusing, "shop", set)).toBe("refused");
    const { refused } = await setOf(set);
    expect(refused?.code).toBe("write_refused");
    expect(refused?.detail).not.toContain("secret");
  });

  it("are recorded as those of the platform, not of the request that has read the set", async () => {
    const id = await product();
    const set = await scheduled(id);
    wait();
    const request = { requestId: "of-the-reader", traceparent: undefined, client: "203.0.113.7" };
    expect(await tryDue({ ...deps, request }, "shop", set)).toBe("published");
    const found = await store.get(streams.platform, subjects.audit("shop", "change"));
    const record = found?.json<{ target: string; client: string; requestId: string; actor: string }>();
    expect(record).toMatchObject({ target: set, actor: "admin1", client: "unknown" });
    expect(record?.requestId).not.toBe("of-the-reader");
  });

  it("go on in other applications while one does not answer", async () => {
    const id = await product();
    const set = await scheduled(id);
    wait();
    const silent = Promise.withResolvers<never>();
    const broken: TestDeps["store"] = {
      ...deps.store,
      get: (stream, subject, ...more) => {
        if (subject.startsWith("broken.")) return Promise.reject(unavailable("no leader"));
        return subject.startsWith("silent.") ? silent.promise : deps.store.get(stream, subject, ...more);
      },
      subscribe: (subject, take, lost) => {
        for (const orb of ["silent", "broken"])
          take({
            ...{ subject: feedSubject(subjects.changeDue(orb, "1")), data: new Uint8Array() },
          } as Parameters<typeof take>[0]);
        return deps.store.subscribe(subject, take, lost);
      },
    };
    const keeper = new ScheduleKeeper({ ...deps, store: broken });
    keeper.start();
    await until(
      async () => (await setOf(set)).state,
      (state) => state === "PUBLISHED",
    );
    silent.reject(unavailable("no leader"));
    await keeper.stop();
    expect(await titleOf(id)).toEqual([2, "New"]);
  });
});

describe("processes that publish scheduled sets", () => {
  it("publish all or nothing, wherever one of them stops", async () => {
    for (let calls = 0; ; calls++) {
      const [a, b] = [await product(), await product()];
      const set = await scheduled(a, b);
      wait();
      const stopped = { ...deps, store: stoppingStore(store, calls) as TestDeps["store"] };
      const done = await publishDue(stopped, "shop", set).then(
        () => true,
        (error: unknown) => {
          if (error instanceof Stopped) return false;
          throw error;
        },
      );
      const { state } = await setOf(set);
      const titles = [await titleOf(a), await titleOf(b)];
      const isLive = state === "PUBLISHED";
      expect([state, ...titles]).toEqual(
        isLive ? ["PUBLISHED", [2, "New"], [2, "New"]] : ["SCHEDULED", [1, "Old"], [1, "Old"]],
      );
      // Another process ends what this one began, and publishes nothing twice.
      expect(await publishDue(deps, "shop", set)).toBe(isLive ? "over" : "published");
      expect([await titleOf(a), await titleOf(b)]).toEqual([
        [2, "New"],
        [2, "New"],
      ]);
      if (done) break;
    }
  });

  it("publish a set once if several do it at the same moment", async () => {
    for (let round = 0; round < 5; round++) {
      const id = await product();
      const set = await scheduled(id);
      wait();
      const keepers = [1, 2, 3].map(() => new ScheduleKeeper(deps));
      await Promise.all(keepers.map((keeper) => keeper.look()));
      await Promise.all(keepers.map((keeper) => keeper.stop()));
      expect(await setOf(set)).toMatchObject({ state: "PUBLISHED", revision: 3 });
      expect((await setOf(set)).refused).toBeUndefined();
      expect(await titleOf(id)).toEqual([2, "New"]);
    }
  });

  it("find what was scheduled before and after they started", async () => {
    const [before, after] = [await product(), await product()];
    const early = await scheduled(before);
    const keeper = new ScheduleKeeper(deps);
    keeper.start();
    const late = await scheduled(after);
    wait();
    await until(
      async () => [(await setOf(early)).state, (await setOf(late)).state],
      (states) => states.every((state) => state === "PUBLISHED"),
    );
    await until(
      async () => [await dueOf(early), await dueOf(late)],
      (due) => due.every((at) => at === null),
    );
    await keeper.stop();
    expect([await titleOf(before), await titleOf(after)]).toEqual([
      [2, "New"],
      [2, "New"],
    ]);
  });
});

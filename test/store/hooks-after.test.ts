/** Hooks after writes: deliveries in this process, on a real broker. */
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { checkHooks } from "../../scripts/doctor/hooks.ts";
import { contentOf } from "../../shared/changes/content/content.ts";
import { publishSet, requireEach } from "../../shared/changes/content/publish.ts";
import { writingInto } from "../../shared/changes/content/within.ts";
import { openSet } from "../../shared/changes/review/change.ts";
import { addComment, resolveComment } from "../../shared/changes/review/comments.ts";
import type { ReadContent } from "../../shared/changes/review/content.ts";
import { approveSet, rejectSet, requestReview, updateSet } from "../../shared/changes/review/review.ts";
import { definitionFor } from "../../shared/definition/stored/live.ts";
import {
  createEntry,
  deleteEntry,
  publishEntry,
  unpublishEntry,
  updateEntry,
} from "../../shared/entry/index.ts";
import { readBacklog, readHookFigures } from "../../shared/hooks/after/figures.ts";
import { TAKEOVER_MS } from "../../shared/hooks/after/lease.ts";
import { listDeliveries, redeliver, workerState } from "../../shared/hooks/after/list.ts";
import { pauseAfter } from "../../shared/hooks/after/queue.ts";
import { createOrb } from "../../shared/orb/create.ts";
import { deleteOrb, publishOrb, unpublishOrb } from "../../shared/orb/operate.ts";
import { exportOrb } from "../../shared/orb/transfer/export.ts";
import { updateOrb } from "../../shared/orb/update.ts";
import { streams } from "../../shared/store/subjects.ts";
import { startBroker } from "../support/broker.ts";
import { admin, callerIn, failureOf, fileDeps, testDeps } from "../support/entries.ts";
import { type HookService, hookService, hookWorkers, Refusal, until } from "../support/hooks.ts";

const { broker, deps } = await fileDeps();

const EVERY = ["entry.created", "entry.updated", "entry.published", "entry.unpublished", "entry.deleted"];
let number = 0;
let orbs = 0;
let service: HookService;
let name: string;
const { work, stop } = hookWorkers(deps);

beforeEach(async () => {
  name = `notes.hear${++number}`;
  service = await hookService(broker, name);
});
afterEach(async () => {
  await stop();
  await service.close();
});

const documentOf = (id: string, hook: object | null = {}) => {
  const [, handler = ""] = name.split(".");
  return {
    id,
    uses: [{ service: "notes", handlers: [handler] }],
    ...(hook === null ? {} : { hooks: [{ id: "hear", on: EVERY, mode: "after", handler: name, ...hook }] }),
    modules: [
      {
        id: "news",
        type: "CONTENT",
        schemas: [
          {
            id: "post",
            fields: [
              { name: "title", type: "string" },
              { name: "secret", type: "string", sensitive: true },
              {
                name: "lines",
                type: "object",
                list: true,
                fields: [
                  { name: "text", type: "string" },
                  { name: "pin", type: "string", sensitive: true },
                ],
              },
              { name: "body", type: "richText" },
            ],
          },
        ],
      },
    ],
  };
};

/** Creates a published orb with one hook after writes. */
async function orbWith(hook: object | null = {}) {
  const id = `after-${number}-${++orbs}`;
  await createOrb(deps, admin, { document: documentOf(id, hook), publish: true });
  const context = async () => {
    const orb = await definitionFor(deps, id);
    if (orb === null) throw new Error("nothing is live");
    return { orbId: id, orb };
  };
  return {
    id,
    context,
    create: async (values: object, more: object = {}) => {
      const input = { ...(await context()), module: "news", values, ...more };
      return (await createEntry(deps, admin, input)).snapshot.id;
    },
    update: async (entry: string, values: object, more: object = {}) =>
      updateEntry(deps, admin, { ...(await context()), id: entry, values, ...more }),
    deliveries: async (status?: "failed" | "waiting" | "delivered") =>
      (await listDeliveries(deps, admin, { orb: id, limit: 200, status })).items,
  };
}

/** Revisions that the service got, as `entry.revision`. */
const heard = () => service.calls.map(({ input }) => `${input.entry.id}.${input.entry.revision}`);

describe("a hook after writes", () => {
  it("hears of every write with its event, in order, without secrets and without a caller", async () => {
    const { id, create, update, context } = await orbWith();
    work();
    const nested = { lines: [{ _key: "a", text: "x", pin: "hush" }], body: { markdown: "Hi" } };
    const entry = await create({ title: "a", secret: "hush", ...nested }, { publish: true });
    await update(entry, { title: "b", secret: "••••••••" });
    await publishEntry(deps, admin, { ...(await context()), id: entry });
    await update(entry, { title: "c" }, { publish: true });
    await unpublishEntry(deps, admin, { ...(await context()), id: entry });
    await deleteEntry(deps, admin, { ...(await context()), id: entry });
    await until(
      () => service.calls.length,
      (count) => count === 6,
    );
    expect(service.calls.map(({ input }) => [input.event, input.entry.revision])).toEqual([
      ["entry.created", 1],
      ["entry.updated", 2],
      ["entry.published", 3],
      ["entry.updated", 4],
      ["entry.unpublished", 5],
      ["entry.deleted", 6],
    ]);
    expect(service.calls[0]).toMatchObject({
      orbId: id,
      hook: "hear",
      caller: null,
      input: {
        entry: {
          values: {
            title: "a",
            lines: [{ _key: "a", text: "x", pin: "••••••••" }],
            body: [{ _type: "block", children: [{ text: "Hi" }] }],
          },
        },
        delivery: { id: `${id}.hear.${entry}.1`, attempt: 1 },
      },
    });
    expect(JSON.stringify(service.calls)).not.toMatch(/hush|\$sealed/);
  });

  it("hears of the publication in an update, and of nothing that is not in its list", async () => {
    const { create, update } = await orbWith({ on: ["entry.published"], module: "news", schema: "post" });
    work();
    const entry = await create({ title: "a" });
    await update(entry, { title: "b" });
    await update(entry, { title: "c" }, { publish: true });
    await until(heard, (all) => all.length > 0);
    expect(heard()).toEqual([`${entry}.3`]);
  });

  it("begins with its publication, and misses nothing while no process runs or the orb is published again", async () => {
    const { id, create } = await orbWith(null);
    const before = await create({ title: "before" });
    await updateOrb(deps, admin, { orb: id, document: documentOf(id), publish: true });
    const first = await create({ title: "1" });
    await updateOrb(deps, admin, {
      orb: id,
      document: { ...documentOf(id), name: "Another name" },
      publish: true,
    });
    const second = await create({ title: "2" });
    const worker = work();
    await until(heard, (all) => all.length === 2);
    await worker.stop();
    const third = await create({ title: "3" });
    work();
    await until(heard, (all) => all.length === 3);
    // Only the revisions of one entry have an order.
    expect(heard().toSorted()).toEqual([first, second, third].map((entry) => `${entry}.1`).toSorted());
    expect(heard()).not.toContain(`${before}.1`);
  });

  it("delivers nothing for writes while its orb is not published", async () => {
    const { id, create } = await orbWith();
    await unpublishOrb(deps, admin, { orb: id });
    await create({ title: "hidden" });
    await publishOrb(deps, admin, { orb: id });
    const shown = await create({ title: "shown" });
    work();
    await until(heard, (all) => all.length > 0);
    expect(heard()).toEqual([`${shown}.1`]);
  });
});

describe("a delivery that fails", () => {
  it("keeps later revisions of its entry behind it that are read while it waits", async () => {
    const { create, update } = await orbWith();
    let failing = true;
    service.answer = () => (failing ? new Refusal("503", "Not now.") : null);
    work({ attempts: 3, retryMs: 400 });
    const entry = await create({ title: "a" });
    await until(heard, (all) => all.length === 1);
    await update(entry, { title: "b" });
    failing = false;
    await until(heard, (all) => all.length === 3);
    expect(heard()).toEqual([1, 1, 2].map((revision) => `${entry}.${revision}`));
  });

  it("is tried again, and only later revisions of its entry wait for it", async () => {
    const { create, update, deliveries } = await orbWith();
    const [a, b] = [await create({ title: "a" }), await create({ title: "b" })];
    await update(a, { title: "a2" });
    await update(b, { title: "b2" });
    let failing = true;
    service.answer = ({ input }) => (failing && input.entry.id === a ? new Refusal("503", "Not now.") : null);
    work({ attempts: 20, retryMs: 50 });
    await until(heard, (all) => all.includes(`${b}.2`));
    expect(heard()).not.toContain(`${a}.2`);
    expect(
      await until(
        () => deliveries("waiting"),
        (all) => all.length === 2,
      ),
    ).toMatchObject([
      { hook: "hear", entry: a, status: "waiting", error: expect.stringContaining("handler_failed") },
      { hook: "hear", entry: a, status: "waiting", attempts: 0 },
    ]);
    failing = false;
    await until(heard, (all) => all.includes(`${a}.2`));
    const of = (entry: string) => heard().filter((each) => each.startsWith(entry));
    expect([...new Set(of(a))]).toEqual([`${a}.1`, `${a}.2`]);
    expect(of(b)).toEqual([`${b}.1`, `${b}.2`]);
    expect(
      await until(
        () => deliveries("delivered"),
        (all) => all.length === 4,
      ),
    ).toHaveLength(4);
    expect(await deliveries("waiting")).toEqual([]);
  });

  it("is given up after the last attempt, listed, and delivered again on request", async () => {
    const { id, create, update, deliveries } = await orbWith();
    service.answer = ({ input }) => (input.entry.revision === 1 ? new Refusal("400", "No.") : null);
    work();
    const entry = await create({ title: "a" });
    await update(entry, { title: "b" });
    const [failed] = await until(
      () => deliveries("failed"),
      (all) => all.length === 1,
    );
    expect(failed).toMatchObject({
      hook: "hear",
      status: "failed",
      event: "entry.created",
      entry,
      revision: 1,
      attempts: 3,
      error: expect.stringContaining("No."),
    });
    await until(heard, (all) => all.length === 4);
    const figures = async () => {
      const orb = { orb: id, name: undefined, queues: [{ id: "hear", since: 0 }] };
      return readHookFigures(deps, [orb]);
    };
    await until(figures, (all) => all?.queues[0]?.delivered === 1);
    expect(await figures()).toEqual({
      queues: [{ orb: id, hook: "hear", waiting: 0, unread: 0, oldest: undefined, delivered: 1, failed: 1 }],
      deadLetters: [{ orb: id, count: 1 }],
      worker: "running",
    });
    expect(heard()).toEqual([1, 1, 1, 2].map((revision) => `${entry}.${revision}`));
    service.answer = () => null;
    await redeliver(deps, admin, id, failed?.id ?? "");
    await until(heard, (all) => all.length === 5);
    expect(service.calls[4]?.input).toMatchObject({ entry: { revision: 1 }, delivery: { attempt: 4 } });
    expect(
      await until(
        () => deliveries("failed"),
        (all) => all.length === 0,
      ),
    ).toEqual([]);
    expect(await deliveries()).toHaveLength(2);
    for (const wrong of ["hear.1", "hear", "other.5", "hear.x", "hear.5.5"]) {
      expect(await failureOf(redeliver(deps, admin, id, wrong))).toMatchObject({
        code: "delivery_not_found",
      });
    }
  });

  it("waits longer after each attempt, up to an hour", () => {
    expect([1, 2, 3, 4, 10].map((attempts) => pauseAfter(attempts, 1_000))).toEqual([
      1_000, 4_000, 16_000, 64_000, 3_600_000,
    ]);
  });
});

describe("a hook for change sets", () => {
  const on = ["change.review", "change.approved", "change.published"];
  const read: ReadContent = (with_, of, { id }) => contentOf(with_, of, id);
  /** Opens a set with a new entry. */
  async function openedIn(orb: Awaited<ReturnType<typeof orbWith>>) {
    const context = await orb.context();
    const { set } = await openSet(deps, admin, { ...context, title: "Spring sale" }, read);
    const within = await writingInto(deps, callerIn(admin, context.orb), context.orb, set.id);
    const entry = { module: "news", values: { title: "a" }, into: within.into };
    const { snapshot } = await createEntry(within.deps, admin, { ...context, ...entry });
    return { of: { ...context, set: set.id }, entry: snapshot.id };
  }
  const told = () =>
    service.calls.map(({ input }) => [input.event, input.change?.revision, input.change?.state]);

  it("hears of reviews, approvals and publications, in order, and of nothing else", async () => {
    const orb = await orbWith({ on });
    work();
    const { of } = await openedIn(orb);
    await requestReview(deps, admin, of, read);
    await rejectSet(deps, admin, { ...of, comment: "No" }, read);
    await updateSet(deps, admin, { ...of, title: "Sale" }, read, requireEach);
    await requestReview(deps, admin, of, read);
    const { content } = await approveSet(deps, admin, of, read);
    await publishSet(deps, admin, of);
    await until(told, (all) => all.length === 4);
    expect(told()).toEqual([
      ["change.review", 2, "IN_REVIEW"],
      ["change.review", 5, "IN_REVIEW"],
      ["change.approved", 6, "APPROVED"],
      ["change.published", 7, "PUBLISHED"],
    ]);
    const [first, , , last] = service.calls;
    const by = { id: of.set, orb: orb.id, changedBy: "admin1", reverts: null, publishAt: null };
    expect(first?.input).toEqual({
      event: "change.review",
      change: expect.objectContaining({ ...by, title: "Spring sale", hash: null }),
      delivery: { id: `${orb.id}.hear.${of.set}.2`, attempt: 1 },
    });
    expect(last?.input.change).toMatchObject({ ...by, title: "Sale", hash: content.hash });
    const [delivery] = await until(
      () => orb.deliveries("delivered"),
      (all) => all.length === 4,
    );
    const none = { module: null, schema: null, entry: null };
    expect(delivery).toMatchObject({ event: "change.review", change: of.set, revision: 2, ...none });
    await redeliver(deps, admin, orb.id, delivery?.id ?? "");
    await until(told, (all) => all.length === 5);
    expect(told()[4]).toEqual(["change.review", 2, "IN_REVIEW"]);
  });

  it("hears once of each comment that mentions accounts, without its text", async () => {
    const orb = await orbWith({ on: ["change.mentioned"] });
    work();
    const { of, entry } = await openedIn(orb);
    const about = { entry: `news/post/${entry}`, field: "title" };
    await addComment(deps, admin, { ...of, text: "Nice", mentions: [] });
    const comment = await addComment(deps, admin, { ...of, ...about, text: "@Ann, look", mentions: ["ann"] });
    await resolveComment(deps, admin, { ...of, comment: comment.id });
    const { id } = await addComment(deps, admin, { ...of, text: "@Bob", mentions: ["bob"] });
    await until(
      () => service.calls,
      (all) => all.some(({ input }) => input.comment?.id === id),
    );
    const by = { orb: orb.id, change: of.set, by: "admin1", at: expect.any(String) };
    expect(service.calls.at(-1)?.input).toEqual({
      event: "change.mentioned",
      comment: { ...by, id, mentions: ["bob"], entry: null, field: null },
      delivery: { id: `${orb.id}.hear.${id}`, attempt: 1 },
    });
    // The first one may have been resolved before its delivery.
    const earlier = service.calls.slice(0, -1).map(({ input }) => input.comment);
    for (const one of earlier) expect(one).toEqual({ ...by, ...about, id: comment.id, mentions: ["ann"] });
    const delivered = await until(
      () => orb.deliveries("delivered"),
      (all) => all.length === service.calls.length,
    );
    const delivery = delivered.at(-1);
    expect(delivery).toMatchObject({
      event: "change.mentioned",
      change: of.set,
      revision: null,
      entry: null,
    });
    await redeliver(deps, admin, orb.id, delivery?.id ?? "");
    await until(
      () => service.calls,
      (all) => all.length === earlier.length + 2,
    );
  });

  it("tells hooks of entries which set has published them", async () => {
    const orb = await orbWith();
    work();
    const { of, entry } = await openedIn(orb);
    await publishSet(deps, admin, of);
    await orb.update(entry, { title: "b" });
    await until(heard, (all) => all.length === 2);
    expect(heard()).toEqual([`${entry}.1`, `${entry}.2`]);
    expect(service.calls.map(({ input }) => input.entry.change)).toEqual([of.set, undefined]);
    const delivered = await until(
      () => orb.deliveries(),
      (all) => all.length === 2,
    );
    expect(delivered.map(({ change }) => change)).toEqual([null, null]);
  });

  it("waits like others if it fails, and is counted", async () => {
    const orb = await orbWith({ on });
    const { of } = await openedIn(orb);
    await requestReview(deps, admin, of, read);
    const backlog = () => readBacklog(deps, orb.id);
    expect(await until(backlog, ({ count }) => count > 0)).toMatchObject({ count: 1 });
    service.answer = () => new Refusal("400", "No.");
    work({ retryMs: 60_000 });
    const [waiting] = await until(
      () => orb.deliveries("waiting"),
      (all) => all.length === 1 && all[0]?.attempts === 1,
    );
    expect(waiting).toMatchObject({ change: of.set, entry: null, event: null });
  });
});

describe("several processes", () => {
  it("deliver once, and one takes over at once from another that stops, and within seconds from one that dies", async () => {
    const { id, create, deliveries } = await orbWith();
    let dead = false;
    const dying = testDeps(
      new Proxy(broker.store("fn", { reconnect: true }), {
        get: (target, key, receiver) => {
          const member: unknown = Reflect.get(target, key, receiver);
          return typeof member !== "function"
            ? member
            : (...args: unknown[]) =>
                dead ? Promise.reject(new Error("dead")) : Reflect.apply(member, target, args);
        },
      }),
      deps.config,
    );
    const state = async () => (await listDeliveries(deps, admin, { orb: id, limit: 1 })).worker;
    const first = work({}, dying);
    await until(() => first.leads, Boolean);
    expect(await state()).toBe("running");
    const [second, third] = [work(), work()];
    const entries = [await create({ title: "1" })];
    await until(heard, (all) => all.length === 1);
    expect([second.leads, third.leads]).toEqual([false, false]);
    // A process that dies before it has stored the delivery leaves it to be repeated.
    await until(
      () => deliveries("delivered"),
      (all) => all.length === 1,
    );
    dead = true;
    entries.push(await create({ title: "2" }));
    await until(heard, (all) => all.length === 2);
    const heir = second.leads ? second : third;
    const other = second.leads ? third : second;
    await heir.stop();
    entries.push(await create({ title: "3" }));
    await until(heard, (all) => all.length === 3);
    expect(other.leads).toBe(true);
    expect(heard()).toEqual(entries.map((entry) => `${entry}.1`));
  });
});

it("keeps the leadership while a delivery on request takes long", async () => {
  const { id, create, deliveries } = await orbWith();
  const worker = work();
  await create({ title: "a" });
  const [delivered] = await until(deliveries, (all) => all.length === 1);
  service.answer = () => new Promise(() => undefined);
  await redeliver(deps, admin, id, delivered?.id ?? "");
  await until(heard, (all) => all.length === 2);
  const other = work();
  for (const end = Date.now() + TAKEOVER_MS + 1_000; Date.now() < end; await delay(50)) {
    expect([worker.leads, other.leads]).toEqual([true, false]);
  }
});

it("does not deliver for a hook that was removed, and forgets the deliveries of a deleted orb", async () => {
  const { id, create, deliveries } = await orbWith();
  const other = await orbWith();
  const worker = work();
  await create({ title: "1" });
  await until(deliveries, (all) => all.length === 1);
  await updateOrb(deps, admin, { orb: id, document: documentOf(id, null), publish: true });
  await worker.tick();
  await create({ title: "2" });
  await other.create({ title: "3" });
  await until(heard, (all) => all.length === 2);
  await deleteOrb(deps, admin, { orb: id });
  const page = await deps.store.scan(streams.hooks, `_hooks.*.${id}.>`, {
    fromSeq: 1,
    limit: 10,
    maxBytes: 100_000,
  });
  expect(page.messages).toEqual([]);
  expect(heard()).toHaveLength(2);
});

it("leaves no trace of a publication with new values in an export, which earlier versions can import", async () => {
  const { id, create, update } = await orbWith();
  await update(await create({ title: "a" }), { title: "b" }, { publish: true });
  const lines: unknown[] = [];
  for await (const line of await exportOrb(deps, admin, { orb: id })) lines.push(line);
  expect(lines).toMatchObject([{ kind: "orb" }, { head: { operation: "publish" } }, { kind: "end" }]);
  expect(lines[1]).not.toHaveProperty("head.updated");
});

it("is checked by the doctor", async () => {
  await orbWith();
  await until(
    () => workerState(deps),
    (state) => state === "absent",
  );
  expect(await checkHooks(deps.store)).toMatchObject([{ level: "fail", about: "hooks" }]);
  const worker = work();
  await until(() => worker.leads, Boolean);
  expect(await checkHooks(deps.store)).toMatchObject([
    { level: "ok", about: "hooks", says: expect.stringMatching(/No delivery waits|the oldest for \d+ s/) },
  ]);
});

it("counts the deliveries that no process has looked at, and says since when they are due", async () => {
  const { id, create } = await orbWith();
  expect(await readBacklog(deps, id)).toEqual({ count: 0, oldest: null });
  const began = Date.now();
  for (const title of ["1", "2"]) await create({ title });
  const { count, oldest } = await readBacklog(deps, id);
  expect(count).toBe(2);
  expect(Math.abs((oldest ?? 0) - began)).toBeLessThan(60_000);
  work();
  await until(
    () => readBacklog(deps, id),
    (backlog) => backlog.count === 0,
  );
});

it("writes nothing while no orb has a hook after writes", async () => {
  await using empty = await startBroker();
  const store = empty.store("fn", { reconnect: true });
  const worker = work({}, testDeps(store, deps.config));
  await worker.tick();
  expect(worker.leads).toBe(false);
  expect((await store.streamInfo(streams.hooks))?.state.messages).toBe(0);
  await worker.stop();
});

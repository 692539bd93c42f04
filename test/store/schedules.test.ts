import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { requireLive } from "../../shared/definition/stored/live.ts";
import { createEntry } from "../../shared/entry/index.ts";
import { Crons, rhythmOf } from "../../shared/hooks/after/crons.ts";
import { Definitions } from "../../shared/hooks/after/definitions.ts";
import { listDeliveries, redeliver } from "../../shared/hooks/after/list.ts";
import { tickIn } from "../../shared/hooks/after/source.ts";
import type { SchedulePlan, ScheduleTick } from "../../shared/hooks/after/stored.ts";
import { createOrb } from "../../shared/orb/create.ts";
import { archiveOrb, deleteOrb, publishOrb, unpublishOrb } from "../../shared/orb/operate.ts";
import { updateOrb } from "../../shared/orb/update.ts";
import { streams, subjects } from "../../shared/store/subjects.ts";
import { admin, failureOf, fileDeps } from "../support/entries.ts";
import { type HookService, hookService, hookWorkers, Refusal, until } from "../support/hooks.ts";

const { broker, deps } = await fileDeps();

const EVERY_SECOND = "* * * * * *";
let number = 0;
let orbs = 0;
let name: string;
let service: HookService;
const { work, stop } = hookWorkers(deps);

beforeEach(async () => {
  name = `clock.strike${++number}`;
  service = await hookService(broker, name);
});
afterEach(async () => {
  await stop();
  await service.close();
});

const documentOf = (id: string, ...schedules: object[]) => ({
  id,
  uses: [{ service: "clock", handlers: [name.split(".")[1] ?? ""] }],
  schedules: schedules.map((schedule) => ({
    id: "strike",
    cron: EVERY_SECOND,
    handler: name,
    ...schedule,
  })),
  modules: [
    {
      id: "news",
      type: "CONTENT",
      schemas: [{ id: "post", fields: [{ name: "title", type: "string" }] }],
    },
  ],
});

async function orbWith(...schedules: object[]): Promise<string> {
  const id = `sched-${number}-${++orbs}`;
  await createOrb(deps, admin, { document: documentOf(id, ...schedules), publish: true });
  return id;
}

const page = { fromSeq: 1, limit: 200, maxBytes: 1_000_000 };

/** Returns the sequences of the ticks that the broker has written. */
async function ticks(orb: string): Promise<{ seq: number; at: number }[]> {
  const found = await deps.store.scan(streams.hooks, subjects.hookTicks(orb, "strike"), page);
  return found.messages.map((message) => ({ seq: message.seq, at: tickIn(message).at }));
}

/** Returns the cron expressions for which ticks of an orb are planned. */
async function crons(orb: string): Promise<(string | undefined)[]> {
  const found = await deps.store.scan(streams.hooks, `_hooks.cron.${orb}.*`, page);
  const plans = found.messages.filter(({ size }) => size > 0).map((message) => message.json<SchedulePlan>());
  return plans.map(({ rhythm }) => (JSON.parse(rhythm) as { cron: string }).cron);
}

/** Returns the due times that the broker still waits for. */
async function waitingFor(orb: string): Promise<number[]> {
  const found = await deps.store.scan(streams.hooks, `_hooks.cron.${orb}.strike.*`, page);
  return found.messages.filter(({ size }) => size > 0).map((message) => message.json<ScheduleTick>().at);
}

/** Leaves the plan as if no process had planned anything since a time, and the broker had no tick left. */
async function planUntil(orb: string, last: number): Promise<void> {
  const live = await requireLive(deps, orb);
  const [schedule] = live.document.schedules ?? [];
  if (schedule === undefined) throw new Error("no schedule");
  const plan: SchedulePlan = { v: 2, rhythm: rhythmOf(live, schedule), since: 0, last };
  await deps.store.append(streams.hooks, {
    subject: subjects.hookCron(orb, "strike"),
    data: JSON.stringify(plan),
    rollup: true,
  });
}

/** The due times for which the handler was called, in milliseconds since the epoch, in ascending order. */
const times = () => service.calls.map(({ schedule }) => Date.parse(schedule?.at ?? "")).sort((a, b) => a - b);

/** Due times in the ids of the ticks for which the handler was called. */
const called = () => service.calls.map(({ schedule }) => Number(schedule?.delivery.id.split(".")[2]));
const deliveries = async (orb: string, status?: "failed" | "waiting" | "delivered") =>
  (await listDeliveries(deps, admin, { orb, limit: 200, status })).items;

describe("a schedule", () => {
  it("calls its handler once for each due time, however many processes run", async () => {
    const orb = await orbWith({ timeZone: "Europe/Berlin", input: { hours: [9] } });
    work();
    work();
    await until(called, (all) => all.length >= 3);
    await unpublishOrb(deps, admin, { orb });
    await until(
      () => crons(orb),
      (all) => all.length === 0,
    );
    const [first, ...more] = await ticks(orb);
    // The handler is not called for ticks after the withdrawal.
    expect(called()).toEqual([first, ...more].map((tick) => tick?.at).slice(0, called().length));
    expect(service.calls[0]).toEqual({
      orbId: orb,
      handler: name,
      schedule: {
        id: "strike",
        at: expect.stringMatching(/:\d\d\.000Z$/),
        delivery: { id: `${orb}.strike.${first?.at}`, attempt: 1 },
      },
      input: { hours: [9] },
      caller: null,
    });
    const listed = await until(
      () => deliveries(orb, "delivered"),
      (items) => items.length === called().length,
    );
    expect(listed[0]).toMatchObject({
      id: `strike.${first?.seq}`,
      hook: "strike",
      event: "schedule.tick",
      entry: null,
      attempts: 1,
    });
  });

  it("runs the due times of the last minute after an outage, and of earlier ones none", async () => {
    const orb = await orbWith({ cron: "*/20 * * * * *" });
    await planUntil(orb, Date.now() - 180_000);
    const before = Date.now();
    work();
    await until(called, (all) => all.length >= 3);
    const all = times();
    expect(all.every((time) => time >= before - 62_000)).toBe(true);
    expect(all.slice(0, 3)).toEqual([all[0], (all[0] ?? 0) + 20_000, (all[0] ?? 0) + 40_000]);
  });

  it("runs only the newest of several due times that it missed", async () => {
    const orb = await orbWith({ cron: "0 0 0 * * *" });
    await planUntil(orb, Date.now() - 3 * 86_400_000 - 10_000);
    work();
    await until(called, (all) => all.length >= 1);
    const midnight = Math.floor(Date.now() / 86_400_000) * 86_400_000;
    expect(times()).toEqual([midnight]);
    await until(
      () => waitingFor(orb),
      (all) => all.length === 1,
    );
    expect(await waitingFor(orb)).toEqual([midnight + 86_400_000]);
  });

  it("drops a tick that the broker has delivered late, if the schedule was due again since", async () => {
    const orb = await orbWith({ cron: "0 0 0 * * *" });
    const midnight = Math.floor(Date.now() / 86_400_000) * 86_400_000;
    const [earlier, live] = [midnight - 2 * 86_400_000, await requireLive(deps, orb)];
    await planUntil(orb, earlier);
    const [schedule] = live.document.schedules ?? [];
    if (schedule === undefined) throw new Error("no schedule");
    const tick: ScheduleTick = { v: 2, at: earlier, rhythm: rhythmOf(live, schedule) };
    await deps.store.append(streams.hooks, {
      subject: subjects.hookTicks(orb, "strike"),
      data: JSON.stringify(tick),
    });
    work();
    await until(called, (all) => all.length >= 1);
    expect(times()).toEqual([midnight]);
  });

  it("follows the broker's clock after it was set back by more than an hour, and waits if it was less", async () => {
    const [far, near] = [await orbWith({ cron: "0 0 0 * * *" }), await orbWith({ cron: "0 0 * * * *" })];
    const [year, minutes] = [Date.now() + 365 * 86_400_000, Date.now() + 30 * 60_000];
    await planUntil(far, year);
    await planUntil(near, minutes);
    work();
    const [next] = await until(
      () => waitingFor(far),
      (all) => all.length === 1,
    );
    expect(next).toBe((Math.floor(Date.now() / 86_400_000) + 1) * 86_400_000);
    expect(await waitingFor(near)).toEqual([]);
  });

  it("is planned once for each due time by processes that plan at the same time", async () => {
    const orb = await orbWith({});
    const planners = Array.from({ length: 3 }, () => [new Definitions(deps), new Crons(deps)] as const);
    for (let round = 0; round < 8; round++) {
      await Promise.all(
        planners.map(async ([definitions, crons]) => {
          await definitions.refresh();
          crons.forget();
          await crons.look();
          await crons.reconcile(definitions.orbs);
        }),
      );
      await new Promise((resolve) => setTimeout(resolve, 1_000));
    }
    const found = await deps.store.scan(streams.hooks, subjects.hookTicks(orb, "strike"), page);
    const all = found.messages.map((message) => message.json<ScheduleTick>().at);
    expect(all.length).toBeGreaterThanOrEqual(6);
    expect(all).toEqual(all.map((_, index) => (all[0] ?? 0) + index * 1_000));
  });

  it("follows a change of its times, and its handler gets the input of the newest publication", async () => {
    const orb = await orbWith({ cron: "0 0 0 1 1 *", input: "old" });
    work();
    await until(
      () => crons(orb),
      (all) => all[0] === "0 0 0 1 1 *",
    );
    await updateOrb(deps, admin, { orb, document: documentOf(orb, { input: "new" }), publish: true });
    await until(called, (all) => all.length >= 1);
    expect(service.calls[0]?.input).toBe("new");
    const changed = documentOf(orb, { input: "newer" });
    await updateOrb(deps, admin, { orb, document: changed, publish: true });
    await until(
      () => service.calls.at(-1)?.input,
      (input) => String(input) === "newer",
    );
    expect(called()).toEqual((await ticks(orb)).map(({ at }) => at).slice(0, called().length));
    await updateOrb(deps, admin, { orb, document: documentOf(orb), publish: true });
    await until(
      () => crons(orb),
      (all) => all.length === 0,
    );
  });

  it.each([
    ["unpublished", unpublishOrb],
    ["archived", archiveOrb],
    ["deleted", deleteOrb],
  ] as const)("ends when its orb is %s, and runs no tick that follows", async (_what, end) => {
    const orb = await orbWith({});
    work();
    await until(called, (all) => all.length >= 1);
    await end(deps, admin, { orb });
    await until(
      () => crons(orb),
      (all) => all.length === 0,
    );
    // Calls that were running have ended by the time the broker's schedule is removed.
    const calls = () => service.calls.filter(({ orbId }) => orbId === orb).length;
    const count = calls();
    await deps.store.append(streams.hooks, { subject: subjects.hookTicks(orb, "strike"), data: "{}" });
    // A later tick of another orb is run, so the worker has already skipped that tick.
    const other = await orbWith({});
    await until(
      () => service.calls,
      (all) => all.some(({ orbId }) => orbId === other),
    );
    expect(calls()).toBe(count);
  });

  it("skips the due times at which its orb was not published, also if no process ran meanwhile", async () => {
    const orb = await orbWith({});
    const first = work();
    await until(called, (all) => all.length >= 1);
    await first.stop();
    await unpublishOrb(deps, admin, { orb });
    const missed = await until(
      () => ticks(orb),
      (all) => all.length >= called().length + 2,
    );
    const count = called().length;
    await publishOrb(deps, admin, { orb });
    work();
    const all = await until(called, (now) => now.length > count);
    expect(all[count]).toBeGreaterThan(missed.at(-1)?.at ?? 0);
  });
});

it("retries a call, gives it up, and repeats it on request, while calls of other due times continue", async () => {
  const orb = await orbWith({});
  let refused: string | undefined;
  service.answer = ({ schedule }) => {
    refused ??= schedule?.delivery.id;
    return schedule?.delivery.id === refused ? new Refusal("400", "No.") : null;
  };
  work();
  const [failed] = await until(
    () => deliveries(orb, "failed"),
    (all) => all.length === 1,
  );
  expect(failed).toMatchObject({ hook: "strike", event: "schedule.tick", entry: null, attempts: 3 });
  await until(
    () => deliveries(orb, "delivered"),
    (all) => all.length >= 2,
  );
  service.answer = () => null;
  await redeliver(deps, admin, orb, failed?.id ?? "");
  await until(
    () => deliveries(orb, "failed"),
    (all) => all.length === 0,
  );
  const again = service.calls.filter(({ schedule }) => schedule?.delivery.id === refused);
  expect(again.map(({ schedule }) => schedule?.delivery.attempt)).toEqual([1, 2, 3, 4]);
  expect(await failureOf(redeliver(deps, admin, orb, "strike.1"))).toMatchObject({
    code: "delivery_not_found",
  });
});

it("does not mix up the progress of a hook and of a schedule with the same id", async () => {
  const orb = await orbWith({});
  work();
  await until(called, (all) => all.length >= 1);
  const hook = { id: "strike", on: ["entry.created"], handler: name, mode: "after" };
  const document = { ...documentOf(orb), hooks: [hook] };
  await updateOrb(deps, admin, { orb, document, publish: true });
  const live = await requireLive(deps, orb);
  const context = { orbId: orb, orb: live, module: "news", values: { title: "a" } };
  const { snapshot } = await createEntry(deps, admin, context);
  await until(
    () => service.calls.at(-1)?.input,
    (input) => input?.entry?.id === snapshot.id,
  );
  await until(
    () => crons(orb),
    (all) => all.length === 0,
  );
  await updateOrb(deps, admin, { orb, document: documentOf(orb, { input: "back" }), publish: true });
  await until(
    () => service.calls.at(-1)?.input,
    (input) => String(input) === "back",
  );
});

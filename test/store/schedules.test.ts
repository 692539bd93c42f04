import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { requireLive } from "../../shared/definition/stored/live.ts";
import { createEntry } from "../../shared/entry/index.ts";
import { listDeliveries, redeliver } from "../../shared/hooks/after/list.ts";
import { LATE_MS } from "../../shared/hooks/after/source.ts";
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
async function ticks(orb: string): Promise<number[]> {
  const found = await deps.store.scan(streams.hooks, subjects.hookTicks(orb, "strike"), page);
  return found.messages.map(({ seq }) => seq);
}

/** Returns the broker's schedules of an orb. */
async function crons(orb: string): Promise<(string | undefined)[]> {
  const found = await deps.store.scan(streams.hooks, `_hooks.cron.${orb}.*`, page);
  return found.messages.filter(({ size }) => size > 0).map((message) => message.header("Nats-Schedule"));
}

/** Sequences of the ticks for which the handler was called. */
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
    const all = await ticks(orb);
    // The handler is not called for ticks after the withdrawal.
    expect(called()).toEqual(all.slice(0, called().length));
    expect(service.calls[0]).toEqual({
      orbId: orb,
      handler: name,
      schedule: {
        id: "strike",
        at: expect.stringMatching(/Z$/),
        delivery: { id: `${orb}.strike.${all[0]}`, attempt: 1 },
      },
      input: { hours: [9] },
      caller: null,
    });
    const listed = await until(
      () => deliveries(orb, "delivered"),
      (items) => items.length === called().length,
    );
    expect(listed[0]).toMatchObject({
      id: `strike.${all[0]}`,
      hook: "strike",
      event: "schedule.tick",
      entry: null,
      attempts: 1,
    });
  });

  it("catches up on the due times of the last minute, and on only the newest of earlier ones", async () => {
    const orb = await orbWith({});
    const first = work();
    await until(called, (all) => all.length >= 1);
    await first.stop();
    const before = called().length;
    await until(
      () => ticks(orb),
      (all) => all.length >= before + 3,
    );
    const second = work();
    await until(called, (all) => all.length >= before + 3);
    await second.stop();
    // The tick that was interrupted by the stop is delivered again, possibly after later ones.
    const inOrder = called().toSorted((a, b) => a - b);
    expect(inOrder).toEqual((await ticks(orb)).slice(0, inOrder.length));
    const caughtUp = called().length;
    const missed = await until(
      () => ticks(orb),
      (all) => all.length >= caughtUp + 3,
    );
    work({}, { ...deps, clock: { now: () => Date.now() + LATE_MS + 10_000 } });
    const after = await until(called, (all) => all.length > caughtUp);
    expect(after[caughtUp]).toBeGreaterThanOrEqual(missed.at(-1) ?? 0);
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
    expect(called()).toEqual((await ticks(orb)).slice(0, called().length));
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

  it("skips the due times at which its orb was not published", async () => {
    const orb = await orbWith({});
    const first = work();
    await until(called, (all) => all.length >= 1);
    await first.stop();
    await unpublishOrb(deps, admin, { orb });
    const missed = await until(
      () => ticks(orb),
      (all) => all.length >= called().length + 2,
    );
    const second = work();
    await until(
      () => crons(orb),
      (all) => all.length === 0,
    );
    await second.stop();
    const count = called().length;
    await publishOrb(deps, admin, { orb });
    work();
    const all = await until(called, (now) => now.length > count);
    expect(all[count]).toBeGreaterThan(missed.at(-1) ?? 0);
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

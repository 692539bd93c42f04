/** Schedules while the processes that call their handlers, and the broker, are killed. */
import { setTimeout as delay } from "node:timers/promises";
import { connect } from "nats";
import { expect, test } from "vitest";
import { type HooksProcess, serveHooks } from "../../scripts/host/hooks.ts";
import { adminToken, call } from "../support/auth.ts";
import { hookService } from "../support/hooks.ts";
import { createOrb } from "../support/orbs.ts";
import { startPlatform } from "../support/platform.ts";
import { testPrograms } from "../support/programs.ts";
import { natsUrl } from "../support/services.ts";

const TICKS = "_hooks.tick.told.strike";

async function until(what: string, fits: () => boolean | Promise<boolean>): Promise<void> {
  for (const deadline = Date.now() + 60_000; !(await fits()); await delay(50)) {
    if (Date.now() > deadline) throw new Error(`still waiting: ${what}`);
  }
}

test("every tick is run once while the processes are killed between ticks, and ticks go on after the broker dies", async () => {
  await using platform = await startPlatform();
  const env = { ...platform.bindings, HOOKS_RETRY_MS: "50" };
  const log = () => undefined;
  await using first = await serveHooks({ programs: testPrograms(), env, log });
  await using second = await serveHooks({ programs: testPrograms(), env, log });
  const url = natsUrl(platform);
  await using service = await hookService({ tcpUrl: () => url }, "clock.strike");
  const { host, username, password } = new URL(url);
  const client = await connect({ servers: host, user: username, pass: password });
  const token = await adminToken(platform);
  await createOrb(platform, token, {
    id: "told",
    uses: [{ service: "clock", handlers: ["strike"] }],
    schedules: [{ id: "strike", cron: "*/2 * * * * *", handler: "clock.strike" }],
    modules: [],
  });

  const called = () => service.calls.map(({ schedule }) => Number(schedule?.delivery.id.split(".")[2]));
  const ticks = async () => {
    const query = JSON.stringify({ subjects_filter: TICKS });
    const answer = await client.request("$JS.API.STREAM.INFO.hooks", query);
    const { state } = answer.json<{ state: { subjects?: Record<string, number> } }>();
    return state.subjects?.[TICKS] ?? 0;
  };
  const delivered = async () => {
    const path = "/api/admin/orbs/told/deliveries?status=delivered&limit=100";
    const { status, body } = await call(platform, "GET", path, { token });
    return status === 200 ? (body as { items: unknown[] }).items.length : -1;
  };
  /**
   * Waits until the call of the last tick has ended and is recorded. That is about two seconds before the next tick.
   */
  const betweenTicks = async () => {
    const count = called().length;
    await until("another call", () => called().length > count);
    await until("its delivery", async () => (await delivered()) === called().length);
  };
  const kill = ({ pid }: HooksProcess) => {
    if (pid !== undefined) process.kill(pid, "SIGKILL");
  };
  for (const victim of [first, second, first]) {
    await betweenTicks();
    kill(victim);
  }
  await betweenTicks();
  // If a tick were lost, the two numbers would never become equal.
  await until("a call for each tick", async () => (await ticks()) === called().length);
  // Ticks do not wait for each other, so two of them can come in either order.
  const ordered = called().toSorted((a, b) => a - b);
  expect(ordered).toEqual([...new Set(ordered)]);

  await platform.broker?.kill("SIGKILL");
  await platform.broker?.ready();
  const count = called().length;
  await until("calls after the broker's death", () => called().length >= count + 2);
  await client.close();
}, 180_000);

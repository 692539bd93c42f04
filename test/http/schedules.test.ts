/** Schedules over HTTP: what the list says of them, and what their handlers may do on the orb. */
import type { NatsConnection } from "nats";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type HooksProcess, serveHooks } from "../../scripts/host/hooks.ts";
import type { HandlerCredential } from "../../shared/handlers/contract/types.ts";
import { call } from "../support/auth.ts";
import { until } from "../support/hooks.ts";
import type { TestPlatform } from "../support/platform.ts";
import { testPrograms } from "../support/programs.ts";
import { entryOf, headers, stage } from "../support/services.ts";

interface Tick {
  orbId: string;
  handler: string;
  schedule?: { id: string; at: string };
  caller: unknown;
  credential?: HandlerCredential;
}

let platform: TestPlatform;
let client: NatsConnection;
let admin: string;
let hooks: HooksProcess;
const ticks: Tick[] = [];

const document = (id: string, acts: string[], schedules: object[]) => ({
  id,
  uses: [{ service: "clock", handlers: ["strike", "quiet"], acts }],
  schedules,
  modules: [
    {
      id: "news",
      type: "CONTENT",
      schemas: [
        {
          id: "post",
          access: { read: ["owner"], create: ["owner"], update: ["owner"], publish: ["owner"] },
          fields: [{ name: "title", type: "string" }],
        },
      ],
    },
  ],
});
const STRIKE = { id: "strike", cron: "* * * * * *", handler: "clock.strike" };
const DAILY = { id: "daily", cron: "0 30 9 * * FRI", timeZone: "America/Santiago", handler: "clock.quiet" };

const operate = (method: string, path: string, body?: unknown) =>
  call(platform, method, `/api/admin/orbs${path}`, { token: admin, ...(body === undefined ? {} : { body }) });
const publish = async (id: string, acts: string[], schedules: object[]) => {
  const { status, body } = await operate("POST", "?publish=true", document(id, acts, schedules));
  expect([status, body]).toMatchObject([201, { id }]);
};

beforeAll(async () => {
  ({ platform, client, admin } = await stage());
  for (const name of ["clock.strike", "clock.quiet"]) {
    client.subscribe(`svc.${name}`, {
      callback: (_error, message) => {
        const tick = message.json<Tick>();
        ticks.push(tick);
        const refusal = headers();
        refusal.set("Nats-Service-Error-Code", "409");
        refusal.set("Nats-Service-Error", "Not today.");
        message.respond("null", tick.orbId === "failing" ? { headers: refusal } : {});
      },
    });
    const acts = ["entries:read", "entries:write"];
    await client.request(`$KV.handlers.${name}`, JSON.stringify(entryOf(name, { acts })));
  }
  const env = { ...platform.bindings, HOOKS_RETRY_MS: "50", HOOKS_ATTEMPTS: "2" };
  hooks = await serveHooks({ programs: testPrograms(), env, log: () => undefined });
});
afterAll(async () => {
  await hooks.stop();
  await client.close();
});

const tickOf = async (orb: string): Promise<Tick & { credential: HandlerCredential }> => {
  const found = await until(
    () => ticks.findLast(({ credential }) => credential?.url.endsWith(`/${orb}`)),
    (tick) => tick !== undefined,
  );
  if (found?.credential === undefined) throw new Error("no credential");
  return { ...found, credential: found.credential };
};

describe("a schedule whose handler is granted acts", () => {
  test("does on the orb what the acts allow, and nothing else", async () => {
    await publish("ticking", ["entries:read", "entries:write"], [STRIKE]);
    await publish("elsewhere", ["entries:read"], [STRIKE]);
    const { credential, caller, schedule } = await tickOf("ticking");
    expect([caller, schedule?.id, credential.acts]).toEqual([
      null,
      "strike",
      ["entries:read", "entries:write"],
    ]);
    const act = (method: string, path: string, body?: unknown) =>
      call(platform, method, path, { token: credential.token, ...(body === undefined ? {} : { body }) });
    const made = await act("POST", "/api/ticking/news", { values: { title: "Tick" } });
    expect([made.status, made.body.createdBy]).toEqual([201, "schedule_strike"]);
    const path = `/api/ticking/news/${made.body.id}`;
    expect((await act("GET", `${path}?revision=latest`)).body.values).toEqual({ title: "Tick" });
    const refused = await act("POST", `${path}/publish`);
    expect([refused.status, refused.body.code]).toEqual([403, "missing_act"]);
    for (const other of ["/api/elsewhere/news", "/api/admin/orbs", "/api/admin/orbs/ticking/schedules"]) {
      const { status, body } = await act("GET", other);
      expect([other, status, body.code]).toEqual([other, 403, "handler_credential"]);
    }
    expect((await act("DELETE", path)).status).toBe(204);
    const { items } = (await operate("GET", `/ticking/entries/${made.body.id}/revisions`)).body;
    expect(items[0]).toMatchObject({ by: "schedule_strike", through: "clock.strike" });
  });

  test("loses the credential when the published definition has the schedule no more", async () => {
    await publish("ended", ["entries:read", "entries:write"], [STRIKE]);
    const { token } = (await tickOf("ended")).credential;
    const read = () => call(platform, "GET", "/api/ended/news", { token });
    expect((await read()).status).toBe(200);
    const changed = document(
      "ended",
      ["entries:read", "entries:write"],
      [{ ...STRIKE, handler: "clock.quiet" }],
    );
    expect((await operate("PUT", "/ended?publish=true", changed)).status).toBe(200);
    const { status, body } = await read();
    expect([status, body.items ?? []]).not.toMatchObject([200, [{}]]);
    const write = await call(platform, "POST", "/api/ended/news", {
      token,
      body: { values: { title: "x" } },
    });
    expect(write.status).toBe(403);
  });

  test("gets no credential without a grant", async () => {
    await publish("granted-nothing", [], [{ ...STRIKE, handler: "clock.quiet" }]);
    const tick = await until(
      () => ticks.findLast(({ orbId }) => orbId === "granted-nothing"),
      (found) => found !== undefined,
    );
    expect(tick).not.toHaveProperty("credential");
  });
});

describe("GET /api/admin/orbs/{id}/schedules", () => {
  test("lists each schedule with its last run and its next ten times", async () => {
    await publish("listed", [], [STRIKE, DAILY]);
    const list = async () => (await operate("GET", "/listed/schedules")).body.items;
    const [strike, daily] = await until(list, (items) => items[0].last?.status === "delivered");
    expect(strike).toMatchObject({
      ...STRIKE,
      timeZone: "UTC",
      active: true,
      last: { attempts: 1, error: null },
    });
    expect(strike.last.due).toMatch(/:\d\d\.000Z$/);
    expect(strike.next).toHaveLength(10);
    const [first = "", second = ""] = strike.next;
    expect(Date.parse(second) - Date.parse(first)).toBe(1_000);
    expect(daily).toMatchObject({ ...DAILY, active: true, last: null });
    const clock = new Intl.DateTimeFormat("en-US", {
      timeZone: DAILY.timeZone,
      weekday: "short",
      hour: "numeric",
      minute: "numeric",
      hourCycle: "h23",
    });
    const shown = new Set(daily.next.map((time: string) => clock.format(new Date(time)).replace(",", "")));
    expect([...shown]).toEqual([clock.format(new Date(daily.next[0])).replace(",", "")]);
    expect([...shown][0]).toMatch(/^Fri 0?9:30$/);
  });

  test("says what is not active, lists failures, and is 404 for no orb", async () => {
    expect((await operate("POST", "/listed/unpublish")).status).toBe(200);
    expect((await operate("GET", "/listed/schedules")).body.items).toMatchObject([
      { id: "strike", active: false, next: [], last: { status: "delivered" } },
      { id: "daily", active: false, next: [], last: null },
    ]);
    await publish("failing", [], [{ ...STRIKE, handler: "clock.quiet" }]);
    const [failed] = await until(
      async () => (await operate("GET", "/failing/schedules")).body.items,
      (items) => items[0].last?.status === "failed",
    );
    expect(failed.last).toMatchObject({ attempts: 2, error: expect.stringContaining("Not today.") });
    const none = await operate("GET", "/no-such-orb/schedules");
    expect([none.status, none.body.code]).toEqual([404, "orb_not_found"]);
  });
});

test("the hooks process publishes a change set at its planned time, although no request reads the set", async () => {
  await publish("calendar", [], []);
  const post = { module: "news", schema: "post", values: { title: "Old" } };
  const made = await operate("POST", "/calendar/entries?publish=true", post);
  expect([made.status, made.body.code]).toEqual([201, undefined]);
  const { id } = made.body;
  const { body: set } = await operate("POST", "/calendar/changes", { title: "Midnight" });
  const write = await operate("PATCH", `/calendar/entries/${id}?change=${set.id}`, {
    values: { title: "New" },
  });
  expect(write.status).toBe(200);
  const publishAt = new Date(Date.now() + 1_500).toISOString();
  const planned = await operate("PATCH", `/calendar/changes/${set.id}`, { publishAt });
  expect(planned.body.state).toBe("SCHEDULED");
  const entry = await until(
    async () => (await operate("GET", `/calendar/entries/${id}`)).body,
    ({ values }) => values.title === "New",
  );
  expect(entry).toMatchObject({ revision: 2, status: "PUBLISHED" });
});

/** Buyers of the last places who ask several hosts at the same time. `NATS_BROKERS=3` runs them on a cluster. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Functions, type FunctionsOptions, serveFunctions } from "../../scripts/host/functions.ts";
import { serveNode } from "../../scripts/host/node.ts";
import { freePort } from "../../scripts/process/ports.ts";
import { adminToken, call } from "../support/auth.ts";
import { startPlatform, type TestPlatform } from "../support/platform.ts";

const BUYERS = 50;
const PLACES = 30;

let platform: TestPlatform;
let token: string;
/** Two processes of workerd and two long-lived hosts, with one platform's brokers and keys. */
let origins: string[];
const further: Functions[] = [];

beforeAll(async () => {
  let first: FunctionsOptions | undefined;
  platform = await startPlatform({
    serve(options) {
      first = options;
      return serveFunctions(options);
    },
  });
  const options = first ?? expect.fail("the platform serves its functions");
  for (const serve of [serveFunctions, serveNode, serveNode])
    further.push(await serve({ ...options, port: await freePort() }));
  origins = [platform.origin, ...further.map(({ url }) => url.replace(/\/$/, ""))];
  token = await adminToken(platform);
  const made = await call(platform, "POST", "/api/admin/orbs?publish=true", {
    token,
    body: {
      id: "seats",
      modules: [
        {
          id: "tickets",
          type: "CONTENT",
          schemas: [
            {
              id: "slot",
              fields: [
                { name: "capacity", type: "integer", required: true },
                { name: "sold", type: "integer", default: 0 },
              ],
            },
            {
              id: "ticket",
              fields: [{ name: "slot", type: "reference", ref: "seats/tickets/slot", required: true }],
            },
          ],
        },
      ],
    },
  });
  expect(made.status).toBe(201);
});

afterAll(async () => {
  for (const host of further.splice(0)) await host.stop();
  await platform.stop();
});

test("50 buyers on four hosts buy exactly the 30 places, and repeat nothing", async () => {
  const slot = await call(platform, "POST", "/api/seats/tickets/slot?publish=true", {
    token,
    body: { values: { capacity: PLACES } },
  });
  const { id } = slot.body;
  const items = [
    {
      update: `tickets/slot/${id}`,
      add: { sold: 1 },
      publish: true,
      if: { "<": [{ var: "values.sold" }, { var: "values.capacity" }] },
    },
    { create: "tickets/ticket", values: { slot: id }, publish: true },
  ];
  const buy = async (_: unknown, buyer: number) => {
    const host = { origin: origins[buyer % origins.length] ?? "" };
    const { status, body } = await call(host, "POST", "/api/seats/batch", {
      token,
      body: { do: items },
      once: true,
    });
    return `${status} ${body.code ?? ""}`.trim();
  };
  const sales = await Promise.all(Array.from({ length: BUYERS }, buy));
  const outcomes = Object.groupBy(sales, (sale) => sale);
  expect(
    Object.entries(outcomes)
      .map(([outcome, all]) => [outcome, all?.length])
      .sort(),
  ).toEqual([
    ["200", PLACES],
    ["412 condition_failed", BUYERS - PLACES],
  ]);
  const tickets = await call(platform, "GET", `/api/seats/tickets/ticket?filter[slot]=${id}&count=true`, {
    token,
  });
  const sold = await call(platform, "GET", `/api/seats/tickets/slot/${id}`, { token });
  expect([tickets.body.total, sold.body.values.sold]).toEqual([PLACES, PLACES]);
});

test("keeps every batch that four hosts write into one change set at the same time", async () => {
  const made = await call(platform, "POST", "/api/seats/tickets/slot?publish=true", {
    token,
    body: { values: { capacity: PLACES } },
  });
  const { id } = made.body;
  const opened = await call(platform, "POST", "/api/seats/changes", { token, body: { title: "Together" } });
  const set = opened.body.id;
  const batches = 20;
  const write = async (_: unknown, at: number) => {
    const host = { origin: origins[at % origins.length] ?? "" };
    const items = [
      { update: `tickets/slot/${id}`, add: { sold: 1 } },
      { create: "tickets/ticket", values: { slot: id } },
    ];
    const body = { do: items };
    return (await call(host, "POST", `/api/seats/batch?change=${set}`, { token, body, once: true })).status;
  };
  const written = await Promise.all(Array.from({ length: batches }, write));
  expect(written).toEqual(Array(batches).fill(200));
  const found = await call(platform, "GET", `/api/seats/changes/${set}`, { token });
  const slot = await call(platform, "GET", `/api/seats/tickets/slot/${id}?change=${set}`, { token });
  expect([found.body.entries, slot.body.values.sold]).toEqual([batches + 1, batches]);
});

/** `POST /api/{orb}/batch`: several entries in one atomic write. */
import { beforeAll, describe, expect, test } from "vitest";
import { CANS } from "../../shared/access/credentials/rights.ts";
import { adminToken, call, user } from "../support/auth.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";
import { createToken, scope } from "../support/tokens.ts";

let platform: TestPlatform;
let root: string;
let slot: string;

const document = {
  id: "fair",
  uses: [{ service: "access", handlers: ["passkey", "invitations", "bootstrap"] }],
  modules: [
    {
      id: "tickets",
      type: "CONTENT",
      schemas: [
        {
          id: "slot",
          access: {
            read: ["public"],
            update: ["user"],
            publish: ["user"],
            create: ["owner"],
            delete: ["owner"],
          },
          fields: [
            { name: "title", type: "string", required: true, unique: true },
            { name: "sold", type: "integer", min: 0, max: 9, default: 0 },
            { name: "cost", type: "decimal", scale: 2, access: { read: ["owner"] } },
          ],
        },
        {
          id: "ticket",
          access: { read: "own", write: "user" },
          fields: [
            { name: "slot", type: "reference", ref: "fair/tickets/slot", required: true },
            { name: "count", type: "integer" },
          ],
        },
      ],
    },
    {
      id: "checks",
      type: "RULES",
      schemas: [{ id: "check", fields: [{ name: "rule", type: "json", required: true }] }],
    },
  ],
};

const batch = (items: unknown, options: Parameters<typeof call>[3] = {}, path = "/api/fair/batch") =>
  call(platform, "POST", path, { token: root, body: { do: items }, ...options });
const at = () => `tickets/slot/${slot}`;
const read = async () =>
  (await call(platform, "GET", `/api/fair/tickets/slot/${slot}?revision=latest`, { token: root })).body;

beforeAll(async () => {
  platform = await sharedPlatform();
  root = await adminToken(platform);
  const published = await call(platform, "POST", "/api/admin/orbs?publish=true", {
    token: root,
    body: document,
  });
  expect([published.status, published.body.errors]).toEqual([201, undefined]);
  const made = await call(platform, "POST", "/api/fair/tickets/slot?publish=true", {
    token: root,
    body: { values: { title: "morning", cost: "2.50" } },
  });
  slot = made.body.id;
});

describe.each(["/api/fair/batch", "/api/admin/orbs/fair/batch", "/api/_orbs/fair/batch"])(
  "POST %s",
  (path) => {
    test("writes all items, and lists their ids and revisions", async () => {
      const before = await read();
      const sale = [
        { update: at(), add: { sold: 1 }, publish: true, ifMatch: String(before.revision) },
        { create: "tickets/ticket", values: { slot, count: 1 }, publish: true, as: "t" },
      ];
      const answered = await batch(sale, { headers: { "idempotency-key": `sale ${path}` } }, path);
      expect([answered.status, answered.body]).toMatchObject([
        200,
        {
          items: [
            {
              module: "tickets",
              schema: "slot",
              id: slot,
              revision: before.revision + 1,
              status: "PUBLISHED",
            },
            { module: "tickets", schema: "ticket", revision: 1, status: "PUBLISHED" },
          ],
        },
      ]);
      const again = await batch(sale, { headers: { "idempotency-key": `sale ${path}` } }, path);
      expect([again.status, again.headers.get("idempotent-replayed"), again.body]).toEqual([
        200,
        "true",
        answered.body,
      ]);
      expect((await read()).values.sold).toBe(before.values.sold + 1);
      expect(
        (await batch([{ delete: `tickets/ticket/${answered.body.items[1].id}` }], {}, path)).body.items[0],
      ).toMatchObject({
        revision: 2,
        status: "DELETED",
      });
    });

    test("says which item is refused, and why", async () => {
      const { revision } = await read();
      const good = { update: at(), add: { sold: 1 } };
      const cases: [unknown, number, string, string][] = [
        [{ create: "tickets/ticket", values: {} }, 422, "validation_failed", "/values/slot"],
        [{ create: "tickets/ticket", values: {}, sold: 1 }, 422, "validation_failed", "/sold"],
        [{ create: "tickets/ticket", update: at() }, 422, "validation_failed", ""],
        [{ delete: "tickets/slot" }, 422, "validation_failed", "/delete"],
        [{ delete: at(), ifMatch: "first" }, 422, "validation_failed", "/ifMatch"],
        [{ delete: "tickets/ticket/0", if: false }, 404, "entry_not_found", ""],
        [{ create: "tickets/slot", values: { title: "morning" } }, 409, "unique_conflict", "/values/title"],
        [{ delete: at() }, 422, "validation_failed", "/delete"],
        ["text", 422, "validation_failed", ""],
      ];
      for (const [item, status, code, at] of cases) {
        const { body, ...answered } = await batch([good, item], {}, path);
        expect([answered.status, body.code, body.errors?.[0]?.path], JSON.stringify(item)).toEqual([
          status,
          code,
          `/do/1${at}`,
        ]);
      }
      expect(
        (await batch([{ ...good, if: { ">": [{ var: "values.sold" }, 9] } }], {}, path)).body,
      ).toMatchObject({
        status: 412,
        code: "condition_failed",
        item: 0,
      });
      expect((await batch([{ update: at(), add: { sold: 10 } }], {}, path)).body.errors).toMatchObject([
        { path: "/do/0/add/sold", code: "too_big" },
      ]);
      expect((await batch([], {}, path)).body.errors).toMatchObject([{ path: "/do" }]);
      expect((await batch(Array(201).fill(good), {}, path)).body.errors).toMatchObject([{ path: "/do" }]);
      expect((await read()).revision).toBe(revision);
    });
  },
);

describe("rights", () => {
  test("are those of single writes, for each item and each field", async () => {
    const buyer = await user(platform, "fair", "user");
    const stranger = await user(platform, "fair", "user");
    const as = (token: string, items: unknown) => batch(items, { token });
    const sale = [
      { update: at(), add: { sold: 1 }, publish: true },
      { create: "tickets/ticket", values: { slot } },
    ];
    const bought = await as(buyer.token, sale);
    expect(bought.status).toBe(200);
    const ticket = `tickets/ticket/${bought.body.items[1].id}`;
    const refusals: [string, unknown, number, string][] = [
      [buyer.token, [{ create: "tickets/slot", values: { title: "own" } }], 403, "/do/0"],
      [buyer.token, [...sale, { delete: at() }], 422, "/do/2/delete"],
      [buyer.token, [{ delete: at() }], 403, "/do/0"],
      [stranger.token, [sale[1], { delete: ticket }], 404, "/do/1"],
      [stranger.token, [{ update: ticket, values: { count: 2 } }], 404, "/do/0"],
      [buyer.token, [{ update: at(), add: { cost: 1 } }], 422, "/do/0/add/cost"],
      [root, [{ create: "checks/check", values: { rule: true } }], 422, "/do/0/create"],
    ];
    for (const [token, items, status, path] of refusals) {
      const { body, ...answered } = await as(token, items);
      expect([answered.status, body.errors?.[0]?.path], JSON.stringify(items)).toEqual([status, path]);
    }
    const anonymous = await call(platform, "POST", "/api/fair/batch", { body: { do: sale } });
    expect([anonymous.status, anonymous.body.errors?.[0]?.path]).toEqual([401, "/do/0"]);
    // A condition must not tell the values of a field that the caller may not read.
    const guess = { update: at(), values: {}, if: { "==": [{ var: "values.cost" }, "2.50"] } };
    expect((await as(buyer.token, [guess])).body.code).toBe("condition_failed");
    expect((await as(root, [guess])).status).toBe(200);
    expect(
      (await batch([{ create: "checks/check", values: { rule: true } }], {}, "/api/admin/orbs/fair/batch"))
        .status,
    ).toBe(200);
    expect((await as(buyer.token, [{ delete: ticket }])).status).toBe(200);
  });

  test("of an API token are checked for each item too", async () => {
    const items = [{ update: at(), values: {}, publish: true }];
    for (const [cans, status] of [
      [["read"], 403],
      [["read", "write"], 403],
      [CANS, 200],
    ] as const) {
      const { token } = await createToken(platform, "/api/_auth", root, [scope("fair", ...cans)]);
      expect((await batch(items, { token })).status, cans.join()).toBe(status);
    }
  });
});

test("50 buyers of the last places buy exactly these, and repeat nothing", async () => {
  const made = await call(platform, "POST", "/api/fair/tickets/slot?publish=true", {
    token: root,
    body: { values: { title: "evening" } },
  });
  const buy = () =>
    batch([
      {
        update: `tickets/slot/${made.body.id}`,
        add: { sold: 1 },
        publish: true,
        if: { "<": [{ var: "values.sold" }, 9] },
      },
      { create: "tickets/ticket", values: { slot: made.body.id }, publish: true },
    ]);
  const sales = await Promise.all(Array.from({ length: 50 }, buy));
  const statuses = sales.map(({ status }) => status);
  expect([
    statuses.filter((one) => one === 200).length,
    statuses.filter((one) => one === 412).length,
  ]).toEqual([9, 41]);
  const tickets = await call(
    platform,
    "GET",
    `/api/fair/tickets/ticket?filter[slot]=${made.body.id}&count=true`,
    { token: root },
  );
  expect(tickets.body.total).toBe(9);
});

test("is described, listed, and accepts only POST without parameters", async () => {
  const wrong = await call(platform, "GET", "/api/fair/batch", { token: root });
  expect([wrong.status, wrong.headers.get("allow")]).toEqual([405, "POST"]);
  expect((await batch([{ delete: at() }], {}, "/api/fair/batch?publish=true")).body.code).toBe(
    "invalid_parameter",
  );
  const { body } = await call(platform, "GET", "/api/openapi?orb=fair", { token: root });
  expect(body.paths["/api/fair/batch"]?.post?.operationId).toMatch(/^writeBatchOf_/);
});

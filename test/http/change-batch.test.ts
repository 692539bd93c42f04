/** `POST /api/{orb}/batch?change={set}`: several entries go into a change set, all or none. */
import { beforeAll, expect, test } from "vitest";
import { adminToken, call } from "../support/auth.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";
import { createToken, scope } from "../support/tokens.ts";

let platform: TestPlatform;
let root: string;
let agent: string;

const as = (token: string | undefined, method: string, path: string, body?: unknown, headers = {}) =>
  call(platform, method, path, {
    ...(token === undefined ? {} : { token }),
    ...(body === undefined ? {} : { body }),
    headers,
  });
const slots = "/api/together/tickets/slot";

async function opened(): Promise<string> {
  const { status, body } = await as(root, "POST", "/api/together/changes", { title: "Autumn" });
  expect(status).toBe(201);
  return body.id;
}
async function slot(title: string): Promise<string> {
  const { status, body } = await as(root, "POST", `${slots}?publish=true`, { values: { title, sold: 1 } });
  expect(status).toBe(201);
  return body.id;
}
const batch = (set: string, items: unknown[], { token = root, base = "/api/together", headers = {} } = {}) =>
  as(token, "POST", `${base}/batch?change=${set}`, { do: items }, headers);
const entriesIn = async (set: string) => (await as(root, "GET", `/api/together/changes/${set}`)).body.entries;

beforeAll(async () => {
  platform = await sharedPlatform();
  root = await adminToken(platform);
  const made = await as(root, "POST", "/api/admin/orbs?publish=true", {
    id: "together",
    modules: [
      {
        id: "tickets",
        type: "CONTENT",
        schemas: [
          {
            id: "slot",
            access: { read: ["public"] },
            fields: [
              { name: "title", type: "string", required: true, unique: true },
              { name: "sold", type: "integer", default: 0 },
              { name: "plan", type: "file" },
            ],
          },
          {
            id: "ticket",
            fields: [{ name: "slot", type: "reference", ref: "together/tickets/slot", required: true }],
          },
        ],
      },
    ],
  });
  expect([made.status, made.body.errors]).toEqual([201, undefined]);
  const can = [scope("together", "read", "propose")];
  agent = (await createToken(platform, "/api/_auth", root, can)).token;
});

test("creates, changes and deletes entries in the set, which are live with it", async () => {
  const [kept, gone] = [await slot("kept"), await slot("gone")];
  const set = await opened();
  const written = await batch(
    set,
    [
      { update: `tickets/slot/${kept}`, values: { title: "kept, too" }, add: { sold: 2 } },
      { create: "tickets/slot", values: { title: "new" }, as: "new" },
      { create: "tickets/ticket", values: { slot: { $ref: "new" } } },
      { delete: `tickets/slot/${gone}` },
    ],
    { token: agent },
  );
  expect([written.status, written.body]).toMatchObject([
    200,
    {
      items: [
        { id: kept, revision: 2, status: "PUBLISHED" },
        { revision: 1, status: "PUBLISHED" },
        { schema: "ticket", revision: 1 },
        { id: gone, status: "DELETED" },
      ],
    },
  ]);
  const [, made, ticket] = written.body.items as { id: string }[];
  expect(await entriesIn(set)).toBe(4);
  expect((await as(undefined, "GET", `${slots}/${kept}`)).body.values).toMatchObject({
    title: "kept",
    sold: 1,
  });
  expect((await as(undefined, "GET", `${slots}/${made?.id}`)).status).toBe(404);
  const inSet = await as(root, "GET", `/api/together/tickets/ticket/${ticket?.id}?expand=slot&change=${set}`);
  expect(inSet.body.expand.slot).toMatchObject({ id: made?.id, values: { title: "new" } });

  const again = await batch(set, [
    {
      update: `tickets/slot/${kept}`,
      add: { sold: 4 },
      ifMatch: 2,
      if: { "==": [{ var: "values.sold" }, 3] },
    },
    { delete: `tickets/ticket/${ticket?.id}` },
  ]);
  expect([again.status, again.body.items[0]]).toMatchObject([200, { revision: 3 }]);
  expect(await entriesIn(set)).toBe(3);
  const published = await as(root, "POST", `/api/together/changes/${set}/publish`, {});
  expect(published.status).toBe(200);
  expect((await as(undefined, "GET", `${slots}/${kept}`)).body.values).toMatchObject({
    title: "kept, too",
    sold: 7,
  });
  expect((await as(undefined, "GET", `${slots}/${gone}`)).status).toBe(404);
  expect((await as(undefined, "GET", `${slots}/${made?.id}`)).body.values.title).toBe("new");
});

test("writes nothing if one item is refused", async () => {
  const kept = await slot("whole");
  const set = await opened();
  const update = { update: `tickets/slot/${kept}`, values: { sold: 9 } };
  for (const [items, status, code, path] of [
    [[update, { create: "tickets/slot", values: {} }], 422, "validation_failed", "/do/1/values/title"],
    [
      [update, { create: "tickets/slot", values: { title: "whole" } }],
      409,
      "unique_conflict",
      "/do/1/values/title",
    ],
    [[{ ...update, publish: true }], 422, "validation_failed", "/do/0/publish"],
    [[update, update], 422, "validation_failed", "/do/1/update"],
    [[{ ...update, ifMatch: 7 }], 412, "revision_mismatch", "/do/0"],
    [[update, { update: "tickets/slot/0none", values: {} }], 404, "entry_not_found", "/do/1"],
  ] as const) {
    const { body, ...refused } = await batch(set, [...items]);
    expect([refused.status, body.code, body.errors[0].path]).toEqual([status, code, path]);
  }
  expect(await entriesIn(set)).toBe(0);
  const missing = await batch("none", [update]);
  expect([missing.status, missing.body.code]).toEqual([404, "change_not_found"]);
  await as(root, "DELETE", `/api/together/changes/${set}`);
  const closed = await batch(set, [update]);
  expect([closed.status, closed.body.code]).toEqual([409, "wrong_state"]);
  expect((await as(undefined, "GET", `${slots}/${kept}`)).body.values.sold).toBe(1);
});

test("takes effect once for each Idempotency-Key, also on the management API", async () => {
  const set = await opened();
  const items = [{ create: "tickets/slot", values: { title: "once" } }];
  const to = { base: "/api/admin/orbs/together", token: agent, headers: { "idempotency-key": "once" } };
  const first = await batch(set, items, to);
  const second = await batch(set, items, to);
  expect([first.status, second.status, second.body]).toEqual([200, 200, first.body]);
  expect([first.headers.get("idempotent-replayed"), second.headers.get("idempotent-replayed")]).toEqual([
    null,
    "true",
  ]);
  expect(await entriesIn(set)).toBe(1);
});

test("keeps every one of many batches that come at the same moment", async () => {
  const shared = await slot("shared");
  const set = await opened();
  const count = 12;
  const all = await Promise.all(
    Array.from({ length: count }, (_, at) =>
      batch(set, [
        { update: `tickets/slot/${shared}`, add: { sold: 1 } },
        { create: "tickets/slot", values: { title: `at once ${at}` } },
      ]),
    ),
  );
  expect(all.map(({ status }) => status)).toEqual(Array(count).fill(200));
  expect(await entriesIn(set)).toBe(count + 1);
  const { body } = await as(root, "GET", `${slots}/${shared}?change=${set}`);
  expect(body.values.sold).toBe(1 + count);
});

test("keeps every one of many keyed updates of different entries that come at the same moment", async () => {
  const count = 40;
  const ids: string[] = [];
  for (let at = 0; at < count; at++) ids.push(await slot(`keyed ${at}`));
  const set = await opened();
  const update = (id: string, at: number) =>
    as(
      root,
      "PATCH",
      `${slots}/${id}?change=${set}`,
      { values: { sold: at } },
      { "if-match": '"1"', "idempotency-key": `many-${set}-${at}` },
    );
  const all = await Promise.all(ids.map(update));
  expect(all.map(({ status }) => status)).toEqual(Array(count).fill(200));
  expect(await entriesIn(set)).toBe(count);
  // A repeated request writes nothing.
  const again = await Promise.all(ids.map(update));
  expect(again.map(({ body }) => [body.revision, body.values.sold])).toEqual(ids.map((_, at) => [2, at]));
});

test("writes an entry that has just left the set, and two entries with the same file", async () => {
  const back = await slot("back");
  const set = await opened();
  const update = { update: `tickets/slot/${back}`, values: { sold: 5 } };
  const first = await batch(set, [update]);
  expect((await as(root, "DELETE", `/api/together/changes/${set}/entries/${back}`)).status).toBe(204);
  const second = await batch(set, [update]);
  expect([second.status, second.body.items[0].revision]).toEqual([200, first.body.items[0].revision + 1]);
  const sent = await fetch(`${platform.origin}/api/together/files?name=plan.txt`, {
    method: "POST",
    headers: { authorization: `Bearer ${root}`, "content-type": "text/plain" },
    body: "rows and seats",
  });
  const { id: file } = (await sent.json()) as { id: string };
  const filed = await batch(
    set,
    ["plan a", "plan b"].map((title) => ({ create: "tickets/slot", values: { title, plan: { file } } })),
  );
  expect([filed.status, filed.body.code]).toEqual([200, undefined]);
  const [a] = filed.body.items as { id: string }[];
  const read = await as(root, "GET", `${slots}/${a?.id}?change=${set}`);
  expect(read.body.values.plan).toMatchObject({ file });
  expect((await as(root, "POST", `/api/together/changes/${set}/publish`, {})).status).toBe(200);
});

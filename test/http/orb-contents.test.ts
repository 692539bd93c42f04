/** The numbers that people see before they delete something. */
import { beforeAll, expect, test } from "vitest";
import { adminToken, call as request } from "../support/auth.ts";
import { managing } from "../support/managing.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";

let platform: TestPlatform;
let token: string;
beforeAll(async () => {
  platform = await sharedPlatform();
  token = await adminToken(platform);
});

const { call, created } = managing("contents", () => ({ platform, token }));

const LIBRARY = {
  uses: [{ service: "access", handlers: ["passkey", "invitations"] }],
  modules: [
    {
      id: "books",
      type: "CONTENT",
      schemas: [
        { id: "author", fields: [{ name: "name", type: "string" }] },
        {
          id: "book",
          access: { read: "user" },
          fields: [
            { name: "title", type: "string" },
            { name: "author", type: "reference", ref: "" },
            { name: "editor", type: "reference", ref: "" },
            { name: "cover", type: "file" },
          ],
        },
      ],
    },
  ],
};

async function library() {
  const text = JSON.stringify(LIBRARY);
  const made = await created({ name: "Library" });
  const orb = made.document.id;
  const document = { id: orb, ...JSON.parse(text.replaceAll('"ref":""', `"ref":"${orb}/books/author"`)) };
  const put = await call("PUT", `${made.path}?publish=true`, { body: document });
  expect([put.status, put.body.errors]).toEqual([200, undefined]);
  const entry = async (schema: string, values: object) => {
    const body = { module: "books", schema, values };
    const answer = await call("POST", `${made.path}/entries?publish=true`, { body });
    expect([answer.status, answer.body.errors]).toEqual([201, undefined]);
    return answer.body.id as string;
  };
  return { orb, path: made.path, entry };
}

async function createMany(path: string, count: number, values: (number: number) => object): Promise<void> {
  const lines = Array.from({ length: count }, (_, number) =>
    JSON.stringify({ module: "books", schema: "book", values: values(number) }),
  );
  const made = await fetch(`${platform.origin}${path}/entries/bulk`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/x-ndjson" },
    body: lines.join("\n"),
  });
  expect(made.status).toBe(200);
  expect((await made.text()).split('"status":201').length - 1).toBe(count);
}

test("says how many entries refer to an entry that cannot be deleted, not only the 50 that it lists", async () => {
  const { path, entry } = await library();
  const author = await entry("author", { name: "Ann" });
  await createMany(path, 201, (number) => ({ title: `Book ${number}`, author, editor: author }));
  for (const refused of [
    await call("DELETE", `${path}/entries/${author}`),
    await call("POST", `${path}/entries/${author}/archive`),
  ]) {
    expect(refused).toMatchObject({ status: 409, body: { code: "referenced", total: 201 } });
    expect(refused.body.totalExact).toBeUndefined();
    expect(refused.body.referrers).toHaveLength(50);
  }
});

test("says that there are more than 1,000 referring entries", async () => {
  const { path, entry } = await library();
  const author = await entry("author", { name: "Ann" });
  await createMany(path, 1_000, (number) => ({ title: `Book ${number}`, author }));
  const exact = await call("DELETE", `${path}/entries/${author}`);
  expect([exact.body.total, exact.body.totalExact]).toEqual([1_000, undefined]);
  await createMany(path, 1, () => ({ title: "One more", author }));
  const more = await call("DELETE", `${path}/entries/${author}`);
  expect([more.body.total, more.body.totalExact]).toEqual([1_000, false]);
});

test("counts entries, users and files of an orb, and forgets the deleted ones", async () => {
  const { orb, path, entry } = await library();
  const contents = async () => (await call("GET", `${path}/contents`)).body;
  const none = { total: 0 };
  expect(await contents()).toEqual({ entries: none, users: none, files: none });
  const author = await entry("author", { name: "Ann" });
  await createMany(path, 3, (number) => ({ title: `Book ${number}` }));
  const user = await request(platform, "POST", `/api/${orb}/users`, {
    token,
    body: { name: "Robot", service: true, role: "user" },
  });
  expect(user.status).toBe(201);
  const file = await fetch(`${platform.origin}/api/${orb}/files?name=a.txt`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "text/plain" },
    body: "a cover",
  });
  expect(file.status).toBe(201);
  expect(await contents()).toEqual({ entries: { total: 4 }, users: { total: 1 }, files: { total: 1 } });
  expect((await call("DELETE", `${path}/entries/${author}`)).status).toBe(204);
  expect((await request(platform, "DELETE", `/api/${orb}/users/${user.body.id}`, { token })).status).toBe(
    204,
  );
  expect(await contents()).toEqual({ entries: { total: 3 }, users: none, files: { total: 1 } });
  expect((await call("POST", `${path}/archive`)).status).toBe(200);
  expect((await call("GET", `/api/_orbs/${orb}/contents`)).body.entries).toEqual({ total: 3 });
  expect((await request(platform, "GET", `${path}/contents`)).status).toBe(401);
  expect((await call("GET", "/api/admin/orbs/nothing-here/contents")).status).toBe(404);
});

import { expect, test } from "vitest";
import { adminToken, call } from "../support/auth.ts";
import { sharedPlatform } from "../support/platform.ts";

const document = (read: string, fields: string[]) => ({
  id: "quick",
  modules: [
    {
      id: "notes",
      type: "CONTENT",
      schemas: [
        {
          id: "note",
          access: { read, write: "admin" },
          fields: fields.map((name) => ({ name, type: "string" })),
        },
      ],
    },
  ],
});

test("never answers by an outdated definition after it has changed", async () => {
  const platform = await sharedPlatform();
  const token = await adminToken(platform);
  const admin = (method: string, path: string, body?: unknown) =>
    call(platform, method, `/api/admin/orbs${path}`, { token, ...(body === undefined ? {} : { body }) });
  const publish = async (read: string, fields: string[]) => {
    const answer = await admin("PUT", "/quick?publish=true", document(read, fields));
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  };
  expect((await admin("POST", "?publish=true", document("public", ["title", "body"]))).status).toBe(201);
  const made = await admin("POST", "/quick/entries?publish=true", {
    module: "notes",
    schema: "note",
    values: { title: "a", body: "b" },
  });
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  const paths = [`/api/quick/notes/${made.body.id}`, "/api/quick/notes", "/api/quick/notes?sort=-createdAt"];
  const statuses = async () =>
    (await Promise.all(paths.map((path) => call(platform, "GET", path)))).map(({ status }) => status);

  // In the second round the definition is cached from the first.
  for (let i = 0; i < 2; i++) {
    expect(await statuses()).toEqual([200, 200, 200]);
    await publish("admin", ["title", "body"]);
    for (const path of paths) {
      const refused = await call(platform, "GET", path);
      expect([refused.status, refused.headers.get("etag"), refused.headers.get("cache-control")]).toEqual([
        401,
        null,
        "no-store",
      ]);
    }
    await publish("public", ["title", "body"]);
  }
  await publish("public", ["title", "body", "more"]);
  const before = await call(platform, "GET", paths[0] ?? "");
  expect((await call(platform, "GET", "/api/quick/notes?filter[more]=x")).status).toBe(200);
  expect(before.body.values).toEqual({ title: "a", body: "b" });

  expect((await admin("POST", "/quick/unpublish")).status).toBe(200);
  for (const path of paths) expect((await call(platform, "GET", path)).status).toBe(404);
  expect((await admin("POST", "/quick/publish")).status).toBe(200);
  expect(await statuses()).toEqual([200, 200, 200]);
});

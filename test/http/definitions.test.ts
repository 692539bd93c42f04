/** Message schemas and module templates that orbs share. */
import { beforeAll, describe, expect, test } from "vitest";
import { adminToken, call } from "../support/auth.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";

let platform: TestPlatform;
let admin: string;
beforeAll(async () => {
  platform = await sharedPlatform();
  admin = await adminToken(platform);
});

describe("definitions", () => {
  const at = (path: string, method = "GET", body?: unknown, headers?: Record<string, string>) =>
    call(platform, method, `/api/admin/definitions/${path}`, {
      token: admin,
      ...(body === undefined ? {} : { body }),
      ...(headers === undefined ? {} : { headers }),
    });

  test("lists the message schemas of the built-in handlers", async () => {
    const { body } = await at("messages");
    const ids = body.map(({ id }: { id: string }) => id);
    expect(ids).toContain("rules-evaluate-input");
    expect(ids).toContain("settings-set-output");
    expect((await at("messages/transactions-record-input")).body.schema.required).toEqual(["values"]);
    expect((await call(platform, "GET", "/api/admin/definitions/messages")).status).toBe(401);
    expect((await at("others")).status).toBe(400);
  });

  test("keeps versions, checks If-Match and refuses invalid schemas", async () => {
    const schema = { type: "object", properties: { a: { type: "string" } } };
    const made = await at("messages/greeting", "PUT", { description: "Hello", schema });
    expect(made).toMatchObject({ status: 201, body: { version: 1, schema } });
    expect(made.headers.get("etag")).toBe('"1"');
    expect((await at("messages/greeting", "PUT", { schema: true }, { "if-match": '"1"' })).status).toBe(200);
    expect((await at("messages/greeting", "PUT", { schema: true }, { "if-match": '"1"' })).status).toBe(412);
    expect((await at("messages/greeting?version=1")).body.schema).toEqual(schema);
    const wrong = await at("messages/greeting", "PUT", {
      schema: { properties: { a: { type: 1 } } },
      more: 1,
    });
    expect(wrong.status).toBe(422);
    expect((await at("messages/greeting", "DELETE")).status).toBe(204);
    expect((await at("messages/greeting")).status).toBe(404);
    expect((await at("messages/greeting", "DELETE")).status).toBe(404);
    expect((await at("messages/greeting", "PUT", { schema })).body.version).toBe(4);
    expect((await at("messages/a.b", "PUT", { schema })).status).toBe(422);
  });

  test("creates an orb from a module template", async () => {
    const module = {
      id: "blog",
      type: "CONTENT",
      schemas: [
        { id: "author", fields: [{ name: "name", type: "string", required: true }] },
        {
          id: "post",
          fields: [
            { name: "title", type: "string", translatable: true },
            { name: "author", type: "reference", ref: "template/blog/author" },
          ],
        },
      ],
    };
    expect((await at("modules/blog", "PUT", { description: "A blog", module })).status).toBe(201);
    const taken = await at("modules/blog/module?orb=diaries&module=news");
    expect(taken.status).toBe(200);
    expect(taken.body.schemas[1].fields[1].ref).toBe("diaries/news/author");
    const body = { id: "diaries", modules: [taken.body] };
    const orb = await call(platform, "POST", "/api/admin/orbs?publish=true", { token: admin, body });
    expect(orb.status).toBe(201);
    expect((await call(platform, "GET", "/api/diaries/news/post")).status).toBe(200);
    const broken = structuredClone(module);
    Object.assign(broken.schemas[1]?.fields[1] ?? {}, { ref: "template/blog/nobody" });
    const refused = await at("modules/broken", "PUT", { module: broken });
    expect(refused.body.errors[0]).toMatchObject({ path: "/module/schemas/1/fields/1/ref" });
  });
});

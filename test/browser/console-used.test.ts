/** The revisions of an orb's document that programs still name, on the page of its history, in a real browser. */
import { expect, test } from "vitest";
import { call } from "../support/auth.ts";
import { inspect, useConsole } from "../support/console.ts";
import { createToken, scope } from "../support/tokens.ts";

const console = useConsole();

test("lists who names which revision of the document, and since when", async () => {
  const { platform, token } = console;
  const schema = { id: "post", access: { read: "public" }, fields: [{ name: "title", type: "string" }] };
  const body = { id: "used-press", modules: [{ id: "news", type: "CONTENT", schemas: [schema] }] };
  const made = await call(platform, "POST", "/api/admin/orbs?publish=true", { token, body });
  expect(made.status).toBe(201);
  const page = await console.open("/orbs/used-press/history");
  await page.getByRole("heading", { name: "History" }).waitFor();
  const definition: number = made.body.revision;
  const scopes = [scope("used-press", "read")];
  const robot = await createToken(platform, "/api/_auth", token, scopes, { definition, name: "Old site" });
  const headers = { "orb-definition": String(definition) };
  expect((await call(platform, "GET", "/api/used-press/news", { token: robot.token })).status).toBe(200);
  expect((await call(platform, "GET", "/api/used-press/news", { headers })).status).toBe(200);
  const used = () => call(platform, "GET", "/api/admin/orbs/used-press/definitions/used", { token });
  await expect.poll(async () => (await used()).body.items.length).toBe(2);
  await page.reload();
  const table = page.getByRole("region", { name: "Revisions in use" }).getByRole("table");
  const rows = table.getByRole("row");
  await rows.filter({ hasText: "API token Old site" }).waitFor();
  await rows.filter({ hasText: "Callers who are not signed in" }).waitFor();
  expect(await rows.count()).toBe(3);
  await inspect(page, "schema-used");
});

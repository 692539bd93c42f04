/** Requests that the OpenAPI description requires, allows or forbids get the answers that it describes. */
import { beforeAll, expect, test } from "vitest";
import { type ApiDocument, operationsOf } from "../../functions/discovery/document.ts";
import { adminToken, call, user } from "../support/auth.ts";
import { describedWhole } from "../support/described.ts";
import { createOrb, small } from "../support/orbs.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";
import { raw } from "../support/raw.ts";

let platform: TestPlatform;
let token: string;
let document: ApiDocument;

beforeAll(async () => {
  platform = await sharedPlatform();
  token = await adminToken(platform);
  await createOrb(platform, token, small("lab"));
  document = await describedWhole(platform, ["lab"]);
});

/** Every `pattern` in a part of the description. */
function patternsIn(part: unknown): string[] {
  if (typeof part !== "object" || part === null) return [];
  const { pattern } = part as { pattern?: unknown };
  return [...(typeof pattern === "string" ? [pattern] : []), ...Object.values(part).flatMap(patternsIn)];
}

test("every pattern means the same with and without the flag u, and contains no flags", () => {
  const patterns = [...new Set(patternsIn(document))];
  expect(patterns.length).toBeGreaterThan(5);
  for (const pattern of patterns) {
    expect(pattern).not.toMatch(/\/[a-z]*$/);
    expect(pattern).not.toContain("\\p{");
    for (const text of ["", "shop", "A_b-1", "a/b/c", "Zoë 🙂", "\u0007", "7"])
      expect(new RegExp(pattern, "u").test(text), `${pattern} ${text}`).toBe(new RegExp(pattern).test(text));
  }
});

test("accepts a display name exactly if it matches the described pattern", async () => {
  const pattern = String(document.components.schemas.DisplayName?.pattern);
  const { token: its } = await user(platform);
  for (const name of [
    "Zoë 🙂",
    "葛\u{e0100}城",
    "a\u0007b",
    "a\u200db",
    "a\u{e0041}b",
    "a\ud83d",
    "a\u{110bd}",
  ]) {
    const fits = new RegExp(pattern).test(name);
    expect(new RegExp(pattern, "u").test(name)).toBe(fits);
    const { status } = await call(platform, "PUT", "/api/auth/me", { token: its, body: { name } });
    expect(status, JSON.stringify(name)).toBe(fits ? 200 : 422);
  }
});

test("describes the members without which a request is 422", async () => {
  const required = (name: string) => document.components.schemas[name]?.required;
  expect(required("EntryInput")).toEqual(["module", "values"]);
  expect(required("RuntimeEntryInput")).toEqual(["values"]);
  const created = document.paths["/api/lab/news"]?.post?.requestBody;
  expect(JSON.stringify(created)).toContain("lab.news.post");
  for (const [path, body] of [
    ["/api/admin/orbs/lab/entries", { module: "news" }],
    ["/api/lab/news", {}],
  ] as const) {
    const { status, body: answer } = await call(platform, "POST", path, { token, body });
    expect([status, answer.errors[0].path]).toEqual([422, "/values"]);
  }
});

test("answers 422 to every operation with a required body that is sent without one", async () => {
  const { token: its } = await user(platform);
  for (const [method, path, its_] of [
    ["PUT", "/api/_auth/me", token],
    ["PUT", "/api/auth/me", its],
    ["POST", "/api/admin/orbs", token],
    ["PUT", "/api/admin/orbs/lab", token],
    ["POST", "/api/lab/news", token],
  ] as const) {
    const { status, body } = await call(platform, method, path, { token: its_ });
    expect([status, body.errors[0].code], `${method} ${path}`).toEqual([422, "required"]);
    const headers = { "content-type": "application/json" };
    const empty = await call(platform, method, path, { token: its_, headers });
    expect([empty.status, empty.body.code], `${method} ${path}`).toEqual([400, "malformed_json"]);
  }
});

test("describes the document of an orb as an object, and refuses null", async () => {
  for (const { path, operation } of operationsOf(document.paths)) {
    if (!["createOrb", "updateOrb"].includes(operation.operationId)) continue;
    const body = JSON.stringify(operation.requestBody);
    expect(body, path).toContain('"type":"object"');
    expect(body, path).not.toContain("nullable");
  }
  const { status } = await call(platform, "PUT", "/api/admin/orbs/lab", { token, body: null });
  expect(status).toBe(422);
});

test("allows only GET and HEAD at the sign-in page of an orb that shares its users", async () => {
  for (const method of ["TRACE", "POST", "PUT", "DELETE", "PATCH"]) {
    const answer = await raw(Number(new URL(platform.origin).port), { method, target: "/api/lab/signin" });
    expect([method, answer.status, answer.headers.get("allow")]).toEqual([method, 405, "GET, HEAD"]);
  }
  for (const method of ["GET", "HEAD"])
    expect((await call(platform, method, "/api/lab/signin")).status).toBe(302);
});

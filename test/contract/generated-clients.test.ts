/** Clients that others' generators make of the API description compile. */
import { readFileSync } from "node:fs";
import { beforeAll, expect, test } from "vitest";
import type { ApiDocument } from "../../functions/discovery/document.ts";
import { adminToken, call } from "../support/auth.ts";
import { compileGo, compileTypeScript, importPython, missingJava } from "../support/generators.ts";
import { missingPython, need } from "../support/lacking.ts";
import { sharedPlatform } from "../support/platform.ts";

const shop = JSON.parse(readFileSync(new URL("../../scripts/examples/shop.json", import.meta.url), "utf8"));

let platform: ApiDocument;
let orb: ApiDocument;

beforeAll(async () => {
  const host = await sharedPlatform({ link: true });
  const token = await adminToken(host);
  const made = await call(host, "POST", "/api/admin/orbs?publish=true", { token, body: shop });
  expect(made.status).toBe(201);
  const read = async (query: string) => (await call(host, "GET", `/api/openapi${query}`)).body as ApiDocument;
  [platform, orb] = await Promise.all([read(""), read("?orb=shop")]);
});

/** Returns the path of every part of a document that a check accepts. */
function placesOf(node: unknown, fits: (part: Record<string, unknown>) => boolean, path = ""): string[] {
  if (typeof node !== "object" || node === null) return [];
  const own = !Array.isArray(node) && fits(node as Record<string, unknown>) ? [path] : [];
  return [...own, ...Object.entries(node).flatMap(([name, part]) => placesOf(part, fits, `${path}/${name}`))];
}

test("schemas say null only beside a type, combine no bare description, have items in arrays, and take no name of a constructor in Go", () => {
  const vain = placesOf(platform, ({ nullable, type }) => nullable === true && type === undefined);
  expect(vain).toEqual([]);
  const bare = placesOf(
    platform,
    ({ allOf }) => Array.isArray(allOf) && allOf.some((part) => Object.keys(part).join() === "description"),
  );
  expect(bare).toEqual([]);
  const untyped = placesOf(platform, ({ type, items }) => type === "array" && items === undefined);
  expect(untyped).toEqual([]);
  expect(Object.keys(platform.components.schemas).filter((name) => /^New[A-Z]/.test(name))).toEqual([]);
});

test("no schema takes the name that generators make of a schema and an object in it", () => {
  const { schemas } = platform.components;
  const objects = placesOf(platform.components.schemas, ({ type }) => type === "object");
  const taken = objects.flatMap((path) => {
    const [, name, member] = /^\/(\w+)\/properties\/(\w+)$/.exec(path) ?? [];
    if (name === undefined || member === undefined) return [];
    const made = name + member.slice(0, 1).toUpperCase() + member.slice(1);
    return made in schemas ? [made] : [];
  });
  expect(taken).toEqual([]);
});

test("an orb's description names its roles, modules and schemas, and both types of a list", () => {
  const { schemas } = orb.components;
  const named = (name: string) => Object.entries(schemas[name]?.properties ?? {});
  const enumsOf = (name: string) =>
    Object.fromEntries(
      named(name).flatMap(([key, { enum: names }]) => (names === undefined ? [] : [[key, names]])),
    );
  const roles = ["owner", "admin", "user"];
  expect(enumsOf("shop.User")).toMatchObject({ role: roles });
  expect(orb.paths["/api/shop/users/{id}"]?.put?.requestBody).toMatchObject({
    content: { "application/json": { schema: { properties: { role: { enum: roles } } } } },
  });
  for (const body of ["", ".Change", ".Patch"])
    expect(enumsOf(`shop.catalog.product${body}`)).toMatchObject({
      orb: ["shop"],
      module: ["catalog"],
      schema: ["product"],
    });
  const list = orb.paths["/api/shop/catalog/product"]?.get?.responses["200"];
  expect(Object.keys(list?.content ?? {})).toEqual(["application/json", "text/event-stream"]);
});

test("the clients of oapi-codegen for an orb and for the platform compile in Go", {
  timeout: 600_000,
}, async (context) => {
  need(context, missingPython());
  await compileGo({ orb, platform });
});

test("the client of openapi-python-client is made without a warning and can be imported", {
  timeout: 600_000,
}, async (context) => {
  need(context, missingPython());
  expect(await importPython(orb)).toEqual([]);
});

test("the client of openapi-generator compiles in TypeScript", { timeout: 600_000 }, async (context) => {
  need(context, missingPython() ?? missingJava());
  await compileTypeScript(orb);
});

import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { createApp } from "../../functions/app.ts";
import { generated, operationsOf } from "../../functions/discovery/document.ts";
import { describeOrb } from "../../functions/discovery/orb.ts";
import type { HttpHandler } from "../../shared/handlers/contract/types.ts";
import { VERSION } from "../../shared/kernel/version.ts";
import { handlerRoutes } from "../../shared/orb/routes.ts";
import { definition } from "../support/entries.ts";

const app = createApp(() => {
  throw new Error("this test needs no host");
});

/** Routes that are served but not described: other addresses of described routes, and files of pages. */
const TWINS = [
  /^\/(api\/)?$/,
  /^\/api\/_orbs(\/|$)/,
  /^\/api\/streams$/,
  /^\/api\/_auth\/assets\//,
  /^\/api\/_docs\//,
  /^\/console(\/|$)/,
];

test("describes every route of the platform, and no others", () => {
  const registered = app.own.routes
    .filter(({ method, path }) => method !== "ALL" && !TWINS.some((twin) => twin.test(path)))
    .map(({ method, path }) => `${method} ${path.replace(/:([A-Za-z]+)(\{[^/]+\})?/g, "{$1}")}`);
  const described = operationsOf(generated(app.own).paths).map(
    ({ method, path }) => `${method.toUpperCase()} ${path}`,
  );
  expect([...new Set(described)].sort()).toEqual([...new Set(registered)].sort());
});

test("every second prefix belongs to a described route", () => {
  const described = new Set(
    operationsOf(generated(app.own).paths).map(({ method, path }) => `${method.toUpperCase()} ${path}`),
  );
  const twins = app.own.routes
    .filter(({ method, path }) => method !== "ALL" && path.startsWith("/api/_orbs"))
    .map(
      ({ method, path }) =>
        `${method} ${path.replace(/:([A-Za-z]+)/g, "{$1}").replace("/api/_orbs", "/api/admin/orbs")}`,
    );
  expect(twins.filter((twin) => !described.has(twin))).toEqual([]);
});

test("gives every operation a unique id, a summary, a tag, its security and its errors", () => {
  const all = [...operationsOf(generated(app.own).paths), ...operationsOf(generated(app.runtime).paths)];
  const ids = all.map(({ operation }) => operation.operationId);
  expect(new Set(ids).size).toBe(ids.length);
  for (const { path, method, operation } of all) {
    const name = `${method} ${path}`;
    expect(operation.summary, name).toMatch(/\S/);
    expect(operation.tags, name).toHaveLength(1);
    expect(operation.security, name).toBeInstanceOf(Array);
    expect(Object.keys(operation.responses), name).toEqual(expect.arrayContaining(["503", "504"]));
  }
});

test("says of every operation that takes credentials which scopes an API token needs", () => {
  const all = [...operationsOf(generated(app.own).paths), ...operationsOf(generated(app.runtime).paths)];
  for (const { path, method, operation } of all) {
    const name = `${method} ${path}`;
    if (operation.security.length === 0) expect(operation, name).not.toHaveProperty("x-scope");
    else expect(operation, name).toHaveProperty("x-scope");
  }
});

test("describes many languages and markets generically, and few by name", () => {
  const letters = [..."abcdefghijklmnopqrstuvwxyz"];
  const tags = letters
    .flatMap((a) => letters.map((b) => a + b))
    .filter((tag) => Intl.getCanonicalLocales(tag)[0] === tag);
  const described = (languages: number, markets: number, enumerated: number) => {
    const values = Array.from({ length: enumerated }, (_, index) => `value ${index}`);
    const both = { type: "string", translatable: true, marketSpecific: true } as const;
    const fields = Array.from({ length: 50 }, (_, index) => ({
      name: `f${index}`,
      ...both,
      ...(enumerated === 0 ? {} : { enum: values }),
    }));
    const live = definition({
      id: "wide",
      languages: tags.slice(0, languages),
      markets: Array.from({ length: markets }, (_, index) => `M${index}`),
      modules: [{ id: "m", type: "CONTENT", schemas: [{ id: "s", fields }] }],
    });
    return describeOrb(generated(app.runtime), live, new Map(), { publicUrl: "http://localhost" }).schemas;
  };
  for (const [languages, markets, enumerated] of [
    [100, 200, 0],
    [24, 27, 100],
  ] as const)
    expect(JSON.stringify(described(languages, markets, enumerated)).length).toBeLessThan(2_000_000);
  expect(described(100, 200, 0)["wide.m.s.AllLocales.Values"]).toMatchObject({
    properties: { f0: { additionalProperties: { additionalProperties: { type: "string" } } } },
  });
  expect(described(2, 2, 0)["wide.m.s.AllLocales.Values"]).toMatchObject({
    properties: { f0: { properties: { M1: { properties: { ab: {} } } }, additionalProperties: false } },
  });
});

test("uses the version of package.json", () => {
  const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
    version: string;
  };
  expect(VERSION).toBe(version);
});

test("lists and describes the routes of an additional HTTP handler with its methods", () => {
  const uses = [{ service: "oauth", handlers: ["callback", "hook"] }];
  const live = definition({ id: "shop", uses, modules: [] });
  const handlers = new Map<string, HttpHandler>([
    [
      "oauth.callback",
      { kind: "http", name: "oauth.callback", description: "Back.", auth: "None", paths: ["/callback"] },
    ],
    [
      "oauth.hook",
      {
        kind: "http",
        name: "oauth.hook",
        description: "Told.",
        auth: "AdminRequired",
        paths: ["/hook/{id}"],
        methods: ["POST", "PUT"],
      },
    ],
  ]);
  const told = [
    ["GET", "/api/shop/callback", "public", "oauth.callback"],
    ["GET", "/api/shop/call/callback", "public", "oauth.callback"],
    ["POST", "/api/shop/hook/{id}", "admin", "oauth.hook"],
    ["POST", "/api/shop/call/hook/{id}", "admin", "oauth.hook"],
    ["PUT", "/api/shop/hook/{id}", "admin", "oauth.hook"],
    ["PUT", "/api/shop/call/hook/{id}", "admin", "oauth.hook"],
  ];
  expect(
    handlerRoutes(live.compiled, handlers).map(({ method, path, role, handler }) => [
      method,
      path,
      role,
      handler,
    ]),
  ).toEqual(told);
  const { paths } = describeOrb(generated(app.runtime), live, handlers, { publicUrl: "http://localhost" });
  const described = operationsOf(paths).filter(({ operation }) => operation["x-handler"] !== undefined);
  expect(
    described.map(({ method, path, operation }) => [
      method.toUpperCase(),
      path,
      operation["x-role"],
      operation["x-handler"],
    ]),
  ).toEqual(expect.arrayContaining(told));
  expect(described).toHaveLength(told.length);
  expect(new Set(described.map(({ operation }) => operation.operationId)).size).toBe(told.length);
  expect(paths["/api/shop/hook/{id}"]?.post?.parameters).toMatchObject([{ name: "id", in: "path" }]);
});

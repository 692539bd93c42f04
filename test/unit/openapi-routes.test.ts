import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { createApp } from "../../functions/app.ts";
import { generated, operationsOf } from "../../functions/discovery/document.ts";
import { VERSION } from "../../shared/version.ts";

const app = createApp(() => {
  throw new Error("nothing is asked of a host");
});

/** Served and not described: other prefixes of what is described, and files of pages. */
const TWINS = [/^\/api\/_orbs(\/|$)/, /^\/api\/streams$/, /^\/api\/_auth\/assets\//, /^\/api\/_docs\//];

test("every route of the platform is described, and every described one is registered", () => {
  const registered = app.own.routes
    .filter(({ method, path }) => method !== "ALL" && !TWINS.some((twin) => twin.test(path)))
    .map(({ method, path }) => `${method} ${path.replace(/:([A-Za-z]+)(\{[^/]+\})?/g, "{$1}")}`);
  const described = operationsOf(generated(app.own).paths).map(
    ({ method, path }) => `${method.toUpperCase()} ${path}`,
  );
  expect([...new Set(described)].sort()).toEqual([...new Set(registered)].sort());
});

test("each twin is the twin of something described", () => {
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

test("every operation has an id of its own, a summary, a tag, its security and its errors", () => {
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

test("the version is the package's", () => {
  const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
    version: string;
  };
  expect(VERSION).toBe(version);
});

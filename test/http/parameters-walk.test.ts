/**
 * Every described route with every query parameter that it does not describe. A parameter without meaning must be
 * refused: a caller who sends it expects an effect.
 */
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import {
  type ApiDocument,
  type Operation,
  operationsOf,
  resolvedParameter,
} from "../../functions/discovery/document.ts";
import { streams } from "../../shared/store/subjects.ts";
import { adminToken, call, user } from "../support/auth.ts";
import { describedWhole } from "../support/described.ts";
import { everything } from "../support/everything.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";
import { sendRequest } from "../support/request.ts";
import { createToken, scope } from "../support/tokens.ts";

/**
 * The protocol of Durable Streams requires servers to ignore unknown parameters. So do pages (see `isPage`): mail
 * programs add parameters to links.
 */
const IGNORES_UNKNOWN = ["readStream"];
/** Lists, and changes of what a list finds, accept `filter[…]` without describing each filter. */
const FILTERS = ["listEntries", "patchEntries", "deleteEntries"];
const AGGREGATES = ["listEntries"];
/** Values with which a parameter would take effect, if a route used it without describing it. */
const SAMPLES: Record<string, string> = {
  locale: "de",
  market: "EU",
  fallback: "none",
  revision: "latest",
  at: "2026-01-01T00:00:00Z",
  limit: "1",
  fields: "name",
  expand: "author",
  sort: "-createdAt",
  live: "sse",
  "filter[name]": "x",
  "aggregate[n]": "count",
};

interface Route {
  id: string;
  method: string;
  path: string;
  described: string[];
  others: string[];
}

const isFilter = (name: string) => name.startsWith("filter[") || name.startsWith("aggregate[");

function routesOf(document: ApiDocument): Route[] {
  const isPage = ({ responses }: Operation) => JSON.stringify(responses["200"] ?? {}).includes("text/html");
  const all = operationsOf(document.paths)
    .filter(({ operation }) => !isPage(operation) && !IGNORES_UNKNOWN.includes(operation.operationId))
    .map(({ path, method, operation }) => ({
      id: operation.operationId,
      method: method.toUpperCase(),
      path,
      described: (operation.parameters ?? [])
        .map((parameter) => resolvedParameter(document, parameter))
        .filter((parameter) => parameter.in === "query")
        .map(({ name }) => name),
    }));
  const known = new Set(all.flatMap(({ described }) => described).filter((name) => !isFilter(name)));
  const names = [...known, "filter[name]", "aggregate[n]", "foo", "Locale", "force[]"];
  return all.map((route) => {
    const lists = (ids: readonly string[]) => ids.some((id) => route.id.startsWith(id));
    const accepts = (name: string) =>
      route.described.includes(name) ||
      (name.startsWith("filter[") && (lists(FILTERS) || route.described.some(isFilter))) ||
      (name.startsWith("aggregate[") && (lists(AGGREGATES) || route.described.includes("aggregate")));
    return { ...route, others: names.filter((name) => !accepts(name)) };
  });
}

let platform: TestPlatform;
let tokens: Record<"admin" | "user" | "owner" | "userToken" | "ownerToken", string>;
let author: string;

/** A credential of the realm whose own account a route is about. */
function tokenFor({ path }: Route): string {
  const [, realm = "", route = ""] = /^\/api\/(auth|everything)\/([a-z-]+)/.exec(path) ?? [];
  const own = ["me", "passkeys", "sessions", "recovery-codes", "signin"].includes(route);
  const current = path.endsWith("/tokens/current");
  if (realm === "auth") return current ? tokens.userToken : own ? tokens.user : tokens.admin;
  return realm === "everything" && current
    ? tokens.ownerToken
    : realm === "everything" && own
      ? tokens.owner
      : tokens.admin;
}

const addressOf = ({ path }: Route) =>
  path
    .replace("{orbId}", "everything")
    .replace("{moduleId}/{schemaId}/by", "library/book/by")
    .replace("{moduleId}/{schemaId}", "library/author")
    .replace("{field}", "code")
    .replace(/\{(entryId|id)\}/, author)
    .replace("{kind}", "modules")
    .replace("{revision}", "1")
    .replace("{handler}", "evaluate")
    .replace(/\{[A-Za-z]+\}/g, "unknown");

/** Sends a request that would be accepted without the parameters, as far as one body can fit all routes. */
async function send(route: Route, names: readonly string[]) {
  const query = new URLSearchParams(names.map((name) => [name, SAMPLES[name] ?? "true"]));
  const isPart =
    /\/files\/uploads/.test(route.path) || (/\/files$/.test(route.path) && route.method === "POST");
  const body = ["GET", "HEAD", "DELETE"].includes(route.method)
    ? undefined
    : isPart
      ? "part"
      : JSON.stringify({ values: { name: "Written" } });
  const type =
    route.path.includes("/uploads") && isPart
      ? "application/offset+octet-stream"
      : isPart
        ? "application/octet-stream"
        : route.id === "createEntries"
          ? "application/x-ndjson"
          : "application/json";
  const { status, headers, text } = await sendRequest(
    `${platform.origin}${addressOf(route)}?${query}`,
    route.method,
    {
      authorization: `Bearer ${tokenFor(route)}`,
      "tus-resumable": "1.0.0",
      "upload-length": "4",
      "upload-offset": "0",
      ...(body === undefined ? {} : { "content-type": type }),
    },
    body,
  );
  const isProblem = headers.get("content-type")?.startsWith("application/problem+json") === true;
  const problem = isProblem && text !== "" ? (JSON.parse(text) as { code: string; errors?: unknown }) : {};
  return { status, ...problem };
}

const SIZE = 20;

describe("each described route", () => {
  let routes: Route[];

  beforeAll(async () => {
    platform = await sharedPlatform({ link: true });
    const token = await adminToken(platform);
    const made = await call(platform, "POST", "/api/admin/orbs?publish=true", { token, body: everything });
    expect(made.status).toBe(201);
    const first = { values: { name: "First" } };
    const created = await call(platform, "POST", "/api/everything/library/author", { token, body: first });
    author = created.body.id;
    const shared = await user(platform);
    const owner = await user(platform, "everything", "owner");
    const can = [scope("everything", "read")];
    tokens = {
      admin: token,
      user: shared.token,
      owner: owner.token,
      userToken: (await createToken(platform, "/api/auth", shared.token, can)).token,
      ownerToken: (await createToken(platform, "/api/everything", owner.token, can)).token,
    };
    routes = routesOf(await describedWhole(platform));
  });
  beforeEach(async () => {
    await platform.operatorStore().purge(streams.limits, "_limit.>");
  });

  test("refuses each parameter that a route does not describe, and writes nothing", async () => {
    expect(routes.length).toBeGreaterThan(150);
    const before = await platform.operatorStore().get(streams.orb("everything"), ">");
    const wrong: unknown[] = [];
    for (const route of routes) {
      for (let i = 0; i < route.others.length; i += SIZE) {
        const names = route.others.slice(i, i + SIZE);
        const answer = await send(route, names);
        const name = `${route.method} ${route.path}`;
        if (route.method === "HEAD") {
          if (answer.status !== 400) wrong.push([name, answer.status]);
          continue;
        }
        const faults = (answer as { errors?: { path: string; code: string }[] }).errors ?? [];
        const refused = faults.map(({ path }) => path.slice(1));
        const missing = names.filter((one) => !refused.includes(one));
        if (answer.status !== 400 || missing.length > 0) wrong.push([name, answer, missing]);
      }
    }
    expect(wrong).toEqual([]);
    const after = await platform.operatorStore().get(streams.orb("everything"), ">");
    expect(after?.seq).toBe(before?.seq);
  });

  test("refuses a language or a market for an operation on the whole entry", async () => {
    const before = await platform.operatorStore().get(streams.orb("everything"), ">");
    const one = `library/author/${author}`;
    const operations = ["publish", "unpublish", "archive", "restore", "revisions/1/restore"];
    for (const operation of operations)
      for (const query of [
        "locale=de",
        "locale=en",
        "market=EU",
        "locale=de&market=EU",
        "locale=",
        "publish=true",
      ]) {
        for (const path of [`/api/everything/${one}`, `/api/admin/orbs/everything/entries/${author}`]) {
          const request = `${path}/${operation}?${query}`;
          const { status, body } = await call(platform, "POST", request, { token: tokens.admin });
          expect([request, status, body.code]).toEqual([request, 400, "invalid_parameter"]);
        }
      }
    const after = await platform.operatorStore().get(streams.orb("everything"), ">");
    expect(after?.seq).toBe(before?.seq);
  });

  test("refuses a revision together with a time, which names another revision", async () => {
    for (const path of [
      `/api/everything/library/author/${author}`,
      `/api/admin/orbs/everything/entries/${author}`,
    ])
      for (const revision of ["latest", "published"]) {
        const query = `at=2099-01-01T00:00:00Z&revision=${revision}`;
        const { status, body } = await call(platform, "GET", `${path}?${query}`, { token: tokens.admin });
        expect([status, body.errors]).toEqual([400, [expect.objectContaining({ path: "/revision" })]]);
      }
  });
});

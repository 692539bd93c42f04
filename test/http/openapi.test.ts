/** The OpenAPI document: it is valid, and it describes exactly the routes and responses that are served. */
import { Validator } from "@seriousme/openapi-schema-validator";
import type { Msg } from "nats";
import { beforeAll, expect, test } from "vitest";
import {
  type ApiDocument,
  type Operation,
  operationsOf,
  resolvedParameter,
} from "../../functions/discovery/document.ts";
import { adminToken, call, user } from "../support/auth.ts";
import { activeRoutes, describedWhole } from "../support/described.ts";
import { createOrb, shop, small } from "../support/orbs.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";
import { brokerClient, headers } from "../support/services.ts";

let platform: TestPlatform;
let token: string;

const create = (document: unknown, publish?: boolean) => createOrb(platform, token, document, publish);

/** The whole API: the platform's routes and those of all orbs. */
const describeAll = () => describedWhole(platform);
const describe = async (orb?: string): Promise<ApiDocument> =>
  (await call(platform, "GET", `/api/openapi${orb === undefined ? "" : `?orb=${orb}`}`)).body as ApiDocument;

beforeAll(async () => {
  platform = await sharedPlatform({ link: true });
  token = await adminToken(platform);
  await create(shop);
});

test("the document is valid OpenAPI 3.0 with unique operation ids, for the platform and for one orb", async () => {
  for (const orb of [undefined, "shop"]) {
    const document = await describe(orb);
    const { errors } = await new Validator().validate(JSON.parse(JSON.stringify(document)));
    expect(errors).toBeUndefined();
    const all = operationsOf(document.paths);
    expect(new Set(all.map(({ operation }) => operation.operationId)).size).toBe(all.length);
  }
});

test("names the cookie, the role and both prefixes of the management API", async () => {
  const { paths, components } = await describeAll();
  const cookies = (path: string) =>
    paths[path]?.get?.security.flatMap((way) => Object.keys(way)).filter((name) => name !== "bearer");
  expect(cookies("/api/admin/orbs")).toEqual(["platformCookie"]);
  expect(cookies("/api/_auth/me")).toEqual(["platformCookie"]);
  expect(cookies("/api/auth/me")).toEqual(["cookie"]);
  expect(cookies("/api/auth/users")).toEqual(["cookie", "platformCookie"]);
  expect(components.securitySchemes).toMatchObject({
    cookie: { in: "cookie", name: "session_auth" },
    platformCookie: { in: "cookie", name: "session_platform" },
  });
  for (const { path, operation } of operationsOf(paths)) {
    expect(["public", "user", "own", "admin", "owner", "platform"], path).toContain(operation["x-role"]);
    if (path.startsWith("/api/admin/orbs")) {
      expect(operation["x-role"], path).toBe("platform");
      expect(Object.keys(paths[path.replace("/api/admin/orbs", "/api/_orbs")] ?? {}).sort()).toEqual(
        Object.keys(paths[path] ?? {}).sort(),
      );
    }
  }
  expect(paths["/api/_orbs/{orbId}/entries/{entryId}"]).toHaveProperty("put");
});

test("tells operations of orbs apart whose ids and handlers hold underscores", async () => {
  const evaluate = (id: string) => ({
    ...small(id),
    uses: [{ service: "rules", handlers: ["evaluate"] }],
  });
  await create(evaluate("under_score"));
  await create(evaluate("under"));
  const { paths } = await describeAll();
  const ids = operationsOf(paths).map(({ operation }) => operation.operationId);
  expect(new Set(ids).size).toBe(ids.length);
  expect(paths["/api/under_score/evaluate"]?.post?.operationId).toBe(
    "callHandlerDirectly_under__score_evaluate",
  );
  expect((await call(platform, "POST", "/api/under_score/evaluate", { body: {} })).status).not.toBe(404);
});

test("gives both paths of each handler a unique operation id, and describes the handlers' refusals", async () => {
  const input = {
    type: "object",
    properties: { page: { $ref: "#/$defs/Page%3CItem%3E" } },
    $defs: { "Page<Item>": { type: "array" } },
  };
  const client = await brokerClient(platform);
  const refuse = (status: string) => (_: unknown, message: Msg) => {
    const said = headers();
    said.set("Nats-Service-Error-Code", status);
    message.respond("", { headers: said });
  };
  for (const [name, status] of [
    ["quote", "402"],
    ["quote_direct", "429"],
  ] as const) {
    const subject = `svc.prices.${name}`;
    const entry = {
      name: `prices.${name}`,
      description: "A handler of a test.",
      auth: "None",
      kind: "nats",
      subject,
      input,
    };
    await client.request(`$KV.handlers.prices.${name}`, JSON.stringify(entry), { timeout: 10_000 });
    client.subscribe(subject, { callback: refuse(status) });
  }
  const uses = [
    { service: "prices", handlers: ["quote", "quote_direct"] },
    { service: "transactions", handlers: ["record", "list"] },
  ];
  const fields = [{ name: "receipt", type: "string", unique: true }];
  await create({
    id: "named",
    uses,
    modules: [{ id: "sales", type: "TRANSACTIONS", schemas: [{ id: "sale", fields }] }],
  });
  for (const orb of [undefined, "named"]) {
    const document = await describe(orb);
    const { errors } = await new Validator().validate(JSON.parse(JSON.stringify(document)));
    expect(errors).toBeUndefined();
    const ids = operationsOf(document.paths).map(({ operation }) => operation.operationId);
    expect(ids.filter((id, i) => ids.indexOf(id) !== i)).toEqual([]);
  }
  const { paths } = await describe("named");
  const post = (path: string) => paths[`/api/named/${path}`]?.post;
  // A service can refuse with any 4XX status. Built-in handlers have documented statuses.
  for (const [path, status] of [
    ["quote", 402],
    ["call/quote_direct", 429],
  ] as const) {
    expect((await call(platform, "POST", `/api/named/${path}`, { body: {} })).status).toBe(status);
    expect(post(path)?.responses).toHaveProperty("4XX");
  }
  const record = () =>
    call(platform, "POST", "/api/named/record", { token, body: { values: { receipt: "7" } }, headers: {} });
  expect([(await record()).status, (await record()).status]).toEqual([200, 409]);
  expect(post("record")?.responses).toHaveProperty("409");
  expect(post("record")?.responses).not.toHaveProperty("4XX");
  expect(JSON.stringify(post("record")?.parameters)).toContain("Idempotency-Key");
  // A handler without required input can be called without a body.
  for (const [path, needed] of [
    ["list", false],
    ["record", true],
  ] as const) {
    expect((await call(platform, "POST", `/api/named/${path}`, { token })).status).toBe(needed ? 422 : 200);
    expect(post(path)?.requestBody).toMatchObject({ required: needed });
  }
  await client.close();
});

test("describes the responses to a repeated Idempotency-Key: replay, 410 and 422", async () => {
  await create(small("erased"));
  const { paths } = await describeAll();
  const key = { "idempotency-key": "k" };
  const told = (path: string) =>
    Object.keys(paths[path]?.post?.responses ?? {}).filter((status) => ["410", "422"].includes(status));
  const both = ["410", "422"];
  for (const [collection, one, body] of [
    ["/api/erased/news", "/api/erased/news/{id}", { values: {} }],
    [
      "/api/admin/orbs/{orbId}/entries",
      "/api/admin/orbs/{orbId}/entries/{entryId}",
      { module: "news", values: {} },
    ],
  ] as const) {
    const ask = (path: string, id: string, sent?: object) =>
      call(platform, "POST", path.replace("{orbId}", "erased").replace(/\{(id|entryId)\}/, id), {
        token,
        headers: key,
        ...(sent === undefined ? {} : { body: sent }),
      });
    const made = await ask(collection, "", body);
    expect(made.status).toBe(201);
    const { id } = made.body;
    const moves = ["publish", "unpublish", "archive", "restore"];
    if (collection.includes("admin")) moves.push("revisions/1/restore");
    for (const move of moves) expect([move, (await ask(`${one}/${move}`, id)).status]).toEqual([move, 200]);
    for (const [path, status, sent] of [
      [collection, "201", body],
      ...moves.map((move) => [`${one}/${move}`, "200", undefined] as const),
    ] as const) {
      const again = await ask(path, id, sent);
      expect([path, again.headers.get("idempotent-replayed")]).toEqual([path, "true"]);
      const { responses } = paths[path.replace("/1/", "/{revision}/")]?.post ?? {};
      expect(responses?.[status]?.headers, path).toHaveProperty("Idempotent-Replayed");
    }
    await call(platform, "DELETE", `/api/admin/orbs/erased/entries/${id}?purge=true`, { token });
    for (const move of moves) {
      expect([move, (await ask(`${one}/${move}`, id)).status]).toEqual([move, 410]);
      expect([move, told(`${one}/${move.replace("1", "{revision}")}`)]).toEqual([move, both]);
    }
    expect([(await ask(collection, "", body)).status, told(collection)]).toEqual([410, both]);
  }
  for (const move of ["unpublish", "archive", "restore"]) {
    const ask = (match: object) =>
      call(platform, "POST", `/api/admin/orbs/erased/${move}`, { token, headers: { ...key, ...match } });
    expect([move, (await ask({})).status]).toEqual([move, 200]);
    expect([move, (await ask({})).headers.get("idempotent-replayed")]).toEqual([move, "true"]);
    const { responses } = paths[`/api/admin/orbs/{orbId}/${move}`]?.post ?? {};
    expect(responses?.["200"]?.headers, move).toHaveProperty("Idempotent-Replayed");
    expect([move, (await ask({ "if-match": '"1"' })).status]).toEqual([move, 422]);
    expect([move, told(`/api/admin/orbs/{orbId}/${move}`)]).toEqual([move, ["422"]]);
  }
});

test("describes If-None-Match and Last-Event-ID for streams", async () => {
  const page = (headers = {}) =>
    call(platform, "GET", "/api/streams/heartbeat?offset=-1", { token, headers });
  const etag = (await page()).headers.get("etag") ?? "";
  expect((await page({ "if-none-match": etag })).status).toBe(304);
  const { paths, components } = await describeAll();
  const { parameters = [], responses } = paths["/api/streams/{name}"]?.get ?? {};
  const named = parameters.map((each) => {
    const shared =
      String(Reflect.get(each, "$ref") ?? "")
        .split("/")
        .at(-1) ?? "";
    return Reflect.get(Object(components.parameters[shared] ?? each), "name");
  });
  expect(named).toEqual(expect.arrayContaining(["If-None-Match", "Last-Event-ID"]));
  expect(responses?.["200"]?.headers).toHaveProperty("ETag");
});

test("titles an orb's document with its name and describes every tag", async () => {
  expect((await describe("shop")).info.title).toBe("Shop");
  const { info, tags, paths } = await describeAll();
  expect(info.title).toBe("Composable application platform");
  const known = new Set(tags.map(({ name }) => name));
  const used = operationsOf(paths).flatMap(({ operation }) => operation.tags ?? []);
  expect(used.filter((tag) => !known.has(tag))).toEqual([]);
  expect([...known].filter((tag) => !used.includes(tag))).toEqual([]);
  // Readers can scan the operations of one tag.
  for (const tag of known)
    expect([tag, used.filter((each) => each === tag).length > 15]).toEqual([tag, false]);
});

test("describes exactly the active routes of an orb", async () => {
  const listed = (await activeRoutes(platform, token, "shop")).map(({ method, path }) => `${method} ${path}`);
  const described = operationsOf((await describe("shop")).paths).map(
    ({ method, path }) => `${method.toUpperCase()} ${path}`,
  );
  expect(described).toEqual(expect.arrayContaining(listed));
  // The document also has the account routes of the realm, which the route list leaves out.
  const account =
    /^\S+ \/api\/shop\/(users|me|signout|sessions|recovery-codes|passkeys|invitations|bootstrap)(\/|$)/;
  expect(described.filter((route) => !listed.includes(route) && !account.test(route))).toEqual([]);
});

test("describes only routes that are served", async () => {
  for (const { path, method } of operationsOf((await describe("shop")).paths)) {
    const real = path.replace("{id}", "0000000000").replace(/\{[^}]+\}/g, "none");
    const answer = await call(platform, method.toUpperCase(), real);
    const code = (answer.body as { code?: string } | undefined)?.code;
    expect([real, answer.status, code]).not.toEqual([real, 404, "route_not_found"]);
    expect([real, answer.status]).not.toEqual([real, 405]);
  }
});

/** Pages accept parameters of links, and the streams protocol allows clients to add parameters. */
const LENIENT = /^get (\S+\/signin(\/program)?|\/api|\/api\/streams\/\{name\})$/;

/** Returns the first unique field that a described route can address entries by. */
function keyOf({ parameters = [] }: Operation): string | undefined {
  const field = parameters.find((one) => "name" in one && one.name === "field");
  return (field as { schema?: { enum?: string[] } } | undefined)?.schema?.enum?.[0];
}

test("refuses an unknown query parameter on every described route", async () => {
  const callers = [token, (await user(platform)).token, (await user(platform, "shop")).token];
  const all = operationsOf((await describeAll()).paths).filter(
    ({ path, method }) => !LENIENT.test(`${method} ${path}`),
  );
  // The management API of orbs has a second prefix.
  const twins = all
    .filter(({ path }) => path.startsWith("/api/admin/orbs"))
    .map((each) => ({ ...each, path: each.path.replace("/api/admin/orbs", "/api/_orbs") }));
  expect(twins.length).toBeGreaterThan(20);
  for (const { path, method, operation } of [...all, ...twins]) {
    const real = path
      .replace("{orbId}", "shop")
      .replace("{id}", "0000000000")
      .replace("{moduleId}/{schemaId}/by", "catalog/product/by")
      .replace("{field}", keyOf(operation) ?? "sku")
      .replace(/\{[^}]+\}/g, "none");
    let told = false;
    // Callers without the right to an operation are refused for that. The walk of parameters has all names of them.
    for (const caller of callers) {
      if (told) break;
      const answer = await call(platform, method.toUpperCase(), `${real}?dryRum=true`, {
        token: caller,
        ...(operation.requestBody === undefined ? {} : { body: {} }),
      });
      expect([path, method, answer.status < 400]).toEqual([path, method, false]);
      const faults: { code: string }[] = answer.body.errors ?? [];
      told ||= answer.status === 400 && faults.some(({ code }) => code === "unknown_parameter");
    }
    expect([path, method, told]).toEqual([path, method, true]);
  }
});

test("describes an orb's values with their types, under concrete paths", async () => {
  const { components, paths } = await describe("shop");
  const required = ["title", "sku", "price"];
  const condition = { enum: ["new", "used", "refurbished", null] };
  const released = { type: "string", format: "date", nullable: true };
  const sku = { pattern: "^[A-Z]{2}-[0-9]{4,8}$", minLength: 1 };
  const text = { type: "string", maxLength: 200, minLength: 1 };
  const byLanguage = { required: ["en"], properties: { en: text }, additionalProperties: false };
  const input = { condition: { ...condition, default: "new" }, released, sku };
  expect(components.schemas["shop.catalog.product.New"]).toMatchObject({
    properties: {
      values: {
        anyOf: [
          { required, properties: { ...input, title: byLanguage } },
          { required, properties: { ...input, title: text } },
        ],
      },
    },
  });
  const answer = { condition, released, sku };
  expect(components.schemas["shop.catalog.product.Values"]).toMatchObject({
    required,
    properties: { ...answer, title: text },
  });
  expect(components.schemas["shop.catalog.product.AllLocales.Values"]).toMatchObject({
    required,
    properties: { ...answer, title: byLanguage },
  });
  expect(Object.keys(paths)).toContain("/api/shop/news/{id}");
  expect(JSON.stringify(paths)).not.toMatch(/\{(orbId|moduleId|schemaId|handler)\}/);
});

test("describes every filter of a list as a parameter of its own, and every one is accepted", async () => {
  const { components, paths } = await describe("shop");
  const { parameters = [] } = paths["/api/shop/catalog/product"]?.get ?? {};
  const all = parameters.map((given) => resolvedParameter({ components }, given));
  const named = (name: string) => all.find((parameter) => parameter.name === name);
  expect(named("filter[condition]")?.schema).toMatchObject({ enum: ["new", "used", "refurbished"] });
  expect(named("filter[price][gte]")?.schema).toMatchObject({ type: "number" });
  expect(named("filter[released][null]")?.schema).toEqual({ type: "boolean" });
  expect(named("filter[tags][contains]")?.schema).toEqual({ type: "string", maxLength: 1000 });
  expect(named("filter[price][startsWith]")).toBeUndefined();
  expect(named("filter[supplierNote]")).toBeUndefined();
  expect(named("filter[id][in]")).toMatchObject({ style: "form", explode: false });
  expect(named("sort")?.schema).toMatchObject({
    maxItems: 5,
    items: { enum: expect.arrayContaining(["-price"]) },
  });
  expect(named("expand")?.schema).toMatchObject({ items: { enum: ["category"] } });
  const VALUES: Record<string, string> = {
    number: "1.5",
    integer: "1",
    boolean: "true",
    date: "2026-01-31",
    "date-time": "2026-01-31T12:00:00Z",
  };
  type Value = { type: string; format?: string; pattern?: string; enum?: string[]; items?: Value };
  const sample = ({ type, format, pattern, enum: allowed, items }: Value): string =>
    items !== undefined
      ? sample(items)
      : (allowed?.[0] ??
        VALUES[format ?? type] ??
        (pattern?.startsWith("^[0-9]") === true ? "0mwtn3ccrnf6ditmfcw1" : "AB"));
  const given = all.filter(({ name }) => /^(filter|sort|fields|expand)/.test(name));
  expect(given.length).toBeGreaterThan(80);
  const refused = await Promise.all(
    given.map(async ({ name, schema }) => {
      const query = new URLSearchParams({ [name]: sample(schema as Value) });
      const { status, body } = await call(platform, "GET", `/api/shop/catalog/product?${query}`, { token });
      return status === 200 ? [] : [[name, body.errors]];
    }),
  );
  expect(refused.flat()).toEqual([]);
});

test("describes the languages and markets that a write accepts, and the form of other parameters", async () => {
  const { components, paths } = await describe("shop");
  const schemaOf = (path: string, method: "get" | "post" | "put", name: string) =>
    paths[path]?.[method]?.parameters
      ?.map((given) => resolvedParameter({ components }, given))
      .find((parameter) => parameter.name === name)?.schema as { pattern?: string; enum?: string[] };
  const [list, one] = ["/api/shop/catalog/product", "/api/shop/catalog/product/{id}"];
  expect(schemaOf(list, "post", "locale").enum).toEqual(["en", "de", "*"]);
  expect(schemaOf(one, "put", "market").enum).toEqual(["US", "EU"]);
  expect(schemaOf(list, "get", "cursor")).toMatchObject({ maxLength: 9000 });
  const locale = new RegExp(schemaOf(one, "get", "locale").pattern ?? "");
  for (const text of ["*", "de", "de-CH", "zh-Hant-TW", "de-1996", "_", "deutsch-", "", "d", "de_CH"]) {
    const { status } = await call(platform, "GET", `${list}?locale=${text}`, { token });
    expect([text, status]).toEqual([text, locale.test(text) ? 200 : 400]);
  }
  const match = new RegExp(schemaOf(one, "put", "If-Match").pattern ?? "");
  for (const text of ['"1"', 'W/"1"', '"1-ab"', "*", "1", '"0"', '"a"', '"1", "2"']) {
    const path = "/api/shop/catalog/product/0mwtn3ccrnf6ditmfcw1";
    const { status } = await call(platform, "DELETE", path, { token, headers: { "if-match": text } });
    expect([text, status]).toEqual([text, match.test(text) ? 404 : 400]);
  }
});

/** Hostile input to every route: it is answered quickly, with a client error at most, and leaves nothing behind. */

import { readFileSync } from "node:fs";
import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import { memoryMiB } from "../../scripts/bench/measure.ts";
import { admin, adminToken, call, signIn } from "../support/auth.ts";
import { describedWhole } from "../support/described.ts";
import { asText, headerValue, json, mutated, safeEncode, segment, text } from "../support/hostile.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";
import { testSeed } from "../support/random.ts";
import { type RawAnswer, type RawRequest, raw } from "../support/raw.ts";

/** Requests to any route. Each run makes up others. TEST_EXAMPLES sends more, and as many times more documents. */
const FUZZ_REQUESTS = Number(process.env.TEST_EXAMPLES ?? 600);
/** In MiB. More than uncollected garbage, and less than thousands of requests whose bodies are retained. */
const GROWTH_MIB = 200;

interface Parameter {
  name: string;
  in: string;
}

interface Operation {
  method: string;
  path: string;
  parameters: Parameter[];
  /** Property names of the request body. */
  keys: string[];
  body: string | undefined;
}

const KEYS = [
  "values",
  "title",
  "sku",
  "price",
  "id",
  "type",
  "name",
  "ref",
  "pattern",
  "role",
  "email",
  "en",
  "US",
  "module",
  "schema",
  "validFrom",
  "validTo",
  "rules",
  "data",
  "if",
  "==",
  "var",
];

const shop = JSON.parse(
  readFileSync(new URL("../../scripts/examples/shop.json", import.meta.url), "utf8"),
) as Record<string, unknown>;
const as = (id: string): Record<string, unknown> =>
  JSON.parse(JSON.stringify(shop).replaceAll("shop/", `${id}/`).replace('"id":"shop"', `"id":"${id}"`));

let platform: TestPlatform;
let port: number;
let token: string;
let entry: string;
let operations: Operation[];

/** Returns the operations of an OpenAPI document with their references resolved. */
function readOperations(document: Record<string, unknown>): Operation[] {
  const resolve = (value: unknown): Record<string, unknown> => {
    const node = (value ?? {}) as Record<string, unknown>;
    if (typeof node.$ref !== "string") return node;
    let found: unknown = document;
    for (const part of node.$ref.slice(2).split("/")) found = (found as Record<string, unknown>)[part];
    return resolve(found);
  };
  const all: Operation[] = [];
  for (const [path, methods] of Object.entries(document.paths as Record<string, Record<string, unknown>>)) {
    for (const [method, value] of Object.entries(methods)) {
      const operation = resolve(value);
      const content = resolve(resolve(operation.requestBody).content);
      const [type] = Object.keys(content);
      const schema = resolve(resolve(content[type ?? ""]).schema);
      all.push({
        method: method.toUpperCase(),
        path,
        parameters: ((operation.parameters ?? []) as unknown[]).map(
          (one) => resolve(one) as unknown as Parameter,
        ),
        keys: [...Object.keys(resolve(schema.properties)), ...KEYS],
        body: type,
      });
    }
  }
  return all;
}

/** Routes that the document leaves out: second prefixes, pages, and paths that do not exist. */
const UNDESCRIBED: [string, string][] = [
  ["GET", "/api/_orbs"],
  ["POST", "/api/_orbs"],
  ["GET", "/api/_orbs/{orbId}/entries"],
  ["POST", "/api/_auth/passkey/begin"],
  ["POST", "/api/_auth/passkey/complete"],
  ["GET", "/api/_auth/invitations"],
  ["GET", "/api/health"],
  ["GET", "/api/metrics"],
  ["GET", "/api/openapi"],
  ["GET", "/api/discovery"],
  ["GET", "/api/docs"],
  ["GET", "/api/docs/{file}"],
  ["GET", "/"],
  ["GET", "/{anything}"],
  ["POST", "/api/{anything}/{more}"],
  ["PUT", "/api/{anything}/{more}/{evenMore}/{last}"],
  ["PATCH", "/api/admin/{anything}"],
  ["OPTIONS", "/api/{orbId}/{more}"],
  ["PROPFIND", "/api/{anything}"],
];

beforeAll(async () => {
  platform = await sharedPlatform({});
  port = Number(new URL(platform.origin).port);
  token = await adminToken(platform);
  for (const id of ["shop", "victim"]) {
    expect((await call(platform, "POST", "/api/admin/orbs", { token, body: as(id) })).status).toBe(201);
    expect((await call(platform, "POST", `/api/admin/orbs/${id}/publish`, { token })).status).toBe(200);
  }
  const made = await call(platform, "POST", "/api/shop/catalog/product?publish=true", {
    token,
    body: {
      values: { title: { en: "Lamp" }, sku: "AB-0001", price: { US: 1 }, supplierNote: "kept secret" },
    },
  });
  expect(made.status).toBe(201);
  entry = made.body.id;
  const described = readOperations({ ...(await describedWhole(platform)) });
  const more = UNDESCRIBED.map(([method, path]) => ({
    method,
    path,
    parameters: ["filter", "sort", "invite"].map((name) => ({ name, in: "query" })),
    keys: KEYS,
    body: "application/json",
  }));
  operations = [...described, ...more];
});

/** Asserts what must hold for every response. */
function judge(request: RawRequest, answer: RawAnswer): void {
  const said = `${request.method} ${request.target.slice(0, 300)} ${String(request.body ?? "").slice(0, 1_500)}
    headers ${JSON.stringify(request.headers ?? [])
      .replaceAll(token, "…")
      .slice(0, 800)}
    → ${answer.status}: ${answer.body.slice(0, 600)}`;
  expect(answer.status > 0 && answer.status < 500, said).toBe(true);
  expect(answer.headers.has("x-injected"), said).toBe(false);
  expect(answer.body.includes("at Object.") || /\.ts:\d+/.test(answer.body), said).toBe(false);
  if (answer.status >= 400 && answer.headers.get("content-type")?.includes("problem+json")) {
    const start = answer.body.indexOf("{");
    const problem = JSON.parse(answer.body.slice(start, answer.body.lastIndexOf("}") + 1));
    expect(problem, said).toMatchObject({ status: answer.status, code: expect.any(String) });
  }
}

/** Returns whether an operation would end the test's own session or remove its data. */
const isFatal = ({ method, path }: Operation) =>
  path.endsWith("/signout") ||
  (/^\/api\/(admin\/orbs|_orbs)\/\{orbId\}/.test(path) && /\/(unpublish|archive)$/.test(path)) ||
  (method === "DELETE" && /passkeys|^\/api\/(admin\/orbs|_orbs)\/\{orbId\}$/.test(path));

/** Generates a request to an operation, hostile except for a few valid parts. */
function requestTo(operation: Operation): fc.Arbitrary<RawRequest> {
  const onOrbItself = /^\/api\/(admin\/orbs|_orbs)\/\{orbId\}(\/(publish|revisions.*restore|restore))?$/.test(
    operation.path,
  );
  const known = (name: string): string[] => {
    if (name === "orbId") return [onOrbItself ? "victim" : "shop"];
    if (/^(id|entryId)$/.test(name)) return [entry];
    if (name === "kind") return ["modules", "messages"];
    return name === "revision" ? ["1"] : [];
  };
  const names = [...operation.path.matchAll(/\{(\w+)\}/g)].map((match) => match[1] as string);
  const query = operation.parameters.filter((one) => one.in === "query");
  const headers = operation.parameters.filter((one) => one.in === "header");
  const extra = ["filter[sku]", "filter[price][gte]", "filter[__proto__][x]", "fields", "expand", "cursor"];
  return fc
    .record({
      path: fc.tuple(...names.map((name) => segment(known(name)))),
      query: fc.array(
        fc.tuple(
          fc.oneof(
            fc.constantFrom(...query.map((one) => one.name), ...extra, "__proto__"),
            text.filter((value) => value.length < 500),
          ),
          text.filter((value) => value.length <= 3_000),
        ),
        { maxLength: 4 },
      ),
      headers: fc.array(
        fc.tuple(
          fc.constantFrom(
            ...headers.map((one) => one.name),
            "Accept-Language",
            "Content-Type",
            "Origin",
            "Cookie",
            "If-None-Match",
            "traceparent",
            "X-Request-Id",
            "X-Forwarded-For",
            "X-Forwarded-Host",
            "Range",
          ),
          headerValue,
        ),
        { maxLength: 3 },
      ),
      signedIn: isFatal(operation) ? fc.constant(false) : fc.boolean(),
      authorization: fc.option(headerValue, { freq: 6 }),
      body:
        operation.body === undefined
          ? fc.constant(undefined)
          : fc.oneof({ weight: 8, arbitrary: json(operation.keys) }, { weight: 1, arbitrary: text }),
    })
    .map((made) => {
      let next = 0;
      const target = operation.path.replace(/\{\w+\}/g, () => made.path[next++] ?? "x");
      const search = made.query.map(([name, value]) => `${safeEncode(name)}=${safeEncode(value)}`).join("&");
      const authorization = made.signedIn ? `Bearer ${token}` : made.authorization;
      return {
        method: operation.method,
        target: search === "" ? target : `${target}?${search}`,
        headers: [
          ...(authorization === null ? [] : [["Authorization", authorization] as const]),
          ...(made.body === undefined
            ? []
            : [["Content-Type", operation.body ?? "application/json"] as const]),
          ...made.headers.filter(([name]) => name !== "Content-Type" || made.body === undefined),
        ],
        ...(made.body === undefined ? {} : { body: made.body }),
      };
    });
}

const send = async (request: RawRequest) => {
  const answer = await raw(port, request);
  judge(request, answer);
  return answer;
};

/** Returns the distinct unexpected errors in the log. */
const unexpected = () =>
  new Set(
    platform.logs
      .filter((line) => line.includes('"unexpected error"'))
      .map((line) => line.replace(/.*"unexpected error",?/, "").slice(0, 700)),
  );

/** Memory of the runtime in MiB after the first requests have warmed it up. */
let warmMiB = 0;
const runtimeMiB = () => memoryMiB(platform.runtimes()[0]);

test("answers hostile requests to any route, with a client error at most", async () => {
  const seen = new Map<number, number>();
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...operations).chain((operation) => requestTo(operation)),
      async (request) => {
        const answer = await raw(port, request);
        seen.set(answer.status, (seen.get(answer.status) ?? 0) + 1);
        judge(request, answer);
      },
    ),
    {
      seed: testSeed(),
      numRuns: FUZZ_REQUESTS,
      endOnFailure: true,
    },
  );
  expect([...unexpected()]).toEqual([]);
  // The requests got past authentication and validation, and removed nothing.
  const total = [...seen.values()].reduce((a, b) => a + b, 0);
  expect(total).toBeGreaterThanOrEqual(FUZZ_REQUESTS);
  for (const status of [200, 400, 401, 404, 422]) expect(seen.get(status) ?? 0).toBeGreaterThan(0);
  expect((await call(platform, "GET", "/api/_auth/me", { token })).status).toBe(200);
  expect((await call(platform, "GET", "/api/shop/catalog/product")).status).toBe(200);
  warmMiB = runtimeMiB();
  expect(warmMiB).toBeGreaterThan(0);
});

test("answers names of 5,000 characters in any path with a client error", async () => {
  const name = "x".repeat(5_000);
  for (const { method, path, body } of operations.filter((one) => !isFatal(one))) {
    for (const [parameter] of path.matchAll(/\{\w+\}/g)) {
      const target = path
        .replace(parameter, name)
        .replace(/\{(orbId|orb)\}/, "victim")
        .replaceAll(/\{\w+\}/g, "x");
      const headers: [string, string][] = [["Authorization", `Bearer ${token}`]];
      if (body !== undefined) headers.push(["Content-Type", body]);
      await send({ method, target, headers, ...(body === undefined ? {} : { body: "{}" }) });
    }
  }
  expect([...unexpected()]).toEqual([]);
});

describe("mutated documents", () => {
  const headers = () => [
    ["Authorization", `Bearer ${token}`] as const,
    ["Content-Type", "application/json"] as const,
  ];

  test("an orb's document is accepted or refused, and published or refused", async () => {
    let n = 0;
    await fc.assert(
      fc.asyncProperty(mutated(as("mutant")), async (body) => {
        const id = `mutant-${n++}`;
        const text = body.replaceAll("mutant", id);
        const made = await send({
          method: "POST",
          target: "/api/admin/orbs",
          headers: headers(),
          body: text,
        });
        if (made.status !== 201) return;
        const live = await send({
          method: "POST",
          target: `/api/admin/orbs/${id}/publish`,
          headers: headers(),
        });
        if (live.status === 200) {
          for (const path of ["catalog/product", "news", "catalog/category?filter[slug]=a"])
            await send({ method: "GET", target: `/api/${id}/${path}` });
        }
        await send({ method: "DELETE", target: `/api/admin/orbs/${id}`, headers: headers() });
      }),
      { seed: testSeed(), numRuns: Math.ceil(FUZZ_REQUESTS / 8), endOnFailure: true },
    );
  });

  test("an entry's values are stored or refused, and sensitive ones never returned", async () => {
    let n = 1;
    const values = {
      title: { en: "Lamp", de: "Lampe" },
      sku: "AB-@@@@",
      price: { US: 1, EU: 2 },
      tags: ["a", "b"],
      attributes: { deep: [{ er: 1 }] },
      released: "2026-01-01",
      supplierNote: "kept secret",
    };
    await fc.assert(
      fc.asyncProperty(mutated({ values }), fc.boolean(), async (body, publish) => {
        const made = await send({
          method: "POST",
          target: `/api/shop/catalog/product${publish ? "?publish=true" : ""}`,
          headers: headers(),
          body: body.replaceAll("@@@@", String(1000 + n++)),
        });
        expect([201, 400, 409, 422], made.body).toContain(made.status);
        if (made.status !== 201) return;
        const at = made.headers.get("location");
        const read = await send({ method: "GET", target: at ?? "/missing", headers: headers() });
        expect(read.body).not.toContain("kept secret");
      }),
      { seed: testSeed(), numRuns: Math.ceil(FUZZ_REQUESTS / 4), endOnFailure: true },
    );
  });

  test("__proto__ and constructor members do not pollute other objects", async () => {
    const poison = '{"polluted":"yes","status":"PUBLISHED","role":"owner"}';
    const bodies = [
      `{"__proto__":${poison},"values":{"title":{"en":"P"}}}`,
      `{"values":{"__proto__":${poison},"title":{"en":"P","__proto__":${poison}},"constructor":{"prototype":${poison}}}}`,
      `{"values":{"title":{"en":"P"},"sku":"PP-9999","price":{"US":1},"attributes":{"__proto__":${poison},"constructor":{"prototype":${poison}}}}}`,
    ];
    for (const target of [
      "/api/shop/catalog/product",
      "/api/shop/evaluate",
      "/api/shop/set",
      "/api/admin/orbs",
    ])
      for (const body of bodies) await send({ method: "POST", target, headers: headers(), body });
    const query =
      "filter[__proto__][polluted]=yes&filter[constructor][prototype][polluted]=yes&__proto__[polluted]=yes";
    await send({ method: "GET", target: `/api/shop/catalog/product?${query}` });
    for (const target of ["/api/health", "/api/discovery", "/api/shop/catalog/category", "/api/shop/news"]) {
      const { body } = await send({ method: "GET", target });
      expect(body).not.toContain("polluted");
    }
  });
});

describe("limits", () => {
  const bearer = (): readonly [string, string] => ["Authorization", `Bearer ${token}`];
  const typed = ["Content-Type", "application/json"] as const;
  const post = (body: string, target = "/api/shop/catalog/product") =>
    send({ method: "POST", target, headers: [bearer(), typed], body });

  test("refuses bodies that are too large, too deep, too wide or not JSON", async () => {
    expect((await post(`{"values":{"title":{"en":"${"x".repeat(600_000)}"}}}`)).status).toBe(413);
    const size = ["Content-Length", "999999999999"] as const;
    const announced = await raw(port, {
      method: "POST",
      target: "/api/shop/catalog/product",
      headers: [bearer(), typed, size],
    }).catch(() => undefined);
    expect(announced === undefined || announced.status === 413 || announced.status === 0).toBe(true);
    expect((await post(`${'{"values":'.repeat(80)}1${"}".repeat(80)}`)).status).toBe(400);
    expect((await post("[".repeat(200_000))).status).toBe(400);
    expect((await post('{"values":')).status).toBe(400);
    expect((await post('{"values":{"title":{"en":"\\ud800"}}}')).status).toBe(422);
    const wide = Object.fromEntries(Array.from({ length: 30_000 }, (_, i) => [`f${i}`, i]));
    const refused = await post(asText({ values: wide }));
    expect(refused.status).toBe(422);
    expect(refused.body.length).toBeLessThan(200_000);
    expect((await post(asText({ values: { tags: Array(50_000).fill("x") } }))).status).toBe(422);
    const invalid = await send({
      method: "POST",
      target: "/api/shop/catalog/product",
      headers: [bearer(), typed],
      body: Buffer.from([0x22, 0xff, 0xfe, 0x22]),
    });
    expect(invalid.status).toBe(400);
    const xml = await send({
      method: "POST",
      target: "/api/shop/catalog/product",
      headers: [bearer(), ["Content-Type", "text/xml"]],
      body: "<a/>",
    });
    expect(xml.status).toBe(415);
  });

  test("refuses definitions with too many modules, fields or handlers", async () => {
    const field = (i: number) => ({ name: `f${i}`, type: "string" });
    const schema = (i: number, fields: number) => ({
      id: `s${i}`,
      fields: Array.from({ length: fields }, (_, n) => field(n)),
    });
    const wide = { id: "wide", modules: [{ id: "m", type: "CONTENT", schemas: [schema(1, 5_000)] }] };
    expect((await post(asText(wide), "/api/admin/orbs")).status).toBe(422);
    const modules = Array.from({ length: 5_000 }, (_, i) => ({
      id: `m${i}`,
      type: "CONTENT",
      schemas: [schema(1, 1)],
    }));
    expect((await post(asText({ id: "wide", modules }), "/api/admin/orbs")).status).toBe(422);
    const uses = Array.from({ length: 5_000 }, (_, i) => ({ service: `s${i}`, handlers: ["h"] }));
    expect((await post(asText({ id: "wide", uses, modules: [] }), "/api/admin/orbs")).status).toBe(422);
  });

  test("refuses paths, queries and headers that are too long or too many", async () => {
    for (const target of [
      `/api/shop/catalog/product?filter[sku]=${"a".repeat(30_000)}`,
      `/api/shop/catalog/product?${"filter[sku]=a&".repeat(2_000)}`,
      `/api/shop/catalog/product/${"a".repeat(30_000)}`,
      `/api/${"a/".repeat(10_000)}`,
      `/api/shop/catalog/product?limit=${"9".repeat(400)}`,
      `/api/shop/catalog/product?cursor=${"A".repeat(20_000)}`,
      `/api/shop/catalog/product?fields=${"a,".repeat(10_000)}`,
      `/api/shop/catalog/product?expand=${"category.".repeat(2_000)}`,
    ]) {
      const { status } = await send({ method: "GET", target });
      expect([400, 404, 413, 414, 431], target.slice(0, 60)).toContain(status);
    }
    const long = await send({
      method: "GET",
      target: "/api/health",
      headers: [["X-Long", "a".repeat(200_000)]],
    });
    expect([400, 413, 431]).toContain(long.status);
    for (const [name, value] of [
      ["Accept-Language", "de;q=0.5,".repeat(1_500)],
      ["Authorization", `Bearer ${"a.".repeat(8_000)}`],
      ["Cookie", "session=a; ".repeat(1_500)],
      ["If-None-Match", 'W/"a", '.repeat(1_500)],
      ["Content-Type", "application/".repeat(1_500)],
    ] as const) {
      const headers = [[name, value] as const];
      await send({ method: "GET", target: "/api/shop/catalog/product", headers });
      await send({ method: "POST", target: "/api/shop/catalog/product", headers, body: "{}" });
    }
  });

  test("validates patterns that need exponential backtracking elsewhere without delay", async () => {
    const fields = ["^(a+)+$", "^(a|a)*$", "^(.*a){25}$", "(x+x+)+y"].map((pattern, i) => ({
      name: `f${i}`,
      type: "string",
      pattern,
      max: 5_000,
    }));
    const body = { id: "slow", modules: [{ id: "m", type: "CONTENT", schemas: [{ id: "s", fields }] }] };
    expect((await post(asText(body), "/api/admin/orbs")).status).toBe(201);
    expect((await post("{}", "/api/admin/orbs/slow/publish")).status).toBe(200);
    for (const letter of ["a", "x"]) {
      const values = Object.fromEntries(fields.map(({ name }) => [name, `${letter.repeat(4_900)}!`]));
      expect((await post(asText({ values }), "/api/slow/m")).status).toBe(422);
    }
  });
});

test("refuses headers with line breaks, several lengths and incomplete requests", async () => {
  const bearer = ["Authorization", `Bearer ${token}`] as const;
  const requests: RawRequest[] = [
    { method: "GET", target: "/api/health", headers: [["X-A", "1\r\nX-Injected: 1"]] },
    { method: "GET", target: "/api/health", headers: [["Bad Name", "1"]] },
    { method: "GET", target: "/api/health", headers: [["X-Request-Id", "a\u0001b"]] },
    { method: "GET", target: "/api/%0d%0aX-Injected:%201", headers: [bearer] },
    { method: "GET", target: "/api/health\u0000", headers: [] },
    { method: "GET", target: "//elsewhere.example/api/health", headers: [] },
    {
      method: "POST",
      target: "/api/admin/orbs",
      headers: [bearer, ["Content-Length", "5"], ["Content-Length", "6"]],
      body: "{}",
    },
    {
      method: "POST",
      target: "/api/admin/orbs",
      headers: [bearer, ["Transfer-Encoding", "chunked"]],
      body: "zz\r\n",
    },
    { method: "G\u0000T", target: "/api/health", headers: [] },
  ];
  for (const request of requests) {
    const answer = await raw(port, request);
    // The runtime refuses invalid HTTP itself. None of these requests may confuse the platform.
    expect(answer.body, JSON.stringify(request)).not.toContain("internal_error");
    expect(answer.headers.has("x-injected")).toBe(false);
  }
  expect((await call(platform, "GET", "/api/health")).status).toBe(200);
  expect([...unexpected()]).toEqual([]);
});

test("hostile requests grow the memory of the runtime by less than 200 MiB", () => {
  // Garbage varies by about 60 MiB.
  expect(runtimeMiB() - warmMiB).toBeLessThan(GROWTH_MIB);
});

test("hostile requests created no malformed subject and no foreign stream", async () => {
  const store = platform.operatorStore();
  const own = /^(platform|limits|quotas|quotas_long|usage|heartbeat|wallet|hooks|KV_[a-z_]+)$/;
  const orb = /^ø[a-z0-9-]+$/;
  const names = await store.streamNames(">");
  expect(names.filter((name) => !own.test(name) && !orb.test(name))).toEqual([]);
  const token = /^[A-Za-z0-9_=-]+$/;
  for (const name of names) {
    const { messages } = await store.scan(name, ">", { fromSeq: 1, limit: 5_000 });
    const odd = messages
      .map((message) => message.subject)
      .filter(
        (subject) =>
          !subject
            .replace(/^\$KV/, "KV")
            .split(".")
            .every((part) => token.test(part)),
      );
    expect(odd, name).toEqual([]);
  }
  // The earlier account can still sign in.
  const { authenticator } = await admin(platform);
  expect((await signIn(platform, "/api/_auth", authenticator)).token).toMatch(/\./);
});

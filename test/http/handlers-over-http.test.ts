/** HTTP handlers of services: what passes in each direction, and what services cannot do. */
import type { Msg, NatsConnection } from "nats";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { HttpReplyMessage, HttpRequestMessage } from "../../shared/handlers/contract/http-messages.ts";
import { call, type SignedIn } from "../support/auth.ts";
import { activeRoutes } from "../support/described.ts";
import type { TestPlatform } from "../support/platform.ts";
import { raw } from "../support/raw.ts";
import { registrar, stage } from "../support/services.ts";

let platform: TestPlatform;
let client: NatsConnection;
let admin: string;
let ann: SignedIn;

const { register, orbWith } = registrar(() => ({ platform, client, admin }));
const base64 = (text: string) => Buffer.from(text).toString("base64");
const fetched = (path: string, init: RequestInit = {}) =>
  fetch(platform.origin + path, { redirect: "manual", ...init });

/** Listens on a handler's subject, and replies what `reply` returns. Without a value there is no reply. */
function listen(
  name: string,
  reply: (request: HttpRequestMessage, message: Msg) => HttpReplyMessage | string | undefined,
): { requests: HttpRequestMessage[]; messages: Msg[] } {
  const requests: HttpRequestMessage[] = [];
  const messages: Msg[] = [];
  client.subscribe(`svc.${name}`, {
    callback: (_, message) => {
      const request = message.json<HttpRequestMessage>();
      requests.push(request);
      messages.push(message);
      const answer = reply(request, message);
      if (answer !== undefined) message.respond(typeof answer === "string" ? answer : JSON.stringify(answer));
    },
  });
  return { requests, messages };
}

/** Registers an HTTP handler. */
const http = (name: string, more: object = {}) => register(name, { kind: "http", ...more });

let seen: ReturnType<typeof listen>;
beforeAll(async () => {
  ({ platform, client, admin, ann } = await stage());
  seen = listen("web.site", () => ({
    status: 200,
    headers: { "Content-Type": "text/plain" },
    body: base64("ok"),
  }));
  await http("web.site", { headers: ["X-Hub-Signature"] });
  for (const [name, auth] of [
    ["members", "AuthRequired"],
    ["staff", "AdminRequired"],
  ]) {
    listen(`web.${name}`, () => ({ status: 200 }));
    await http(`web.${name}`, { auth });
  }
  await client.flush();
  await orbWith("web", { web: ["site", "members", "staff"] });
});
afterAll(() => client.close());

describe("a request", () => {
  test.each(["GET", "POST", "PUT", "PATCH", "DELETE", "PROPFIND"])(
    "with the method %s reaches the service with path, query, body and caller",
    async (method) => {
      seen.requests.length = 0;
      const body = method === "GET" ? undefined : new Uint8Array([0, 255, 10]);
      const response = await fetched("/api/web/site/a/b%2Fc/%C3%BC/?x=1&x=%202&y", {
        method,
        headers: { authorization: `Bearer ${ann.token}`, "content-type": "image/x" },
        ...(body === undefined ? {} : { body }),
      });
      expect([response.status, await response.text()]).toEqual([200, "ok"]);
      expect(seen.requests).toMatchObject([
        {
          orbId: "web",
          handler: "web.site",
          method,
          path: "/a/b%2Fc/%C3%BC/",
          query: "x=1&x=%202&y",
          body: body === undefined ? null : "AP8K",
          caller: { sub: ann.id, role: "user" },
        },
      ]);
    },
  );

  test.each([
    ["/api/web/site", ""],
    ["/api/web/site/", "/"],
    ["/api/web/call/site/x", "/x"],
    ["/api/web/web/site/x/y/z/1/2/3", "/x/y/z/1/2/3"],
    ["/api/web/call/web/site", ""],
    ["/api/web/%73ite/x", "/x"],
    ["/api/web/site/..%2f..%2fadmin", "/..%2f..%2fadmin"],
    ["/api/web/site//x", "//x"],
    ["/api/web/site/a/../b", "/b"],
    ["/api/web/site/a/%2e%2E/b", "/b"],
    ["/api/web/site/%25zz", "/%25zz"],
  ])("to %s has the path %j", async (target, path) => {
    seen.requests.length = 0;
    const { port } = new URL(platform.origin);
    expect((await raw(Number(port), { method: "GET", target })).status).toBe(200);
    expect(seen.requests.map((request) => request.path)).toEqual([path]);
  });

  test("never leaves the handler by dot segments", async () => {
    seen.requests.length = 0;
    const { port } = new URL(platform.origin);
    for (const target of ["/api/web/site/../../../api/health", "/api/web/site/%2e%2e/%2E%2e/none"])
      await raw(Number(port), { method: "GET", target });
    expect(seen.requests).toEqual([]);
  });

  test.each(["%00", "%0d%0aSet-Cookie:x", "%ff", "%7f"])("with %s in its path is 400", async (segment) => {
    const { status, body } = await call(platform, "GET", `/api/web/site/${segment}`);
    expect([status, body.code]).toEqual([400, "invalid_address"]);
  });

  test("carries neither credentials nor addresses of the client to the service", async () => {
    seen.requests.length = 0;
    seen.messages.length = 0;
    await fetched("/api/web/site", {
      headers: {
        authorization: `Bearer ${ann.token}`,
        cookie: "session_auth=secret; other=secret",
        sessionid: "secret",
        "x-forwarded-for": "10.1.1.1",
        "x-real-ip": "10.1.1.1",
        "proxy-authorization": "secret",
        "x-unknown": "dropped",
        "x-hub-signature": "sha256=1",
        accept: "text/html",
        "x-request-id": "from-the-client",
      },
    });
    const { headers } = seen.requests[0] as HttpRequestMessage;
    expect(Object.keys(headers).sort()).toEqual(
      ["accept", "accept-language", "user-agent", "x-hub-signature"].sort(),
    );
    expect(seen.messages[0]?.headers?.get("X-Request-Id")).toBe("from-the-client");
    expect(JSON.stringify([...seen.requests, seen.messages[0]?.headers])).not.toMatch(/secret|10\.1\.1/);
  });

  test("is refused before anything is sent if the caller lacks the role of the registration", async () => {
    const status = async (path: string, token?: string) =>
      (await call(platform, "GET", path, token === undefined ? {} : { token })).status;
    expect(await status("/api/web/members")).toBe(401);
    expect(await status("/api/web/members", ann.token)).toBe(200);
    expect(await status("/api/web/staff/x")).toBe(401);
    expect(await status("/api/web/staff/x", ann.token)).toBe(403);
    expect(await status("/api/web/staff/x", admin)).toBe(200);
    expect(await status("/api/web/site", "not.a.token")).toBe(401);
  });

  test("by cookie must come from an allowed origin, unless its method is safe", async () => {
    const cookie = `session_auth=${ann.token}`;
    const send = async (method: string, headers: Record<string, string>) =>
      (await call(platform, method, "/api/web/members", { headers: { cookie, ...headers } })).status;
    for (const origin of ["null", "https://evil.example", undefined]) {
      const from = origin === undefined ? {} : { origin };
      for (const method of ["POST", "PATCH", "DELETE"]) expect(await send(method, from)).toBe(403);
      expect(await send("GET", from)).toBe(200);
    }
    expect(await send("POST", { origin: platform.origin })).toBe(200);
  });

  test("larger than maxBodyBytes is 413, and reaches no service", async () => {
    seen.requests.length = 0;
    const body = new Uint8Array(512 * 1024 + 1);
    for (const method of ["POST", "PATCH"]) {
      const response = await fetched("/api/web/site", { method, body });
      expect([response.status, await response.json()]).toMatchObject([413, { code: "body_too_large" }]);
      const chunked = await fetched("/api/web/site", {
        method,
        body: new Blob([body]).stream(),
        duplex: "half",
      } as RequestInit);
      expect(chunked.status).toBe(413);
    }
    expect(seen.requests.filter(({ more }) => more !== true)).toEqual([]);
  });
});

describe("a response", () => {
  /** Serves one reply at a path of its own. */
  const answers = new Map<string, HttpReplyMessage | string>();
  let number = 0;
  const given = async (reply: object | string, init: RequestInit = {}) => {
    const path = `/${++number}`;
    answers.set(path, reply as string);
    return fetched(`/api/answers/any${path}`, init);
  };
  beforeAll(async () => {
    listen("answers.any", ({ path }) => answers.get(path));
    listen("answers.late", () => undefined);
    await http("answers.any");
    await http("answers.late", { timeoutMs: 300 });
    await client.flush();
    await orbWith("answers", { answers: ["any", "late"] });
  });

  test("has the status, the headers and the body of the service, redirects and HTML included", async () => {
    const page = await given({
      status: 201,
      headers: { "content-type": "text/html; charset=utf-8", ETag: '"1"', "Content-Language": "de" },
      body: base64("<h1>ü</h1>"),
    });
    expect([page.status, await page.text()]).toEqual([201, "<h1>ü</h1>"]);
    expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(page.headers.get("etag")).toBe('"1"');
    const moved = await given({ status: 302, headers: { location: "https://example.com/?a=1" } });
    expect([moved.status, moved.headers.get("location")]).toEqual([302, "https://example.com/?a=1"]);
    const failed = await given({ status: 503, headers: { "retry-after": "7" }, body: base64("later") });
    expect([failed.status, failed.headers.get("retry-after"), await failed.text()]).toEqual([
      503,
      "7",
      "later",
    ]);
    const bytes = await given({ status: 200, body: Buffer.from([0xff, 0, 0x80]).toString("base64") });
    expect(new Uint8Array(await bytes.arrayBuffer())).toEqual(new Uint8Array([0xff, 0, 0x80]));
    expect(bytes.headers.get("content-type")).toBe("application/octet-stream");
    const none = await given({ status: 204 });
    expect([none.status, await none.text()]).toEqual([204, ""]);
    const head = await given(
      { status: 200, headers: { etag: '"2"' }, body: base64("x") },
      { method: "HEAD" },
    );
    expect([head.status, head.headers.get("etag"), await head.text()]).toEqual([200, '"2"', ""]);
  });

  test("is sandboxed, and cannot set cookies or headers of the platform", async () => {
    const response = await given({
      status: 200,
      headers: {
        "set-cookie": "session_auth=stolen; Path=/",
        "Content-Security-Policy": "sandbox allow-same-origin",
        "access-control-allow-origin": "https://evil.example",
        "access-control-allow-credentials": "true",
        "service-worker-allowed": "/",
        "clear-site-data": "*",
        "x-accel-redirect": "/etc/passwd",
        "x-request-id": "forged",
        "x-frame-options": "ALLOWALL",
        "strict-transport-security": "max-age=0",
        refresh: "0; url=https://evil.example",
        "transfer-encoding": "chunked",
        "content-length": "3",
        connection: "close",
        "content-type": "text/html",
      },
      body: base64("<script>1</script>"),
    });
    expect(await response.text()).toBe("<script>1</script>");
    const { headers } = response;
    expect(headers.get("content-security-policy")).toMatch(/^sandbox (?!.*allow-same-origin)/);
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("x-frame-options")).toBe("DENY");
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("x-request-id")).not.toBe("forged");
    for (const name of [
      "set-cookie",
      "access-control-allow-origin",
      "service-worker-allowed",
      "clear-site-data",
      "x-accel-redirect",
      "refresh",
    ])
      expect([name, headers.get(name)]).toEqual([name, null]);
  });

  test("is cached by clients as the service says, never by the host, and never shared after a sign-in", async () => {
    const reply = { status: 200, headers: { "cache-control": "public, no-cache" }, body: base64("1") };
    const cached = async (init?: RequestInit) => (await given(reply, init)).headers.get("cache-control");
    expect(await cached()).toBe("public, no-cache");
    expect(await cached({ headers: ann.headers })).toBe("no-store");
    const own = { ...reply, headers: { "cache-control": "private, max-age=60" } };
    expect((await given(own, { headers: ann.headers })).headers.get("cache-control")).toBe(
      "private, max-age=60",
    );
    // The same address again and again, as for any response that the host caches.
    answers.set("/changing", reply);
    for (const text of ["one", "two", "three"]) {
      answers.set("/changing", { ...reply, body: base64(text) });
      for (let i = 0; i < 3; i++)
        expect(await (await fetched("/api/answers/any/changing")).text()).toBe(text);
    }
  });

  test.each([
    ["no JSON", "<html>"],
    ["no object", "[]"],
    ["no status", { headers: {} }],
    ["a status below 200", { status: 101 }],
    ["a status above 599", { status: 600 }],
    ["a status that is no integer", { status: "200" }],
    ["a status of connections", { status: 408 }],
    ["a body that is not base64", { status: 200, body: "%%%" }],
    ["a body that is no text", { status: 200, body: { a: 1 } }],
    ["a body with 204", { status: 204, body: base64("x") }],
    ["a body with 304", { status: 304, body: base64("x") }],
    [
      "a line break in a header",
      { status: 200, headers: { "content-type": "text/html\r\nSet-Cookie: a=b" } },
    ],
    ["a bare line feed in a header", { status: 302, headers: { location: "/\nSet-Cookie: a=b" } }],
    ["NUL in a header", { status: 200, headers: { etag: "a\0b" } }],
    ["a header that is no text", { status: 200, headers: { etag: 1 } }],
    ["headers that are a list", { status: 200, headers: [["a", "b"]] }],
    ["headers that are too large", { status: 200, headers: { link: "x".repeat(17 * 1024) } }],
    ["a compressed body", { status: 200, headers: { "Content-Encoding": "gzip" }, body: base64("x") }],
    ["an invalid next", { status: 200, next: "a.>" }],
    ["a next with a space", { status: 200, next: "a b" }],
  ])("with %s is 502 handler_answer_invalid", async (_, reply) => {
    const response = await given(reply);
    expect([response.status, (await response.json()).code]).toEqual([502, "handler_answer_invalid"]);
  });

  test("becomes the usual error of a handler if the service reports a failure or a refusal", async () => {
    const { headers } = await import("nats");
    client.subscribe("svc.answers.refusing", {
      callback: (_, message) => {
        const head = headers();
        head.set(
          "Nats-Service-Error-Code",
          message.json<HttpRequestMessage>().path === "/no" ? "409" : "500",
        );
        head.set("Nats-Service-Error", "No.");
        message.respond("", { headers: head });
      },
    });
    await http("answers.refusing");
    await orbWith("refusing", { answers: ["refusing"] });
    expect(await call(platform, "GET", "/api/refusing/refusing/no")).toMatchObject({
      status: 409,
      body: { code: "handler_refused", detail: "No." },
    });
    expect(await call(platform, "GET", "/api/refusing/refusing")).toMatchObject({
      status: 502,
      body: { code: "handler_failed" },
    });
  });

  test("that does not come is 504, and 503 while no service runs", async () => {
    const late = await fetched("/api/answers/late");
    expect([late.status, (await late.json()).code]).toEqual([504, "handler_timeout"]);
    await http("answers.absent");
    await orbWith("absent", { answers: ["absent"] });
    expect(await call(platform, "PUT", "/api/absent/absent/x", { body: {} })).toMatchObject({
      status: 503,
      body: { code: "handler_unavailable" },
    });
  });
});

describe("a registration of kind http", () => {
  const paths = {
    "/": {
      get: {
        summary: "The start page",
        responses: { "200": { description: "A page", content: { "text/html": {} } } },
      },
    },
    "/orders/{id}": {
      patch: {
        parameters: [{ name: "dry", in: "query", schema: { type: "boolean" } }],
        requestBody: {
          required: true,
          content: { "application/json": { schema: { type: "object", title: "Change" } } },
        },
      },
      delete: {},
    },
  };

  test("appears with its paths in the registry, the routes, the discovery and the OpenAPI description", async () => {
    await http("told.site", { paths, auth: "AuthRequired", maxBodyBytes: 1_000_000 });
    await orbWith("told", { told: ["site"] });
    const { body: registry } = await call(platform, "GET", "/api/admin/registry/told", { token: admin });
    expect(registry).toMatchObject([
      { kind: "http", status: "absent", paths: { "/": {} }, maxBodyBytes: 1_000_000 },
    ]);
    const routes = await activeRoutes(platform, admin, "told");
    const listed = routes
      .filter(({ handler }) => handler === "told.site")
      .map(({ method, path, role }) => `${method} ${path} ${role}`);
    expect(listed.sort()).toEqual(
      ["", "/call"]
        .flatMap((form) => [
          `DELETE /api/told${form}/site/orders/{id} user`,
          `GET /api/told${form}/site user`,
          `PATCH /api/told${form}/site/orders/{id} user`,
        ])
        .sort(),
    );
    const { body: seen } = await call(platform, "GET", "/api/discovery?orb=told");
    expect(seen.orbs[0].handlers).toMatchObject([
      {
        name: "told.site",
        kind: "http",
        href: "/api/told/site",
        routes: [
          { method: "GET", path: "/api/told/site" },
          { method: "PATCH", path: "/api/told/site/orders/{id}" },
          { method: "DELETE", path: "/api/told/site/orders/{id}" },
        ],
      },
    ]);
    const { body: api } = await call(platform, "GET", "/api/openapi?orb=told");
    expect(api.paths["/api/told/site"].get).toMatchObject({
      summary: "The start page",
      "x-handler": "told.site",
      "x-role": "user",
      responses: { "200": { description: "A page" }, default: {} },
    });
    const { patch } = api.paths["/api/told/call/site/orders/{id}"];
    expect(patch.parameters.map(({ name, in: place }: Record<string, string>) => `${place} ${name}`)).toEqual(
      ["path id", "query dry"],
    );
    const { $ref } = patch.requestBody.content["application/json"].schema;
    expect(api.components.schemas[$ref.split("/").at(-1)]).toMatchObject({
      type: "object",
      title: "Change",
    });
    const ids = Object.values(api.paths as Record<string, Record<string, { operationId: string }>>).flatMap(
      (item) => Object.values(item).map(({ operationId }) => operationId),
    );
    expect(new Set(ids).size).toBe(ids.length);
  });

  test("without paths is listed as a route of its name", async () => {
    const { body: api } = await call(platform, "GET", "/api/openapi?orb=web");
    expect(Object.keys(api.paths["/api/web/site"])).toEqual(["get"]);
    expect(api.paths["/api/web/call/staff"].get["x-role"]).toBe("admin");
  });

  test.each([
    "fly-client-ip",
    "x-cluster-client-ip",
    "x-envoy-external-address",
    "x-azure-clientip",
    "x-appengine-user-ip",
    "x-remote-addr",
    "x-vercel-forwarded-for",
    "x-amzn-oidc-data",
    "x-goog-iap-jwt-assertion",
    "x-auth-token",
    "host",
  ])("cannot ask for %s", async (header) => {
    await http("wrong.entry", { headers: ["x-wrong-shop", header] });
    const { body } = await call(platform, "GET", "/api/admin/registry/wrong", { token: admin });
    expect(body).toMatchObject([{ status: "faulty", faults: [{ path: "/headers/1" }] }]);
  });

  test("cannot ask for headers that belong to the service after which it is named", async () => {
    await http("grab.pricing", { headers: ["x-grab-shop", "x-pricing-shop"] });
    await http("x.session", { headers: ["x-x-shop", "x-session-token"] });
    for (const service of ["grab", "x"]) {
      const { body } = await call(platform, "GET", `/api/admin/registry/${service}`, { token: admin });
      const named = body.find(({ name }: { name: string }) => /pricing|session/.test(name));
      expect(named).toMatchObject({
        status: "faulty",
        faults: [{ path: "/headers/1", code: "not_allowed" }],
      });
    }
  });

  test("can ask for headers of standards and webhooks, and for those with its own name", async () => {
    const headers = ["Stripe-Signature", "x-hub-signature-256", "X-GitHub-Event", "webhook-id", "ce-type"];
    await http("right.entry", { headers: [...headers, "x-right-shop", "right-tenant", "x-api-key"] });
    const { body } = await call(platform, "GET", "/api/admin/registry/right", { token: admin });
    expect(body[0].faults ?? []).toEqual([]);
  });

  test.each(["TRACE", "TRACK"])("gets no request with %s", async (method) => {
    const { port } = new URL(platform.origin);
    const count = seen.requests.length;
    for (const target of ["/api/web/site", "/api/web/site/below", "/api/web/call/site"]) {
      const { status } = await raw(Number(port), {
        method,
        target,
        headers: [["Authorization", "Bearer x.y.z"]],
      });
      expect([target, [400, 401, 405, 501].includes(status)]).toEqual([target, true]);
      const open = await raw(Number(port), { method, target });
      expect([target, [400, 405, 501].includes(open.status)]).toEqual([target, true]);
    }
    expect(seen.requests).toHaveLength(count);
  });

  test.each([
    ["a subject outside its service", { subject: "elsewhere.site" }, "/subject"],
    ["a subject of another service", { subject: "svc.other.site" }, "/subject"],
    ["an input schema", { input: { type: "object" } }, "/input"],
    ["a header with credentials", { headers: ["Authorization"] }, "/headers/0"],
    ["a cookie header", { headers: ["x-a", "COOKIE"] }, "/headers/1"],
    ["a header of proxies", { headers: ["X-Forwarded-For"] }, "/headers/0"],
    ["no header name", { headers: ["a b"] }, "/headers/0"],
    ["too large a body", { maxBodyBytes: 32 * 1024 * 1024 + 1 }, "/maxBodyBytes"],
    ["a path without a slash", { paths: { orders: { get: {} } } }, "/paths/orders"],
    ["a path with dots", { paths: { "/../admin": { get: {} } } }, "/paths/~1..~1admin"],
    ["two paths of one shape", { paths: { "/{a}": { get: {} }, "/{b}": { get: {} } } }, "/paths/~1{b}"],
    ["an unknown method", { paths: { "/": { trace: {} } } }, "/paths/~1"],
    ["security of its own", { paths: { "/": { get: { security: [] } } } }, "/paths/~1/get/security"],
    [
      "a remote schema",
      {
        paths: {
          "/": { get: { parameters: [{ name: "q", in: "query", schema: { $ref: "https://x.example/" } }] } },
        },
      },
      "/paths/~1/get/parameters/0/schema/$ref",
    ],
    [
      "an unknown parameter of the path",
      { paths: { "/{a}": { get: { parameters: [{ name: "b", in: "path" }] } } } },
      "/paths/~1{a}/get/parameters/0/name",
    ],
    [
      "too many paths",
      { paths: Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`/p${n}`, { get: {} }])) },
      "/paths",
    ],
  ])("with %s is faulty", async (_, more, path) => {
    await http("wrong.entry", more);
    const { body } = await call(platform, "GET", "/api/admin/registry/wrong", { token: admin });
    expect(body).toMatchObject([{ name: "wrong.entry", status: "faulty" }]);
    expect(body[0].faults[0].path).toMatch(new RegExp(`^${path.replace(/[$.{}/]/g, "\\$&")}`));
    const document = { id: "wrongly", uses: [{ service: "wrong", handlers: ["entry"] }], modules: [] };
    const made = await call(platform, "POST", "/api/admin/orbs?publish=true", {
      token: admin,
      body: document,
    });
    expect(made).toMatchObject({ status: 422, body: { errors: [{ code: "faulty_handler" }] } });
  });
});

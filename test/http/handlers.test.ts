import type { NatsConnection } from "nats";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { buckets, kvSubject } from "../../shared/store/subjects.ts";
import { call, type SignedIn } from "../support/auth.ts";
import { activeRoutes } from "../support/described.ts";
import type { TestPlatform } from "../support/platform.ts";
import { headers, registrar, stage } from "../support/services.ts";

let platform: TestPlatform;
let client: NatsConnection;
let admin: string;
let ann: SignedIn;

const encoder = new TextEncoder();
const { register, orbWith } = registrar(() => ({ platform, client, admin }));

beforeAll(async () => {
  ({ platform, client, admin, ann } = await stage());
});
afterAll(() => client.close());

describe("service that only writes a registry entry and answers requests", () => {
  beforeAll(async () => {
    client.subscribe("svc.echo.say", {
      callback: (_, message) => {
        const names = [...(message.headers?.keys() ?? [])];
        const told = Object.fromEntries(
          names.map((name) => [name.toLowerCase(), message.headers?.get(name)]),
        );
        message.respond(encoder.encode(JSON.stringify({ got: message.json(), headers: told })));
      },
    });
    const input = {
      type: "object",
      required: ["text"],
      properties: { text: { type: "string", maxLength: 5 } },
    };
    await register("echo.say", { input });
    await register("echo.private", { subject: "svc.echo.say", auth: "AuthRequired" });
    await register("echo.secret", { subject: "svc.echo.say", auth: "AdminRequired" });
    await orbWith("echoes", { echo: ["say", "private", "secret"] });
  });

  test("receives orb, handler, input, caller, request id and trace, but no credentials", async () => {
    const trace = "0af7651916cd43dd8448eb211c80319c";
    const { status, body, headers } = await call(platform, "POST", "/api/echoes/say", {
      token: ann.token,
      body: { text: "hi" },
      headers: { "x-request-id": "req-1", traceparent: `00-${trace}-b7ad6b7169203331-01`, cookie: "a=b" },
    });
    expect(status).toBe(200);
    expect(headers.get("content-type")).toBe("application/json");
    expect(headers.get("cache-control")).toBe("no-store");
    expect(body.got).toEqual({
      orbId: "echoes",
      handler: "echo.say",
      input: { text: "hi" },
      caller: { sub: ann.id, role: "user" },
    });
    expect(Object.keys(body.headers).sort()).toEqual(["traceparent", "x-request-id"]);
    expect(body.headers["x-request-id"]).toBe("req-1");
    expect(body.headers.traceparent).toContain(trace);
    expect(JSON.stringify(body)).not.toContain(ann.token);
  });

  test("can be called by both forms of the path, by callers that its auth setting allows", async () => {
    const body = { text: "hi" };
    for (const path of ["/api/echoes/say", "/api/echoes/call/say"]) {
      const anonymous = await call(platform, "POST", path, { body });
      expect(anonymous.body.got.caller).toBeNull();
    }
    for (const path of ["/api/echoes/private", "/api/echoes/call/private"]) {
      expect((await call(platform, "POST", path, { body })).status).toBe(401);
      expect((await call(platform, "POST", path, { body, token: "nonsense" })).status).toBe(401);
      expect((await call(platform, "POST", path, { body, token: ann.token })).status).toBe(200);
    }
    const secret = "/api/echoes/secret";
    expect((await call(platform, "POST", secret, { body })).status).toBe(401);
    expect((await call(platform, "POST", secret, { body, token: ann.token })).status).toBe(403);
    const operator = await call(platform, "POST", secret, { body, token: admin });
    expect(operator.body.got.caller.role).toBe("owner");
  });

  test("is not called with input that is invalid, malformed or too large", async () => {
    let calls = 0;
    const counter = client.subscribe("svc.echo.say", { callback: () => calls++ });
    await client.flush();
    const path = "/api/echoes/say";
    const wrong = await call(platform, "POST", path, { body: { text: "too long" } });
    expect(wrong.status).toBe(422);
    expect(wrong.body.errors).toEqual([{ path: "/text", code: "too_long", message: expect.any(String) }]);
    const missing = await call(platform, "POST", path, { body: {} });
    expect(missing.body.errors[0]).toMatchObject({ path: "/text", code: "required" });
    const json = { "content-type": "application/json" };
    const send = (body: string, more: Record<string, string>) =>
      fetch(platform.origin + path, { method: "POST", body, headers: more });
    expect((await send("{", json)).status).toBe(400);
    expect((await send("text", { "content-type": "text/plain" })).status).toBe(415);
    expect((await send(JSON.stringify({ text: "x".repeat(1 << 20) }), json)).status).toBe(413);
    // A caller without access learns nothing about the schema.
    expect((await call(platform, "POST", "/api/echoes/private", { body: 7 })).status).toBe(401);
    await client.flush();
    expect(calls).toBe(0);
    counter.unsubscribe();
  });

  test("cannot take the path of an account route, and the long path still reaches a handler stored with such a name", async () => {
    await register("late.signout");
    client.subscribe("svc.late.signout", {
      callback: (_, message) => void message.respond(encoder.encode('"bye"')),
    });
    const access = { service: "access", handlers: ["passkey"] };
    const uses = [access, { service: "late", handlers: ["signout"] }];
    const refused = await call(platform, "POST", "/api/admin/orbs", {
      token: admin,
      body: { id: "latecomer", uses, modules: [] },
    });
    expect(refused).toMatchObject({
      status: 422,
      body: { errors: [{ path: "/uses/1/handlers/0", code: "reserved" }] },
    });
    // An earlier version could have stored this definition.
    const document = { id: "latecomer", languages: ["en"], markets: [], uses, modules: [] };
    await platform.operatorStore().append("KV_orbs", {
      subject: kvSubject("orbs", "latecomer"),
      data: JSON.stringify({ v: 1, orb: "latecomer", revision: 1, at: new Date().toISOString(), document }),
    });
    const listed = await activeRoutes(platform, admin, "latecomer");
    const routes: string[] = listed.map(
      ({ method, path }: { method: string; path: string }) => `${method} ${path}`,
    );
    expect(new Set(routes).size).toBe(routes.length);
    expect(routes).toContain("POST /api/latecomer/call/signout");
    const long = await call(platform, "POST", "/api/latecomer/call/signout", { body: { text: "hi" } });
    expect(long).toMatchObject({ status: 200, body: "bye" });
    // No orb of another file on the same platform may be like this.
    await platform.operatorStore().kvDelete(buckets.orbs, "latecomer");
  });

  test("has routes only for published orbs, and only for POST", async () => {
    expect((await call(platform, "POST", "/api/echoes/unknown", { body: {} })).status).toBe(404);
    expect((await call(platform, "POST", "/api/echoes/call/unknown", { body: {} })).status).toBe(404);
    expect((await call(platform, "POST", "/api/nowhere/call/say", { body: {} })).status).toBe(404);
    expect((await call(platform, "GET", "/api/echoes/say")).status).toBe(405);
    const long = await call(platform, "GET", "/api/echoes/call/say");
    expect([long.status, long.headers.get("allow")]).toEqual([405, "POST"]);
  });
});

describe("faults of services", () => {
  let refusals = 0;
  beforeAll(async () => {
    const answer = (subject: string, data: string | Uint8Array) =>
      client.subscribe(subject, {
        callback: (_, message) =>
          void message.respond(typeof data === "string" ? encoder.encode(data) : data),
      });
    answer("svc.odd.text", "no json");
    answer("svc.odd.empty", "");
    answer("svc.odd.binary", new Uint8Array([0xff, 0xfe]));
    answer("svc.odd.large", JSON.stringify("x".repeat(1 << 20)));
    answer("svc.odd.shape", JSON.stringify({ total: "much" }));
    answer("svc.odd.deep", `${"[".repeat(200_000)}${"]".repeat(200_000)}`);
    answer("svc.odd.deeper", `${"[".repeat(65)}${"]".repeat(65)}`);
    answer("svc.odd.nested", `${"[".repeat(64)}${"]".repeat(64)}`);
    client.subscribe("svc.odd.header", {
      callback: (_, message) => {
        // A reply header that a NATS client library would refuse to send.
        const encode = () => encoder.encode("NATS/1.0\r\nbad key: x\r\n\r\n");
        message.respond(encoder.encode("{}"), { headers: Object.assign(headers(), { encode }) });
      },
    });
    client.subscribe("svc.odd.silent", { callback: () => undefined });
    client.subscribe("svc.odd.refuses", {
      callback: (_, message) => {
        refusals++;
        const { input } = message.json<{ input: { code: string } }>();
        const said = headers();
        said.set("Nats-Service-Error-Code", input.code);
        said.set("Nats-Service-Error", "Not today");
        message.respond(encoder.encode('{"code":"closed_today"}'), { headers: said });
      },
    });
    const names = ["text", "empty", "binary", "large", "shape", "silent", "refuses", "absent"];
    names.push("deep", "deeper", "nested", "header");
    for (const name of names) {
      const output = name === "shape" ? { output: { properties: { total: { type: "number" } } } } : {};
      await register(`odd.${name}`, { timeoutMs: name === "silent" ? 150 : 30_000, ...output });
    }
    await orbWith("odds", { odd: names });
  });

  test.each([
    ["text", 502, "handler_answer_invalid"],
    ["empty", 502, "handler_answer_invalid"],
    ["binary", 502, "handler_answer_invalid"],
    ["large", 502, "handler_answer_invalid"],
    ["shape", 502, "handler_answer_invalid"],
    ["deep", 502, "handler_answer_invalid"],
    ["deeper", 502, "handler_answer_invalid"],
    ["header", 502, "handler_answer_invalid"],
    ["silent", 504, "handler_timeout"],
    ["absent", 503, "handler_unavailable"],
  ])('answers a "%s" service with %i and logs the cause', async (name, status, code) => {
    const answer = await call(platform, "POST", `/api/odds/${name}`, { body: {} });
    expect(answer).toMatchObject({ status, body: { status, code } });
    // The log line names the handler, the orb and the route.
    const failures = platform.logs.filter((line) => line.includes('"upstream failed"'));
    const requestId = answer.headers.get("x-request-id");
    expect(JSON.parse(failures.find((line) => line.includes(`"${requestId}"`)) ?? "{}")).toMatchObject({
      code,
      orb: "odds",
      route: "/api/{orbId}/{handler}",
      cause: expect.stringMatching(`^odd.${name}\\b`),
    });
  });

  test("accepts a reply that is nested as deeply as a request may be", async () => {
    const { status, body } = await call(platform, "POST", "/api/odds/nested", { body: {} });
    expect([status, JSON.stringify(body).length]).toEqual([200, 128]);
  });

  test.each([
    ["400", 400],
    ["402", 402],
    ["404", 404],
    ["409", 409],
    ["422", 422],
    ["429", 429],
  ])("passes a refusal of %s on with its message", async (code, status) => {
    const answer = await call(platform, "POST", "/api/odds/refuses", { body: { code } });
    expect(answer).toMatchObject({ status, body: { status, code: "closed_today", detail: "Not today" } });
  });

  test.each(["407", "408", "421", "425"])(
    "answers 502 for the code %s and does not retry the call",
    async (code) => {
      const before = refusals;
      const answer = await call(platform, "POST", "/api/odds/refuses", { body: { code } });
      expect(answer).toMatchObject({ status: 502, body: { code: "handler_failed" } });
      expect(refusals).toBe(before + 1);
    },
  );

  test.each(["500", "503", "200", "4000", "abc"])(
    "answers 502 for a service error with code %s",
    async (code) => {
      const answer = await call(platform, "POST", "/api/odds/refuses", { body: { code } });
      expect(answer).toMatchObject({ status: 502, body: { code: "handler_failed" } });
      expect(JSON.stringify(answer.body)).not.toContain("Not today");
    },
  );

  test("answers 503 while the registry entry of a handler is missing", async () => {
    await register("odd.gone");
    await orbWith("gone", { odd: ["gone"] });
    const removed = headers();
    removed.set("KV-Operation", "DEL");
    await client.request("$KV.handlers.odd.gone", new Uint8Array(0), { timeout: 10_000, headers: removed });
    const answer = await call(platform, "POST", "/api/gone/gone", { body: {} });
    expect(answer).toMatchObject({ status: 503, body: { code: "handler_unavailable" } });
  });
});

test("answers 300 calls that are pending at the same time", async () => {
  const calls = 300;
  const waiting: (() => void)[] = [];
  let arrived: () => void = () => undefined;
  const service = client.subscribe("svc.many.count", {
    callback: (_, message) => {
      const { input } = message.json<{ input: { n: number } }>();
      waiting.push(() => message.respond(encoder.encode(JSON.stringify(input.n))));
      arrived();
    },
  });
  await register("many.count", { timeoutMs: 30_000 });
  await orbWith("many", { many: ["count"] });
  const answers: ReturnType<typeof call>[] = [];
  // Each call opens its own connection. Send the calls gradually, and answer none before all have arrived.
  for (let n = 0; n < calls; n++) {
    answers.push(call(platform, "POST", "/api/many/count", { body: { n } }));
    if (n - waiting.length < 32) continue;
    await new Promise<void>((resolve) => {
      arrived = () => n - waiting.length < 16 && resolve();
    });
  }
  while (waiting.length < calls) {
    await new Promise<void>((resolve) => {
      arrived = resolve;
    });
  }
  for (const respond of waiting) respond();
  const all = await Promise.all(answers);
  expect(all.filter(({ status }) => status !== 200).map(({ body }) => body)).toEqual([]);
  expect(all.map(({ body }) => body)).toEqual(Array.from({ length: calls }, (_, n) => n));
  service.unsubscribe();
});

import type { NatsConnection } from "nats";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ServiceError, serve } from "../../shared/handlers/kit.ts";
import { kvSubject } from "../../shared/store/subjects.ts";
import { adminToken, call, type SignedIn, user } from "../support/auth.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";
import { brokerClient, headers, startExample } from "../support/services.ts";

let platform: TestPlatform;
let client: NatsConnection;
let admin: string;
let ann: SignedIn;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Puts an entry the way that any client of the broker can. */
async function put(key: string, entry: unknown): Promise<void> {
  const body = typeof entry === "string" ? entry : JSON.stringify(entry);
  const reply = await client.request(`$KV.handlers.${key}`, encoder.encode(body), { timeout: 2000 });
  expect(JSON.parse(decoder.decode(reply.data))).toMatchObject({ stream: "KV_handlers" });
}

const entryOf = (name: string, more: object = {}) => ({
  name,
  description: "A test's.",
  auth: "None",
  kind: "nats",
  subject: `svc.${name}`,
  ...more,
});

async function register(name: string, more: object = {}): Promise<void> {
  await put(name, entryOf(name, more));
}

/** A published orb that uses handlers. */
async function orbWith(id: string, uses: Record<string, string[]>): Promise<void> {
  const document = {
    id,
    uses: Object.entries(uses).map(([service, handlers]) => ({ service, handlers })),
    modules: [],
  };
  const made = await call(platform, "POST", "/api/admin/orbs?publish=true", { token: admin, body: document });
  expect(made).toMatchObject({ status: 201 });
}

beforeAll(async () => {
  platform = await sharedPlatform();
  client = await brokerClient(platform);
  admin = await adminToken(platform);
  ann = await user(platform);
});
afterAll(() => client.close());

describe("a service that only puts a key and answers", () => {
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

  test("gets orb, handler, input and caller, the request's id and trace, and no credentials", async () => {
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

  test("is called by both forms of the path, by whom its auth lets in", async () => {
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

  test("is not called with what its schema does not allow, or with what is no JSON", async () => {
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
    // Who may not call learns nothing of schemas.
    expect((await call(platform, "POST", "/api/echoes/private", { body: 7 })).status).toBe(401);
    await client.flush();
    expect(calls).toBe(0);
    counter.unsubscribe();
  });

  test("cannot have the name of a route of the orb's accounts, nor is one listed that the realm answers", async () => {
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
    // As it may be stored since before.
    const document = { id: "latecomer", languages: ["en"], markets: [], uses, modules: [] };
    await platform.operatorStore().append("KV_orbs", {
      subject: kvSubject("orbs", "latecomer"),
      data: JSON.stringify({ v: 1, orb: "latecomer", revision: 1, at: new Date().toISOString(), document }),
    });
    const { body: listed } = await call(platform, "GET", "/api/admin/routes", { token: admin });
    const routes: string[] = listed
      .filter(({ orb }: { orb: string }) => orb === "latecomer")
      .map(({ method, path }: { method: string; path: string }) => `${method} ${path}`);
    expect(new Set(routes).size).toBe(routes.length);
    expect(routes).toContain("POST /api/latecomer/call/signout");
    const long = await call(platform, "POST", "/api/latecomer/call/signout", { body: { text: "hi" } });
    expect(long).toMatchObject({ status: 200, body: "bye" });
  });

  test("has routes of published orbs only, and POST only", async () => {
    expect((await call(platform, "POST", "/api/echoes/unknown", { body: {} })).status).toBe(404);
    expect((await call(platform, "POST", "/api/echoes/call/unknown", { body: {} })).status).toBe(404);
    expect((await call(platform, "POST", "/api/nowhere/call/say", { body: {} })).status).toBe(404);
    expect((await call(platform, "GET", "/api/echoes/say")).status).toBe(405);
    const long = await call(platform, "GET", "/api/echoes/call/say");
    expect([long.status, long.headers.get("allow")]).toEqual([405, "POST"]);
  });
});

describe("what services do wrong has each its status", () => {
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
        // What no client of ours would let through.
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
      await register(`odd.${name}`, { timeoutMs: 150, ...output });
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
  ])("%s: %i", async (name, status, code) => {
    const answer = await call(platform, "POST", `/api/odds/${name}`, { body: {} });
    expect(answer).toMatchObject({ status, body: { status, code } });
    // Whoever reads the log is told of whom it speaks.
    const failures = platform.logs.filter((line) => line.includes('"upstream failed"'));
    const requestId = answer.headers.get("x-request-id");
    expect(JSON.parse(failures.find((line) => line.includes(`"${requestId}"`)) ?? "{}")).toMatchObject({
      code,
      orb: "odds",
      route: "/api/{orbId}/{handler}",
      cause: expect.stringMatching(`^odd.${name}\\b`),
    });
  });

  test("an answer may be nested as deep as what is sent", async () => {
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
  ])("a refusal of %s passes with its words", async (code, status) => {
    const answer = await call(platform, "POST", "/api/odds/refuses", { body: { code } });
    expect(answer).toMatchObject({ status, body: { status, code: "closed_today", detail: "Not today" } });
  });

  test.each(["407", "408", "421", "425"])("%s is no refusal, and is not called for twice", async (code) => {
    const before = refusals;
    const answer = await call(platform, "POST", "/api/odds/refuses", { body: { code } });
    expect(answer).toMatchObject({ status: 502, body: { code: "handler_failed" } });
    expect(refusals).toBe(before + 1);
  });

  test.each(["500", "503", "200", "4000", "abc"])(
    "an error of %s is the service's own: 502",
    async (code) => {
      const answer = await call(platform, "POST", "/api/odds/refuses", { body: { code } });
      expect(answer).toMatchObject({ status: 502, body: { code: "handler_failed" } });
      expect(JSON.stringify(answer.body)).not.toContain("Not today");
    },
  );

  test("an entry that was taken away is 503 until it is back", async () => {
    await register("odd.gone");
    await orbWith("gone", { odd: ["gone"] });
    const removed = headers();
    removed.set("KV-Operation", "DEL");
    await client.request("$KV.handlers.odd.gone", new Uint8Array(0), { timeout: 2000, headers: removed });
    const answer = await call(platform, "POST", "/api/gone/gone", { body: {} });
    expect(answer).toMatchObject({ status: 503, body: { code: "handler_unavailable" } });
  });
});

describe("subjects that must not be asked", () => {
  test.each([
    "$JS.API.STREAM.PURGE.KV_orbs",
    "_INBOX.fn.x",
    "platform.orbs.x",
    "svc.*",
    "svc.>",
    "svc.a b",
    "svc..a",
    "",
  ])("%s is no handler's", async (subject) => {
    await register("bad.subject", { subject });
    const { body } = await call(platform, "GET", "/api/admin/registry/bad", { token: admin });
    expect(body[0]).toMatchObject({ name: "bad.subject", status: "faulty", faults: [{ path: "/subject" }] });
  });

  test("one that a stream captures is not asked: nothing is stored, and nobody takes the stream for a service", async () => {
    await register("bad.captured", { subject: "wallet.x.y" });
    await orbWith("captured", { bad: ["captured"] });
    const before = await platform.store().streamInfo("wallet");
    const answer = await call(platform, "POST", "/api/captured/captured", { body: {} });
    expect(answer).toMatchObject({ status: 502, body: { code: "handler_faulty" } });
    expect((await platform.store().streamInfo("wallet"))?.state.last_seq).toBe(before?.state.last_seq);
  });

  test("another service's is not asked in its place, whatever an orb used before", async () => {
    let asked = 0;
    const safe = client.subscribe("svc.safe.open", { callback: () => asked++ });
    await register("safe.open", { auth: "AdminRequired" });
    await register("sly.open");
    await orbWith("slyly", { sly: ["open"] });
    await register("sly.open", { subject: "svc.safe.open", timeoutMs: 150 });
    const answer = await call(platform, "POST", "/api/slyly/open", { body: {} });
    expect(answer).toMatchObject({ status: 502, body: { code: "handler_faulty" } });
    await client.flush();
    expect(asked).toBe(0);
    safe.unsubscribe();
  });

  test("an orb that would capture a handler's subject is refused", async () => {
    await register("tariff.ask", { subject: "tariffs.ask" });
    const body = { id: "tariffs", modules: [] };
    const answer = await call(platform, "POST", "/api/admin/orbs", { token: admin, body });
    expect(answer).toMatchObject({ status: 409, body: { code: "orb_overlaps" } });
  });
});

describe("the registry", () => {
  test("lists what is built in and what services put, and ignores malformed entries without failing", async () => {
    await put("weird.json", "{");
    await put("weird.number", "42");
    await put("weird.null", "null");
    await put("weird.other", entryOf("weird.name"));
    await put("weird.extra", entryOf("weird.extra", { surprise: 1 }));
    await put("weird.local", entryOf("weird.local", { kind: "local" }));
    await put("weird.schema", entryOf("weird.schema", { input: { $ref: "https://example.com/schema" } }));
    await put("weird.loop", entryOf("weird.loop", { input: { $ref: "#" } }));
    await put("weird.slow", entryOf("weird.slow", { input: { pattern: "(?=a)" } }));
    // Too deep for what walks an entry by calling itself: the list, its answer, the descriptions.
    const deep = `${"[".repeat(3_000)}${"]".repeat(3_000)}`;
    await put(
      "weird.deep",
      JSON.stringify(entryOf("weird.deep", { input: { const: 0 } })).replace("0", deep),
    );
    await put("rules.mine", entryOf("rules.mine"));
    await put("lonely", entryOf("lonely"));
    const { status, body } = await call(platform, "GET", "/api/admin/registry", { token: admin });
    expect(status).toBe(200);
    const byName = new Map(body.map((entry: { name: string }) => [entry.name, entry]));
    for (const name of ["access.passkey", "access.invitations", "access.bootstrap"]) {
      expect(byName.get(name)).toMatchObject({ kind: "http", status: "available" });
    }
    for (const name of [
      "rules.evaluate",
      "transactions.record",
      "transactions.list",
      "settings.get",
      "settings.set",
    ]) {
      expect(byName.get(name)).toMatchObject({ kind: "local", status: "available", auth: "AuthRequired" });
    }
    const faulty = (name: string) =>
      (byName.get(name) as { faults?: { path: string; code: string }[] }).faults;
    for (const name of [
      "weird.json",
      "weird.number",
      "weird.null",
      "weird.other",
      "weird.extra",
      "weird.local",
      "weird.deep",
    ]) {
      expect(faulty(name)).not.toHaveLength(0);
    }
    expect(faulty("weird.schema")).toMatchObject([{ path: "/input/$ref", code: "remote_reference" }]);
    expect(faulty("weird.loop")).toMatchObject([{ path: "/input", code: "reference" }]);
    expect(faulty("weird.slow")).toMatchObject([{ path: "/input/pattern", code: "unsafe_pattern" }]);
    expect(faulty("rules.mine")).toMatchObject([{ code: "reserved" }]);
    expect(faulty("lonely")).toMatchObject([{ code: "key" }]);
    expect(platform.logs.join("\n")).toContain("registry entry ignored");
    expect((await call(platform, "GET", "/api/admin/registry")).status).toBe(401);
    expect((await call(platform, "GET", "/api/admin/registry", { token: ann.token })).status).toBe(401);
    expect((await call(platform, "GET", "/api/admin/registry/nobody", { token: admin })).status).toBe(404);
  });

  test("tells who answers now, without calling anybody", async () => {
    let calls = 0;
    const there = client.subscribe("svc.present.yes", { queue: "q", callback: () => calls++ });
    await register("present.yes");
    await register("present.no");
    const look = async () => {
      const { body } = await call(platform, "GET", "/api/admin/registry/present", { token: admin });
      return Object.fromEntries(
        body.map((entry: { name: string; status: string }) => [entry.name, entry.status]),
      );
    };
    expect(await look()).toEqual({ "present.yes": "available", "present.no": "absent" });
    there.unsubscribe();
    await client.flush();
    expect(await look()).toEqual({ "present.yes": "absent", "present.no": "absent" });
    expect(calls).toBe(0);
  });

  test("an orb with handlers that are unknown or faulty is not published: 422 names them", async () => {
    await put("weird.extra", entryOf("weird.extra", { surprise: 1 }));
    const uses = [
      { service: "ghost", handlers: ["a", "b"] },
      { service: "weird", handlers: ["extra"] },
      { service: "rules", handlers: ["evaluate", "nothing"] },
    ];
    const body = { id: "ghosts", uses, modules: [] };
    const answer = await call(platform, "POST", "/api/admin/orbs?publish=true", { token: admin, body });
    expect(answer.status).toBe(422);
    expect(answer.body.detail).toContain("ghost.a");
    expect(
      answer.body.errors.map(({ path, code }: { path: string; code: string }) => `${path} ${code}`),
    ).toEqual([
      "/uses/0/handlers/0 unknown_handler",
      "/uses/0/handlers/1 unknown_handler",
      "/uses/1/handlers/0 faulty_handler",
      "/uses/2/handlers/1 unknown_handler",
    ]);
  });

  test("a handler named like a module is refused where it is written", async () => {
    const body = {
      id: "clash",
      uses: [{ service: "echo", handlers: ["say"] }],
      modules: [{ id: "say", type: "CONTENT", schemas: [] }],
    };
    const answer = await call(platform, "POST", "/api/admin/orbs", { token: admin, body });
    expect(answer).toMatchObject({ status: 422, body: { errors: [{ path: "/modules/0/id" }] } });
  });
});

describe("the examples of the README", () => {
  test("TypeScript with the kit; two instances share the load, and one can stop without losing a request", async () => {
    await using _first = await startExample(platform, "pricing.ts");
    await orbWith("priced", { pricing: ["quote"] });
    const quote = (body: unknown) => call(platform, "POST", "/api/priced/quote", { body });
    const answer = await quote({ items: [{ product: "chair", count: 2 }] });
    expect(answer).toMatchObject({ status: 200, body: { total: 99, currency: "USD", for: null } });
    const unknown = await quote({ items: [{ product: "throne", count: 1 }] });
    expect(unknown).toMatchObject({ status: 404, body: { detail: 'There is no product "throne".' } });
    expect((await quote({ items: [{ product: "chair", count: 0 }] })).status).toBe(422);
    const second = await startExample(platform, "pricing.ts");
    const many = Array.from({ length: 60 }, () => quote({ items: [{ product: "table", count: 1 }] }));
    await second[Symbol.asyncDispose]();
    expect(new Set((await Promise.all(many)).map(({ status }) => status))).toEqual(new Set([200]));
  });

  test("no library at all", async () => {
    await using _greeter = await startExample(platform, "greeter.mjs");
    await orbWith("greeted", { greeter: ["hello"] });
    const hello = (body: unknown) => call(platform, "POST", "/api/greeted/hello", { body, token: ann.token });
    const greeting = { greeting: "Hello Ann", orb: "greeted", by: ann.id };
    expect(await hello({ name: "Ann" })).toMatchObject({ status: 200, body: greeting });
    expect(await hello({ name: "" })).toMatchObject({ status: 400, body: { detail: "Nobody has no name" } });
    expect((await hello({})).status).toBe(422);
  });
});

test("plain shell", async () => {
  await using _clock = await startExample(platform, "clock.sh");
  await orbWith("timed", { clock: ["now"] });
  for (let i = 0; i < 3; i++) {
    const { status, body } = await call(platform, "POST", "/api/timed/now", {
      body: { text: "ü".repeat(i) },
    });
    expect([status, body]).toEqual([200, { now: expect.stringMatching(/^20.*Z$/), orb: "timed" }]);
  }
});

describe("the kit", () => {
  test("instances share the load, and do not write over each other's entry", async () => {
    const served = [0, 0, 0];
    const start = async (instance: number) => {
      const connection = await brokerClient(platform);
      const handle = () => {
        served[instance] = (served[instance] ?? 0) + 1;
        return instance;
      };
      const handlers = { work: { description: "", auth: "None", handle } } as const;
      const service = await serve({ connection, headers, service: "shared", handlers });
      return async () => {
        await service.stop();
        await connection.close();
      };
    };
    const stops = await Promise.all([start(0), start(1)]);
    const store = platform.operatorStore();
    const written = (await store.kvGet("handlers", "shared.work"))?.revision;
    stops.push(await start(2));
    expect((await store.kvGet("handlers", "shared.work"))?.revision).toBe(written);
    await orbWith("shares", { shared: ["work"] });
    for (let round = 0; round < 6; round++) {
      await Promise.all(
        Array.from({ length: 10 }, () => call(platform, "POST", "/api/shares/work", { body: {} })),
      );
    }
    expect(served.reduce((sum, count) => sum + count)).toBe(60);
    expect(served.every((count) => count > 0)).toBe(true);
    await Promise.all(stops.map((stop) => stop()));
  });

  test("answers what a handler throws, checks both sides, and stops when all is answered", async () => {
    const errors: unknown[] = [];
    const worker = await brokerClient(platform);
    let finish: () => void = () => undefined;
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    let begun: () => void = () => undefined;
    const started = new Promise<void>((resolve) => {
      begun = resolve;
    });
    const service = await serve({
      connection: worker,
      headers,
      service: "kit",
      handlers: {
        crash: {
          description: "Fails.",
          auth: "None",
          handle: () => {
            throw new Error("a secret of the service");
          },
        },
        wrong: { description: "", auth: "None", output: { type: "number" }, handle: () => "text" },
        huge: { description: "", auth: "None", handle: () => "x".repeat(2 << 20) },
        refuse: {
          description: "",
          auth: "None",
          handle: () => {
            throw new ServiceError(409, "Taken", {
              code: "taken",
              errors: [{ path: "/x", code: "x", message: "X" }],
            });
          },
        },
        slow: {
          description: "",
          auth: "None",
          handle: async (_: unknown, { requestId }) => {
            begun();
            await finished;
            return { requestId };
          },
        },
      },
      onError: (error) => errors.push(error),
    });
    await orbWith("kits", { kit: ["crash", "wrong", "huge", "refuse", "slow"] });
    const ask = (name: string) =>
      call(platform, "POST", `/api/kits/${name}`, { body: {}, headers: { "x-request-id": "kit-1" } });
    for (const name of ["crash", "wrong", "huge"]) {
      const answer = await ask(name);
      expect(answer).toMatchObject({ status: 502, body: { code: "handler_failed" } });
      expect(JSON.stringify(answer.body)).not.toContain("secret");
    }
    expect(errors).toHaveLength(3);
    expect(await ask("refuse")).toMatchObject({
      status: 409,
      body: { code: "taken", detail: "Taken", errors: [{ path: "/x" }] },
    });
    const slow = ask("slow");
    await started;
    const stopped = service.stop({ unregister: true });
    setTimeout(finish, 50);
    expect(await slow).toMatchObject({ status: 200, body: { requestId: "kit-1" } });
    await stopped;
    await worker.close();
    expect((await call(platform, "GET", "/api/admin/registry/kit", { token: admin })).status).toBe(404);
  });
});

test("a thousand calls in flight are all answered", async () => {
  const calls = 1_000;
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
  // Each call has a connection of its own to make: they come one after the other, and none is answered before all are there.
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

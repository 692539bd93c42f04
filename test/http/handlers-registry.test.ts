/** The handler registry: which entries are valid, what it reports, and which orbs can use which handlers. */
import type { NatsConnection } from "nats";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { orbStreamConfig, provision } from "../../shared/store/broker/provision.ts";
import { streams, subjects } from "../../shared/store/subjects.ts";
import { adminToken, call, type SignedIn } from "../support/auth.ts";
import { startBroker } from "../support/broker.ts";
import { startPlatform, type TestPlatform } from "../support/platform.ts";
import { brokerClient, entryOf, registrar, stage } from "../support/services.ts";

let platform: TestPlatform;
let client: NatsConnection;
let admin: string;
let ann: SignedIn;

const { put, register, orbWith } = registrar(() => ({ platform, client, admin }));

beforeAll(async () => {
  ({ platform, client, admin, ann } = await stage({}));
});
afterAll(() => client.close());

describe("forbidden subjects", () => {
  test.each([
    "$JS.API.STREAM.PURGE.KV_orbs",
    "_INBOX.fn.x",
    "platform.orbs.x",
    "svc.*",
    "svc.>",
    "svc.a b",
    "svc..a",
    "",
  ])('marks a handler with the subject "%s" as faulty', async (subject) => {
    await register("bad.subject", { subject });
    const { body } = await call(platform, "GET", "/api/admin/registry/bad", { token: admin });
    expect(body[0]).toMatchObject({ name: "bad.subject", status: "faulty", faults: [{ path: "/subject" }] });
  });

  test("never calls a subject that a stream captures, so that nothing is stored in it", async () => {
    await register("bad.captured");
    await orbWith("captured", { bad: ["captured"] });
    await register("bad.captured", { subject: "wallet.x.y" });
    const before = await platform.store().streamInfo("wallet");
    const answer = await call(platform, "POST", "/api/captured/captured", { body: {} });
    expect(answer).toMatchObject({ status: 502, body: { code: "handler_faulty" } });
    expect((await platform.store().streamInfo("wallet"))?.state.last_seq).toBe(before?.state.last_seq);
  });

  test("refuses to publish an orb that uses a handler on a captured subject, with 422 naming both", async () => {
    await register("stored.away", { subject: "wallet.x.z" });
    await register("stored.here");
    await register("stored.there");
    const uses = [{ service: "stored", handlers: ["here", "away"] }];
    const body = { id: "storing", uses, modules: [] };
    const error = { path: "/uses/0/handlers/1", code: "faulty_handler" };
    const publish = (path: string, sent?: unknown) =>
      call(platform, "POST", path, { token: admin, ...(sent === undefined ? {} : { body: sent }) });
    const answer = await publish("/api/admin/orbs?publish=true", body);
    expect(answer).toMatchObject({ status: 422, body: { errors: [error] } });
    expect(answer.body.errors[0].message).toMatch(/stream "wallet" .*handler stored\.away/);
    expect((await publish("/api/admin/orbs", body)).status).toBe(201);
    for (const dryRun of ["", "?dryRun=true"]) {
      const later = await publish(`/api/admin/orbs/storing/publish${dryRun}`);
      expect(later).toMatchObject({ status: 422, body: { errors: [error] } });
    }
    const { body: listed } = await call(platform, "GET", "/api/admin/registry/stored", { token: admin });
    expect(listed).toMatchObject([
      { name: "stored.away", status: "faulty", faults: [{ path: "/subject", code: "faulty_handler" }] },
      { name: "stored.here", status: "absent" },
      { name: "stored.there", status: "absent" },
    ]);
    await register("stored.away");
    expect((await publish("/api/admin/orbs/storing/publish")).status).toBe(200);
  });

  test("refuses to publish hooks and schedules whose handler is of the wrong kind or not used", async () => {
    await register("kinds.call");
    await register("kinds.page", { kind: "http" });
    const body = {
      id: "kinds",
      uses: [{ service: "kinds", handlers: ["call", "page"] }],
      modules: [{ id: "news", type: "CONTENT", schemas: [{ id: "article", fields: [] }] }],
      hooks: [
        { id: "good", on: ["entry.created"], handler: "kinds.call", mode: "before" },
        { id: "bad", on: ["entry.created"], handler: "kinds.page", mode: "before" },
        { id: "late", on: ["entry.created"], handler: "kinds.page", mode: "after" },
      ],
      schedules: [{ id: "nightly", cron: "0 0 3 * * *", handler: "kinds.page" }],
    };
    const send = (method: string, path: string, sent?: unknown) =>
      call(platform, method, path, { token: admin, ...(sent === undefined ? {} : { body: sent }) });
    const errors = ["/hooks/1/handler", "/hooks/2/handler", "/schedules/0/handler"].map((path) => ({
      path,
      code: "wrong_kind",
    }));
    const refused = await send("POST", "/api/admin/orbs?publish=true", body);
    expect(refused).toMatchObject({ status: 422, body: { errors } });
    expect(refused.body.errors[0].message).toContain(
      "Hooks and schedules call handlers of the kind nats only.",
    );
    // A draft can name a handler that is still to change.
    expect((await send("POST", "/api/admin/orbs", body)).status).toBe(201);
    for (const [method, path, sent] of [
      ["POST", "/api/admin/orbs/kinds/publish"],
      ["POST", "/api/admin/orbs/kinds/publish?dryRun=true"],
      ["PUT", "/api/admin/orbs/kinds?publish=true", body],
      ["PUT", "/api/admin/orbs/kinds?publish=true&dryRun=true", body],
    ] as const) {
      expect(await send(method, path, sent)).toMatchObject({ status: 422, body: { errors } });
    }
    const unused = { ...body, uses: [{ service: "kinds", handlers: ["page"] }] };
    expect(await send("PUT", "/api/admin/orbs/kinds", unused)).toMatchObject({
      status: 422,
      body: { errors: [{ path: "/hooks/0/handler", code: "unknown_handler" }] },
    });
    await register("kinds.page");
    expect((await send("POST", "/api/admin/orbs/kinds/publish")).status).toBe(200);
  });

  test("lets an orb whose id was reserved later be read and deleted, which repairs the affected handlers", async () => {
    await register("late.one");
    const token = admin;
    const store = platform.operatorStore();
    // An orb "svc", as an earlier version stored it.
    await orbWith("late-svc", {});
    for (const subject of [subjects.orbHistory("late-svc"), subjects.orbPlace("late-svc")]) {
      const stored = await store.get(streams.platform, subject);
      const data = new TextDecoder().decode(stored?.data).replaceAll("late-svc", "svc");
      await store.append(streams.platform, { subject: subject.replace("late-svc", "svc"), data });
    }
    await store.createStream(orbStreamConfig("svc", 1));
    expect((await call(platform, "GET", "/api/admin/orbs/svc", { token })).body).toMatchObject({ id: "svc" });
    expect((await call(platform, "GET", "/api/admin/orbs/svc/revisions", { token })).status).toBe(200);
    const look = async () =>
      (await call(platform, "GET", "/api/admin/registry/late", { token })).body[0].status;
    expect(await look()).toBe("faulty");
    expect((await call(platform, "DELETE", "/api/admin/orbs/svc", { token })).status).toBe(204);
    expect(await store.streamInfo(streams.orb("svc"))).toBeNull();
    expect(await look()).toBe("absent");
    const again = await call(platform, "POST", "/api/admin/orbs", { token, body: { id: "svc" } });
    expect(again).toMatchObject({ status: 422, body: { errors: [{ path: "/id", code: "reserved" }] } });
  });

  test("refuses a handler that changed its subject to that of another service", async () => {
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

  test("refuses an orb whose stream would capture a handler's subject", async () => {
    await register("tariff.ask", { subject: "tariffs.ask" });
    const body = { id: "tariffs", modules: [] };
    const answer = await call(platform, "POST", "/api/admin/orbs", { token: admin, body });
    expect(answer).toMatchObject({ status: 409, body: { code: "orb_overlaps" } });
  });
});

describe("registry", () => {
  test("lists built-in and registered handlers, and marks malformed entries as faulty", async () => {
    await put("weird.json", "{");
    await put("weird.number", "42");
    await put("weird.null", "null");
    await put("weird.other", entryOf("weird.name"));
    await put("weird.extra", entryOf("weird.extra", { surprise: 1 }));
    await put("weird.local", entryOf("weird.local", { kind: "local" }));
    await put("weird.schema", entryOf("weird.schema", { input: { $ref: "https://example.com/schema" } }));
    await put("weird.loop", entryOf("weird.loop", { input: { $ref: "#" } }));
    await put("weird.slow", entryOf("weird.slow", { input: { pattern: "(?=a)" } }));
    // Nested too deeply for recursive code: the list, its response and the descriptions.
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
    expect(platform.logs.join("\n")).toContain("invalid handler registration ignored");
    expect((await call(platform, "GET", "/api/admin/registry")).status).toBe(401);
    expect((await call(platform, "GET", "/api/admin/registry", { token: ann.token })).status).toBe(403);
    expect((await call(platform, "GET", "/api/admin/registry/nobody", { token: admin })).status).toBe(404);
  });

  test("reports whether a service is available without calling it", async () => {
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

  test("refuses to publish an orb with unknown or faulty handlers, with 422 naming them", async () => {
    await put("weird.extra", entryOf("weird.extra", { surprise: 1 }));
    const uses = [
      { service: "ghost", handlers: ["a", "b"] },
      { service: "weird", handlers: ["extra"] },
      { service: "rules", handlers: ["evaluate", "nothing"] },
    ];
    const body = { id: "ghosts", uses, modules: [] };
    const answer = await call(platform, "POST", "/api/admin/orbs?publish=true", { token: admin, body });
    expect(answer.status).toBe(422);
    expect(answer.body.errors[0].message).toContain("ghost.a");
    expect(
      answer.body.errors.map(({ path, code }: { path: string; code: string }) => `${path} ${code}`),
    ).toEqual([
      "/uses/0/handlers/0 unknown_handler",
      "/uses/0/handlers/1 unknown_handler",
      "/uses/1/handlers/0 faulty_handler",
      "/uses/2/handlers/1 unknown_handler",
    ]);
  });

  test("a service that fills the registry does not block publishing orbs and reading the OpenAPI document", async () => {
    await using flooded = await startPlatform();
    const token = await adminToken(flooded);
    const connection = await brokerClient(flooded);
    const { register: store } = registrar(() => ({ platform: flooded, client: connection, admin: token }));
    await store("honest.quote");
    const description = "x".repeat(250_000);
    for (let n = 0; n < 160; n++) {
      connection.publish(
        `$KV.handlers.greedy.h${n}`,
        JSON.stringify(entryOf(`greedy.h${n}`, { description })),
      );
      if (n % 10 === 0) await connection.flush();
    }
    await connection.flush();
    const more = JSON.stringify(entryOf("greedy.more", { description }));
    const reply = await connection.request("$KV.handlers.greedy.more", more, { timeout: 10_000 });
    expect(reply.json()).toMatchObject({ error: { description: "maximum bytes exceeded" } });
    const document = { id: "calm", uses: [{ service: "honest", handlers: ["quote"] }], modules: [] };
    const made = await call(flooded, "POST", "/api/admin/orbs?publish=true", { token, body: document });
    expect(made.status, JSON.stringify(made.body)).toBe(201);
    expect((await call(flooded, "GET", "/api/openapi")).status).toBe(200);
    expect((await call(flooded, "GET", "/api/admin/registry", { token })).status).toBe(200);
    // As SECURITY.md says: a purge of the service's entries frees the space.
    await flooded.operatorStore().purge("KV_handlers", "$KV.handlers.greedy.>");
    await store("honest.more", { description });
    expect(await flooded.operatorStore().kvGet("handlers", "honest.more")).not.toBeNull();
    await connection.close();
  });

  test("limits a registry that an earlier version created without a limit", async () => {
    await using broker = await startBroker();
    const deploy = broker.store("deploy");
    const { config } = (await deploy.streamInfo("KV_handlers")) ?? {};
    if (config === undefined) throw new Error("The bucket is missing.");
    await deploy.updateStream({ ...config, max_bytes: -1 });
    await provision(deploy, { replicas: 1 });
    expect((await deploy.streamInfo("KV_handlers"))?.config).toEqual(config);
  });

  test("refuses an orb with a handler and a module of the same name", async () => {
    const body = {
      id: "clash",
      uses: [{ service: "echo", handlers: ["say"] }],
      modules: [{ id: "say", type: "CONTENT", schemas: [] }],
    };
    const answer = await call(platform, "POST", "/api/admin/orbs", { token: admin, body });
    expect(answer).toMatchObject({ status: 422, body: { errors: [{ path: "/modules/0/id" }] } });
  });
});

describe("removing a registration", () => {
  const remove = (name: string, token: string | undefined = admin) =>
    call(platform, "DELETE", `/api/admin/registry/${name.replace(".", "/")}`, { token });

  test("removes it for platform admins only, and records who did", async () => {
    await register("retired.one");
    await register("retired.two");
    await orbWith("retirees", { retired: ["one"] });
    expect((await call(platform, "DELETE", "/api/admin/registry/retired/one")).status).toBe(401);
    expect((await remove("retired.one", ann.token)).status).toBe(403);
    const before = await call(platform, "POST", "/api/retirees/one", { body: {} });
    expect(before).toMatchObject({ status: 503, body: { code: "handler_unavailable" } });
    expect((await remove("retired.one")).status).toBe(204);
    expect(await remove("retired.one")).toMatchObject({ status: 404, body: { code: "handler_not_found" } });
    const { body } = await call(platform, "GET", "/api/admin/registry/retired", { token: admin });
    expect(body).toMatchObject([{ name: "retired.two" }]);
    const audited = await call(platform, "GET", "/api/admin/audit?filter[action]=handler", { token: admin });
    expect(audited.body.items).toMatchObject([
      { realm: "platform", target: "retired.one", outcome: "ok", detail: "removed" },
    ]);
    // The orb stays published, and its handler returns with its service.
    const absent = await call(platform, "POST", "/api/retirees/one", { body: {} });
    expect(absent).toMatchObject({ status: 503, body: { code: "handler_unavailable" } });
    const service = client.subscribe("svc.retired.one", { callback: (_, message) => message.respond("1") });
    await register("retired.one");
    expect(await call(platform, "POST", "/api/retirees/one", { body: {} })).toMatchObject({
      status: 200,
      body: 1,
    });
    service.unsubscribe();
  });

  test("refuses a built-in handler with 409 handler_built_in", async () => {
    for (const name of ["access.passkey", "rules.evaluate"])
      expect(await remove(name)).toMatchObject({ status: 409, body: { code: "handler_built_in" } });
  });

  test("removes an invalid registration, and nothing else", async () => {
    await put("broken.entry", "{");
    await put("broken.entry.twice", "{");
    expect((await remove("broken.entry.twice")).status).toBe(204);
    for (const handler of ["*", "%3E", "entry.", "entry%20x", "entry.*"])
      expect(
        (await call(platform, "DELETE", `/api/admin/registry/broken/${handler}`, { token: admin })).status,
      ).toBe(404);
    const { body } = await call(platform, "GET", "/api/admin/registry/broken", { token: admin });
    expect(body).toMatchObject([{ name: "broken.entry", status: "faulty" }]);
  });

  test("of many removals and registrations at once, the last one decides as a whole", async () => {
    await Promise.all(
      Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? register("racing.one") : remove("racing.one"))),
    );
    await register("racing.one");
    const { body } = await call(platform, "GET", "/api/admin/registry/racing", { token: admin });
    expect(body).toMatchObject([{ name: "racing.one", status: "absent" }]);
  });
});

import { afterAll, beforeAll, expect, test } from "vitest";
import { onError } from "../../functions/http/problem.ts";
import { newRouter } from "../../functions/http/router.ts";
import { context } from "../../functions/request/context.ts";
import { consoleLog } from "../../functions/request/log.ts";
import { httpHandlers, type MountedHandler } from "../../functions/runtime/handlers-http.ts";
import { PUBLIC } from "../../shared/access/authorize.ts";
import { invoke, resolveHandler } from "../../shared/handlers/dispatch.ts";
import { AppError } from "../../shared/kernel/errors.ts";
import { startBroker, type TestBroker } from "../support/broker.ts";
import { countingStore } from "../support/counting.ts";
import { installOrb, testDeps } from "../support/entries.ts";

let broker: TestBroker;
const lines: string[] = [];
const expired: number[] = [];
let app: ReturnType<typeof newRouter>;

/** An OAuth callback as in the README's example, and a handler for admins only. */
const MOUNTED: MountedHandler[] = [
  {
    handler: { kind: "http", name: "oauth.callback", description: "", auth: "None", paths: ["/callback"] },
    run: ({ c, live }) => {
      const code = c.req.query("code");
      if (code === undefined) throw new AppError("malformed", "invalid_parameter", "There is no code.");
      if (code === "page") return c.html("<script>1</script>");
      return c.redirect(`/done?orb=${live.orb}&path=${c.req.path}`, 303);
    },
  },
  {
    handler: {
      kind: "http",
      name: "oauth.manage",
      description: "",
      auth: "AdminRequired",
      paths: ["/manage"],
    },
    run: ({ c }) => c.text("managed"),
  },
];

beforeAll(async () => {
  broker = await startBroker();
  const store = broker.store("operator");
  await installOrb(store, { id: "shop", uses: [{ service: "oauth", handlers: ["callback", "manage"] }] });
  await installOrb(store, { id: "other", modules: [{ id: "callback", type: "CONTENT", schemas: [] }] });
  app = newRouter();
  app.use(
    "*",
    context(() => ({
      config: testDeps(store).config,
      log: (base) => consoleLog("info", base, (line) => lines.push(line)),
      lend: () => ({ store, expires: (time) => expired.push(time), release: async () => undefined }),
      client: () => "test",
    })),
  );
  app.use("/api/:orbId/*", httpHandlers(MOUNTED));
  app.all("*", (c) => c.text("further", 404));
  app.onError(onError);
});
afterAll(() => broker[Symbol.asyncDispose]());

test("passes the request to an HTTP handler and returns its response", async () => {
  const answer = await app.request("/api/shop/callback/google?code=x");
  expect(answer.status).toBe(303);
  expect(answer.headers.get("location")).toBe("/done?orb=shop&path=/api/shop/callback/google");
  expect(lines.join("\n")).toContain("oauth.callback");
  // The host does not cache the response.
  expect(expired).toEqual([0]);
  const long = await app.request("/api/shop/call/callback/google?code=x");
  expect([long.status, long.headers.get("location")]).toEqual([
    303,
    "/done?orb=shop&path=/api/shop/call/callback/google",
  ]);
  const refused = await app.request("/api/shop/callback");
  expect(refused.status).toBe(400);
  expect(await refused.json()).toMatchObject({ code: "invalid_parameter" });
});

test("sends a handler's HTML as text/plain", async () => {
  const answer = await app.request("/api/shop/callback?code=page");
  expect(answer.headers.get("content-type")).toBe("text/plain; charset=utf-8");
});

test("checks the handler's auth setting before running it", async () => {
  expect((await app.request("/api/shop/manage", { method: "POST" })).status).toBe(401);
});

test("resolves a remote handler with two broker requests before the call, in parallel once it is known", async () => {
  const store = broker.store("operator");
  const subject = "svc.trips.echo";
  store.subscribe(subject, ({ data, reply }) => store.publish(reply ?? "", data));
  await store.ping();
  const entry = { name: "trips.echo", description: "", auth: "None", kind: "nats", subject };
  await store.kvPut("handlers", entry.name, JSON.stringify(entry));
  const live = await installOrb(store, { id: "trips", uses: [{ service: "trips", handlers: ["echo"] }] });
  const counted = countingStore(broker.store());
  const deps = testDeps(counted.store);
  const call = { live, principal: PUBLIC, input: { n: 1 } };
  const ask = async () => {
    counted.reset();
    return invoke(deps, await resolveHandler(deps, entry.name), call);
  };
  expect(await ask()).toEqual({ orbId: "trips", handler: entry.name, input: { n: 1 }, caller: null });
  expect(counted).toMatchObject({ calls: ["kvGet", "streamNames", "request"], trips: 3 });
  await ask();
  expect(counted).toMatchObject({ calls: ["streamNames", "kvGet", "request"], trips: 2 });
  // If the service changes its subject, the registry entry is read again.
  await store.kvPut("handlers", entry.name, JSON.stringify({ ...entry, subject: "wallet.trips" }));
  await expect(ask()).rejects.toMatchObject({ code: "handler_faulty" });
});

test("leaves the path to other routes in orbs that do not use the handler", async () => {
  expect(await (await app.request("/api/other/callback?code=x")).text()).toBe("further");
  expect(await (await app.request("/api/none/callback?code=x")).text()).toBe("further");
});

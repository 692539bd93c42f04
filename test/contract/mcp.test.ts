/** Uses the tools for agents with the protocol's own client. */

import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { beforeAll, describe, expect, test } from "vitest";
import { adminToken, call, user } from "../support/auth.ts";
import { tempDir } from "../support/broker.ts";
import { conformance } from "../support/conformance.ts";
import { picture, png, RED } from "../support/images.ts";
import { npmEnvironment } from "../support/node-tools.ts";
import { sharedPlatform, type TestPlatform } from "../support/platform.ts";
import { createToken, scope } from "../support/tokens.ts";

const shop = readFileSync(new URL("../../scripts/examples/shop.json", import.meta.url), "utf8");

let platform: TestPlatform;
let admin: string;

beforeAll(async () => {
  platform = await sharedPlatform({ link: true });
  admin = await adminToken(platform);
  const body: unknown = JSON.parse(shop);
  expect((await call(platform, "POST", "/api/admin/orbs?publish=true", { token: admin, body })).status).toBe(
    201,
  );
});

interface Agent extends AsyncDisposable {
  client: Client;
  /** Calls a tool and returns the text of its result. */
  use(name: string, input: object): Promise<{ text: string; failed: boolean }>;
}

/**
 * Connects an agent. Without a token it is an anonymous caller.
 * @param pin the only version of the protocol to use; otherwise the client sends `initialize`
 */
async function agent(path: string, token?: string, pin?: string): Promise<Agent> {
  const versionNegotiation = pin === undefined ? {} : { versionNegotiation: { mode: { pin } } };
  const client = new Client({ name: "test", version: "1.0.0" }, versionNegotiation);
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${platform.origin}${path}`), { requestInit: { headers } }),
  );
  return {
    client,
    async use(name, input) {
      const { content, isError } = await client.callTool({ name, arguments: { ...input } });
      const [first] = content as { text: string }[];
      return { text: first?.text ?? "", failed: isError === true };
    },
    [Symbol.asyncDispose]: () => client.close(),
  };
}

const parsed = ({ text }: { text: string }) => JSON.parse(text) as Record<string, unknown>;

test("proposes changes in a set, which a token with few rights cannot publish", async () => {
  const can = [scope("shop", "read", "propose")];
  const { token } = await createToken(platform, "/api/_auth", admin, can);
  await using proposer = await agent("/api/shop/mcp", token);
  const opened = parsed(await proposer.use("open_change", { title: "New lamps" }));
  expect(opened).toMatchObject({ state: "OPEN" });
  const place = { collection: "catalog/category", change: opened.id };
  const values = { title: { en: "Torches" }, slug: "torches" };
  const { id } = parsed(await proposer.use("propose", { ...place, values }));
  const changed = await proposer.use("propose", { ...place, id, values: { position: 2 } });
  expect(parsed(changed)).toMatchObject({ values: { title: { en: "Torches" }, position: 2 } });
  expect(parsed(await proposer.use("diff", { change: opened.id }))).toMatchObject({
    items: [{ id, act: "publish", base: null, now: null }],
  });
  expect(await proposer.use("propose", { ...place, delete: true })).toMatchObject({ failed: true });
  const lit = await proposer.use("propose_together", {
    change: opened.id,
    do: [
      { create: "catalog/category", values: { title: { en: "Lights" }, slug: "lights" }, as: "lights" },
      { update: `catalog/category/${String(id)}`, add: { position: 3 } },
      {
        create: "catalog/product",
        values: { title: { en: "Torch" }, sku: "TO-1000", price: { US: 5 }, category: { $ref: "lights" } },
      },
    ],
  });
  const together = parsed(lit) as { items: { id: string }[] };
  expect(together).toMatchObject({ items: [{ revision: 1 }, { id, revision: 3 }, { revision: 1 }] });
  const within = { collection: "catalog/product", change: opened.id };
  expect(
    parsed(await proposer.use("query_entries", { ...within, filter: { sku: "TO-1000" } })),
  ).toMatchObject({
    items: [{ id: together.items[2]?.id, values: { category: together.items[0]?.id } }],
  });
  expect(parsed(await proposer.use("get_entry", { ...place, id }))).toMatchObject({
    values: { position: 5 },
  });
  const none = await proposer.use("propose_together", {
    change: opened.id,
    do: [{ delete: `catalog/category/${String(id)}` }, { create: "catalog/category", values: {} }],
  });
  expect(none).toMatchObject({ failed: true, text: expect.stringContaining("/do/1/values/slug") });
  const reviewed = parsed(await proposer.use("request_review", { change: opened.id }));
  expect(reviewed).toMatchObject({ state: "IN_REVIEW", entries: 3 });
  const refused = await proposer.use("create_draft", { collection: "catalog/category", values });
  expect(refused).toMatchObject({ failed: true, text: expect.stringContaining("missing_scope") });
  // The entry exists in the set alone.
  const publish = await proposer.use("publish_entry", { collection: "catalog/category", id, revision: 1 });
  expect(publish.failed).toBe(true);
});

test("describes the orbs, and names the collections of an orb in the schemas of its tools", async () => {
  await using all = await agent("/api/mcp");
  expect(parsed(await all.use("describe", {}))).toMatchObject({
    orbs: [{ id: "shop", languages: ["en", "de"] }],
    nextCursor: null,
  });
  await using one = await agent("/api/shop/mcp");
  const { tools } = await one.client.listTools();
  expect(tools.map(({ name }) => name)).toEqual(
    expect.arrayContaining(["describe", "query_entries", "get_entry", "create_draft", "call_handler"]),
  );
  const query = tools.find(({ name }) => name === "query_entries");
  expect(query?.inputSchema.properties?.collection).toMatchObject({
    enum: ["catalog/category", "catalog/product", "news/article", "reviews/review", "shipping/carrier"],
  });
  expect(parsed(await one.use("describe", {}))).toMatchObject({ id: "shop" });
});

test("creates and updates a draft, which readers see only after it is published", async () => {
  await using writer = await agent("/api/shop/mcp", admin);
  await using reader = await agent("/api/shop/mcp");
  const place = { collection: "catalog/category" };
  const values = { title: { en: "Lamps" }, slug: "lamps" };
  const made = parsed(await writer.use("create_draft", { ...place, values }));
  expect(made).toMatchObject({ status: "SAVED", revision: 1 });
  const { id } = made;
  expect(await reader.use("get_entry", { ...place, id })).toMatchObject({
    failed: true,
    text: expect.stringContaining("entry_not_found"),
  });
  const changed = await writer.use("update_draft", { ...place, id, revision: 1, values: { position: 3 } });
  expect(parsed(changed)).toMatchObject({ revision: 2, values: { title: { en: "Lamps" }, position: 3 } });
  expect(
    await writer.use("update_draft", { ...place, id, revision: 1, values: { position: 4 } }),
  ).toMatchObject({
    failed: true,
    text: expect.stringContaining("revision_mismatch"),
  });
  expect(parsed(await writer.use("publish_entry", { ...place, id, revision: 2 }))).toMatchObject({
    status: "PUBLISHED",
  });
  expect(parsed(await reader.use("get_entry", { ...place, id, locale: "en" }))).toMatchObject({
    values: { title: "Lamps", position: 3 },
  });
  const found = await reader.use("query_entries", { ...place, filter: { slug: "lamps" }, count: true });
  expect(parsed(found)).toMatchObject({ items: [{ id }], total: 1 });
  const searched = { collection: "catalog/category", id, title: "Lamps", text: "Lamps" };
  expect(parsed(await reader.use("search", { text: "lamp" }))).toMatchObject({ items: [searched] });
  const history = { items: [{ revision: 3 }, {}, {}] };
  expect(parsed(await writer.use("entry_history", { id }))).toMatchObject(history);
  await using editor = await agent("/api/shop/mcp", (await user(platform, "shop", "admin")).token);
  expect(parsed(await editor.use("entry_history", { ...place, id }))).toMatchObject(history);
  expect(await editor.use("entry_history", { id })).toMatchObject({
    failed: true,
    text: expect.stringContaining("Send a token of the realm platform"),
  });
});

test("refuses names that would lead to the path of another operation", async () => {
  await using all = await agent("/api/mcp", admin);
  const place = { orb: "shop", collection: "catalog/category" };
  const expected = { failed: true, text: expect.stringContaining("must match pattern") };
  expect(await all.use("get_entry", { ...place, id: ".." })).toMatchObject(expected);
  expect(await all.use("get_entry", { ...place, orb: "..", id: "0" })).toMatchObject(expected);
  for (const collection of ["../users", "catalog/..", "catalog"])
    expect(await all.use("query_entries", { ...place, collection })).toMatchObject(expected);
});

test("calls a handler, and reports faults of its input", async () => {
  await using caller = await agent("/api/shop/mcp", admin);
  const values = { total: 5, currency: "EUR", items: ["lamp"] };
  const recorded = await caller.use("call_handler", {
    handler: "transactions.record",
    input: { module: "orders", values },
  });
  expect(parsed(recorded)).toMatchObject({ values: { total: 5 } });
  const refused = await caller.use("call_handler", {
    handler: "transactions.record",
    input: { module: "orders", values: { total: -5 } },
  });
  expect(refused).toMatchObject({
    failed: true,
    text: expect.stringMatching(/\/values\/currency is required/),
  });
});

describe("has exactly the rights of the caller", () => {
  test("refuses writes of anonymous callers", async () => {
    await using reader = await agent("/api/shop/mcp");
    const made = await reader.use("create_draft", {
      collection: "catalog/category",
      values: { title: { en: "X" }, slug: "x" },
    });
    expect(made).toMatchObject({ failed: true, text: expect.stringContaining("authentication_required") });
    for (const where of [{}, { collection: "catalog/category" }])
      expect(await reader.use("entry_history", { ...where, id: "0" })).toMatchObject({ failed: true });
  });

  test("ignores cookies, so that a web page cannot use the session of its visitor", async () => {
    const body = {
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: {
        name: "create_draft",
        arguments: { collection: "catalog/category", values: { title: { en: "X" }, slug: "y" } },
      },
    };
    const response = await fetch(`${platform.origin}/api/shop/mcp`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        cookie: `session_platform=${admin}`,
        origin: platform.origin,
      },
      body: JSON.stringify(body),
    });
    expect(await response.text()).toContain("authentication_required");
  });

  test("reports an invalid token, and an orb that does not exist", async () => {
    const refused = await call(platform, "POST", "/api/mcp", {
      token: "eyJhbGciOiJFZERTQSJ9.e30.x",
      body: { jsonrpc: "2.0", id: 1, method: "tools/list" },
    });
    expect(refused).toMatchObject({ status: 401, body: { code: "invalid_token" } });
    await using reader = await agent("/api/mcp");
    expect(await reader.use("query_entries", { orb: "nothing", collection: "a/b" })).toMatchObject({
      failed: true,
      text: expect.stringContaining("orb_not_found"),
    });
    // A path in a name must not reach another route.
    expect(await reader.use("query_entries", { orb: "admin/orbs", collection: "../x" })).toMatchObject({
      failed: true,
    });
  });
});

test("bounds the size of a result, and says how to ask for less", async () => {
  await using writer = await agent("/api/shop/mcp", admin);
  const collection = "news/article";
  for (let i = 0; i < 2; i++) {
    const values = { headline: { en: `Long ${i}` }, body: { en: "word ".repeat(6_000) } };
    const { id, revision } = parsed(await writer.use("create_draft", { collection, values, locale: "*" }));
    await writer.use("publish_entry", { collection, id, revision });
  }
  const all = await writer.use("query_entries", { collection });
  expect(all).toMatchObject({ failed: true, text: expect.stringContaining("Ask for less") });
  const few = await writer.use("query_entries", { collection, fields: ["headline"] });
  expect(parsed(few)).toMatchObject({ items: [{}, {}] });
});

test("answers other methods with 405, and an invalid message with an error of the protocol", async () => {
  expect((await fetch(`${platform.origin}/api/mcp`)).status).toBe(405);
  expect((await fetch(`${platform.origin}/api/shop/mcp`)).status).toBe(405);
  const response = await call(platform, "POST", "/api/mcp", {
    body: { jsonrpc: "2.0", id: 1, method: "nothing" },
  });
  expect(response.body).toMatchObject({ jsonrpc: "2.0", error: { code: -32601 } });
  const faulty = await call(platform, "POST", "/api/shop/mcp", { body: { jsonrpc: "1.0" } });
  expect(faulty).toMatchObject({ status: 422, body: { code: "validation_failed" } });
});

describe("speaks the version without `initialize`", () => {
  const version = "2026-07-28";
  const meta = {
    "io.modelcontextprotocol/protocolVersion": version,
    "io.modelcontextprotocol/clientInfo": { name: "test", version: "1.0.0" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const send = async (method: string, params: object, headers: Record<string, string>) => {
    const response = await fetch(`${platform.origin}/api/shop/mcp`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify({ jsonrpc: "2.0", id: 7, method, params }),
    });
    return { status: response.status, body: (await response.json()) as object };
  };
  const headersOf = (method: string, name?: string) => ({
    "mcp-protocol-version": version,
    "mcp-method": method,
    ...(name === undefined ? {} : { "mcp-name": name }),
  });

  test("with the protocol's client", async () => {
    await using reader = await agent("/api/shop/mcp", undefined, version);
    const { tools } = await reader.client.listTools();
    expect(tools.map(({ name }) => name)).toContain("query_entries");
    expect(parsed(await reader.use("describe", {}))).toMatchObject({ id: "shop" });
    expect(await reader.use("query_entries", { collection: 5 })).toMatchObject({
      failed: true,
      text: expect.stringContaining("/collection"),
    });
  });

  test("refuses headers that disagree with the message, other versions and incomplete requests", async () => {
    const call = { name: "describe", arguments: {}, _meta: meta };
    const method = "tools/call";
    expect(await send(method, call, headersOf(method, "describe"))).toMatchObject({
      status: 200,
      body: { id: 7, result: { resultType: "complete" } },
    });
    for (const headers of [
      {},
      headersOf(method),
      headersOf(method, "other"),
      headersOf("tools/list", "describe"),
    ])
      expect(await send(method, call, headers)).toMatchObject({
        status: 400,
        body: { error: { code: -32020 } },
      });
    const earlier = { ...meta, "io.modelcontextprotocol/protocolVersion": "2025-11-25" };
    expect(await send("tools/list", { _meta: earlier }, headersOf("tools/list"))).toMatchObject({
      status: 400,
      body: { error: { code: -32020 } },
    });
    const later = "2027-01-01";
    const next = { ...meta, "io.modelcontextprotocol/protocolVersion": later };
    expect(await send("tools/list", { _meta: next }, headersOf("tools/list"))).toMatchObject({
      status: 400,
      body: { error: { code: -32020 } },
    });
    const agreeing = { ...headersOf("tools/list"), "mcp-protocol-version": later };
    expect(await send("tools/list", { _meta: next }, agreeing)).toMatchObject({
      status: 400,
      body: { error: { code: -32022, data: { supported: [version], requested: later } } },
    });
    expect(await send("tools/list", {}, headersOf("tools/list"))).toMatchObject({
      status: 400,
      body: { error: { code: -32602 } },
    });
    expect(await send("nothing", { _meta: meta }, headersOf("nothing"))).toMatchObject({
      status: 404,
      body: { error: { code: -32601 } },
    });
  });
});

test("answers a notification with 202, and negotiates the newest version that both know", async () => {
  const send = (body: object) => call(platform, "POST", "/api/mcp", { body });
  const hello = (protocolVersion: string) =>
    send({ jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion, capabilities: {} } });
  expect((await hello("2025-06-18")).body.result.protocolVersion).toBe("2025-06-18");
  expect((await hello("1999-01-01")).body.result.protocolVersion).toBe("2025-11-25");
  expect(await send({ jsonrpc: "2.0", id: 1, method: "ping" })).toMatchObject({ body: { result: {} } });
  expect((await send({ jsonrpc: "2.0", method: "notifications/initialized" })).status).toBe(202);
  const unknown = await send({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "nothing" } });
  expect(unknown.body).toMatchObject({ error: { code: -32602 } });
});

/** Scenarios of the protocol's conformance tests that are about what the platform offers, by version. */
const SCENARIOS = {
  "2025-11-25": ["server-initialize", "ping", "tools-list", "dns-rebinding-protection"],
  "2026-07-28": [
    ...["server-stateless", "tools-list", "dns-rebinding-protection", "caching", "http-header-validation"],
    "input-required-result-unsupported-methods",
  ],
};
/** Checks in these scenarios that need tools and methods which the platform does not offer. */
const NOT_OFFERED = [
  ...["prompts-list", "resources-list", "resources-templates-list"].map(
    (method) => `sep-2549-${method}-caching-hints`,
  ),
  "sep-2575-http-server-no-independent-requests-on-stream",
  "sep-2575-missing-capability-http-400",
  "sep-2575-server-no-log-without-loglevel",
  "sep-2575-server-rejects-undeclared-capability",
];

test.each(Object.entries(SCENARIOS))(
  "conforms to version %s, as the protocol's own tests understand it",
  { timeout: 300_000 },
  async (version, scenarios) => {
    const all = await conformance(`${platform.origin}/api/shop/mcp`, version);
    for (const scenario of scenarios)
      expect([scenario, all.get(scenario)?.some(({ status }) => status === "SUCCESS")]).toEqual([
        scenario,
        true,
      ]);
    const failed = scenarios.flatMap((scenario) => {
      const bad = (all.get(scenario) ?? []).filter(({ status }) => /FAILURE|WARNING/.test(status));
      return bad.map(({ id, errorMessage }) => (NOT_OFFERED.includes(id) ? id : `${id}: ${errorMessage}`));
    });
    expect(failed.sort()).toEqual(version === "2026-07-28" ? NOT_OFFERED : []);
  },
);

/** Installed by npx, because it would add 87 packages to the project's own. */
const INSPECTOR = "@modelcontextprotocol/inspector@2.12.0";

test("works with the command line of the protocol's inspector and an API token", async () => {
  const dir = tempDir("inspector");
  const { token } = await createToken(platform, "/api/_auth", admin, [scope("shop", "read")]);
  const inspect = async (...args: string[]) => {
    const { stdout } = await promisify(execFile)(
      "npx",
      [
        "--yes",
        INSPECTOR,
        "--cli",
        `${platform.origin}/api/shop/mcp`,
        "--transport",
        "http",
        "--header",
        `Authorization: Bearer ${token}`,
        ...args,
      ],
      { cwd: dir, env: { ...npmEnvironment(), MCP_CATALOG_PATH: join(dir, "mcp.json") } },
    );
    return JSON.parse(stdout) as { content?: { text: string }[] };
  };
  const place = ["--tool-arg", "collection=catalog/category"];
  const called = await inspect("--method", "tools/call", "--tool-name", "query_entries", ...place);
  expect(JSON.parse(called.content?.[0]?.text ?? "")).toMatchObject({ items: expect.any(Array) });
}, 120_000);

test("writes entries with files by the ids of the files", async () => {
  const schemas = [{ id: "picture", fields: [{ name: "image", type: "file", accept: ["text/*"] }] }];
  const body = { id: "album", modules: [{ id: "pictures", type: "CONTENT", schemas }] };
  await call(platform, "POST", "/api/admin/orbs?publish=true", { token: admin, body });
  const sent = await fetch(`${platform.origin}/api/album/files?name=a.txt`, {
    method: "POST",
    headers: { authorization: `Bearer ${admin}` },
    body: "words",
  });
  const { id } = (await sent.json()) as { id: string };
  await using writer = await agent("/api/album/mcp", admin);
  const draft = (file: string) =>
    writer.use("create_draft", { collection: "pictures/picture", values: { image: { file } } });
  const url = expect.stringContaining(id);
  expect(parsed(await draft(id))).toMatchObject({
    values: { image: { file: id, url, type: "text/plain", size: 5, name: "a.txt" } },
  });
  expect(await draft("missing")).toMatchObject({ failed: true, text: expect.stringContaining("/image") });
});

test("lists files, looks at an image and describes it", async () => {
  const schemas = [{ id: "photo", fields: [{ name: "image", type: "file" }] }];
  const body = { id: "gallery", modules: [{ id: "works", type: "CONTENT", schemas }] };
  await call(platform, "POST", "/api/admin/orbs?publish=true", { token: admin, body });
  const sent = await fetch(`${platform.origin}/api/gallery/files?name=red.png`, {
    method: "POST",
    headers: { authorization: `Bearer ${admin}` },
    body: await png(picture(40, 20, RED, [255, 0, 0, 255])),
  });
  const { id } = (await sent.json()) as { id: string };
  for (const path of ["/api/gallery/mcp", "/api/mcp"]) {
    await using curator = await agent(path, admin);
    const place = path === "/api/mcp" ? { orb: "gallery" } : {};
    const { content } = await curator.client.callTool({ name: "get_file", arguments: { ...place, id } });
    const [text, image] = content;
    if (text?.type !== "text" || image?.type !== "image") throw new Error(JSON.stringify(content));
    const { revision } = JSON.parse(text.text) as { revision: number };
    const header = Buffer.from(image.data, "base64").toString("latin1");
    expect(header).toContain(image.mimeType === "image/webp" ? "WEBP" : "PNG");
    const change = { ...place, id, revision, alt: { en: `Red for ${path}` }, tags: ["plain"] };
    expect(parsed(await curator.use("describe_file", change))).toMatchObject({ alt: change.alt });
    expect(await curator.use("describe_file", change)).toMatchObject({ failed: true });
    const found = parsed(await curator.use("list_files", { ...place, search: path, tag: "plain" }));
    expect(found).toMatchObject({ items: [{ id, uses: 0 }], tags: ["plain"] });
  }
  await using visitor = await agent("/api/gallery/mcp");
  expect(await visitor.use("list_files", {})).toMatchObject({ failed: true });
});

/** No secrets in the repository, in logs, or where they do not belong in the broker. */
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { freePort } from "../../scripts/process/ports.ts";
import { readAudit, searchTrackedFiles, secretsIn, servingPackages } from "../../scripts/tools/audit.ts";
import { admin, call, signIn, user } from "../support/auth.ts";
import { tempDir } from "../support/broker.ts";
import { searchLogFiles } from "../support/logs.ts";
import { startPlatform } from "../support/platform.ts";
import { runStart } from "../support/start.ts";

const SENSITIVE = "the-supplier-asked-for-38-percent";

test("writes no secret to a log line and no sensitive value to the broker, for normal and failing traffic", async () => {
  await using platform = await startPlatform({
    streams: true,
    env: { LOG_LEVEL: "debug", METRICS_TOKEN: "metrics-token-of-this-run" },
  });
  const operator = await admin(platform);
  const { token } = operator;
  const secrets = new Map<string, string>([
    ["operator's token", token],
    ["metrics token", "metrics-token-of-this-run"],
    ["sensitive value", SENSITIVE],
  ]);
  const as = (method: string, path: string, body?: unknown) =>
    call(platform, method, path, { token, ...(body === undefined ? {} : { body }) });
  const shop = readFileSync(new URL("../../scripts/examples/shop.json", import.meta.url), "utf8");
  await as("POST", "/api/admin/orbs?publish=true", JSON.parse(shop));
  const values = { title: { en: "Lamp" }, sku: "AB-0001", price: { US: 1 }, supplierNote: SENSITIVE };
  const made = await as("POST", "/api/shop/catalog/product?publish=true", { values });
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  const at = `/api/admin/orbs/shop/entries/${made.body.id}`;
  expect((await as("GET", `${at}?reveal=true`)).body.values.supplierNote).toBe(SENSITIVE);
  // Failures log more than successes.
  await as("PUT", `/api/shop/catalog/product/${made.body.id}`, { values: { ...values, sku: 7 } });
  await as("POST", "/api/shop/catalog/product", { values });
  await as("GET", `/api/shop/catalog/product?filter[supplierNote]=${SENSITIVE}`);
  await call(platform, "GET", "/api/admin/orbs", { token: `${token}x` });
  await call(platform, "GET", `/api/auth/invitations/${token}`);
  const invited = await as("POST", "/api/shop/invitations", { role: "user" });
  secrets.set("invitation", invited.body.token);
  await call(platform, "GET", `/api/shop/signin?invite=${invited.body.token}`);
  const member = await user(platform, "shop", "user");
  secrets.set("member's token", member.token);
  secrets.set("second token", (await signIn(platform, "/api/_auth", operator.authenticator)).token);
  await fetch(`${platform.streamsUrl}/api/streams/heartbeat?offset=-1`, { headers: operator.headers }).then(
    (answer) => answer.body?.cancel(),
  );
  await platform.broker?.pause();
  await as("POST", "/api/shop/catalog/product", { values });
  await platform.broker?.resume();

  for (const name of ["JWT_SIGNING_KEYS", "ENCRYPTION_KEYS"]) {
    for (const key of JSON.parse(platform.bindings[name] ?? "[]") as Record<string, string>[])
      secrets.set(name, key.d ?? key.k ?? "");
  }
  secrets.set("CLAIM_KEY", platform.bindings.CLAIM_KEY ?? "");
  for (const part of [platform.brokerAccess, platform.operatorAccess])
    secrets.set(`password of ${part.user}`, part.pass ?? "");
  secrets.set("password of fn", platform.bindings.NATS_PASS ?? "");

  const logs = platform.logs.join("\n");
  expect(platform.logs.length).toBeGreaterThan(15);
  for (const [name, secret] of secrets) {
    expect(secret.length, name).toBeGreaterThan(15);
    expect(logs.includes(secret), name).toBe(false);
  }
  expect(secretsIn(logs)).toEqual([]);
  // The claims of SECURITY.md about these logs.
  const said = readFileSync(new URL("../../SECURITY.md", import.meta.url), "utf8").replace(/\s+/g, " ");
  const bits = Buffer.from(invited.body.token, "base64url").length * 8;
  expect(said).toContain(`An invitation has ${bits} random bits`);
  const withClients = platform.logs.filter((line) => line.includes('"client":'));
  expect(withClients.length).toBeGreaterThan(0);
  for (const line of withClients) expect(line).toContain('"message":"bootstrap access"');
  expect(said).toContain(
    "Each attempt to use the routes for the first admin is logged with the client's network address",
  );

  const store = platform.operatorStore();
  for (const stream of await store.streamNames(">")) {
    const { messages } = await store.scan(stream, ">", { fromSeq: 1, limit: 5_000 });
    const stored = messages.map((message) => `${message.subject} ${message.text()}`).join("\n");
    for (const [name, secret] of secrets) expect(stored.includes(secret), `${name} in ${stream}`).toBe(false);
  }
});

test("only files that their owner alone can read hold secrets in the data folder", async () => {
  const dir = tempDir("left");
  {
    await using started = runStart({
      PORT: String(await freePort()),
      STREAMS_PORT: String(await freePort()),
      DATA_DIR: dir,
      LOG_LEVEL: "debug",
    });
    await started.printed(/ready at/);
    expect(secretsIn(started.output())).toEqual([]);
    started.child.kill("SIGTERM");
    await started.exited();
  }
  const secrets = JSON.parse(readFileSync(join(dir, "secrets.json"), "utf8")) as {
    broker: Record<string, string>;
  };
  const files = readdirSync(dir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  for (const entry of files) {
    const path = join(entry.parentPath, entry.name);
    const text = readFileSync(path, "latin1");
    const holds =
      secretsIn(text).length > 0 || Object.values(secrets.broker).some((one) => text.includes(one));
    if (holds) expect(statSync(path).mode & 0o077, path).toBe(0);
    if (path.includes("/logs/")) expect(holds, path).toBe(false);
  }
});

describe("search of logs", () => {
  test("finds a planted secret in a platform's log lines and in a file", async () => {
    const platform = await startPlatform();
    const [key] = JSON.parse(platform.bindings.ENCRYPTION_KEYS ?? "[]") as { k: string }[];
    platform.logs.push(`{"level":"info","message":"sealed under ${key?.k}"}`);
    await expect(platform.stop()).rejects.toThrow("ENCRYPTION_KEYS 0");

    const dir = tempDir("planted");
    mkdirSync(join(dir, "x", "logs"), { recursive: true });
    const file = join(dir, "x", "logs", "functions.log");
    writeFileSync(
      file,
      `{"level":"info"}\n{"authorization":"Bearer eyJ${"a".repeat(20)}.eyJ${"b".repeat(20)}.${"c".repeat(86)}"}\n`,
    );
    // Folders of a test can link to the checkout, which is not searched.
    symlinkSync(dir, join(dir, "link"));
    try {
      expect(searchLogFiles(dir)).toEqual([`${file}: signed token`]);
    } finally {
      rmSync(dir, { recursive: true });
    }
  });
});

describe("search of the repository", () => {
  test("finds a planted secret in a tracked file and names the file", () => {
    const dir = tempDir("tree");
    execFileSync("git", ["init", "-q"], { cwd: dir });
    writeFileSync(join(dir, "settings.json"), `{"kty":"OKP","d":"${"a1B2".repeat(11)}"}`);
    writeFileSync(join(dir, "harmless.json"), "{}");
    execFileSync("git", ["add", "."], { cwd: dir });
    expect(searchTrackedFiles(dir)).toEqual(["settings.json: private key (JWK)"]);
  });

  test("finds nothing in the checked-in files", () => {
    expect(searchTrackedFiles()).toEqual([]);
  });

  test.each([
    ["private key (JWK)", `{"kty":"OKP","d":"${"a1B2".repeat(11)}"}`],
    ["symmetric key (JWK)", `[{ "kid": "x", k: "${"a1B2".repeat(11)}" }]`],
    ["private key (PEM)", `${"-".repeat(5)}BEGIN PRIVATE KEY${"-".repeat(5)}\n${"A".repeat(64)}`],
    ["signed token", `Bearer eyJ${"a".repeat(20)}.eyJ${"b".repeat(20)}.${"c".repeat(86)}`],
    ["credentials in an address", `nats://operator:${"x1".repeat(16)}@127.0.0.1:4222`],
    ["password in a configuration", `password: "${"x1".repeat(16)}"`],
  ])("finds a %s", (kind, text) => {
    expect(secretsIn(text)).toContain(kind);
  });

  test("distinguishes audit findings from a registry that cannot answer", () => {
    const all = () => true;
    expect(readAudit("", all)).toBeNull();
    expect(readAudit('{"message":"not found","error":{}}', all)).toBeNull();
    expect(readAudit('{"metadata":{"vulnerabilities":{"high":0}},"vulnerabilities":{}}', all)).toEqual([]);
    const found =
      '{"metadata":{"vulnerabilities":{"high":1}},"vulnerabilities":{"a":{"severity":"high","range":"<2"},"b":{"severity":"low"}}}';
    expect(readAudit(found, all)).toEqual(["a <2: high"]);
  });

  test("counts findings in the packages that serve requests, and not those of tools", () => {
    const serving = servingPackages();
    for (const name of ["hono", "zod", "ws", "nats.ws", "preact", "tslib"])
      expect(serving).toContain(`node_modules/${name}`);
    for (const name of ["vitest", "@biomejs/biome", "typescript", "playwright-core", "miniflare"])
      expect(serving).not.toContain(`node_modules/${name}`);
    const found = (folder: string) =>
      `{"metadata":{"vulnerabilities":{}},"vulnerabilities":{"a":{"severity":"critical","nodes":["${folder}"]}}}`;
    const counts = (folder: string) => serving.has(folder);
    expect(readAudit(found("node_modules/hono"), counts)).toEqual(["a : critical"]);
    expect(readAudit(found("node_modules/vitest"), counts)).toEqual([]);
  });
});
